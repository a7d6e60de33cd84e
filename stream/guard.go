package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/internal/base/fault"
)

// Guard is the one place that enforces the grammar of a turn:
//
//	Start, then any of Thinking, Delta, Error, tool calls and extensions, then exactly one Done.
//
// A tool call is one ToolStarted, then exactly one of ToolCompleted, ToolFailed and ToolUnknown
// with the same id, with any number of ToolProgress between them. A fatal Error is followed by
// Done, and Done after a fatal Error, and only then, has a reason that is not a success. After
// Done, or after the sink has failed, nothing follows. An extension has its own rule
// (Extension.Allow), and each part that it opened must be closed before Done. Only other Approvals
// and a Done with the reason ApprovalRequired may follow an Approval. In the same way only other
// ToolRequired and a Done with the reason ClientTools may follow a ToolRequired. Done has these two
// reasons only there.
//
// An event out of place is refused with an error and does not reach the sink. So a client always
// sees a well-formed stream.
type Guard struct {
	sink  Sink
	state state
	calls []trackedCall  // all tool calls
	at    map[string]int // where each id is in calls; nil while these are few
	err   error          // the sink's first error
	acted bool           // a call took effect, or may have, that must not be made twice
	turn  Turn           // the state for the rules of extensions
	// result is the Result of the Runner. It belongs to the Frame. It lies here because the stack
	// of an open stream has no room for it.
	result Result
	seams  []Seam // as in Done
}

// fewCalls is up to how many calls are looked through. Most turns have at most two calls, and a map
// would cost them more than it saves.
const fewCalls = 32

// trackedCall is a tool call. A closed call keeps only its id.
type trackedCall struct {
	Call
	repeatable bool
	closed     bool
}

// state is how far a turn has come.
type state int

const (
	expectStart state = iota
	expectAny
	expectTail   // as expectAny, but the answer is complete
	expectAnswer // after an Approval
	expectResult // after a ToolRequired
	expectDone   // after a fatal Error
	ended
)

// NewGuard returns a Guard in front of sink.
func NewGuard(sink Sink) *Guard { return &Guard{sink: sink} }

// ErrGrammar is wrapped by the error of an event that came out of place: a bug
// of the sender.
var ErrGrammar = errors.New("event out of place")

// Emit passes ev on if the grammar allows it here.
func (g *Guard) Emit(ev Event) error {
	if g.err != nil {
		return g.err
	}
	if d, ok := ev.(*Delta); ok && g.state == expectAny && d.Text != "" { // the hot path
		g.turn.size += len(d.Text)
		return g.emitToSink(ev)
	}
	next, err := g.checkEvent(ev)
	if err != nil {
		return err
	}
	if err := g.emitToSink(ev); err != nil {
		return err
	}
	if next == expectAny && g.turn.answerComplete {
		next = expectTail
	}
	g.state = next
	return nil
}

// Flush passes on the events that the sink holds back.
func (g *Guard) Flush() error {
	if g.err == nil {
		g.err = g.sink.Flush()
	}
	return g.err
}

// Ended reports whether Done was passed on.
func (g *Guard) Ended() bool { return g.state == ended }

// finishTurn emits the end of a turn that ended well.
func (g *Guard) finishTurn(result *Result) error {
	if result.Required != nil {
		for _, c := range result.Required.Calls {
			if err := g.Emit(&ToolRequired{c}); err != nil {
				return err
			}
		}
	}
	return g.emitDone(result)
}

// emitDone emits the Done of a result.
func (g *Guard) emitDone(result *Result) error {
	done := result.doneEvent()
	done.Seams = g.seams
	return g.Emit(done)
}

// Lose closes the tool calls that are under way as unknown: the process that made them is
// gone.
func (g *Guard) Lose() {
	for _, c := range g.openCalls() {
		_ = g.Emit(&ToolUnknown{Call: c, Message: "The outcome of this call is not known"})
	}
}

// TakenOver records that another process continues the turn: phases may begin again.
func (g *Guard) TakenOver() {
	g.turn.phase, g.turn.attempt = 0, 0
}

// Fail ends a turn whose sender stopped without Done. It closes the open tool calls as unknown and
// adds the events that the grammar requires, with err as the fatal error. A nil err is a sender's
// bug, and reported as one. After Done it does nothing. If the client is gone, it returns err:
// nobody can receive a report, and the contract has no error_type for this case.
func (g *Guard) Fail(err error) error { return g.failTurn(err, new(Result)) }

// failTurn is Fail, with the figures of what ran before.
func (g *Guard) failTurn(err error, so *Result) error {
	switch {
	case g.state == ended || g.err != nil:
		return g.err
	case errors.Is(err, fault.ErrClientGone):
		g.err = err
		return err
	case err == nil:
		err = fmt.Errorf("%w: the sender returned before Done", ErrGrammar)
	}
	if g.state == expectStart {
		_ = g.Emit(&Start{})
	}
	g.turn.open = nil // the turn also ends the parts that extensions have opened
	if g.state == expectAnswer || g.state == expectResult {
		g.state = expectAny
	}
	if g.state == expectAny || g.state == expectTail {
		for _, c := range g.openCalls() {
			_ = g.Emit(&ToolUnknown{Call: c, Message: "The outcome of this call is not known"})
		}
		_ = g.Emit(g.fatalError(err))
	}
	so.Reason = ReasonFor(err)
	_ = g.emitDone(so)
	return g.Flush()
}

// fatalError returns the event of what ends the turn. If an unsafe call may have run, it
// is not recoverable.
func (g *Guard) fatalError(err error) *Error {
	ev := NewError(err, true)
	ev.Recoverable = ev.Recoverable && !g.acted
	if !ev.Recoverable {
		ev.RetryAfter = 0
	}
	return ev
}

// ReasonFor returns the finish reason of a turn that err ended.
func ReasonFor(err error) FinishReason {
	if errors.Is(err, fault.ErrClientGone) {
		return Cancelled
	}
	switch fault.From(err).Type {
	case fault.Timeout:
		return TimedOut
	case fault.ShuttingDown:
		return Shutdown
	case fault.Cancelled:
		return Cancelled
	}
	return Failed
}

// emitToSink hands an event on. The first error of the sink stays.
func (g *Guard) emitToSink(ev Event) error {
	g.err = g.sink.Emit(ev)
	return g.err
}

// checkEvent returns the state after ev, or why ev is out of place.
func (g *Guard) checkEvent(ev Event) (state, error) {
	if err := g.checkOrder(ev); err != nil {
		return 0, err
	}
	switch g.state {
	case expectAnswer:
		return g.afterApproval(ev)
	case expectResult:
		return g.afterRequired(ev)
	}
	switch ev := ev.(type) {
	case *Delta:
		return expectAny, g.checkDelta(ev)
	case *ToolStarted:
		return expectAny, g.openCall(ev)
	case *ToolProgress:
		_, err := g.runningCall(ev.ID)
		return expectAny, err
	case *ToolCompleted, *ToolFailed, *ToolUnknown:
		return expectAny, g.closeCall(ev.(ToolEnd).End())
	case *Error:
		if ev.Fatal {
			return expectDone, g.checkNoneOpen()
		}
	case *Done:
		return ended, g.checkDone(ev)
	case *Start, *Thinking:
	case *Approval:
		return g.checkApproval(ev)
	case *ToolRequired:
		return g.trackClientCall(ev)
	case Extension:
		return expectAny, g.checkExtension(ev)
	default: // nil, or a type of another package that embeds one of ours
		return 0, fmt.Errorf("%w: %T is not an event", ErrGrammar, ev)
	}
	return expectAny, nil
}

// checkApproval takes an Approval, before which everything has ended.
func (g *Guard) checkApproval(ev *Approval) (state, error) {
	if err := g.checkNoneOpen(); err != nil {
		return 0, err
	}
	return expectAnswer, g.checkExtension(ev)
}

// trackClientCall accepts a call for the client, before which everything has ended.
func (g *Guard) trackClientCall(ev *ToolRequired) (state, error) {
	if err := g.checkNoneOpen(); err != nil {
		return 0, err
	}
	return expectResult, g.trackCall(trackedCall{Call: ev.Call, closed: true})
}

// checkOrder returns an error if this type of event may not come in this state: Start is the first,
// Done the last, and the only one behind a fatal Error.
func (g *Guard) checkOrder(ev Event) error {
	if g.state == ended {
		return fmt.Errorf("%w: %T after Done", ErrGrammar, ev)
	}
	if _, ok := ev.(*Start); ok != (g.state == expectStart) {
		return fmt.Errorf("%w: Start must come first and once, got %T", ErrGrammar, ev)
	}
	if _, ok := ev.(*Done); !ok && g.state == expectDone {
		return fmt.Errorf("%w: %T between a fatal Error and Done", ErrGrammar, ev)
	}
	return nil
}

// checkDelta checks a piece of the answer.
func (g *Guard) checkDelta(ev *Delta) error {
	if ev.Text == "" {
		return fmt.Errorf("%w: empty Delta", ErrGrammar)
	}
	if g.state == expectTail {
		return fmt.Errorf("%w: Delta after the answer is complete", ErrGrammar)
	}
	return nil
}

