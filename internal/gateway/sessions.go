package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/agent"
	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
)

// A session is one task of a delegate, from its call to the result of that. It may stop in
// between, because a person must allow a call in it; then it is a value (savedSession)
// within the State of its caller, and begins again as that value.

// delegateSession is a session that runs. Its events come from one goroutine, which is that
// of the call.
//
// It is a stream.Sink for its agent.
type delegateSession struct {
	all     *delegation
	id      string // the agent's
	session string // a UUID
	inner   *agent.Inner
	req     *chat.Request

	text  []string          // of the answer so far
	size  int               // bytes of it
	ids   map[string]string // of calls: the agent's own, and that of events
	spent chat.Usage        // before it went on; zero: it has just begun
	kept  *keptSession      // nil: nothing is kept of it
}

// savedSchema is the version of a savedSession. One of another version is not read.
const savedSchema = 1

// savedSession is a session that waits. What its agent has said and called is in State;
// what was told of it must not be told again, so the ids of its calls stay.
type savedSession struct {
	Schema  int               `json:"schema"`
	Agent   string            `json:"agent"`
	Session string            `json:"session"`
	Text    string            `json:"text,omitempty"`
	IDs     map[string]string `json:"ids,omitempty"`
	Spent   chat.Usage        `json:"spent"`
	State   json.RawMessage   `json:"state"` // an agent.State
}

// readSession reads a session that waits, and makes sure that all within it can be read
// too: somebody who decides learns at once if it cannot go on.
//
// The error wraps agent.ErrState for a text of another form.
func readSession(text []byte) (*savedSession, error) {
	s := new(savedSession)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, err
	}
	if s.Schema != savedSchema || s.Session == "" || s.Agent == "" {
		return nil, fmt.Errorf("%w: a session in it has another form", agent.ErrState)
	}
	return s, readableState(s.State)
}

// readableState says why the State of an agent, and of those within it, cannot go on.
//
// It goes down through all sessions that wait within each other; their depth is bounded by
// maxDelegateDepth.
func readableState(text []byte) error {
	var state agent.State
	if err := state.UnmarshalJSON(text); err != nil {
		return err
	}
	for _, c := range state.Open {
		if c.Within == nil {
			continue
		}
		if _, err := readSession(c.Within.State); err != nil {
			return err
		}
	}
	return nil
}

// resume makes s the session that was saved.
//
// Decisions come with the ids that clients know; the agent gets its own back.
func (s *delegateSession) resume(how *agent.Continued) error {
	saved, err := readSession(how.State)
	if err != nil {
		return err
	}
	if saved.Agent != s.id {
		return fmt.Errorf("%w: a session in it is another agent's", agent.ErrState)
	}
	s.session, s.spent = saved.Session, saved.Spent
	own := map[string]string{}
	for of, told := range saved.IDs {
		s.ids[of], own[told] = told, of
	}
	if saved.Text != "" {
		s.text, s.size = []string{saved.Text}, len(saved.Text)
	}
	s.req.Resumed = &chat.Resumed{By: chat.PausedAgent, State: saved.State, Usage: saved.Spent}
	for _, d := range how.Decisions {
		d.CallID = cmp.Or(own[d.CallID], d.CallID) // else it is about a call further within
		s.req.Resumed.Decisions = append(s.req.Resumed.Decisions, d)
	}
	return nil
}

