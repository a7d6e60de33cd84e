package dialect

import (
	"context"

	"sluice/chat"
)

type principalKey struct{}

// WithPrincipal returns a context that knows who sent a request.
func WithPrincipal(ctx context.Context, who chat.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, who)
}

// PrincipalOf returns who sent the request with this context: for what an Open answers at
// once. A turn's Request has it anyway.
func PrincipalOf(ctx context.Context) chat.Principal {
	who, _ := ctx.Value(principalKey{}).(chat.Principal)
	return who
}
