// Package tracetest keeps spans for tests.
package tracetest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"sluice/internal/base/telemetry/trace"
)

// Tree keeps all spans that begin below it. Its zero value is ready.
type Tree struct {
	mu    sync.Mutex // guards the spans, all of them
	roots []*span
	count int
}

// span is one recorded span. Its tree's mutex guards it.
type span struct {
	tree       *Tree
	id         int
	kind       trace.Kind
	name       string
	attributes map[string]string
	children   []*span
	ended      int
	failure    string
}

// Context returns a context with a root span, and a function that ends the span.
func (t *Tree) Context(ctx context.Context) (_ context.Context, end func()) {
	ctx, s := trace.Request(ctx, t, http.Header{}, "root", "")
	return ctx, func() { s.End(nil) }
}

// Begin implements trace.Tracer.
func (t *Tree) Begin(kind trace.Kind, operation, subject string, header http.Header) trace.Recorder {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.newSpan(kind, operation, subject)
	if parent := header.Get("Traceparent"); parent != "" {
		s.attributes["parent"] = parent
	}
	t.roots = append(t.roots, s)
	return s
}

// newSpan numbers spans in the order of their begin. The caller holds the mutex.
func (t *Tree) newSpan(kind trace.Kind, operation, subject string) *span {
	t.count++
	return &span{tree: t, id: t.count, kind: kind, name: strings.TrimSpace(operation + " " + subject), attributes: map[string]string{}}
}

// String returns the spans, one a line, each below its parent and siblings by their
// names: name, kind, attributes, failure.
func (t *Tree) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, s := range t.roots {
		s.writeTree(&b, 0)
	}
	return b.String()
}

// writeTree renders a span and those below it, a line each, attributes sorted.
func (s *span) writeTree(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%s%s", strings.Repeat("  ", depth), s.name)
	if s.kind != trace.Internal {
		fmt.Fprintf(b, " (%s)", [...]string{"", "server", "client"}[s.kind])
	}
	for _, key := range slices.Sorted(maps.Keys(s.attributes)) {
		fmt.Fprintf(b, " %s=%s", key, s.attributes[key])
	}
	if s.failure != "" {
		fmt.Fprintf(b, " failed: %s", s.failure)
	}
	if s.ended != 1 {
		fmt.Fprintf(b, " ENDED %d TIMES", s.ended)
	}
	b.WriteByte('\n')
	slices.SortStableFunc(s.children, func(a, b *span) int { return strings.Compare(a.name, b.name) })
	for _, c := range s.children {
		c.writeTree(b, depth+1)
	}
}

// Begin implements trace.Recorder.
func (s *span) Begin(kind trace.Kind, operation, subject string) trace.Recorder {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	c := s.tree.newSpan(kind, operation, subject)
	s.children = append(s.children, c)
	return c
}

// setAttribute keeps the last value of an attribute.
func (s *span) setAttribute(key, value string) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.attributes[key] = value
}

// String implements trace.Recorder.
func (s *span) String(key, value string) { s.setAttribute(key, value) }

// Int implements trace.Recorder.
func (s *span) Int(key string, value int) { s.setAttribute(key, fmt.Sprint(value)) }

// Float implements trace.Recorder.
func (s *span) Float(key string, value float64) { s.setAttribute(key, fmt.Sprint(value)) }

// Propagate implements trace.Recorder: the number of the span stands for its id.
func (s *span) Propagate(header http.Header) {
	header.Set("Traceparent", fmt.Sprintf("00-%032x-%016x-01", 1, s.id))
}

// Link implements trace.Recorder.
func (s *span) Link(name string) { s.setAttribute("link", name) }

// End implements trace.Recorder.
func (s *span) End(failure string) {
	s.tree.mu.Lock()
	defer s.tree.mu.Unlock()
	s.failure = failure
	s.ended++
}
