package delegate

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A session is one task of a delegate, from its call to the result of that. It may stop in between,
// because a person must allow a call in it. Then it is a value (saved.go) within the State of its
// caller, and continues from that value.

// session is a session that runs, as the branch of its agent. The goroutine of the call emits its
// events.
type session struct {
	run.Branch
	all     *Agents
	id      string // the agent's
	session string // its id, a UUID
	inner   *agent.Inner
	req     *chat.Request

	taskText string      // the task and its context, as the record has them
	answer   stream.Fold // the answer so far
	ids      run.IDs     // of calls, by the agent's own
	spent    chat.Usage  // before it continued; zero: it has just begun
	record   Record
}

// newSession returns the session of a call; one that was suspended continues. callers wait for
// its answer.
func (d *Agents) newSession(id string, asked task, callers []string, inner *agent.Inner) (*session, error) {
	of := inner.Request
	s := &session{
		all: d, id: id, inner: inner, session: newSessionID(), taskText: asked.fullText, record: d.cfg.Records.Record(of.Task),
		req: &chat.Request{
			Input: asked.input, Additions: chat.Additions{Data: asked.data}, UserID: of.UserID, Principal: of.Principal, Location: of.Location, Tools: of.Tools, Hops: of.Hops,
			Keeping: chat.Keeping{Task: of.Task}, Facts: of.Facts,
		},
	}
	s.req.Facts.Callers = callers
	if saving := of.Facts.Saving; saving != nil {
		s.req.Facts.Saving = nil
		s.req.Facts.Guard = newGuard(saving, inner.CallID, saving.Before[SavedCalls+inner.CallID])
	}
	s.req.Facts.ShownText = ""   // it is the caller's
	s.req.Facts.Retracts = false // its text is shown as inner, of which nothing can be taken back
	if inner.Continued != nil {
		if err := s.resumeSession(inner.Continued); err != nil {
			return nil, err
		}
	}
	s.Owner, s.Max, s.Attribution = s, maxText, stream.Attribution{AgentID: id, SessionID: s.session}
	return s, nil
}

// runSession carries the session out and emits its begin and its end. Its error may be an
// *agent.Suspended.
//
// A session that waits ends as completed with success: its part of this stream has ended
// well. It begins again with the same id.
func (s *session) runSession(ctx context.Context) (summary string, err error) {
	began := time.Now()
	s.emitSessionEvent(&stream.AgentRun{Status: stream.AgentStarted})
	s.record.Begin(ctx, s.session, s.id, s.taskText, s.req.Resumed != nil)
	summary, usage, err := s.runAgent(ctx)
	s.inner.Spend(usage)
	elapsed := time.Since(began).Milliseconds()
	_, waits := errors.AsType[*agent.Suspended](err)
	ok := err == nil || waits
	ev := &stream.AgentRun{Status: stream.AgentCompleted, Success: &ok, Millis: &elapsed}
	if usage != (chat.Usage{}) {
		ev.Usage = &stream.TokenUsage{Input: usage.InputTokens, Output: usage.OutputTokens, Thinking: usage.ThinkingTokens}
	}
	if !ok {
		f := fault.From(cmp.Or(fault.Cause(ctx), err))
		ev.Status, ev.ErrorType, ev.ErrorMessage = stream.AgentFailed, f.Type, f.Message
		if f.Type == fault.Cancelled || errors.Is(f, fault.ErrClientGone) {
			ev.Status = stream.AgentStopped
		}
		err = s.callFailure(f)
	}
	s.record.End(ctx, summary, ok, waits, elapsed)
	s.emitSessionEvent(ev)
	return summary, err
}

// runAgent runs the agent until it has answered or waits for a person. It returns what models used
// here, also with an error. A panic is the session's failure alone, so that its end is
// reported.
//
// If nobody can be asked, waiting calls are refused and the agent continues.
func (s *session) runAgent(ctx context.Context) (summary string, usage chat.Usage, err error) {
	defer run.Recover(&err)
	a := s.all.agents[s.id]
	state, err := a.Begin(ctx, s.req, s)
	for err == nil && !state.IsOver() {
		var asked *chat.Question
		if asked, err = a.Waits(ctx, state); err != nil {
			break
		}
		s.record.Seal(asked, s)
		switch {
		case asked == nil:
			state, err = a.Step(ctx, state, s)
		case s.req.Facts.Ask != nil:
			err = s.suspendSession(asked, state)
		default:
			state.RefuseAll(chat.NobodyToAsk)
		}
	}
	if err == nil && !state.Reason.Success() {
		err = errors.New("the agent returned before its answer was complete")
	}
	usage = state.Usage.Since(s.spent)
	if err == nil {
		var more chat.Usage
		summary, more, err = s.makeSummary(ctx)
		usage.Add(more)
	}
	return summary, usage, err
}

