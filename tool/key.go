package tool

import "context"

// callKey is the key of a call's key in a context.
type callKey struct{}

// WithKey returns a context in which a call carries a key to its server. Tries that mean the
// same call have the same one, in whichever process they are made, so that the server can
// tell a repetition.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, callKey{}, key)
}

// KeyOf returns what WithKey put into ctx; empty: nothing.
func KeyOf(ctx context.Context) string {
	key, _ := ctx.Value(callKey{}).(string)
	return key
}
