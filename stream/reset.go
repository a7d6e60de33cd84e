package stream

import (
	"context"
	"errors"
	"unicode/utf8"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// Reset takes back text of the answer: what stays is Accumulated, and pieces that follow go on
// behind it. Thoughts and calls stay.
//
// A run within a turn does not know the text of other runs or the text in front of its own. So a
// Reset that leaves a run has Back and Runes: how much of the end of the run's text does not count.
// The Frame, which alone knows the text of the turn, sets Accumulated.
type Reset struct {
	Accumulated string      `json:"accumulated"`
	Reason      ResetReason `json:"reason"`
	Attribution
	// Back and Runes are the bytes and code points that are taken back. Both are 0 in an event that
	// was read from a log.
	Back  int `json:"-"`
	Runes int `json:"-"`
}

// ResetReason is the reason for a Reset.
type ResetReason string

// Reasons for a Reset.
const (
	// ResetTakenOver: another process has begun the answer at hand again.
	ResetTakenOver ResetReason = "taken_over"
	// ResetFallback: the model failed in the middle of its answer, and another one answers.
	ResetFallback ResetReason = "fallback"
)

// MaxResets is how often text may be taken back in a turn.
const MaxResets = 8

const resetName = "response_reset"

// Name implements Extension.
func (*Reset) Name() string { return resetName }

// Allow refuses a Reset that takes nothing back, a Reset after a complete answer, and more than
// MaxResets of them.
func (r *Reset) Allow(t *Turn) error {
	switch {
	case t.Count(resetName) >= MaxResets:
		return &fault.Error{Type: fault.TurnLost, Message: "The answer was begun again too often", Err: errors.New("a turn has at most 8 resets")}
	case r.Reason == "":
		return errors.New("it has no reason")
	case t.answerComplete:
		return errors.New("the answer is complete")
	case len(r.Accumulated) >= t.size:
		return errors.New("it takes nothing back")
	}
	t.size = len(r.Accumulated)
	return nil
}

func (*Reset) markEvent() {}

// Attributed implements attributable.
func (r *Reset) Attributed(a Attribution) Event { return copyAttributed(r, a) }

// remainingSize returns how many bytes of a text of so many stay.
func (r *Reset) remainingSize(size int) int {
	if r.Back > 0 {
		return max(0, size-r.Back)
	}
	return min(size, len(r.Accumulated))
}

// resetter stands between a Runner and the Guard of a turn whose text may be taken back. It knows
// the text of the turn so far, and completes each Reset with the remaining text.
type resetter struct {
	*Guard
	ctx     context.Context
	onReset func(context.Context, *Reset) // gets each Reset that was passed on; may be nil
	text    []byte
}

// Emit implements Sink.
func (r *resetter) Emit(ev Event) error {
	switch e := ev.(type) {
	case *Delta:
		r.text = append(r.text, e.Text...)
	case *Reset:
		return r.emitReset(e)
	}
	return r.Guard.Emit(ev)
}

// emitReset passes a Reset on. It drops a Reset that takes nothing back: its text was never sent.
func (r *resetter) emitReset(ev *Reset) error {
	left := ev.remainingSize(len(r.text))
	if left == len(r.text) {
		return r.err
	}
	whole := *ev
	whole.Accumulated, whole.Back, whole.Runes = string(r.text[:left]), len(r.text)-left, utf8.RuneCount(r.text[left:])
	r.text = r.text[:left]
	if err := r.Guard.Emit(&whole); err != nil {
		return err
	}
	if r.onReset != nil {
		r.onReset(r.ctx, &whole)
	}
	return nil
}

// sinkOf returns the sink of the Runner in front of a Guard: the Guard itself, unless text may be
// taken back.
func (f *Frame) sinkOf(ctx context.Context, req *chat.Request, guard *Guard) Sink {
	var sink Sink = guard
	if req.Facts.Retracts {
		sink = f.newResetter(ctx, guard)
	}
	if req.Facts.Seams != nil {
		sink = f.countSeams(req.Facts.Saving, guard, sink)
	}
	return sink
}

// newResetter is not inlined: its frame would lie on the stack of open streams.
//
//go:noinline
func (f *Frame) newResetter(ctx context.Context, guard *Guard) *resetter {
	return &resetter{Guard: guard, ctx: ctx, onReset: f.OnReset, text: []byte(f.Accumulated)}
}