// callFailure returns how the call fails because of f. Bugs and shortages of the gateway's own
// end the turn, as they do elsewhere.
//
// A model reads the hint. It says that effects are unknown, since the agent may have called
// tools before it failed.
func (s *session) callFailure(f *fault.Error) error {
	if f.Type == fault.Internal || f.Type == fault.Overloaded {
		return f
	}
	return &fault.Error{Type: fault.ToolFailed, Err: f,
		Message: "The agent " + s.id + " could not do its task: " + f.Message,
		Hint:    "The agent could not do the task: " + f.Message + ". What it has done before that is not known."}
}

// emitSessionEvent emits an event of the session itself.
func (s *session) emitSessionEvent(ev *stream.AgentRun) {
	ev.AgentID, ev.Role, ev.Attempt, ev.SessionID, ev.CallID = s.id, stream.RoleDelegate, 1, s.session, s.inner.CallID
	s.inner.Emit(ev)
}

// makeSummary returns the result for the caller: the answer, or the agent's own summary of a long
// one.
//
// A summary that does not come, or is too long itself, is replaced by the beginning of the
// answer with a note. Only the end of ctx is an error then.
func (s *session) makeSummary(ctx context.Context) (string, chat.Usage, error) {
	answer := strings.TrimSpace(s.answer.Text())
	if answer == "" {
		return "", chat.Usage{}, &fault.Error{Type: fault.ModelError, Message: "It has given no answer"}
	}
	if len(answer) <= maxSummary {
		return answer, chat.Usage{}, nil
	}
	req := *s.req
	req.Resumed = nil
	req.Data = append(slices.Clip(req.Data), chat.Quote{About: "Your answer to the task", Text: answer, Limit: maxSummarised})
	req.Input = "Summarise your answer for who gave the task, in at most 3,000 characters. Keep results, numbers, names and what is open; " +
		"add nothing.\n\nTask:\n" + s.req.Input
	short := spoken{stream.Fold{Only: stream.Answer}}
	result, err := s.all.short[s.id].Run(ctx, &req, &short)
	if text := strings.TrimSpace(short.Text()); err == nil && text != "" && len(text) <= maxSummary {
		return text, result.Usage, nil
	}
	if cause := fault.Cause(ctx); cause != nil {
		return "", result.Usage, cause
	}
	const room = 100 // for the note
	head, _ := chat.Truncate(answer, maxSummary-room)
	return fmt.Sprintf("%s\n[cut here: the first %d of %d bytes of the answer are shown]", head, len(head), len(answer)), result.Usage, nil
}

// maxSummarised bounds an answer that is summarised, with the marks of its lines.
const maxSummarised = 3 * maxText

// spoken is a sink that stores the text alone.
type spoken struct{ stream.Fold }

// Emit implements stream.Sink.
func (o *spoken) Emit(ev stream.Event) error {
	if o.Add(ev); o.Size > maxSummary {
		return errors.New("the summary is too long")
	}
	return nil
}

// Flush implements stream.Sink: nothing waits.
func (*spoken) Flush() error { return nil }

// EmitText implements run.Owner. The agent's text is emitted as inner text.
func (s *session) EmitText(piece *stream.Delta) error {
	s.answer.Add(piece)
	s.record.AddEvent(piece)
	s.inner.Emit(&stream.InnerDelta{Attribution: s.Attribution, Delta: piece.Text})
	return nil
}

// Pass implements run.Owner.
func (s *session) Pass(ev stream.Event, inner bool) error {
	if !inner {
		s.record.AddEvent(ev)
	}
	s.inner.Emit(ev)
	return nil
}

// Flush implements stream.Sink: the turn of the caller flushes whatever comes.
func (*session) Flush() error { return nil }

// CallID implements run.Owner. A call further within has its id already, unless it is the one
// that opened a session there.
func (s *session) CallID(own string, inner bool) string {
	if inner {
		return cmp.Or(s.ids.ByKey[own], own)
	}
	return s.ids.Of(own, func(n int) string { return run.CallID("d"+s.session[:8]+"_", "", strconv.Itoa(n)) })
}

// newSessionID returns a random UUID (version 4).
func newSessionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
