// This file runs the remaining part of a turn whose process is dead, from the request and the
// states that were saved last.

package task

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// plainRun is the rest of a turn of no workflow. It is a Run.
type plainRun struct {
	*savedTurn
	turns   Turns
	request *chat.Request
	items   int            // of the list that was read
	before  []stream.Event // those of the log, and what TakeOver has added
	lacks   []stream.Event // the latter
	frame   *stream.Frame  // nil: not prepared
	lost    error          // why it cannot continue; nil: it can

	continues bool   // the model continues the text of an incomplete answer
	shownText string // this text, or all text of a team
}

// readLog takes the events of the log. The model continues their text if no reader can be shown that
// it does not count, or if it is configured so. A structured answer, the texts of several agents and
// that of a remote one do not continue.
func (r *plainRun) readLog(kept stored) {
	var speaker *stream.Delta
	several := false
	for _, logged := range kept.logged {
		switch e := logged.Event.(type) {
		case *stream.Delta:
			several = several || speaker != nil && e.AgentID != speaker.AgentID
			speaker = e
		case *stream.AgentRun:
			several = several || e.Remote && e.Role != stream.RoleDelegate
		}
		r.before = append(r.before, logged.Event)
	}
	if speaker != nil && !several && r.lost == nil && len(r.states[chat.SavedDelivery]) == 0 && r.request.Answer == nil {
		r.continues = !r.retracts || len(r.seams) < chat.MaxSeams && r.turns.ContinuesText(r.request, speaker.AgentID)
	}
}

// TakeOver implements Run: it retracts text of an incomplete answer, and ends the calls and runs of
// delegates, since these begin again.
func (r *plainRun) TakeOver(emitted []stream.Event) []stream.Event {
	said := stream.Fold{Only: stream.Answer | stream.Agents | stream.Tools}
	for _, ev := range emitted {
		said.Add(ev)
	}
	var lacks []stream.Event
	for _, run := range slices.Backward(said.Runs) {
		if run.Success != nil || run.Role != stream.RoleDelegate {
			continue
		}
		for _, c := range said.Calls {
			if c.SessionID == run.SessionID && c.Outcome == "" {
				lacks = append(lacks, &stream.ToolUnknown{Call: c.Call, Message: "The outcome of this call is not known"})
			}
		}
		lacks = append(lacks, endOfAgentRun(run, fault.From(cancelledFault()), run.Began))
	}
	switch text := said.Text(); {
	case r.continues && r.ofSeveral():
		r.shownText = text
	case len(text) <= r.text || r.text > 0 && r.ofSeveral():
	case r.continues:
		r.shownText = text[r.text:]
	default:
		lacks = append(lacks, &stream.Reset{Accumulated: text[:r.text], Reason: stream.ResetTakenOver, Runes: utf8.RuneCountInString(text[r.text:])})
	}
	r.before = append(emitted, lacks...)
	return lacks
}

// ofSeveral reports whether the turn saved several parts, each by itself. Then only the runner of
// the rest knows which text to retract, unless no text was sent before the last save. If the answer
// is held back, no text is sent before its end.
func (r *plainRun) ofSeveral() bool {
	return len(r.states) > 0 && len(r.states[""]) == 0 && len(r.states[chat.SavedDelivery]) == 0
}

// TimeOut implements Run: a plain turn does not wait for a person.
func (*plainRun) TimeOut(time.Time) {}

// Unseen implements Run.
func (r *plainRun) Unseen() bool { return len(r.states) == 0 }

// checkContinuable returns why a turn with this log cannot continue, or nil. silent is the time
// since its last event.
func (r *plainRun) checkContinuable(kept stored, silent time.Duration) error {
	switch {
	case r.lost != nil:
		return r.lost
	case r.claims >= maxClaims:
		return fmt.Errorf("%w: %d processes have ended with it", errSaved, r.claims)
	case silent > maxSilence:
		return fmt.Errorf("%w: it has been silent for %s", errSaved, silent.Round(time.Second))
	case len(kept.logged) == 0 && !r.Unseen():
		return fmt.Errorf("%w: its log is gone", errSaved)
	}
	said := stream.Fold{}
	for _, logged := range kept.logged {
		said.Add(logged.Event)
	}
	switch {
	case said.Size < r.text && !r.ofSeveral():
		return fmt.Errorf("%w: its log lacks text", errSaved)
	case (said.Size > r.text || said.Size > 0 && r.ofSeveral()) && !r.retracts && !r.continues:
		return fmt.Errorf("%w: who reads it cannot be shown that text does not count any more", errSaved)
	case said.Size > r.text && !r.continues && countResets(kept) >= stream.MaxResets:
		return fmt.Errorf("%w: its answer was begun again too often", errSaved)
	}
	return nil
}

