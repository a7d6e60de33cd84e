package handlers

import (
	"context"
	"net"
	"net/http"
)

// connKey is the key of a connection in the context of its requests.
type connKey struct{}

// WithConn returns a context that carries the connection of the requests that come
// with it: for http.Server.ConnContext. Without it, an HTTP/1.0 client cannot be
// shown that its stream broke.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns what WithConn said, or nil.
func connOf(ctx context.Context) net.Conn {
	c, _ := ctx.Value(connKey{}).(net.Conn)
	return c
}

// abort ends a reply so that its client sees that it is not whole. It does not
// return: net/http closes the connection. Over HTTP/1.1 the last chunk is missing
// then, and over HTTP/2 the stream is reset. The end of an HTTP/1.0 reply is that of
// the connection, so that one is reset.
func abort(r *http.Request) {
	if !r.ProtoAtLeast(1, 1) {
		resetOnClose(r.Context())
	}
	panic(http.ErrAbortHandler)
}

// resetOnClose makes the close of a request's connection a reset. What wraps it, as
// TLS and limits do, lets through either SetLinger or NetConn.
func resetOnClose(ctx context.Context) {
	c := connOf(ctx)
	for c != nil {
		if tcp, ok := c.(interface{ SetLinger(sec int) error }); ok {
			_ = tcp.SetLinger(0) // it is being closed anyway
			return
		}
		inner, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return
		}
		c = inner.NetConn()
	}
}
