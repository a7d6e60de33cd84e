package markdown

import (
	"context"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// lookEvery is the number of steps after which a Watch looks at its context. A step takes a few
// microseconds at most, and a look less than one.
const lookEvery = 256

// Watch reports, to code that works on a text step by step, that its context has ended. It is for
// one goroutine. A nil *Watch never ends the work.
type Watch struct {
	ctx   context.Context
	steps int
	ended bool
}

// NewWatch returns the Watch of a context.
func NewWatch(ctx context.Context) *Watch { return &Watch{ctx: ctx} }

// IsOver counts a step, and reports whether the work should end.
func (w *Watch) IsOver() bool {
	if w == nil || w.ended {
		return w != nil
	}
	if w.steps++; w.steps%lookEvery == 0 {
		w.ended = w.ctx.Err() != nil
	}
	return w.ended
}

// Err returns why the context has ended; nil: it has not.
func (w *Watch) Err() error {
	if w == nil || w.ctx.Err() == nil {
		return nil
	}
	w.ended = true
	return context.Cause(w.ctx)
}

// watchKey is the place of the Watch while a text is parsed.
var watchKey = parser.NewContextKey()

// watchedReader is at the end of its text when the work should end.
type watchedReader struct {
	text.Reader
	watch *Watch
}

// AdvanceLine implements text.Reader.
func (r watchedReader) AdvanceLine() {
	r.Reader.AdvanceLine()
	if r.watch.IsOver() {
		end := len(r.Source())
		r.SetPosition(-1, text.NewSegment(end, end))
	}
}

// watched finds nothing in a line when the work should end: the text that follows stays plain.
type watched struct{ parser.InlineParser }

// Parse implements parser.InlineParser.
func (p watched) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if w, _ := pc.Get(watchKey).(*Watch); w.IsOver() {
		return nil
	}
	return p.InlineParser.Parse(parent, block, pc)
}

// CloseBlock implements parser.CloseBlocker.
func (p watched) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if closer, ok := p.InlineParser.(parser.CloseBlocker); ok {
		closer.CloseBlock(parent, block, pc)
	}
}
