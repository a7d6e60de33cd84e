// This file ends the log of a turn in place of the process that ran it. What it adds goes through
// the guard of every turn and is stored like all else, so that each reader's encoder writes it
// as any other end. Figures are what the log tells.

package task

import (
	"slices"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
)

// close returns what a log still needs so that its turn is whole: the ends of what is
// under way, err, and Done; and the number of the last event. It returns 0 if the turn is
// whole already. Each event that is added goes to said.
func (k kept) close(err error, at time.Duration, said *answer) (data []byte, n int) {
	c := &closing{n: k.last, at: at, said: said}
	guard := stream.NewGuard(c)
	for _, told := range k.told {
		c.has(told)
		_ = guard.Emit(told.Event)
	}
	if guard.Ended() {
		return nil, 0
	}
	c.open = true
	if c.asked && c.fatal == nil { // it was about to end so, whatever a log may leave out of a question
		_ = c.Emit(&stream.Done{Reason: stream.ApprovalRequired})
		return c.data, c.n
	}
	guard.Lose()
	for _, run := range c.running() {
		_ = guard.Emit(run.end(fault.From(err), c.at))
	}
	_ = guard.Fail(err)
	return c.data, c.n
}

// part is an agent's part of a turn, from its first event on.
type part struct {
	stream.AgentRun // the last event of it
	began           time.Duration
}

// end returns the event that ends the part because of err.
func (p part) end(err *fault.Error, at time.Duration) *stream.AgentRun {
	ev, ok, took := p.AgentRun, false, max(0, at-p.began).Milliseconds()
	ev.Status, ev.Success, ev.Millis, ev.ErrorType, ev.ErrorMessage = stream.AgentStopped, &ok, &took, err.Type, err.Message
	return &ev
}

// closing is the sink that stores what is added to a turn.
type closing struct {
	open   bool // before, nothing is stored: it is in the log
	unsafe bool // a tool ran that may not run again
	// n and at are those of the last event, and data is what is appended to
	// end the log.
	n    int
	at   time.Duration
	data []byte
	said *answer // nil: nobody asks for it

	// What the log has told.
	parts  []part // of agents
	routed *stream.Route
	fatal  *stream.Error
	asked  bool // a person
	tools  []stream.ToolTiming
	first  stream.Timings
}

// has notes an event of the log.
func (c *closing) has(told Told) {
	c.at = max(c.at, told.At)
	switch ev := told.Event.(type) {
	case *stream.Start:
		c.first.FirstEvent = told.At
	case *stream.Delta:
		if c.first.FirstDelta == 0 {
			c.first.FirstDelta = told.At
		}
	case *stream.Route:
		c.routed = ev
	case *stream.AgentRun:
		c.ran(ev, told.At)
	case *stream.ToolStarted:
		c.unsafe = c.unsafe || !ev.Repeatable // only a turn without one may be run again
	case *stream.ToolCompleted:
		c.took(ev.Tool, ev.Duration)
	case *stream.ToolFailed:
		c.took(ev.Tool, ev.Duration)
	case *stream.ToolUnknown:
		c.took(ev.Tool, ev.Duration)
	case *stream.Error:
		if ev.Fatal {
			c.fatal = ev
		}
	case *stream.Approval:
		c.asked = true
	}
}

func (c *closing) took(tool string, d time.Duration) {
	c.tools = append(c.tools, stream.ToolTiming{Tool: tool, Duration: d})
}

// ran notes what an agent does. One that begins again has another part.
func (c *closing) ran(ev *stream.AgentRun, at time.Duration) {
	i := slices.IndexFunc(c.parts, func(p part) bool {
		return p.AgentID == ev.AgentID && p.SessionID == ev.SessionID && p.Success == nil
	})
	if i < 0 || ev.Status == stream.AgentStarted {
		c.parts = append(c.parts, part{*ev, at})
		return
	}
	c.parts[i].AgentRun = *ev
}

// running returns the parts that have not ended, those of delegates before those of who called
// them.
func (c *closing) running() (open []part) {
	for _, p := range slices.Backward(c.parts) {
		if p.Success == nil {
			open = append(open, p)
		}
	}
	return open
}

// Emit implements stream.Sink.
func (c *closing) Emit(ev stream.Event) error {
	if !c.open {
		return nil
	}
	switch e := ev.(type) {
	case *stream.AgentRun:
		c.ran(e, c.at)
	case *stream.ToolUnknown:
		c.took(e.Tool, e.Duration)
	case *stream.Error:
		if e.Fatal {
			e.Recoverable = !c.unsafe && (e.Recoverable || e.Type == fault.TurnLost)
		}
	case *stream.Done:
		c.sum(e)
	}
	line, err := stream.AppendStored(c.data, stream.Stamp{N: c.n + 1, At: c.at}, ev)
	if err != nil {
		return err
	}
	c.data, c.n = append(line, '\n'), c.n+1
	if c.said != nil {
		c.said.hear(ev)
	}
	return nil
}

// Flush implements stream.Sink.
func (*closing) Flush() error { return nil }

// sum fills in what Done repeats of the turn. A fatal error that the log has says why the turn
// ended, whatever closes it. A delegate's usage is part of that of who called it, once that one
// has ended.
func (c *closing) sum(done *stream.Done) {
	if c.fatal != nil {
		done.Reason = stream.ReasonFor(&fault.Error{Type: c.fatal.Type})
	}
	done.Timings, done.Tools = c.first, c.tools
	done.Timings.Total = c.at
	if c.routed != nil {
		done.Agents = []stream.AgentOutcome{}
		done.Route = max(time.Nanosecond, time.Duration(c.routed.Millis)*time.Millisecond) // there was one
	}
	delegates := chat.Usage{}
	for _, p := range c.parts {
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
	if done.Usage == (chat.Usage{}) {
		done.Usage = delegates
	}
}