// run carries the session out and tells of it. Its error may be an *agent.Suspended.
//
// A session that waits is told as completed with success: its part of this stream has ended
// well. It begins again with the same id.
func (s *delegateSession) run(ctx context.Context) (summary string, err error) {
	began := time.Now()
	s.tell(&stream.AgentRun{Status: stream.AgentStarted})
	s.kept.begin(ctx, s)
	summary, usage, err := s.work(ctx)
	s.inner.Spend(usage)
	took := time.Since(began).Milliseconds()
	_, waits := errors.AsType[*agent.Suspended](err)
	ok := err == nil || waits
	ev := &stream.AgentRun{Status: stream.AgentCompleted, Success: &ok, Millis: &took}
	if usage != (chat.Usage{}) {
		ev.Usage = &stream.TokenUsage{Input: usage.InputTokens, Output: usage.OutputTokens, Thinking: usage.ThinkingTokens}
	}
	if !ok {
		f := fault.From(cmp.Or(fault.Cause(ctx), err))
		ev.Status, ev.ErrorType, ev.ErrorMessage = stream.AgentFailed, f.Type, f.Message
		if f.Type == fault.Cancelled || errors.Is(f, fault.ErrClientGone) {
			ev.Status = stream.AgentStopped
		}
		err = s.failed(f)
	}
	s.kept.end(ctx, summary, ok, waits, took)
	s.tell(ev)
	return summary, err
}

// work runs the agent until it has answered or waits for a person. It returns what models
// took here, also beside an error. A panic is the session's failure alone, so that its end
// is told.
//
// Where nobody can be asked, calls that would wait are refused and the agent goes on.
func (s *delegateSession) work(ctx context.Context) (summary string, usage chat.Usage, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = stream.NewPanic(p)
		}
	}()
	a := s.all.agents[s.id]
	state, err := a.Begin(ctx, s.req, s)
	for err == nil && !state.Over() {
		var asked *chat.Question
		if asked, err = a.Waits(ctx, state); err != nil {
			break
		}
		s.kept.seal(asked, s.callID)
		switch {
		case asked == nil:
			state, err = a.Step(ctx, state, s)
		case stream.CanPause(ctx):
			err = s.suspend(asked, state)
		default:
			state.RefuseAll(stream.NobodyToAsk)
		}
	}
	if err == nil && !state.Reason.Success() {
		err = errors.New("the agent returned before its answer was complete")
	}
	usage = less(state.Usage, s.spent)
	if err == nil {
		var more chat.Usage
		summary, more, err = s.summary(ctx)
		usage.Add(more)
	}
	return summary, usage, err
}

// suspend returns the *agent.Suspended of a session whose agent waits. Questions of those
// further within have their ids already.
//
// The state holds that of the agent, which holds those of sessions within it.
func (s *delegateSession) suspend(q *chat.Question, state agent.State) (err error) {
	for i := range q.Calls {
		if c := &q.Calls[i]; c.AgentID == "" {
			c.ID, c.AgentID = s.callID(c.ID), s.id
		}
	}
	saved := savedSession{
		Schema: savedSchema, Agent: s.id, Session: s.session, Text: strings.Join(s.text, ""), IDs: s.ids, Spent: state.Usage,
	}
	if saved.State, err = json.Marshal(state); err != nil {
		return err
	}
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return &agent.Suspended{State: text, Calls: q.Calls}
}

// less returns what was taken since before.
func less(u, before chat.Usage) chat.Usage {
	u.InputTokens -= before.InputTokens
	u.OutputTokens -= before.OutputTokens
	u.ThinkingTokens -= before.ThinkingTokens
	u.CachedTokens -= before.CachedTokens
	return u
}

// failed returns how the call fails because of f. Bugs and shortages of the gateway's own
// end the turn, as they do elsewhere.
//
// A model reads the hint. It says that effects are unknown, since the agent may have called
// tools before it failed.
func (s *delegateSession) failed(f *fault.Error) error {
	if f.Type == fault.Internal || f.Type == fault.Overloaded {
		return f
	}
	return &fault.Error{Type: fault.ToolFailed, Err: f,
		Message: "The agent " + s.id + " could not do its task: " + f.Message,
		Hint:    "The agent could not do the task: " + f.Message + ". What it has done before that is not known."}
}

// tell tells of the session itself.
func (s *delegateSession) tell(ev *stream.AgentRun) {
	ev.AgentID, ev.Role, ev.Attempt, ev.SessionID, ev.CallID = s.id, stream.RoleDelegate, 1, s.session, s.inner.CallID
	s.inner.Emit(ev)
}

