// This file has the public methods of an Agent: each makes a turn and decides how far it continues.
// The turn itself lies below it.

package agent

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Run answers a request: it is Loop from the first State, or from a paused one, to the last, or
// until calls must wait. stream.Runner describes its result. The Usage of a continued turn includes
// its usage before the pause; its times are new.
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

// fillResult fills in the result of a turn. p is the state of a paused turn, else nil. It is not
// part of Run: that frame would hold a second Result while the turn runs (docs/performance.md).
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

// Opening returns the first model call of a turn, for a caller that asks the model in place of the
// agent. It is false if a tool is on offer, a server is unavailable, or the client has answered
// calls. Then the agent must be asked, as the answer may rest on results of tools.
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

// Waits returns the question about the waiting calls of a State, or nil if no call waits.
func (a *Agent) Waits(ctx context.Context, s State) (*chat.Question, error) {
	if s.IsOver() || !s.hasWaiting() {
		return nil, nil
	}
	t := a.newTurn(ctx, nil)
	t.setState(s)
	t.tools = t.availableTools()
	p, err := t.pausedState()
	if err != nil {
		return nil, err
	}
	return &p.Questions[0], nil
}

// Step continues a turn by one model call and the tools that it asks for; or, if calls have been
// waiting, by those. The caller gives it s. It returns the next State: over, waiting for answers,
// or ready to continue. With an error the State counts for its figures alone.
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

// newTurn begins a turn: its state is still empty. The values in ctx (logger, budget) are looked up
// once.
func (a *Agent) newTurn(ctx context.Context, sink stream.Sink) *turn {
	return &turn{
		agent: a, ctx: ctx, sink: run.Out{Sink: sink}, log: zerolog.Ctx(ctx),
		budget: chat.TurnOf(ctx).Budget,
	}
}

// resumeTurn prepares a turn that continues with s, an earlier State.
func (t *turn) resumeTurn(s State) error {
	t.setState(s)
	if err := t.stopCause(); err != nil {
		return err
	}
	if t.state.hasWaiting() {
		return fmt.Errorf("%d calls still wait for an answer", len(t.state.Waiting()))
	}
	t.tools = t.availableTools()
	return t.stopCause()
}
