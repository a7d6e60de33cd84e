package structured

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxHeld bounds the text that is held back, in bytes.
const maxHeld = 2 << 20

// turn is one turn. All of it belongs to the goroutine that called Run. It is the branch of the
// inner runner.
type turn struct {
	run.Branch
	*runner
	ctx      context.Context
	req      *chat.Request
	sink     run.Out
	held     []stretch
	released bool // the held text was emitted, and new text is emitted at once
	results  results
	out      stream.Result
}

// stretch is a text of one speaker.
type stretch struct {
	speaker stream.Attribution
	text    []byte
}

func newTurn(r *runner, ctx context.Context, req *chat.Request, sink stream.Sink) *turn {
	t := &turn{runner: r, ctx: ctx, req: req, sink: run.Out{Sink: sink}}
	t.Owner, t.Max, t.Long = t, maxHeld, &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Err: errors.New("the text is too long")}
	if req.App != nil {
		for i := range req.App.Continues {
			t.results.addAll(req.App.Continues[i].Parts)
		}
	}
	return t
}

// runTurn answers the request.
func (t *turn) runTurn() error {
	if asked, ok := t.openingRequest(); ok {
		t.out.Reason, t.out.Keyed = stream.Stop, t.Keyed
		return t.askForObject(withDescription(asked, t.req.Answer))
	}
	own := *t.req
	own.Facts.Held = func() bool { return true }
	var err error
	if t.out, err = t.inner.Run(t.ctx, &own, t); err != nil {
		return err
	}
	switch t.out.Reason {
	case "":
		return errors.New("the runner returned before its answer was complete")
	case stream.Stop:
		return t.askForObject(withDescription(t.objectRequest(), t.req.Answer))
	case stream.MaxTokens, stream.MaxSteps: // a client must not read the text for an object
		t.out.Reason = stream.MaxTokens
	}
	t.settleInner(t.heldText())
	t.releaseHeld()
	return nil
}

// openingRequest returns the first request of the agent, if the turn may begin with it.
func (t *turn) openingRequest() (*chat.ModelRequest, bool) {
	if t.Opening == nil || t.req.Resumed != nil {
		return nil, false
	}
	return t.Opening(t.ctx, t.req)
}

// answeredBy records the key of a model that has answered.
func (t *turn) answeredBy(key string) {
	if t.out.Keyed && !slices.Contains(t.out.Models, key) {
		t.out.Models = append(slices.Clip(t.out.Models), key)
	}
}

// askForObject asks for the object and emits it. A cut object counts as a limit: the agent's text,
// if there is any, is better than half an object.
func (t *turn) askForObject(req *chat.ModelRequest) error {
	t.sink.Flush()
	if t.sink.Err != nil {
		return t.sink.Err
	}
	if err := fault.Cause(t.ctx); err != nil {
		return err
	}
	began := time.Now()
	reply, err := t.Asker.Ask(t.ctx, req)
	t.out.Usage.Add(reply.Usage)
	t.out.Model = append(t.out.Model, time.Since(began))
	switch {
	case err == nil:
		t.answeredBy(reply.Key)
		t.settleInner(string(reply.JSON))
		t.sendText(stream.Attribution{}, string(reply.JSON))
	case errors.Is(err, ErrCut):
		t.out.Reason = stream.MaxTokens
		if len(t.held) == 0 {
			t.held = []stretch{{text: []byte(reply.Text)}}
		}
		t.settleInner(t.heldText())
		t.releaseHeld()
	case errors.Is(err, ErrInvalid):
		return &fault.Error{Type: fault.ModelError, Message: "The model gave no answer of the form that was asked for", Err: err}
	default:
		return err
	}
	return nil
}

// releaseHeld emits the held text. From now on, text is emitted at once.
func (t *turn) releaseHeld() {
	if t.released {
		return
	}
	t.released = true
	for _, s := range t.held {
		t.sendText(s.speaker, string(s.text))
	}
}

// settleInner passes the emitted text to the inner runner, if that stores its answer.
func (t *turn) settleInner(sent string) {
	settle := t.out.StoreAnswer
	if settle == nil {
		return
	}
	t.out.StoreAnswer = nil
	if err := settle(sent); err != nil && t.sink.Err == nil {
		t.sink.Err = err
	}
}

// heldText returns the text of the inner runner.
func (t *turn) heldText() string {
	var all []byte
	for _, s := range t.held {
		all = append(all, s.text...)
	}
	return string(all)
}

// maxPiece bounds a piece of a text, in bytes.
const maxPiece = 16 << 10

// sendText emits a text in pieces.
func (t *turn) sendText(who stream.Attribution, text string) {
	for text != "" {
		head, _ := chat.Truncate(text, maxPiece)
		_ = t.sink.Emit(&stream.Delta{Attribution: who, Text: head})
		text = text[len(head):]
	}
}

// CallID implements run.Owner: the owner of a call was set further inside.
func (t *turn) CallID(own string, _ bool) string { return own }

// EmitText implements run.Owner.
func (t *turn) EmitText(ev *stream.Delta) error {
	if n := len(t.held); n == 0 || t.held[n-1].speaker != ev.Attribution {
		t.held = append(t.held, stretch{speaker: ev.Attribution})
	}
	last := &t.held[len(t.held)-1]
	last.text = append(last.text, ev.Text...)
	if t.released {
		return t.sink.Emit(ev)
	}
	return t.sink.Err
}

// Pass implements run.Owner. A question to a person comes behind the text that leads to it.
func (t *turn) Pass(ev stream.Event, inner bool) error {
	switch ev := ev.(type) {
	case *stream.ToolCompleted:
		if !inner { // a delegate's results are in its answer
			t.results.add(ev.Tool, ev.Result)
		}
	case *stream.Approval:
		t.releaseHeld()
	case *stream.Reset:
		t.cutHeld(ev.Back)
		if !t.released {
			return t.sink.Err
		}
	}
	return t.sink.Emit(ev)
}

// cutHeld drops so many bytes at the end of the held text.
func (t *turn) cutHeld(back int) {
	for n := len(t.held); n > 0 && back > 0; n = len(t.held) {
		last := &t.held[n-1]
		if back < len(last.text) {
			last.text = last.text[:len(last.text)-back]
			return
		}
		back -= len(last.text)
		t.held = t.held[:n-1]
	}
}

// Flush implements stream.Sink.
func (t *turn) Flush() error { return t.sink.Flush() }
