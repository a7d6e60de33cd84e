package stream

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// Runner answers one request. It emits the events between Start and Done, without these two. So a
// Runner can run others within its own turn, and pass their events on.
type Runner interface {
	// Run emits events until the answer is complete, and returns the outcome. It calls Flush before
	// it waits for anything. An error ends the turn: the first error of sink as it is, else the
	// cause (a *fault.Error, or a bug). Of the Result only the figures then count. Run returns soon
	// after ctx has ended, and all that it started has ended when it returns.
	Run(ctx context.Context, req *chat.Request, sink Sink) (Result, error)
}

// Result is the outcome of a Runner: the content of Done that no event has reported.
type Result struct {
	Reason       FinishReason
	Usage        chat.Usage
	Model        []time.Duration     // of each model call, in order, retries included
	Tools        []ToolTiming        // in order of the events that closed the calls
	Models       []string            // as in Done
	Keyed        bool                // as in Done
	Agents       []AgentOutcome      // of a team, in the order of their answers
	Route        time.Duration       // of the decision who answers
	Asker        string              // as in Done
	TurnMessages []chat.TurnMessages // what agents did, in their order, if the request asked for it
	// Paused is the state of the paused turn, if Reason is ApprovalRequired.
	Paused *chat.Paused
	// Required are the calls that the client must run, if Reason is ClientTools. The Frame emits
	// them, after all other events. nil without such calls.
	Required *Required
	// StoreAnswer is set by a Runner that stores its answer, if its request holds the answer back
	// (Held). It is called once, before the answer is sent, with the text that will be sent. The
	// text is empty if no answer will be sent.
	StoreAnswer func(sent string) error
	*Checks     // of an answer that was checked or formatted; nil: it was not
}

// Required are calls that the client must run. They are behind a pointer: each runner around
// another one has a copy of the Result on the stack of the open stream.
type Required struct{ Calls []Call }

// Checks holds the part of a Result that a checked or formatted answer adds.
type Checks struct {
	Quality *Receipt       // as in Done
	Channel *Formatted     // as in Done
	Checked jsontext.Value // as in Done
	// Markdown is the answer as its author wrote it, if the events have reported it in the form of
	// a channel. Empty if nothing of it was sent.
	Markdown string
}

// doneEvent returns the event of a turn that ended well.
func (r *Result) doneEvent() *Done {
	d := &Done{
		Reason: r.Reason, Usage: r.Usage, Model: r.Model, Tools: r.Tools,
		Models: r.Models, Keyed: r.Keyed, Agents: r.Agents, Route: r.Route, Asker: r.Asker,
	}
	if c := r.Checks; c != nil {
		d.Quality, d.Channel, d.Checked = c.Quality, c.Channel, c.Checked
	}
	return d
}
