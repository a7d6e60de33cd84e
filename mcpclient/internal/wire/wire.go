// Package wire speaks to one MCP server: over HTTP, over the pipes of a child process, or by calls
// to a server in this process. It makes mcp-go's transports. Layers above and below them detect
// whether a request was sent, limit the bytes that are read, and never wait longer than a context
// allows.
//
// A caller makes a transport with [HTTP], [SSE], [Child] or [InProcess], and gives it to mcp-go's
// client. Then it calls that client with a context that carries an [Exchange]: [NewCall] for a tool
// call, [NewList] for a list of tools. When the client returns, the exchange holds the server's
// answer, as it was sent. The error shows whether the server may have seen the request:
//
//   - [NotSent], [ErrExpired]: it was not carried out, and may be sent again.
//   - [HTTPStatusError]: the server, or a proxy, refused it.
//   - [BrokeOff], whatever it wraps: the server has it, and the answer is lost.
//   - [ErrTooLarge], [errWrongID]: there was an answer, which is of no use.
//   - [ErrClosed] alone: the session was shut while the answer was waited for.
//   - the error of the context: [Exchange.Withdraw] says which of the above holds.
//
// The caller decides the use of sessions, their replacement, and the meaning of an answer for a
// turn.
package wire

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/server"
)

// Session is the part of a session that its transport needs. All fields are needed. The session
// ends the transport with Close, after it has closed Closed.
type Session struct {
	// Group owns the goroutines of the transport.
	Group *Group
	// Closed is closed when the session is closed. Calls under way then return ErrClosed.
	Closed <-chan struct{}
	// Lost is called when the transport finds its connection dead, from a goroutine of
	// its own, and perhaps more than once. It must not block.
	Lost func(error)
	// Dead is closed once Lost was called.
	Dead <-chan struct{}
}

// HTTP returns the transport of a streamable HTTP server. c is made by
// [Client.HTTP].
func HTTP(s Session, url string, c *http.Client) (transport.Interface, error) {
	conn, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(c), transport.WithHTTPLogger(silentLogger()))
	if err != nil {
		return nil, err
	}
	return s.withInterceptor(&interceptor{Interface: conn}), nil
}

// SSE returns the transport of a server of protocol 2024-11-05, which sends answers over a GET
// stream. endpoint limits the wait for the stream's first event, which names the address to post
// to.
func SSE(s Session, url string, c *http.Client, endpoint time.Duration) (transport.Interface, error) {
	// The response timeout is out of the way: the context's is the one that counts.
	conn, err := transport.NewSSE(url, transport.WithHTTPClient(c), transport.WithSSELogger(silentLogger()),
		transport.WithEndpointTimeout(endpoint), transport.WithResponseTimeout(24*time.Hour))
	if err != nil {
		return nil, err
	}
	conn.SetConnectionLostHandler(func(err error) { s.Lost(&cutError{err}) })
	return s.withInterceptor(&interceptor{Interface: conn, cut: s.Dead}), nil
}

// InProcess returns the transport of a server in this process.
func InProcess(s Session, server *server.MCPServer) transport.Interface {
	return s.withInterceptor(&interceptor{Interface: transport.NewInProcessTransport(server), local: true})
}

// Child starts c and returns the transport over its pipes. stuck is how long one
// write may take before the child is given up.
func Child(s Session, c Command, stuck time.Duration) (transport.Interface, error) {
	p, err := c.startChild(s.Group)
	if err != nil {
		return nil, err
	}
	l := newLines(p.stdout, p.stdin, s.Group, stuck, p.stop)
	l.explain = p.last.withLastWords
	// Goroutine (lost, one for each pipe): reports to the session that its pipe is dead.
	// Ends: the connection is dead.
	// Waits: the group.
	if !s.Group.Run(func() {
		<-l.dead
		s.Lost(l.failReason())
	}) {
		p.stop()
		return nil, ErrClosed
	}
	return s.withInterceptor(&interceptor{Interface: l}), nil
}

// withInterceptor completes t with the session's data. mcp-go must see that an HTTP transport is
// one.
func (s Session) withInterceptor(t *interceptor) transport.Interface {
	t.group, t.closed = s.Group, s.Closed
	conn, ok := t.Interface.(transport.HTTPConnection)
	if !ok {
		return t
	}
	return httpInterceptor{t, conn}
}

// silentLogger returns a logger for mcp-go that discards its lines: they repeat URLs, and the
// caller logs the same events itself.
func silentLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }
