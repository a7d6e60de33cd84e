// This file is what an Agent does when it is asked: each method makes a turn and says how far it
// continues. The turn itself lies below it.

package agent

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Run answers a request: it is Loop from the first State, or from the one that was
// paused, to the last, or until calls must wait. See stream.Runner for what it returns.
// The Usage of a turn that continues holds what it has spent before; times are its own.
func (a *Agent) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (result stream.Result, err error) {
	t := a.newTurn(ctx, sink)
	err = t.enterTurn(req)
	if req.Resumed == nil || !req.Resumed.TakenOver {
		t.before.model, t.before.tools = len(t.state.Model), len(t.state.Tools)
	}
	var p *chat.Paused
	if err == nil {
		p, err = t.runUntilPaused()
	}
	t.fillResult(&result, p, req.Record)
	return result, err
}

// fillResult fills in the result of a turn, which was paused with p unless that is nil. It
// is not part of Run, whose frame would otherwise hold a second Result while the turn runs: see
// docs/performance.md about the stack of an open stream.
func (t *turn) fillResult(result *stream.Result, p *chat.Paused, made bool) {
	*result = t.state.resultSoFar()
	result.Model, result.Tools = result.Model[t.before.model:], result.Tools[t.before.tools:]
	result.Keyed, result.Required = t.agent.cfg.Keyed, t.required
	if made {
		result.TurnMessages = t.addedMessages()
	}
	if p != nil {
		result.Reason, result.Paused = stream.ApprovalRequired, p
	}
}

// Begin returns the State of a turn that has not asked the model yet, or of the one that
// req.Resumed continues with. It reports which tools cannot be used.
func (a *Agent) Begin(ctx context.Context, req *chat.Request, sink stream.Sink) (State, error) {
	t := a.newTurn(ctx, sink)
	err := t.enterTurn(req)
	return t.state, err
}

// Opening returns what a turn would ask the model first, for who asks in place of the agent. It is
// false if any tool is on offer, one's server is unavailable, or the client has answered calls: then
// the agent must be asked, as the answer may rest on what tools say.
func (a *Agent) Opening(ctx context.Context, req *chat.Request) (*chat.ModelRequest, bool) {
	if req.App != nil && len(req.App.Continues) > 0 {
		return nil, false
	}
	t := a.newTurn(ctx, nil)
	t.req, t.state.Access = req, req.Tools
	t.tools = t.availableTools()
	if len(t.tools.Specs) > 0 || len(t.tools.Unavailable) > 0 {
		return nil, false
	}
	t.makePrompt(req)
	t.prepareRequest(false)
	return &t.request, true
}

// Waits returns what is asked about the calls of a State that wait; nil: none does.
func (a *Agent) Waits(ctx context.Context, s State) (*chat.Question, error) {
	if s.IsOver() || !s.hasWaiting() {
		return nil, nil
	}
	t := a.newTurn(ctx, nil)
	t.takeState(s)
	t.tools = t.availableTools()
	p, err := t.pausedState()
	if err != nil {
		return nil, err
	}
	return &p.Questions[0], nil
}

// Step continues a turn by one model call and the tools that it asks for; or, if
// calls have been waiting, by those. It takes over s and returns the State after
// it, which is over, waits for answers, or continues. With an error the State counts for its
// figures alone.
func (a *Agent) Step(ctx context.Context, s State, sink stream.Sink) (State, error) {
	t := a.newTurn(ctx, sink)
	err := t.resumeTurn(s)
	if err == nil {
		err = t.makeStep()
	}
	return t.state, err
}

// Loop continues a turn until it is over or waits for answers.
func (a *Agent) Loop(ctx context.Context, s State, sink stream.Sink) (State, error) {
	t := a.newTurn(ctx, sink)
	err := t.resumeTurn(s)
	if err == nil {
		err = t.runLoop()
	}
	return t.state, err
}

// newTurn begins a turn: its state is still empty. What ctx carries (logger, budget) is
// looked up once.
func (a *Agent) newTurn(ctx context.Context, sink stream.Sink) *turn {
	return &turn{
		agent: a, ctx: ctx, sink: run.Out{Sink: sink}, log: zerolog.Ctx(ctx),
		budget: chat.TurnOf(ctx).Budget,
	}
}

// resumeTurn prepares a turn that continues with s, an earlier State.
func (t *turn) resumeTurn(s State) error {
	t.takeState(s)
	if err := t.stopCause(); err != nil {
		return err
	}
	if t.state.hasWaiting() {
		return fmt.Errorf("%d calls still wait for an answer", len(t.state.Waiting()))
	}
	t.tools = t.availableTools()
	return t.stopCause()
}
