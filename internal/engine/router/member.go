// This file is one agent's part in a turn: its beginning, its attempts, its events, its
// end. The fields belong to the goroutine of the turn; an attempt that runs elsewhere uses
// only the agent, the request and the context.

package router

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxText is how many bytes of text all agents of a turn may give together.
const maxText = 2 << 20

// member is one agent's part in a turn, and the sink of its attempts.
type member struct {
	run.Branch
	turn  *turn
	queue *run.Queue[*member] // nil: it is on the goroutine of the turn

	agent *Agent
	role  stream.Role
	req   *chat.Request
	index int // in the order of the answers

	ctx context.Context // with its span
	// cancel ends the attempt at hand. attempt counts from 1.
	cancel  context.CancelFunc
	began   time.Time
	attempt int

	text    []string   // of a sequential turn: all of it, for those after
	changed bool       // a tool ran that must not run again
	usage   chat.Usage // of all attempts
	ending
	saving
	continues bool // it continues in the stream in which it began
}

// ending is how a member has ended, or why it waits.
type ending struct {
	ended  bool
	err    *fault.Error   // why it failed; nil: it did not
	paused *chat.Paused   // it waits for a person; nil: it does not
	result *stream.Result // of one that waits, so far
	// outcome is what Done says about it.
	outcome stream.AgentOutcome
	added   []chat.TurnMessages // by its last attempt
}

// startMember opens the member's part.
//
// The time limit covers all attempts. Retries do not begin it again.
func (r *turn) startMember(m *member) {
	timeout := m.agent.Timeout
	if timeout == 0 {
		timeout = r.team.cfg.Dispatch.Timeout
	}
	m.ctx, m.cancel = context.WithTimeoutCause(m.beginSpan(r.ctx), timeout, &fault.Error{
		Type: fault.Timeout, Message: "The agent took too long and was stopped",
	})
	if r.facts.Ask != nil {
		own := *m.req
		own.Facts.Ask = func(*chat.Paused) string { return "" } // it is for the team to ask
		m.req = &own
	}
	if r.facts.Saving != nil {
		own := *m.req
		own.Facts.Saving = &chat.Saving{Saver: memberSaver{r.facts.Saving, m}, Part: m.agent.ID, Before: r.facts.Saving.Before}
		m.req = &own
	}
	if m.continues {
		m.continues = false
		return
	}
	m.began, m.attempt = time.Now(), max(m.attempt, 1)
	r.members = append(r.members, m)
	r.out.Emit(&stream.AgentRun{AgentID: m.agent.ID, Role: m.role, Attempt: m.attempt, Status: stream.AgentStarted, Remote: m.agent.Remote})
	r.out.Flush()
	m.logStarted()
}

// runAttempt makes one attempt. A panic of the agent's is its failure alone.
//
// It may run on a goroutine of its own. An agent that returns without an error and without
// having finished has failed.
func (m *member) runAttempt() (result stream.Result, err error) {
	defer run.Recover(&err)
	if err := fault.Cause(m.ctx); err != nil {
		return stream.Result{}, err
	}
	result, err = m.agent.Runner.Run(m.ctx, m.req, m)
	if err == nil && !result.Reason.Success() {
		err = errors.New("the agent returned before its answer was complete")
	}
	return result, err
}

// Pass implements run.Owner. It records whether an unsafe tool ran: then there is no other attempt.
func (m *member) Pass(ev stream.Event, _ bool) error {
	if e, ok := ev.(*stream.ToolStarted); ok {
		m.changed = m.changed || !e.Repeatable
	}
	return m.postItem(run.Item[*member]{Of: m, Event: ev})
}

// EmitText implements run.Owner. An empty text is dropped.
func (m *member) EmitText(piece *stream.Delta) error {
	if piece.Text == "" {
		return nil
	}
	if m.turn.facts.Saving != nil {
		m.allText = append(m.allText, piece.Text)
	}
	return m.postItem(run.Item[*member]{Of: m, Text: piece.Text})
}

// postItem hands an event or a text to the turn. Its error is the sink's.
func (m *member) postItem(it run.Item[*member]) error {
	if m.queue != nil {
		return m.queue.Put(m.ctx, it)
	}
	m.turn.passItem(&it)
	return m.turn.out.Err
}

