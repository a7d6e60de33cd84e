package approval

import (
	"context"
	"fmt"
	"strconv"

	"sluice/internal/turn/chat"
)

// makeDecisions makes the decisions of an answer: one for each call, and no other. The error is a
// *chat.ValidationError that names every fault, and uses nothing up.
func (s *Service) makeDecisions(ctx context.Context, r *record, a *chat.Answer) ([]chat.Decision, error) {
	if r.Kind == chat.AskHuman {
		return s.decideHuman(r, a)
	}
	d := deciding{service: s, ctx: ctx, record: r, faults: new(chat.ValidationError), seen: map[string]bool{}}
	if r.onlyFor(a, d.faults); len(d.faults.Fields) == 0 {
		if a.Action != "" {
			d.forAll(a)
		} else {
			d.oneByOne(a)
		}
	}
	if len(d.faults.Fields) > 0 {
		return nil, d.faults
	}
	return d.decisions, nil
}

// deciding reads one answer about calls.
type deciding struct {
	service *Service
	ctx     context.Context
	record  *record
	faults  *chat.ValidationError

	decisions []chat.Decision
	seen      map[string]bool // ids of calls that were decided
}

// asksOutcome reports whether it is asked what became of calls, rather than whether they may run.
func (d *deciding) asksOutcome() bool { return d.record.Kind == chat.AskOutcome }

func (d *deciding) addFault(pointer string, code, message string) {
	d.faults.Add(pointer, &chat.FieldError{Code: code, Message: message})
}

// forAll takes one decision for all calls. A member that belongs to one call is refused for
// several.
func (d *deciding) forAll(a *chat.Answer) {
	several := len(d.record.Calls) > 1
	switch {
	case a.Action != chat.Modify:
	case d.asksOutcome() && (a.Result == "" || several):
		d.addFault(a.At+"/result", chat.CodeRequired, "must say what each call came to")
		return
	case !d.asksOutcome() && (a.Arguments == nil || several):
		d.addFault(a.At+"/calls", chat.CodeRequired, "must give each call its arguments")
		return
	}
	for i := range d.record.Calls {
		c := &d.record.Calls[i]
		d.acceptDecision(c, a.At, chat.CallAnswer{CallID: c.ID, Action: a.Action, Arguments: a.Arguments, Message: a.Message, Result: a.Result})
	}
}

// oneByOne takes a decision for each call.
func (d *deciding) oneByOne(a *chat.Answer) {
	for i, given := range a.Calls {
		at := a.At + "/calls/" + strconv.Itoa(i)
		switch call := d.record.recordedCallOf(given.CallID); {
		case call == nil:
			d.addFault(at+"/call_id", chat.CodeUnknownValue, "names no call that waits")
		case d.seen[given.CallID]:
			d.addFault(at+"/call_id", chat.CodeDuplicateKey, "is decided twice")
		case given.Tool != "" && given.Tool != call.Tool: // who means another tool has not allowed this one
			d.seen[given.CallID] = true
			d.addFault(at+"/tool_name", chat.CodeNotAllowed, "is not the tool that was asked about, which cannot be changed")
		default:
			d.seen[given.CallID] = true
			d.acceptDecision(call, at, given)
		}
	}
	if missing := len(d.record.Calls) - len(d.seen); missing > 0 {
		d.addFault(a.At+"/calls", chat.CodeRequired, fmt.Sprintf("must decide each call; undecided: %d", missing))
	}
}

// acceptDecision reads the decision about a call, whose members stand at a place of the answer.
func (d *deciding) acceptDecision(call *recordedCall, at string, given chat.CallAnswer) {
	switch {
	case given.Action != chat.Modify:
	case d.asksOutcome():
		if given.Result == "" {
			d.addFault(at+"/result", chat.CodeRequired, "is required")
		}
	case given.Arguments == nil:
		d.addFault(at+"/arguments", chat.CodeRequired, "is required to modify a call")
	case d.service.cfg.Problems != nil:
		for _, p := range d.service.cfg.Problems(d.ctx, call.Tool, given.Arguments) {
			d.addFault(at+"/arguments"+p.Pointer, chat.CodeInvalidFormat, p.Rule)
		}
	}
	d.decisions = append(d.decisions, chat.Decision{
		CallID: given.CallID, Action: given.Action, Arguments: given.Arguments, Message: given.Message, Result: given.Result, Fingerprint: call.Print,
	})
}