// summary returns what the caller is given: the answer, or what the agent makes of one
// that is too long.
//
// A summary that does not come, or is too long itself, is replaced by the beginning of the
// answer with a note. Only the end of ctx is an error then.
func (s *delegateSession) summary(ctx context.Context) (string, chat.Usage, error) {
	answer := strings.TrimSpace(strings.Join(s.text, ""))
	if answer == "" {
		return "", chat.Usage{}, &fault.Error{Type: fault.ModelError, Message: "It has given no answer"}
	}
	if len(answer) <= maxSummary {
		return answer, chat.Usage{}, nil
	}
	req := *s.req
	req.Resumed = nil
	req.Input = "Summarise the answer below for who gave the task, in at most 3,000 characters. Keep results, numbers, names and what is open; " +
		"add nothing.\n\nTask:\n" + s.req.Input + "\n\nAnswer:\n" + answer
	var short heardText
	result, err := s.all.short[s.id].Run(ctx, &req, &short)
	if text := strings.TrimSpace(strings.Join(short.text, "")); err == nil && text != "" && len(text) <= maxSummary {
		return text, result.Usage, nil
	}
	if cause := fault.Cause(ctx); cause != nil {
		return "", result.Usage, cause
	}
	const room = 100 // for the note
	head, _ := chat.Truncate(answer, maxSummary-room)
	return fmt.Sprintf("%s\n[cut here: the first %d of %d bytes of the answer are shown]", head, len(head), len(answer)), result.Usage, nil
}

// heardText is a sink that keeps the text alone.
type heardText struct {
	text []string
	size int
}

// Emit implements stream.Sink.
func (h *heardText) Emit(ev stream.Event) error {
	if d, ok := ev.(*stream.Delta); ok {
		if h.size += len(d.Text); h.size > maxSummary {
			return errors.New("the summary is too long")
		}
		h.text = append(h.text, d.Text)
	}
	return nil
}

// Flush implements stream.Sink: nothing waits.
func (*heardText) Flush() error { return nil }

// Emit implements stream.Sink for the agent. Its text is told as inner text, and all else
// with the session that it belongs to.
//
// Text beyond maxDelegateText ends the session: a model that repeats itself must not fill
// the memory. Events of sessions further within have their attribution already and keep it.
func (s *delegateSession) Emit(ev stream.Event) error {
	own := stream.Attribution{AgentID: s.id, SessionID: s.session}
	switch e := ev.(type) {
	case *stream.Delta:
		if s.size += len(e.Text); s.size > maxDelegateText {
			return &fault.Error{Type: fault.ModelUnavailable, Message: fault.ModelUnavailableMessage, Err: errors.New("the agent's text is too long")}
		}
		s.text = append(s.text, e.Text)
		s.kept.note(e)
		ev = &stream.InnerDelta{Attribution: own, Delta: e.Text}
	default:
		direct := !stream.Inner(ev)
		ev = stream.Attributed(ev, own)
		if run, ok := ev.(*stream.AgentRun); ok {
			run.CallID = cmp.Or(s.ids[run.CallID], run.CallID)
		} else if c := stream.CallOf(ev); c != nil && direct {
			c.ID = s.callID(c.ID)
			s.kept.note(ev)
		}
	}
	s.inner.Emit(ev)
	return nil
}

// Flush implements stream.Sink: the turn of the caller flushes whatever comes.
func (*delegateSession) Flush() error { return nil }

// callID returns the id that the events of a call carry, as the agent's own is not unique
// in the turn.
//
// It is the same for each event of a call, and for the call after a pause.
func (s *delegateSession) callID(own string) string {
	id, ok := s.ids[own]
	if !ok {
		id = "d" + s.session[:8] + "_" + strconv.Itoa(len(s.ids)+1)
		s.ids[own] = id
	}
	return id
}

// newSessionID returns a random UUID (version 4).
func newSessionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
