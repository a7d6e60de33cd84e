package model

import (
	"context"
	"sync/atomic"

	"sluice/chat"
	"sluice/stream"
)

// TurnBudget is how many tokens the calls of a turn may take, of all agents, structured
// answers and fallbacks together. It does not stop a call: who makes calls asks
// whether it is reached, and ends. A nil *TurnBudget has no bound. It is safe for concurrent
// use.
type TurnBudget struct {
	tokens int64
	spent  atomic.Int64
}

// NewTurnBudget returns a budget of so many tokens, input, output and thinking; 0 is none:
// nil.
func NewTurnBudget(tokens int) *TurnBudget {
	if tokens == 0 {
		return nil
	}
	return &TurnBudget{tokens: int64(tokens)}
}

// Spend counts what a call took.
func (b *TurnBudget) Spend(u chat.Usage) {
	if b != nil {
		b.spent.Add(tokensOf(u))
	}
}

// Reached says whether nothing is left. A turn that was continued elsewhere has spent
// own, all of which need not have been counted here.
func (b *TurnBudget) Reached(own chat.Usage) bool {
	return b != nil && max(b.spent.Load(), tokensOf(own)) >= b.tokens
}

// tokensOf is what counts: cached tokens are part of the input already.
func tokensOf(u chat.Usage) int64 {
	return int64(u.InputTokens) + int64(u.OutputTokens) + int64(u.ThinkingTokens)
}

// budgetKey is the key of a turn's budget in its context.
type budgetKey struct{}

// WithTurnBudget returns a context whose calls share b.
func WithTurnBudget(ctx context.Context, b *TurnBudget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// TurnBudgetOf returns the budget of ctx, or nil.
func TurnBudgetOf(ctx context.Context) *TurnBudget {
	b, _ := ctx.Value(budgetKey{}).(*TurnBudget)
	return b
}

// Budgeted is a Runner whose turns have a budget each, unless they run within a turn that
// has one: they share that. A turn that goes on has spent what it had spent before.
type Budgeted struct {
	stream.Runner
	Tokens int // 0: none
}

// Run implements stream.Runner.
func (r Budgeted) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	if b := NewTurnBudget(r.Tokens); b != nil && TurnBudgetOf(ctx) == nil {
		if req.Resumed != nil {
			b.Spend(req.Resumed.Usage)
		}
		ctx = WithTurnBudget(ctx, b)
	}
	return r.Runner.Run(ctx, req, sink)
}
