package chat

import "context"

// Caller is whom a turn is run for, as what its tools are told of it.
type Caller struct {
	Tenant string // empty: there is only one
	// User is the request's user; empty: nobody in particular.
	User string
	// Key tells users apart whom the gateway knows by more than their name; empty iff the
	// user is nobody in particular.
	Key string
}

// Caller returns whom the request is for.
func (r *Request) Caller() Caller {
	c := Caller{Tenant: r.Principal.Tenant, User: r.UserID, Key: r.UserID}
	if id := r.Principal.ID; id != "" {
		c.Key = id + "\x00" + r.UserID
		if c.User == "" {
			c.User = id
		}
	}
	return c
}

// callerKey is the key of a caller in a context.
type callerKey struct{}

// WithCaller returns a context whose tools are called for c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns what WithCaller put into ctx, or nobody.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
