package stream

import "context"

// heldKey is the key of what WithHeld adds.
type heldKey struct{}

// WithHeld returns a context for a Runner whose answer may be held back until it has been
// checked: then nothing of it may be kept before that. held says whether it is; it is asked
// from the goroutine of the turn, before the first text. A Runner that keeps its answer
// asks Held and returns Result.Settle.
func WithHeld(ctx context.Context, held func() bool) context.Context {
	return context.WithValue(ctx, heldKey{}, held)
}

// Held says whether the answer of the Runner that was given ctx is held back.
func Held(ctx context.Context) bool {
	held, ok := ctx.Value(heldKey{}).(func() bool)
	return ok && held()
}