// Flush implements stream.Sink. Queued events are emitted as soon as the client reads.
func (m *member) Flush() error {
	if m.queue != nil {
		return nil
	}
	return m.turn.out.Flush()
}

// CallID implements run.Owner: the agent's own id, unless another member, or an attempt
// before, has used it.
func (m *member) CallID(own string, _ bool) string {
	key := strconv.Itoa(m.index) + "." + strconv.Itoa(m.attempt) + "." + own
	form := func(n int) string {
		if n == 1 {
			return own
		}
		return run.CallID("", own, "-"+strconv.Itoa(n))
	}
	if m.turn.emitted != nil {
		m.turn.recallID(m, key, form)
	}
	return m.turn.ids.Of(key, form)
}

// passItem emits an event of a member, or its text as soon as the earlier members have ended.
func (r *turn) passItem(it *run.Item[*member]) {
	if it.Event != nil {
		r.passEvent(it.Of, it.Event)
		return
	}
	if r.team.cfg.Dispatch.Sequential {
		it.Of.text = append(it.Of.text, it.Text)
	}
	r.voice.Text(it.Of.index, it.Text)
}

// passEvent emits an event. A reset and a seam take effect where their text stands.
func (r *turn) passEvent(m *member, ev stream.Event) {
	switch e := ev.(type) {
	case *stream.Reset:
		m.text = run.Cut(m.text, e.Back)
		r.voice.Reset(m.index, e)
	case *stream.ModelChanged:
		r.voice.ChangeModel(m.index, e)
	default:
		r.out.Emit(ev)
	}
}

// lineOf returns the member's part in the answer.
func (r *turn) lineOf(m *member) *run.Line { return &r.voice.Lines[m.index] }

// retryDelay reports whether a failed attempt is made again, and after which delay. A retry must not
// repeat a text, or a call of an unsafe tool.
//
// The wait that a provider asks for counts. If it exceeds the agent's own deadline, there is no
// retry.
func (r *turn) retryDelay(m *member, err error) (delay time.Duration, ok bool) {
	d := &r.team.cfg.Dispatch
	if m.attempt > d.Retries || r.hasDone(m) || r.out.Err != nil || m.ctx.Err() != nil {
		return 0, false
	}
	f := fault.From(err)
	if !isPassing(f) {
		return 0, false
	}
	delay = d.RetryDelay
	if f.Type == fault.ModelRateLimited {
		delay = max(delay, f.RetryAfter)
	}
	deadline, _ := m.ctx.Deadline()
	return delay, time.Until(deadline) > delay
}

// hasDone reports whether a member has spoken, or called a tool that changes something.
func (r *turn) hasDone(m *member) bool { return m.Stopped != nil || r.lineOf(m).Spoke || m.changed }

// isPassing reports whether a failure is likely to pass soon. A fault with an unknown outcome does
// not count as passing: the agent may have done its work.
func isPassing(f *fault.Error) bool {
	switch f.Type {
	case fault.ModelUnavailable, fault.AgentUnavailable:
		return !f.Unknown
	case fault.ModelRateLimited:
		return !f.Unknown && f.RetryAfter != 0
	}
	return false
}

// openRetry opens the next attempt.
func (r *turn) openRetry(m *member) {
	m.attempt++
	line := r.lineOf(m)
	line.Pending, line.Seams, m.Size, m.allText, m.storedCount = nil, nil, 0, nil, 0
	r.out.Emit(&stream.AgentRun{AgentID: m.agent.ID, Role: m.role, Attempt: m.attempt, Status: stream.AgentRetrying, Remote: m.agent.Remote})
	r.out.Flush()
}