// checkDone checks the reason of the turn's end.
func (g *Guard) checkDone(ev *Done) error {
	if ev.Reason == "" || ev.Reason == ApprovalRequired || ev.Reason == ClientTools || ev.Reason.Success() != (g.state == expectAny || g.state == expectTail) {
		return fmt.Errorf("%w: Done with reason %q", ErrGrammar, ev.Reason)
	}
	return g.checkNoneOpen()
}

// afterApproval returns the state after the event that follows an Approval.
func (g *Guard) afterApproval(ev Event) (state, error) {
	switch ev := ev.(type) {
	case *Approval:
		return g.checkApproval(ev)
	case *Done:
		if ev.Reason != ApprovalRequired {
			return 0, fmt.Errorf("%w: Done with reason %q after an Approval", ErrGrammar, ev.Reason)
		}
		return ended, nil
	}
	return 0, fmt.Errorf("%w: %T after an Approval", ErrGrammar, ev)
}

// afterRequired returns the state after the event that follows a ToolRequired.
func (g *Guard) afterRequired(ev Event) (state, error) {
	switch ev := ev.(type) {
	case *ToolRequired:
		return g.trackClientCall(ev)
	case *Done:
		if ev.Reason != ClientTools {
			return 0, fmt.Errorf("%w: Done with reason %q after a ToolRequired", ErrGrammar, ev.Reason)
		}
		return ended, nil
	}
	return 0, fmt.Errorf("%w: %T after a ToolRequired", ErrGrammar, ev)
}

// checkExtension asks the event's own rule.
func (g *Guard) checkExtension(ev Extension) error {
	if err := ev.Allow(&g.turn); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrGrammar, ev.Name(), err)
	}
	g.turn.countExtension(ev.Name())
	return nil
}

// openCall opens a call.
func (g *Guard) openCall(ev *ToolStarted) error {
	return g.trackCall(trackedCall{Call: ev.Call, repeatable: ev.Repeatable})
}

// trackCall adds a call. More than fewCalls are found by a map.
func (g *Guard) trackCall(c trackedCall) error {
	if c.ID == "" || g.findCall(c.ID) != nil {
		return fmt.Errorf("%w: tool call id %q is empty or used twice", ErrGrammar, c.ID)
	}
	g.calls = append(g.calls, c)
	switch n := len(g.calls); {
	case g.at != nil:
		g.at[c.ID] = n - 1
	case n > fewCalls:
		g.at = make(map[string]int, 2*n)
		for i := range g.calls {
			g.at[g.calls[i].ID] = i
		}
	}
	return nil
}

// findCall returns a call by its id, or nil.
func (g *Guard) findCall(id string) *trackedCall {
	if g.at != nil {
		if i, ok := g.at[id]; ok {
			return &g.calls[i]
		}
		return nil
	}
	for i := range g.calls {
		if g.calls[i].ID == id {
			return &g.calls[i]
		}
	}
	return nil
}

// runningCall returns the call if it is under way.
func (g *Guard) runningCall(id string) (*trackedCall, error) {
	t := g.findCall(id)
	if t == nil || t.closed {
		return nil, fmt.Errorf("%w: tool call %q is not under way", ErrGrammar, id)
	}
	return t, nil
}

// closeCall closes a call, which took effect or may have unless it failed. Its id stays reserved;
// all other data of the call is dropped.
func (g *Guard) closeCall(e CallEnd) error {
	t, err := g.runningCall(e.Call.ID)
	if err == nil {
		g.acted = g.acted || e.Outcome != CallFailed && !t.repeatable
		*t = trackedCall{Call: Call{ID: t.ID}, closed: true}
	}
	return err
}

// openCalls returns the calls that are under way, in order of their ids.
func (g *Guard) openCalls() (calls []Call) {
	for _, t := range g.calls {
		if !t.closed {
			calls = append(calls, t.Call)
		}
	}
	slices.SortFunc(calls, func(a, b Call) int { return strings.Compare(a.ID, b.ID) })
	return calls
}

// checkNoneOpen returns an error while a call or another part is open: a client must be able to
// close each part that it shows.
func (g *Guard) checkNoneOpen() error {
	if n := len(g.openCalls()); n > 0 {
		return fmt.Errorf("%w: %d tool calls are still under way", ErrGrammar, n)
	}
	for what := range g.turn.open {
		return fmt.Errorf("%w: %s is still under way", ErrGrammar, what)
	}
	return nil
}
