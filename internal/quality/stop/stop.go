// Package stop ends an answer before the first of some strings that its client names:
//
//	inner runner ── text ── stop ── sink
//
// A string counts too if the answer has it in several pieces. So text that may be the beginning of
// a string is held until the next piece shows it. At the string the inner run is cancelled, as the
// rest of it would be for nobody, and the turn ends well.
package stop

import (
	"context"
	"strings"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Around returns a runner whose answers end before the first of strings. No string may be empty.
func Around(inner stream.Runner, before []string) stream.Runner { return &runner{inner, before} }

type runner struct {
	inner  stream.Runner
	before []string
}

// Run implements stream.Runner.
func (r *runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &turn{before: r.before, cancel: cancel, sink: run.Out{Sink: sink}}
	t.Owner = t
	result, err := r.inner.Run(ctx, req, t)
	t.releaseHeld()
	if t.sink.Err != nil {
		return result, t.sink.Err
	}
	if t.found {
		return t.endedResult(req, result), nil
	}
	return result, err
}

// errFound cancels the inner run.
var errFound = &fault.Error{Type: fault.Cancelled, Message: "The answer has come to a string at which it ends"}

// turn is the sink of one run. All of it belongs to the goroutine that called Run.
type turn struct {
	run.Branch
	before []string
	cancel context.CancelCauseFunc
	sink   run.Out
	held   string             // the end of the text so far, if it may begin a string
	author stream.Attribution // of held
	size   int                // bytes of text that was emitted
	found  bool               // a string has come
}

// bytesPerToken is the estimate for text whose figures never came.
const bytesPerToken = 4

// endedResult returns the result of a run that was cancelled at a string. The model did not report the
// figures of its last call then, so figures that are too low are estimated.
func (t *turn) endedResult(req *chat.Request, result stream.Result) stream.Result {
	result.Reason, result.Paused, result.Required = stream.Stop, nil, nil
	asked := 0
	for _, m := range req.Messages() {
		asked += len(m.Text())
	}
	raise := func(tokens *int, bytes int) {
		if n := (bytes + bytesPerToken - 1) / bytesPerToken; *tokens < n {
			*tokens, result.Usage.Estimated = n, true
		}
	}
	raise(&result.Usage.InputTokens, asked)
	raise(&result.Usage.OutputTokens, t.size)
	return result
}

// CallID implements run.Owner: the owner of a call was set further inside.
func (t *turn) CallID(own string, _ bool) string { return own }

// EmitText implements run.Owner.
func (t *turn) EmitText(piece *stream.Delta) error {
	if t.found {
		return t.sink.Err
	}
	if piece.Attribution != t.author {
		t.releaseHeld()
		t.author = piece.Attribution
	}
	text := t.held + piece.Text
	t.held = ""
	if at := t.firstIn(text); at >= 0 {
		t.found = true
		t.sendText(text[:at])
		_ = t.sink.Flush()
		t.cancel(errFound)
		return t.sink.Err
	}
	keep := t.openEnd(text)
	t.sendText(text[:len(text)-keep])
	t.held = text[len(text)-keep:]
	return t.sink.Err
}

// firstIn returns the place of the first string in text, or -1.
func (t *turn) firstIn(text string) int {
	first := -1
	for _, s := range t.before {
		if at := strings.Index(text, s); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// openEnd returns the length of the longest end of text that begins one of the strings.
func (t *turn) openEnd(text string) (longest int) {
	for _, s := range t.before {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, s[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// sendText emits a text, unless it is empty.
func (t *turn) sendText(text string) {
	if text != "" {
		t.size += len(text)
		_ = t.sink.Emit(&stream.Delta{Attribution: t.author, Text: text})
	}
}

// releaseHeld emits the held text.
func (t *turn) releaseHeld() {
	text := t.held
	t.held = ""
	t.sendText(text)
}

// Pass implements run.Owner. Behind the end of the answer it drops questions to people and clients. A
// stream.Reset never comes: the protocols that name strings cannot express it.
func (t *turn) Pass(ev stream.Event, _ bool) error {
	switch ev.(type) {
	case *stream.Approval, *stream.ToolRequired:
		if t.found {
			return t.sink.Err
		}
	}
	t.releaseHeld()
	return t.sink.Emit(ev)
}

// Flush implements stream.Sink.
func (t *turn) Flush() error { return t.sink.Flush() }