// countResets returns how often text was taken back.
func countResets(kept stored) (n int) {
	for _, logged := range kept.logged {
		if _, ok := logged.Event.(*stream.Reset); ok {
			n++
		}
	}
	return n
}

// Frame implements Run.
func (r *plainRun) Frame(context.Context, string, string) (*stream.Frame, *chat.Request) {
	whole := *r.frame
	said := stream.Fold{Only: stream.Answer}
	for _, ev := range r.before {
		said.Add(ev)
	}
	whole.Accumulated, whole.Seams, whole.Runner = said.Text(), r.seams, remainingRunner{r.frame.Runner, r.before}
	return &whole, r.request
}

// remainingRunner runs the rest of a turn, and leaves out the events that the turn has emitted
// already.
type remainingRunner struct {
	stream.Runner
	before []stream.Event
}

// Run implements stream.Runner.
func (o remainingRunner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	k := &repeatFilter{Sink: sink, calls: map[string]bool{}, agents: map[string]bool{}}
	for _, ev := range o.before {
		k.trackEvent(ev)
	}
	result, err := o.Runner.Run(ctx, req, k)
	result.Usage.Estimated = true // the usage of the previous process since its last saved state is unknown
	return result, err
}

// repeatFilter is a sink that leaves out the begin and the end of what its turn has begun or ended.
type repeatFilter struct {
	stream.Sink
	route  bool
	parts  int             // of an answer in the form of its channel
	calls  map[string]bool // by id: whether they have ended
	agents map[string]bool // by id: whether they have ended
}

// trackEvent records an event. It reports whether the event is new.
func (k *repeatFilter) trackEvent(ev stream.Event) bool {
	switch e := ev.(type) {
	case *stream.Route:
		before := k.route
		k.route = true
		return !before
	case *stream.ToolStarted:
		_, before := k.calls[e.ID]
		if !before {
			k.calls[e.ID] = false
		}
		return !before
	case *stream.ChannelMessage:
		before := k.parts
		k.parts = max(before, e.Sequence)
		return e.Sequence > before
	case *stream.AgentRun:
		return e.Role == stream.RoleDelegate || k.trackAgent(e)
	}
	if end, ok := ev.(stream.ToolEnd); ok {
		id := end.End().Call.ID
		before := k.calls[id]
		k.calls[id] = true
		return !before
	}
	return true
}

// trackAgent does the same for an event of an agent.
func (k *repeatFilter) trackAgent(e *stream.AgentRun) bool {
	over, begun := k.agents[e.AgentID]
	switch {
	case over:
		return false
	case e.Status == stream.AgentStarted:
		if !begun {
			k.agents[e.AgentID] = false
		}
		return !begun
	case e.Success != nil:
		k.agents[e.AgentID] = true
	}
	return true
}

// Emit implements stream.Sink.
func (k *repeatFilter) Emit(ev stream.Event) error {
	if !k.trackEvent(ev) {
		return nil
	}
	return k.Sink.Emit(ev)
}

// prepareTurn makes the frame of the turn, or returns why the turn cannot continue here.
func (r *plainRun) prepareTurn(t *Turn) (err error) {
	r.lacks = r.TakeOver(r.before)
	req := r.request
	req.Task, req.Turn, req.Facts.Retracts = t.task, t.id, r.retracts
	req.Facts.ShownText, req.Facts.Seams = r.shownText, new(chat.Seams)
	for range r.seams {
		req.Facts.Seams.Claim()
	}
	r.frame, err = r.turns.Continue(req, r.states, r.before)
	return err
}

// How far a turn is followed: so many processes may fail with it one after the other, and so long
// it may have been silent.
const (
	maxClaims  = 5
	maxSilence = 10 * time.Minute
)
