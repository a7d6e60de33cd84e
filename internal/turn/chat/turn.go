package chat

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
	"time"
)

// Turn holds the facts of a turn for code that gets no Request: in tools, in model calls, and
// before there is a request. A context has no other facts of a turn, besides its logger, its span
// and its end. Other facts belong to the Request.
//
// A change makes a copy, so an inner turn sees the changes that were made for it only.
type Turn struct {
	// RequestID is set where a request comes in. Calls to MCP servers and to models send it on
	// as X-Request-ID, and replies and logs name it.
	RequestID string
	// Began is when the request came in, set with RequestID; zero: not known. Ids of calls are made
	// of both. For a turn that continues without a request it is the time when it
	// continued.
	Began time.Time
	// Principal is the sender of the request, set at admission, for replies that a dialect makes at
	// once. A turn's Request has it anyway.
	Principal Principal
	// Caller is the user for whom tools are called, set by the gateway if a server or the cache of
	// results needs it. Read by mcpclient and toolcache.
	Caller Caller
	// Budget limits the tokens of all model calls of the turn, structured answers and fallbacks
	// included; nil without a limit. Set by model.Budgeted, read by all that make such calls.
	Budget *TokenBudget
	// Admission is charged for the usage of the turn; nil if no limit counts it. Set by the
	// code that serves the turn, read by the code that limits calls of models.
	Admission Admission
	// Charge charges a request for a dialect.Use; nil: nothing is charged that way. Set by handlers,
	// read by dialect.ChargeFor.
	Charge func(use uint8) error
}

// Admission is charged for the usage of a turn.
type Admission interface {
	// Tokens charges the tokens of a model call.
	Tokens(n int)
}

// turnKey is the key of a *Turn in a context.
type turnKey struct{}

// WithTurn returns a context with the facts t of its turn.
func WithTurn(ctx context.Context, t Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, &t)
}

// TurnOf returns the facts that WithTurn put into ctx, or a zero Turn.
func TurnOf(ctx context.Context) Turn {
	if t, ok := ctx.Value(turnKey{}).(*Turn); ok {
		return *t
	}
	return Turn{}
}

// WithRequestID returns a context that carries the request's id.
func WithRequestID(ctx context.Context, id string) context.Context {
	t := TurnOf(ctx)
	t.RequestID = id
	return WithTurn(ctx, t)
}

// turnID identifies a turn within this process.
type turnID struct {
	requestID string
	began     time.Time
}

// TurnKeyOf returns a comparable value that identifies the turn of ctx within this process, or nil
// outside a turn. The request's id alone is not enough: a client may send the same one with each
// request.
func TurnKeyOf(ctx context.Context) any {
	t := TurnOf(ctx)
	if t.Began.IsZero() {
		return nil
	}
	return turnID{t.RequestID, t.Began}
}

// RequestID returns the id that WithRequestID put into ctx, or "".
func RequestID(ctx context.Context) string { return TurnOf(ctx).RequestID }

// NewRequestID returns an id for a request without one. 48 random bits are enough, because the id
// only distinguishes the requests in a log.
func NewRequestID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return "req_" + hex.EncodeToString(b[:])
}

// TokenBudget is the number of tokens that the calls of a turn may use. It does not stop a call:
// code that makes calls checks Reached and ends. A nil *TokenBudget is without a limit. It is safe
// for concurrent use.
type TokenBudget struct {
	tokens int64
	spent  atomic.Int64
}

// NewTokenBudget returns a budget of so many tokens for input, output and thinking; 0 returns nil,
// without a limit.
func NewTokenBudget(tokens int) *TokenBudget {
	if tokens == 0 {
		return nil
	}
	return &TokenBudget{tokens: int64(tokens)}
}

// Spend counts the usage of a call.
func (b *TokenBudget) Spend(u Usage) {
	if b != nil {
		b.spent.Add(tokensOf(u))
	}
}

// Reached reports whether nothing is left. A turn that was continued elsewhere has spent own, all
// of which need not have been counted here.
func (b *TokenBudget) Reached(own Usage) bool {
	return b != nil && max(b.spent.Load(), tokensOf(own)) >= b.tokens
}

// tokensOf is what counts: cached tokens are part of the input already.
func tokensOf(u Usage) int64 {
	return int64(u.InputTokens) + int64(u.OutputTokens) + int64(u.ThinkingTokens)
}
