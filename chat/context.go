package chat

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// requestIDKey is the key of a request's id in its context.
type requestIDKey struct{}

// WithRequestID returns a context that carries the request's id, so that calls
// to MCP servers and to Gemini can send it on as X-Request-ID.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// NewRequestID returns an id for a request that has none. 48 random bits are enough to
// distinguish the requests in a log, which is all it is for.
func NewRequestID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return "req_" + hex.EncodeToString(b[:])
}

type turnIDKey struct{}

// WithTurnID returns a context that carries the id of a turn that is kept.
func WithTurnID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, turnIDKey{}, id)
}

// TurnID returns the id that WithTurnID put into ctx, or "": the turn is not kept.
func TurnID(ctx context.Context) string {
	id, _ := ctx.Value(turnIDKey{}).(string)
	return id
}

// RequestID returns the id that WithRequestID put into ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
