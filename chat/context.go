package chat

import "context"

// requestIDKey is the key of a request's id in its context.
type requestIDKey struct{}

// WithRequestID returns a context that carries the request's id, so that calls
// to MCP servers and to Gemini can send it on as X-Request-ID.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id that WithRequestID put into ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
