// Package trace shows the parts of a turn's time, as a tree of spans. Packages begin and end spans
// with it and know no telemetry library: that library implements two small interfaces.
//
// The span at hand travels in the context. Without a span, because nobody asked for spans, every
// function of this package returns at once and allocates nothing.
//
// A span holds names from the configuration, words from our own tables, and numbers. It never holds
// text of a user or a model, an argument, a result or a secret.
//
// A telemetry library implements Recorder. Its methods are called by whatever goroutine runs the
// work, one span by one goroutine at a time.
package trace

import (
	"context"
	"errors"
	"net/http"

	"sluice/internal/base/fault"
)

// Kind is the place of a span's other end.
type Kind int

// Kinds of spans.
const (
	Internal Kind = iota // it is without another end
	Server               // it answers a request
	Client               // it waits for the answer to one
)

// Tracer begins the spans of requests. It is safe for concurrent use and never waits.
type Tracer interface {
	// Begin begins the first span of a trace, or of this process in one. Its parent is the span in
	// the header traceparent, if that is valid.
	Begin(kind Kind, operation, subject string, header http.Header) Recorder
}

// Recorder keeps one span. It is safe for concurrent use and never waits.
type Recorder interface {
	// Begin begins a span below this one. Its name is operation, and subject after a
	// space unless that is empty.
	Begin(kind Kind, operation, subject string) Recorder
	String(key, value string)
	Int(key string, value int)
	Float(key string, value float64)
	// Propagate sets the header traceparent, so that its receiver adds to the tree.
	Propagate(header http.Header)
	// Link names a span of another trace that this one follows, as Span.Name returned it. An
	// unreadable name is skipped.
	Link(name string)
	// End ends the span. failure is a word for the reason of a failure, or empty for a success. It
	// is called once, and nothing is called after it.
	End(failure string)
}

// Span is a Recorder, or nothing: its zero value does nothing.
type Span struct{ rec Recorder }

// key is the key of a Recorder in a context.
type key struct{}

// Request begins the span of a request that came with header. A nil Tracer begins nothing.
func Request(ctx context.Context, t Tracer, header http.Header, operation, subject string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	return withRecorder(ctx, t.Begin(Server, operation, subject, header))
}

// Root begins the first span of work that continues without a request: a trace of its own. A nil
// Tracer begins nothing.
func Root(ctx context.Context, t Tracer, operation, subject string) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	return withRecorder(ctx, t.Begin(Internal, operation, subject, nil))
}

// Start begins a span below that of ctx, and returns it in a context. It begins nothing if ctx is
// without a span.
func Start(ctx context.Context, kind Kind, operation, subject string) (context.Context, Span) {
	parent := Of(ctx)
	if !parent.On() {
		return ctx, parent
	}
	return withRecorder(ctx, parent.rec.Begin(kind, operation, subject))
}

// withRecorder returns a context in which rec is the current span.
func withRecorder(ctx context.Context, rec Recorder) (context.Context, Span) {
	return context.WithValue(ctx, key{}, rec), Span{rec}
}

// Within returns ctx with a Recorder that of makes, which gets the spans of one turn before
// telemetry does. below is the Recorder of ctx, or nil.
func Within(ctx context.Context, of func(below Recorder) Recorder) context.Context {
	ctx, _ = withRecorder(ctx, of(Of(ctx).rec))
	return ctx
}

// Of returns the span in ctx, or a zero Span.
func Of(ctx context.Context) Span {
	rec, _ := ctx.Value(key{}).(Recorder)
	return Span{rec}
}

// Propagate sets the header traceparent to the span of ctx. Without a span it leaves
// header alone.
func Propagate(ctx context.Context, header http.Header) {
	if s := Of(ctx); s.On() {
		s.rec.Propagate(header)
	}
}

// parentHeader is where Propagate writes.
const parentHeader = "Traceparent"

// Name returns what Link takes in another process, or years later: a traceparent of W3C
// Trace Context. It is empty for nothing.
func (s Span) Name() string {
	if s.rec == nil {
		return ""
	}
	header := http.Header{}
	s.rec.Propagate(header)
	return header.Get(parentHeader)
}

// Link links the span to one of another trace that it follows, by its Name. It ignores an empty
// name.
func (s Span) Link(name string) {
	if s.rec != nil && name != "" {
		s.rec.Link(name)
	}
}

// On reports whether the span is kept. It need not be asked before the other methods.
func (s Span) On() bool { return s.rec != nil }

// String adds an attribute.
func (s Span) String(key, value string) {
	if s.rec != nil {
		s.rec.String(key, value)
	}
}

// Int adds an attribute.
func (s Span) Int(key string, value int) {
	if s.rec != nil {
		s.rec.Int(key, value)
	}
}

// Float adds an attribute.
func (s Span) Float(key string, value float64) {
	if s.rec != nil {
		s.rec.Float(key, value)
	}
}

// End ends the span. It reports only the type of err.
func (s Span) End(err error) {
	if s.rec != nil {
		s.rec.End(failureOf(err))
	}
}

// Fail ends the span; why is a word of ours, empty for a success.
func (s Span) Fail(why string) {
	if s.rec != nil {
		s.rec.End(why)
	}
}

// cancelled is the failure of work that nobody waited for any more.
const cancelled = "cancelled"

// failureOf returns the status of a span: a type of the contract. It never returns a message: a
// message may hold a user's words.
func failureOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fault.ErrClientGone), errors.Is(err, context.Canceled):
		return cancelled
	}
	return string(fault.From(err).Type)
}
