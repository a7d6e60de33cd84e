package tool

import "context"

// Progress is the progress that a running tool reports.
type Progress struct {
	// Progress only grows during a call. It is finite.
	Progress float64
	// Total is what Progress will be at the end; 0 means that the tool does not know.
	Total float64
	// Message is the tool's own text, for a person; empty: none.
	Message string
}

// attempt is the data of one attempt that reaches the server besides the Call. It travels in the
// context, because the library in between passes on nothing else.
type attempt struct {
	// key is set by the agent and by the recorder of a workflow's node; mcpclient sends it.
	key string
	// report is set by the agent, and replaced by a recording; mcpclient calls it.
	report func(Progress)
}

// attemptKey is the key of an attempt in a context.
type attemptKey struct{}

func attemptOf(ctx context.Context) attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return *a
	}
	return attempt{}
}

// WithKey returns a context whose call sends a key to its server. Tries that mean the same call
// have the same one, in whichever process they are made, so that the server can recognize a
// repetition.
func WithKey(ctx context.Context, key string) context.Context {
	a := attemptOf(ctx)
	a.key = key
	return context.WithValue(ctx, attemptKey{}, &a)
}

// KeyOf returns what WithKey put into ctx; empty: nothing.
func KeyOf(ctx context.Context) string { return attemptOf(ctx).key }

// WithProgress returns a context whose tool call reports its progress to report. The calls of
// report may come from any goroutine, but one at a time and in order. None comes after the tool
// call has returned. report must not block: a transport waits for it.
func WithProgress(ctx context.Context, report func(Progress)) context.Context {
	a := attemptOf(ctx)
	a.report = report
	return context.WithValue(ctx, attemptKey{}, &a)
}

// ReportOf returns the function that WithProgress put into ctx, or nil.
func ReportOf(ctx context.Context) func(Progress) { return attemptOf(ctx).report }
