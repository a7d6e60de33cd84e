package quality

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// turn is one turn. All of it belongs to the goroutine that called Run, but for the
// planner's question. It is the branch of the inner runner.
type turn struct {
	run.Branch
	*Checker
	brief
	rules
	composed
	course
	rounds
	delivery
	ctx      context.Context
	sink     run.Out
	start    time.Time
	begun    bool // the inner runner has
	evidence evidence
	costs    costs
	out      stream.Result
	unlogged []func() // lines of the log that wait for the end of the turn
}

// costs are the times and tokens of the receipt.
type costs struct {
	ms    stream.ReceiptMillis
	usage chat.Usage
}

func tooLong() error {
	return &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Err: errors.New("the text is too long")}
}

// settleInner passes the sent text to the inner runner, if that stores its answer.
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

// showDraft emits a piece of the draft of the attempt under way. The joined pieces are the text
// that is checked, with the style's texts.
func (t *turn) showDraft(text string, who stream.Attribution) {
	if text == "" {
		return
	}
	t.draft = stream.InnerDelta{Attribution: who, Delta: text, Attempt: t.attempt}
	t.sink.Emit(&t.draft)
}

// phaseEvent returns the event of a phase.
func (t *turn) phaseEvent(p stream.Phase, fill func(*stream.Quality)) *stream.Quality {
	q := &stream.Quality{Phase: p, Attempt: t.attempt, Millis: time.Since(t.start).Milliseconds()}
	if fill != nil {
		fill(q)
	}
	return q
}

// reportPhase reports a phase, if it is one of this turn's. Code that waits within a phase flushes
// before that; a phase without a wait is over before a client could have read of it.
func (t *turn) reportPhase(p stream.Phase) {
	if !t.watched && p != stream.Composing && p != stream.Formatting && p != stream.Sending {
		return
	}
	t.sink.Emit(t.phaseEvent(p, nil))
}

// warn reports what went wrong without ending the turn.
func (t *turn) warn(kind fault.Type, message string) {
	t.sink.Emit(stream.NewError(&fault.Error{Type: kind, Message: message}, false))
}

// countCall counts a call of a model.
func (t *turn) countCall(u chat.Usage, elapsed time.Duration) {
	t.costs.usage.Add(u)
	t.out.Usage.Add(u)
	t.out.Model = append(t.out.Model, elapsed)
}

// modelContext returns a context for calls of models, which leaves time for sending.
func (t *turn) modelContext() (context.Context, context.CancelFunc) {
	end, bounded := t.ctx.Deadline()
	if !bounded {
		return context.WithCancel(t.ctx)
	}
	return context.WithDeadline(t.ctx, end.Add(-sendingTime))
}

// questionContext is modelContext with the timeout of one question to planner or judge.
func (t *turn) questionContext() (context.Context, context.CancelFunc) {
	ctx, end := t.modelContext()
	bounded, stop := context.WithTimeout(ctx, t.set.Timeout)
	return bounded, func() { stop(); end() }
}

// sendingTime is the part of a turn's time that is reserved for sending.
const sendingTime = time.Second

// userZone returns the time zone of the user's dates.
func (t *turn) userZone() *time.Location {
	if t.req.Location != nil {
		return t.req.Location
	}
	return t.cfg.Location
}

// log is the logger of the request.
func (t *turn) log() *zerolog.Logger { return zerolog.Ctx(t.ctx) }

// scorecardID is made of the request's id, so that both can be found by one of
// them.
func (t *turn) scorecardID() string { return "sc_" + chat.RequestID(t.ctx) }

const (
	failedMessage      = "The answer did not pass its quality checks"
	unavailableMessage = "The quality checks could not be completed"
)
