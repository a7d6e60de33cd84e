package handlers

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Conn is the connection of a request, as its server knows it.
type Conn struct {
	// Conn is used to show an HTTP/1.0 client that its stream broke; nil: that is not possible.
	Conn net.Conn
	// Place is the connection's place; nil: there always is room.
	Place Place
}

// connKey is the key of a *Conn in the context of its requests.
type connKey struct{}

// WithConn returns a context that carries the connection of the requests that come
// with it: for http.Server.ConnContext.
func WithConn(ctx context.Context, c Conn) context.Context {
	if c.Place == nil {
		c.Place = anyPlace{}
	}
	return context.WithValue(ctx, connKey{}, &c)
}

// connOf returns the connection that WithConn has set.
func connOf(ctx context.Context) *Conn {
	if c, ok := ctx.Value(connKey{}).(*Conn); ok {
		return c
	}
	return &Conn{Place: anyPlace{}}
}

// placeOf returns the place of a request's connection, or one that does nothing.
func placeOf(r *http.Request) Place { return connOf(r.Context()).Place }

// abortReply ends a reply so that its client sees that it is not whole. It does not
// return: net/http closes the connection. Over HTTP/1.1 the last chunk is missing
// then, and over HTTP/2 the stream is reset. The end of an HTTP/1.0 reply is that of
// the connection, so that one is reset.
func abortReply(r *http.Request) {
	resetHTTP10(r)
	panic(http.ErrAbortHandler)
}

// breakReply ends the reply of a request that is still being served, so that its client sees that
// it is not whole: over HTTP/2 a deadline that is over resets the stream, and else the connection
// is closed.
func breakReply(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
		return
	}
	resetHTTP10(r)
	if c := connOf(r.Context()).Conn; c != nil {
		_ = c.Close()
	}
}

// resetHTTP10 ends the connection of an HTTP/1.0 client. TLS would say goodbye first, after which
// its client takes the reply for whole: the connection below it is closed at once.
func resetHTTP10(r *http.Request) {
	if r.ProtoAtLeast(1, 1) {
		return
	}
	closeResets(r, true)
	if c := connOf(r.Context()).Conn; innermostConn(c) != c {
		_ = innermostConn(c).Close()
	}
}

// closeResets makes a close of an HTTP/1.0 client's connection a reset, or no longer. The caller
// turns it on from the beginning of a reply until the last byte, since net/http itself closes a
// connection when a write fails.
func closeResets(r *http.Request, on bool) {
	if r.ProtoAtLeast(1, 1) {
		return
	}
	linger := -1
	if on {
		linger = 0
	}
	if tcp, ok := innermostConn(connOf(r.Context()).Conn).(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(linger)
	}
}

// innermostConn returns the connection that c wraps, as TLS does.
func innermostConn(c net.Conn) net.Conn {
	for {
		outer, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = outer.NetConn()
	}
}

// lazyDeadline reports whether a write deadline that passes while nothing is written does no harm,
// so that it need not be cleared. TLS writes by itself, to answer a client that changes its key,
// and is of no use after a write that failed.
func lazyDeadline(r *http.Request) bool { return r.ProtoMajor == 1 && r.TLS == nil }
