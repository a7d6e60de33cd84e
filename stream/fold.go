package stream

import (
	"slices"
	"strings"
	"time"
)

// Fold sums up the events of a turn, or of one run inside it. All code that sums up a turn uses it:
// tasks, memories of conversations, metrics, records of sessions, and protocols that repeat the
// answer at the end.
//
// The zero value is ready and collects everything. It stores the events themselves, Delta excepted,
// and copies no text. Only one goroutine may use it.
type Fold struct {
	// Only selects the parts to collect; 0 selects all. Events that belong to no Part are always
	// collected.
	Only Part
	// Max is the number of bytes of the answer after which no more pieces are collected; 0 turns
	// the limit off.
	Max int
	// At is the time of the event that is added next, for Run.Began.
	At time.Duration

	Size   int      // bytes of the answer, collected or not
	Pieces []string // of the answer
	Calls  Calls    // in the order of their starts
	Runs   []Run    // of agents, in the order of their starts

	Route     *Route
	Errors    []*Error
	Questions []*Approval
	Required  []*ToolRequired
	Done      *Done
}

// Part is a part of a Fold.
type Part uint

// Parts of a Fold. They can be combined.
const (
	Ends     Part = 1 << iota // only the events that are always collected
	Answer                    // Fold.Pieces
	Tools                     // Fold.Calls
	Payloads                  // with Tools: arguments and results
	Agents                    // Fold.Runs
)

// collectsPart reports whether a part is collected.
func (f *Fold) collectsPart(p Part) bool { return f.Only == 0 || f.Only&p != 0 }

// Add adds the next event. An event of a kind that the Fold does not sum up changes nothing.
func (f *Fold) Add(ev Event) {
	switch ev := ev.(type) {
	case *Delta:
		if f.collectsPart(Answer) && (f.Max == 0 || f.Size <= f.Max) {
			f.Pieces = append(f.Pieces, ev.Text)
		}
		f.Size += len(ev.Text)
	case *Reset:
		f.applyReset(ev)
	case *ToolStarted, ToolEnd:
		if f.collectsPart(Tools) {
			f.Calls.addEvent(ev, f.collectsPart(Payloads))
		}
	case *AgentRun:
		if f.collectsPart(Agents) {
			f.addAgentRun(ev)
		}
	case *Route:
		f.Route = ev
	case *Error:
		f.Errors = append(f.Errors, ev)
	case *Approval:
		f.Questions = append(f.Questions, ev)
	case *ToolRequired:
		f.Required = append(f.Required, ev)
	case *Done:
		f.Done = ev
	}
}

// applyReset takes text back. It copies the remaining pieces: a caller may still read the previous
// list.
func (f *Fold) applyReset(ev *Reset) {
	f.Size = ev.remainingSize(f.Size)
	if f.collectsPart(Answer) {
		f.Pieces = cutPieces(f.Pieces, f.Size)
	}
	for i := range f.Runs {
		f.Runs[i].From = min(f.Runs[i].From, f.Size)
	}
}

// cutPieces returns the pieces of the first size bytes of a text.
func cutPieces(pieces []string, size int) (kept []string) {
	for _, piece := range pieces {
		if size <= 0 {
			break
		}
		piece = piece[:min(size, len(piece))]
		kept, size = append(kept, piece), size-len(piece)
	}
	return kept
}

// Text returns the collected pieces of the answer.
func (f *Fold) Text() string { return strings.Join(f.Pieces, "") }

// Fatal returns the error that ends the turn; nil without one.
func (f *Fold) Fatal() *Error {
	if n := len(f.Errors); n > 0 && f.Errors[n-1].Fatal {
		return f.Errors[n-1]
	}
	return nil
}

// Failure returns the message of the error that ends the turn; empty without one.
func (f *Fold) Failure() string {
	if e := f.Fatal(); e != nil {
		return e.Message
	}
	return ""
}

// Reason returns why the turn ended; empty before its end.
func (f *Fold) Reason() FinishReason {
	if f.Done == nil {
		return ""
	}
	return f.Done.Reason
}

// Run is an agent's part in a turn.
type Run struct {
	*AgentRun               // the last event of it; its Success is nil until the run has ended
	Began     time.Duration // Fold.At at its start
	From      int           // Fold.Size at its start
}

// addAgentRun adds an agent's event to its run. An agent that starts a second time gets another
// run.
func (f *Fold) addAgentRun(ev *AgentRun) {
	open := func(r Run) bool { return r.AgentID == ev.AgentID && r.SessionID == ev.SessionID && r.Success == nil }
	if i := slices.IndexFunc(f.Runs, open); i >= 0 && ev.Status != AgentStarted {
		f.Runs[i].AgentRun = ev
		return
	}
	f.Runs = append(f.Runs, Run{ev, f.At, f.Size})
}

// Calls are tool calls in the order of their starts. The zero value is empty.
type Calls []CallState

// CallState is the state of a tool call.
type CallState struct {
	Call
	Repeatable bool        // as in ToolStarted
	Outcome    CallOutcome // empty: it is under way
	Duration   time.Duration
	Result     string // as in CallEnd
}

// Add adds the event of a call; other events change nothing.
func (c *Calls) Add(ev Event) { c.addEvent(ev, true) }

// addEvent is Add. A call that the list does not have is passed over.
func (c *Calls) addEvent(ev Event, payloads bool) {
	switch ev := ev.(type) {
	case *ToolStarted:
		call := CallState{Call: ev.Call, Repeatable: ev.Repeatable}
		if call.Arguments = nil; payloads {
			call.Arguments = ev.Arguments.Clone() // bytes, unlike strings, are the sender's
		}
		*c = append(*c, call)
	case ToolEnd:
		end := ev.End()
		i := c.Index(end.Call.ID)
		if i < 0 {
			return
		}
		s := &(*c)[i]
		if s.Outcome, s.Duration = end.Outcome, end.Duration; payloads {
			s.Result = end.Result
		}
	}
}

// Index returns the place of the call with an id, or -1.
func (c Calls) Index(id string) int {
	return slices.IndexFunc(c, func(s CallState) bool { return s.ID == id })
}

// CallOutcome is the way in which a tool call ended.
type CallOutcome string

// Outcomes of a call.
const (
	CallCompleted CallOutcome = "completed"
	CallFailed    CallOutcome = "failed"
	CallUnknown   CallOutcome = "unknown" // it may have taken effect
)

// ToolEnd is an event that closes a tool call: ToolCompleted, ToolFailed or ToolUnknown.
type ToolEnd interface {
	Event
	End() CallEnd
}

// CallEnd is the common content of the events that close a tool call.
type CallEnd struct {
	Call     *Call
	Outcome  CallOutcome
	Duration time.Duration
	Result   string // of the tool; for a failure its reason, fit for a person
}

// End implements ToolEnd.
func (e *ToolCompleted) End() CallEnd { return CallEnd{&e.Call, CallCompleted, e.Duration, e.Result} }

// End implements ToolEnd.
func (e *ToolFailed) End() CallEnd { return CallEnd{&e.Call, CallFailed, e.Duration, e.Message} }

// End implements ToolEnd.
func (e *ToolUnknown) End() CallEnd { return CallEnd{&e.Call, CallUnknown, e.Duration, e.Message} }
