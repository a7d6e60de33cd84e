// This file ends the log of a turn in place of the process that ran it. The events that it adds
// pass the guard of every turn and are stored like all others. So each reader's encoder writes them
// as any other end. Its figures are those of the log.

package task

import (
	"slices"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// closingEvents returns the events that complete a log, and the number of the last one: the ends of
// open calls and runs, err, and Done. It returns 0 if the turn is whole already. Each event that is
// added goes to said.
func (k stored) closingEvents(err error, at time.Duration, said *answer) (data []byte, n int) {
	c := &closing{n: k.last, at: at, answer: said, claims: k.claims}
	if k.claims > 0 {
		c.n = gapAfter(k.last)
	}
	guard := stream.NewGuard(c)
	for _, logged := range k.logged {
		c.addLogged(logged)
		_ = guard.Emit(logged.Event)
	}
	if guard.Ended() {
		return nil, 0
	}
	c.open = true
	if len(c.Questions) > 0 && c.Fatal() == nil { // it was about to end so, whatever a log may leave out of a question
		_ = c.Emit(&stream.Done{Reason: stream.ApprovalRequired})
		return c.data, c.n
	}
	guard.Lose()
	c.failRuns(guard, err)
	_ = guard.Fail(err)
	return c.data, c.n
}

// failRuns ends the agents that are under way, delegates before those that called them.
func (c *closing) failRuns(guard *stream.Guard, err error) {
	for _, run := range slices.Backward(c.Runs) {
		if run.Success == nil {
			_ = guard.Emit(endOfAgentRun(run, fault.From(err), c.at))
		}
	}
}

// endOfAgentRun returns the event that ends an agent's part of a turn because of err.
func endOfAgentRun(run stream.Run, err *fault.Error, at time.Duration) *stream.AgentRun {
	ev, ok, elapsed := *run.AgentRun, false, max(0, at-run.Began).Milliseconds()
	ev.Status, ev.Success, ev.Millis, ev.ErrorType, ev.ErrorMessage = stream.AgentStopped, &ok, &elapsed, err.Type, err.Message
	return &ev
}

// closing is the sink that stores the events that are added to a turn.
type closing struct {
	stream.Fold      // of the logged events, and of the added ones
	open        bool // before, nothing is stored: it is in the log
	// n and at belong to the last event, and data is appended to end the log.
	n      int
	at     time.Duration
	data   []byte
	claims int                 // as in stored
	answer *answer             // nil: not needed
	tools  []stream.ToolTiming // in order of the ends
	first  stream.Timings
}

// addLogged adds an event of the log.
func (c *closing) addLogged(logged Logged) {
	c.at = max(c.at, logged.At)
	if c.first.FirstEvent == 0 {
		c.first.FirstEvent = logged.At
	}
	c.foldEvent(logged.Event, logged.At)
	if c.Size > 0 && c.first.FirstDelta == 0 {
		c.first.FirstDelta = logged.At
	}
}

// foldEvent adds an event that came at a time.
func (c *closing) foldEvent(ev stream.Event, at time.Duration) {
	if e, ok := ev.(stream.ToolEnd); ok {
		c.tools = append(c.tools, stream.ToolTiming{Tool: e.End().Call.Tool, Duration: e.End().Duration})
	}
	c.Only, c.At = stream.Agents|stream.Tools, at
	c.Add(ev)
}

// Emit implements stream.Sink.
func (c *closing) Emit(ev stream.Event) error {
	if !c.open {
		return nil
	}
	c.foldEvent(ev, c.at)
	switch e := ev.(type) {
	case *stream.Error:
		if e.Fatal {
			e.Recoverable = c.isRecoverable(e)
		}
	case *stream.Done:
		c.fillDone(e)
	}
	line, err := stream.AppendStored(c.data, stream.Stamp{N: c.n + 1, At: c.at}, ev)
	if err != nil {
		return err
	}
	c.data, c.n = append(line, '\n'), c.n+1
	if c.answer != nil {
		c.answer.addEvent(ev)
	}
	return nil
}

// isRecoverable reports whether a turn may be run again: only if no call has changed anything.
func (c *closing) isRecoverable(e *stream.Error) bool {
	unsafe := slices.ContainsFunc(c.Calls, func(s stream.CallState) bool { return !s.Repeatable })
	return !unsafe && (e.Recoverable || e.Type == fault.TurnLost)
}

// Flush implements stream.Sink.
func (*closing) Flush() error { return nil }

// fillDone fills in the facts of the turn that Done repeats. A fatal error that the log has says
// why the turn ended, whatever closes it. A delegate's usage is part of its caller's, once the
// caller has ended.
func (c *closing) fillDone(done *stream.Done) {
	done.Takeovers = c.claims
	done.Usage.Estimated = c.claims > 0
	if e := c.Fatal(); e != nil {
		done.Reason = stream.ReasonFor(&fault.Error{Type: e.Type})
	}
	done.Timings, done.Tools = c.first, c.tools
	done.Timings.Total = c.at
	if c.Route != nil {
		done.Agents = []stream.AgentOutcome{}
		done.Route = max(time.Nanosecond, time.Duration(c.Route.Millis)*time.Millisecond) // there was one
	}
	delegates := c.sumAgentRuns(done)
	if done.Usage == (chat.Usage{}) {
		done.Usage = delegates
	}
}

// sumAgentRuns fills in the usage of the turn's agents, and how they ended. It returns the usage of
// delegates.
func (c *closing) sumAgentRuns(done *stream.Done) (delegates chat.Usage) {
	for _, p := range c.Runs {
		if u := p.Usage; u != nil {
			used := chat.Usage{InputTokens: u.Input, OutputTokens: u.Output, ThinkingTokens: u.Thinking}
			if p.Role == stream.RoleDelegate {
				delegates.Add(used)
			} else {
				done.Usage.Add(used)
			}
		}
		if p.Role != stream.RoleDelegate && p.Success != nil {
			done.Agents = append(done.Agents, stream.AgentOutcome{AgentID: p.AgentID, Success: *p.Success, Millis: *p.Millis, ErrorMessage: p.ErrorMessage})
		}
	}
	return delegates
}
