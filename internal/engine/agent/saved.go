// This file saves the state of a turn while it runs (chat.Saver): before the calls of an answer
// run, and after each unsafe call. A call that the store has, and no result of it, may have been
// made.

package agent

import (
	"fmt"
	"slices"
	"strings"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// atHand are the calls of the step at hand as they are saved.
type atHand struct {
	messages  []chat.Message // the last one has the calls
	open      []OpenCall     // nil: nothing is saved
	keptBytes int
	dropped   int
}

// isUnsafe reports whether a call must not be made twice.
func (j *job) isUnsafe() bool { return j.spec == nil || !j.spec.Annotations.Repeatable() }

// saver returns the Saving of the turn; nil if it is not saved.
func (t *turn) saver() *chat.Saving { return t.req.Facts.Saving }

// saveIntents saves the calls of an answer before they run. A turn that is over saves nothing.
// Without a saver it needs no frame of its own, as frames in a turn must be few.
func (t *turn) saveIntents(jobs []*job) {
	if t.saver() != nil {
		t.saveCalls(jobs)
	}
}

//go:noinline
func (t *turn) saveCalls(jobs []*job) {
	if t.stopCause() != nil || len(jobs) == 0 {
		return
	}
	s := &t.state
	h := atHand{open: make([]OpenCall, len(jobs)), keptBytes: s.keptBytes + t.step.keptBytes, dropped: t.step.dropped}
	h.messages = append(slices.Clip(s.Messages), chat.Message{Role: chat.RoleModel, Parts: t.step.parts, Maker: t.step.maker})
	for i, j := range jobs {
		j.at = i
		c := OpenCall{ID: j.event.ID, Call: j.call, key: j.key}
		switch {
		case j.err != nil:
			c.Answer, c.Result = answerRan, j.forModel()
		case j.client:
			c.Answer, c.Message = answerRefused, notAfterTakeOver
		case !j.waits:
			c.Answer, c.Unsafe = answerRuns, j.isUnsafe()
		}
		h.open[i] = c
	}
	t.hand = h
	t.saveTurn()
}

// notAfterTakeOver is the result of a client's call in a turn that another process continues.
const notAfterTakeOver = "the gateway was replaced meanwhile. Call it again if it is still needed."

// intendAnswered is saveIntents for calls that have waited. jobs[i] is the call with index i, or
// nil.
func (t *turn) intendAnswered(jobs []*job) {
	if t.saver() != nil && t.stopCause() == nil {
		t.saveAnswered(jobs)
	}
}

//go:noinline
func (t *turn) saveAnswered(jobs []*job) {
	s := &t.state
	t.hand = atHand{s.Messages, slices.Clone(s.Open), s.keptBytes, s.Dropped}
	for i, j := range jobs {
		if j == nil {
			continue
		}
		if j.at = i; j.err == nil && j.continued == nil {
			t.hand.open[i].Answer, t.hand.open[i].Unsafe = answerRuns, j.isUnsafe()
		}
	}
	t.saveTurn()
}

// saveTurn hands the new part of the turn to the saver. It is not inlined: its frame would lie on
// the stack of open streams.
//
//go:noinline
func (t *turn) saveTurn() {
	s := t.state
	s.Messages, s.Open, s.keptBytes, s.Dropped = t.hand.messages, t.hand.open, t.hand.keptBytes, t.hand.dropped
	if held := t.req.Facts.Held; held != nil && held() { // nothing of the answer is kept before its verdict
		s = s.Silent()
	}
	part, err := s.stateSince(t.state.saved)
	if err != nil { // plain values: cannot happen
		return
	}
	t.state.saved = len(s.Messages)
	t.saver().Save(t.saver().Part, part)
}

// confirmStored returns the jobs that may run: an unsafe call runs only after the store has it. The
// others are closed.
func (t *turn) confirmStored(jobs []*job) ([]*job, error) {
	if t.hand.open == nil || !slices.ContainsFunc(jobs, (*job).isUnsafe) {
		return jobs, nil
	}
	err := t.saver().Confirm()
	if err == nil {
		return jobs, nil
	}
	f := fault.From(err)
	if f.Type != fault.StoreUnavailable {
		return nil, err
	}
	var run []*job
	for _, j := range jobs {
		if !j.isUnsafe() {
			run = append(run, j)
			continue
		}
		j.err = notKept(j.call)
		t.closeCall(j)
	}
	t.sink.Flush()
	return run, nil
}

// notKept is the fault of a call whose intent the store does not have.
func notKept(c tool.Call) error {
	why := "the store that must know of it is unavailable"
	return &fault.Error{
		Type: fault.StoreUnavailable, NoEffect: true,
		Message: "The call of " + safeToolName(c.Name) + " was not executed: " + why,
		Hint:    "Not executed: " + why + ". Call it again later, or tell the user.",
	}
}

// saveOutcome saves the outcome of an unsafe call before it is emitted. If the outcome is unknown,
// all equal calls are refused from then on.
func (t *turn) saveOutcome(j *job) {
	if t.hand.open != nil {
		t.saveResult(j)
	}
}

//go:noinline
func (t *turn) saveResult(j *job) {
	root := j.originalCall()
	if !j.isUnsafe() && (root == j || !root.isUnsafe()) || j.waits {
		return
	}
	if f := j.callFailure(t.ctx); f != nil && f.Unknown {
		t.loseCall(j, f)
	}
	c := &t.hand.open[root.at]
	c.Answer, c.Within = answerRan, nil
	c.Result = c.approvedResult(root)
	t.saveTurn()
}

// saveFallback saves that s is made in place of the call that it stands in for. It returns false if
// s is unsafe and the store does not have it in time.
func (t *turn) saveFallback(s *job) bool {
	if t.hand.open == nil || !s.isUnsafe() {
		return true
	}
	c := &t.hand.open[s.fallbackOf.at]
	c.Answer, c.Result, c.Unsafe = answerRuns, nil, true
	t.saveTurn()
	return t.saver().Confirm() == nil
}

// repeatCall returns the call that a dead process was about to make, or made. An unsafe call is not
// repeated: a person is asked about its outcome, or else the model learns that it is unknown.
func (t *turn) repeatCall(c *OpenCall) *job {
	call := c.Call
	if c.Changed != nil {
		call.Arguments = c.Changed
	}
	j := newJob(c.ID, call, t.tools.Lookup(call.Name))
	j.key, j.sent = c.key, c.sent
	t.sink.Emit(&stream.ToolStarted{Call: j.event, Repeatable: !c.Unsafe && !j.isUnsafe()})
	switch {
	case c.Unsafe || j.spec != nil && j.isUnsafe():
		f := stoppedFault()
		if c.Outcome = t.asksPerson(j); c.Outcome {
			f.Err = tool.ErrAsked
		}
		j.err = f
		t.closeCall(j)
		if c.Answer = answerRan; c.Outcome {
			c.Answer = answerWaiting
			return nil
		}
	case j.spec == nil:
		c.Answer, j.err = answerRan, refusalFault(j.call, "the tool is not available any more", "Do without it.")
		t.closeCall(j)
	default:
		return j
	}
	c.Result = j.forModel()
	return nil
}

// asksPerson reports whether a person is asked what became of a call.
func (t *turn) asksPerson(j *job) bool {
	return t.req.Facts.Ask != nil && t.agent.cfg.AskLost != nil && t.agent.cfg.AskLost(j.event.Server)
}

// stoppedFault is the fault of a call whose process is gone.
func stoppedFault() *fault.Error {
	const why = "The gateway stopped while this call was under way"
	return &fault.Error{Type: fault.ToolFailed, Unknown: true, Message: why + ": whether it took effect is not known", Hint: why}
}

// lostResult is the model's result for a call with an unknown outcome, if nobody can be asked.
func lostResult(c *OpenCall) *tool.Result {
	j := newJob(c.ID, c.Call, nil)
	j.err = stoppedFault()
	return j.forModel()
}

// emitClosedCalls emits the ends of calls with saved results again. Code further outside drops the
// events that a client has already.
func (t *turn) emitClosedCalls() {
	for i := range t.state.Open {
		c := &t.state.Open[i]
		if c.Answer != answerRan || c.Result == nil {
			continue
		}
		j := newJob(c.ID, c.Call, t.tools.Lookup(c.Call.Name))
		t.sink.Emit(&stream.ToolStarted{Call: j.event, Repeatable: j.spec != nil && !j.isUnsafe()})
		if c.Result.IsError {
			t.sink.Emit(&stream.ToolFailed{Call: j.event, Message: "The tool " + safeToolName(c.Call.Name) + " answered with an error"})
			continue
		}
		t.sink.Emit(&stream.ToolCompleted{Call: j.event, Result: c.Result.Text})
	}
}

// stateSince returns the State without its first n messages, as Join takes it.
func (s *State) stateSince(n int) ([]byte, error) {
	later := *s
	later.Messages = s.Messages[n:]
	body := later.storedBody()
	if body.From = n; n > 0 {
		body.System = "" // that of the part before
	}
	var within []*run.Paused
	for _, c := range s.Open {
		if c.Within != nil {
			within = append(within, c.Within.State.As(c.ID))
		}
	}
	p, err := run.Pause(chat.PausedAgent, body, within...)
	if err != nil {
		return nil, err
	}
	return p.Encode(), nil
}

// Join returns the State, as UnmarshalJSON reads it, whose parts were saved one after the other.
// Its error wraps run.ErrPaused.
func Join(parts [][]byte) ([]byte, error) {
	var all stateBody
	var last *run.Paused
	for _, part := range parts {
		p, b, err := readPart(part, len(all.Messages))
		if err != nil {
			return nil, err
		}
		b.Messages = append(all.Messages[:b.From:b.From], b.Messages...)
		if b.From > 0 {
			b.System = all.System
		}
		all, last = b, p
	}
	if last == nil {
		return nil, fmt.Errorf("%w: there is nothing of it", run.ErrPaused)
	}
	all.From = 0
	p, err := run.Pause(chat.PausedAgent, all, last.Within...)
	if err != nil {
		return nil, err
	}
	if _, err := ReadState(p); err != nil {
		return nil, err
	}
	return p.Encode(), nil
}

// readPart reads a part that was saved when there were so many messages.
func readPart(part []byte, messages int) (p *run.Paused, b stateBody, err error) {
	if p, err = run.ReadPaused(chat.PausedAgent, part); err != nil {
		return nil, b, err
	}
	if err := p.Into(&b); err != nil {
		return nil, b, err
	}
	if b.From < 0 || b.From > messages {
		return nil, b, fmt.Errorf("%w: a part of it is missing", run.ErrPaused)
	}
	return p, b, nil
}

// AnsweredBy returns the key of the model that gave the last answer of a State from Join; empty if
// the State does not name it.
func AnsweredBy(state []byte) (key string) {
	var b stateBody
	p, err := run.ReadPaused(chat.PausedAgent, state)
	if err != nil || p.Into(&b) != nil {
		return ""
	}
	if b.Answered != "" {
		return b.Answered
	}
	for _, m := range slices.Backward(b.Messages) {
		if m.Role == chat.RoleModel {
			key, _, _ = strings.Cut(m.Maker, "/")
			return key
		}
	}
	return ""
}
