package handlers

import (
	"context"
	"net"
)

type connKey struct{}

// WithConn says which connection a request comes in on. It is for the ConnContext of
// an http.Server.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns what WithConn said, or nil.
func connOf(ctx context.Context) net.Conn {
	c, _ := ctx.Value(connKey{}).(net.Conn)
	return c
}
