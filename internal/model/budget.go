package model

import (
	"context"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Budgeted is a Runner whose turns have a budget each, unless they run within a turn that has one:
// they share that. A continued turn begins with the tokens that it has already spent.
type Budgeted struct {
	stream.Runner
	Tokens int // 0: none
}

// Run implements stream.Runner.
func (r Budgeted) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	if r.Tokens == 0 {
		return r.Runner.Run(ctx, req, sink)
	}
	if turn := chat.TurnOf(ctx); turn.Budget == nil {
		turn.Budget = chat.NewTokenBudget(r.Tokens)
		if req.Resumed != nil {
			turn.Budget.Spend(req.Resumed.Usage)
		}
		ctx = chat.WithTurn(ctx, turn)
	}
	return r.Runner.Run(ctx, req, sink)
}