// endMember closes the member's part, unless it waits for a person.
//
// For a member that waits it is called twice: when it begins to, and when that is over. A
// member of several that failed is reported as an error that does not end the stream.
func (r *turn) endMember(m *member, result stream.Result, err error) {
	if err == nil && result.Paused != nil {
		m.paused, m.result = result.Paused, &result
		result.Paused = nil
		m.cancel()
		return
	}
	lasted := time.Since(m.began)
	elapsed := lasted.Milliseconds()
	m.ended = true
	ev := &stream.AgentRun{AgentID: m.agent.ID, Role: m.role, Attempt: m.attempt, Status: stream.AgentCompleted, Remote: m.agent.Remote, Millis: &elapsed}
	ok := err == nil
	ev.Success = &ok
	if !ok {
		switch cause := fault.Cause(m.ctx); {
		case m.Stopped != nil:
			err = m.Stopped
		case cause != nil:
			err = cause
		}
		m.err = fault.From(err)
		ev.Status, ev.ErrorType, ev.ErrorMessage = stream.AgentFailed, m.err.Type, m.err.Message
		if r.ctx.Err() != nil {
			ev.Status = stream.AgentStopped
		}
	}
	r.countResult(m, result)
	if u := m.usage; u != (chat.Usage{}) {
		ev.Usage = &stream.TokenUsage{Input: u.InputTokens, Output: u.OutputTokens, Thinking: u.ThinkingTokens}
	}
	m.cancel()
	if ok && result.Reason == stream.InputRequired && m.role != stream.RoleClarification {
		r.result.Asker = m.agent.ID
	}
	m.outcome = stream.AgentOutcome{AgentID: m.agent.ID, Success: ok, Millis: elapsed, ErrorMessage: ev.ErrorMessage}
	r.saveTeam()
	r.out.Emit(ev)
	m.endSpan(result.Usage, err)
	m.logEnded(ev, err)
	r.team.counts.countEnded(ev, lasted)
	if m.err != nil && r.several && r.ctx.Err() == nil {
		r.out.Emit(&stream.Error{Attribution: stream.Attribution{AgentID: m.agent.ID}, Type: fault.AgentFailed,
			Message: m.err.Message, Recoverable: fault.AgentFailed.Recoverable(), Service: m.err.Service})
	}
	if r.several {
		r.out.Flush() // of a lone agent's end Done follows at once
	}
}

// countResult adds the figures of an attempt to those of the turn.
//
// The reason of the turn is the first that is not a plain stop.
func (r *turn) countResult(m *member, result stream.Result) {
	m.usage.Add(result.Usage)
	r.result.Usage.Add(result.Usage)
	r.result.Model = append(r.result.Model, result.Model...)
	r.result.Tools = append(r.result.Tools, result.Tools...)
	r.result.Keyed = r.result.Keyed || result.Keyed
	if result.Required != nil {
		r.acceptRequired(m, result.Required)
	}
	m.added = result.TurnMessages
	r.addModels(result.Models)
	if r.result.Reason == "" || r.result.Reason == stream.Stop {
		if result.Reason.Success() {
			r.result.Reason = result.Reason
		}
	}
}

// addModels notes the models that have answered.
func (r *turn) addModels(keys []string) {
	for _, key := range keys {
		if !slices.Contains(r.result.Models, key) {
			r.result.Models = append(r.result.Models, key)
		}
	}
}

// acceptRequired takes over the calls of the one agent of a turn that has tools of the client.
func (r *turn) acceptRequired(m *member, required *stream.Required) {
	for i := range required.Calls {
		required.Calls[i].AgentID = m.agent.ID
	}
	r.result.Required = required
}

// failureText returns the text about a failed member in the answer.
func (r *turn) failureText(m *member) string {
	return strings.NewReplacer("{agent}", singleLine(m.agent.shownName()), "{reason}", m.err.Message).Replace(r.team.cfg.Aggregate.Failure)
}

// logStarted logs that an agent begins. The request is not logged.
func (m *member) logStarted() {
	zerolog.Ctx(m.ctx).Info().Dict("details", zerolog.Dict().
		Str("agent_id", m.agent.ID).Str("role", string(m.role)).Int("attempt", m.attempt)).Msg("agent_started")
}

// logEnded logs how an agent ended, in the words of the contract and with the
// cause.
func (m *member) logEnded(ev *stream.AgentRun, err error) {
	details := zerolog.Dict().Str("agent_id", m.agent.ID).Str("role", string(m.role)).Int("attempt", m.attempt).
		Bool("success", err == nil).Int64("execution_time_ms", *ev.Millis)
	if err != nil {
		details.Str("error_type", string(ev.ErrorType)).AnErr("cause", errors.New(fault.LogText(err, false)))
	}
	zerolog.Ctx(m.ctx).Info().Int64("duration_ms", *ev.Millis).Dict("details", details).Msg("agent_completed")
}
