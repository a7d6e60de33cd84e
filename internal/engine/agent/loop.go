// This file is the loop of a turn: a model call, then the calls of tools that it asks for, until the
// turn is over or somebody must answer.

package agent

import (
	"slices"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// runLoop continues until the turn is over or a call waits for an answer from outside. Every step
// leaves a state that can be saved and continued.
func (t *turn) runLoop() error {
	for !t.state.IsOver() && !t.state.isStopped() {
		if err := t.makeStep(); err != nil {
			return err
		}
	}
	return nil
}

// makeStep makes the next step. The last step has no tools.
func (t *turn) makeStep() error {
	if t.state.IsOver() {
		return nil
	}
	if len(t.state.Open) > 0 {
		return t.runAnswered()
	}
	spent := t.budget != nil && t.budget.Reached(t.state.Usage)
	last := t.prepareRequest(spent)
	finish, err := t.askModel(&t.request)
	if err != nil {
		return err
	}
	if spent {
		finish = chat.FinishMaxTokens
	}
	if len(t.step.calls) == 0 || last {
		t.state.Reason = reasonOf(finish, t.request.NoTools || len(t.step.calls) > 0)
		return nil
	}
	return t.runTools()
}

// lastTokens is how long the answer may be that ends a turn whose budget is spent.
const lastTokens = 1024

// prepareRequest makes the request of the next step, and reports whether that step is the last one.
// spent is true if the turn's budget is. The request is made in a frame of its own, so that the
// frame is gone while the turn waits for the model.
func (t *turn) prepareRequest(spent bool) (last bool) {
	t.state.Steps++
	req := &t.request
	*req = chat.ModelRequest{System: t.state.System, Messages: t.state.Messages, Tools: t.tools, Step: t.state.Steps, Answered: t.state.Answered,
		Temperature: t.agent.cfg.Temperature, MaxTokens: t.agent.cfg.MaxTokens, Of: t.req, Agent: t.agent.cfg.Origin}
	if t.req.App != nil {
		applyOptions(req, t.req.App)
	}
	t.allowRepair(spent)
	if spent {
		req.MaxTokens = lastTokens
	}
	if last = spent || t.state.Steps >= t.agent.cfg.MaxSteps; last && len(t.tools.Specs) > 0 {
		req.NoTools = true
		req.Messages = append(slices.Clip(req.Messages), lastStepMessage)
	}
	return last
}

// allowRepair says how the answer may go on if its call fails behind a text, and with which text of
// another process it begins. The request of a spent budget is not repaired by another call.
func (t *turn) allowRepair(spent bool) {
	req, f := &t.request, &t.req.Facts
	req.Retracts, req.Held = f.Retracts, f.Held != nil && f.Held()
	if !spent {
		req.Seams = f.Seams
	}
	req.ShownText, t.shownText = t.shownText, ""
}

// lastStepMessage has the note of the last step. The State does not have it: it belongs to the
// call alone.
var lastStepMessage = chat.Closing(lastStepNote)

// reasonOf returns why a turn ended well. limited says that the model might have
// gone on, had it had more steps.
func reasonOf(f chat.Finish, limited bool) stream.FinishReason {
	switch {
	case f == chat.FinishMaxTokens:
		return stream.MaxTokens
	case limited:
		return stream.MaxSteps
	}
	return stream.Stop
}
