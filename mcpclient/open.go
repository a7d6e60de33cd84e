package mcpclient

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"sluice/mcpclient/internal/wire"
)

// openSession makes a session: transport, handshake, list of tools. ctx bounds the
// attempt; the session lives until it is shut.
func (u *upstream) openSession(ctx context.Context) (opened *session, err error) {
	defer func() {
		if p := recover(); p != nil {
			opened, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	life, stop := context.WithCancel(context.Background())
	s := newSession(stop, &u.listeners)
	conn, err := u.newTransport(s)
	if err != nil {
		stop()
		return nil, err
	}
	s.client = client.NewClient(conn, u.clientOptions()...)
	s.client.OnNotification(u.onNotification)
	tools, err := u.handshake(ctx, life, s)
	if err != nil {
		// Goroutine (closeSession, one for each attempt that failed): ends the parts that the
		// attempt had begun; a child may need its time.
		// Ends: the transport is closed.
		// Waits: the group.
		if !u.group.Run(s.closeSession) { // a child may take its time
			s.closeSession()
		}
		return nil, err
	}
	s.offers = u.readCatalogue(tools, u.catalogue.Load())
	u.listenForChanges(life, s)
	return s, nil
}

// handshake starts the session and reads its list of tools.
func (u *upstream) handshake(ctx, life context.Context, s *session) (*wire.List, error) {
	if err := u.startTransport(ctx, life, s); err != nil {
		return nil, err
	}
	if err := s.initialize(ctx, u.version); err != nil {
		return nil, markRefusal(err)
	}
	list, err := s.listTools(ctx)
	return list, markRefusal(err)
}

// refusedError is a handshake that failed by a response of the server.
type refusedError struct{ error }

// Unwrap returns the reason.
func (e *refusedError) Unwrap() error { return e.error }

// markRefusal marks err if it is made of a response.
func markRefusal(err error) error {
	if wire.Answered(err) {
		return &refusedError{err}
	}
	return err
}

// startTransport starts the transport. Its life is not the attempt's, so a start that
// hangs is ended from outside.
func (u *upstream) startTransport(ctx, life context.Context, s *session) error {
	unhang := context.AfterFunc(ctx, s.stop)
	err := s.client.Start(life)
	if !unhang() && err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// clientOptions returns how mcp-go agrees on a version with the server.
func (u *upstream) clientOptions() []client.ClientOption {
	if u.ProtocolVersion == autoProtocol {
		return nil
	}
	// mcp-go asks for a version since 2026-07-28 by a probe of 5 s. A child that is still starting
	// would miss it, and mcp-go would fall back to an older version.
	return []client.ClientOption{client.WithProtocolVersion(u.ProtocolVersion), client.WithDiscoverTimeout(u.connectTimeout())}
}

// newTransport makes what carries the messages of s.
func (u *upstream) newTransport(s *session) (transport.Interface, error) {
	served := wire.Session{Group: u.group, Closed: s.closed, Lost: s.markLost, Dead: s.dead}
	switch u.Transport {
	case Stdio:
		return wire.Child(served, wire.Command{
			Name: u.Command, Args: u.Args, Env: childEnv(u.baseEnv, u.Server), Dir: u.Dir,
			Server: u.Name, Log: u.log, Hide: u.hide,
		}, u.Timeout)
	case InProcess:
		return wire.InProcess(served, u.Server.InProcess), nil
	case SSE:
		return wire.SSE(served, u.URL, u.http, connectTimeout)
	}
	return wire.HTTP(served, u.URL, u.http)
}

// listenForChanges asks a server of 2026-07-28 or later for notifications; older ones send
// them unasked. It is a hint only: when the stream ends, Refresh remains.
func (u *upstream) listenForChanges(life context.Context, s *session) {
	tools := s.client.GetServerCapabilities().Tools
	if !mcp.IsModernProtocol(s.protocol) || tools == nil || !tools.ListChanged {
		return
	}
	// Goroutine (listenForChanges, one for each session since protocol 2026-07-28): waits for a
	// change of the tools.
	// Ends: the session is shut.
	// Waits: the group.
	u.group.Run(func() {
		_ = s.client.Listen(life, mcp.SubscriptionFilter{ToolsListChanged: true})
	})
}

// onNotification takes a server's notifications. It must not block: the transport waits
// for it.
func (u *upstream) onNotification(n mcp.JSONRPCNotification) {
	switch n.Method {
	case mcp.MethodNotificationToolsListChanged:
		u.requestRefresh()
	case mcp.MethodNotificationSubscriptionsAcknowledged:
		u.requestRefresh() // for changes between the list and the subscription
	}
	u.listeners.onNotification(n)
}

// httpClient returns the client for one server's requests.
func (c Config) httpClient(s Server, next http.RoundTripper) *http.Client {
	return wire.Client{
		Next: next, Headers: s.Headers, SSE: s.Transport == SSE,
		UserAgent: fmt.Sprintf("sluice/%s", c.Version),
	}.HTTP()
}

// logEvent logs something that no request caused, with the server's name. with, unless it is
// nil, adds details.
func (u *upstream) logEvent(e *zerolog.Event, name string, with func(*zerolog.Event)) {
	d := zerolog.Dict().Str("server", u.Name)
	if with != nil {
		with(d)
	}
	e.Dict("details", d).Msg(name)
}
