package tool

import "context"

// Progress is how far a running tool says that it has come.
type Progress struct {
	// Progress only grows during a call. It is finite.
	Progress float64
	// Total is what Progress will be at the end; 0 means that the tool does not know.
	Total float64
	// Message is the tool's own text, for a person; empty: none.
	Message string
}

// progressKey is the key of a progress function in a context.
type progressKey struct{}

// WithProgress returns a context in which a tool call reports its progress to
// report, from any goroutine, but one at a time, in order, and never after the
// call has returned. report must not block: a transport waits for it.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// ReportOf returns the function that WithProgress put into ctx, or nil.
func ReportOf(ctx context.Context) func(Progress) {
	report, _ := ctx.Value(progressKey{}).(func(Progress))
	return report
}
