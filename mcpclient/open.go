package mcpclient

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"
)

// open makes a session: transport, handshake, list of tools. ctx bounds the
// attempt; the session lives until it is shut.
func (u *upstream) open(ctx context.Context) (opened *session, err error) {
	defer func() {
		if p := recover(); p != nil {
			opened, err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	life, stop := context.WithCancel(context.Background())
	s := newSession(stop, &u.listeners)
	conn, err := u.transport(s)
	if err != nil {
		stop()
		return nil, err
	}
	s.client = client.NewClient(u.intercepted(s, conn), u.clientOptions()...)
	s.client.OnNotification(u.notified)
	tools, err := u.handshake(ctx, life, s)
	if err != nil {
		if !u.group.run(s.shut) { // a child may take its time
			s.shut()
		}
		return nil, err
	}
	s.offers = u.read(tools, u.catalogue.Load())
	u.listen(life, s)
	return s, nil
}

// handshake starts the session and reads its list of tools.
func (u *upstream) handshake(ctx, life context.Context, s *session) (*listing, error) {
	if err := u.begin(ctx, life, s); err != nil {
		return nil, err
	}
	if err := s.initialize(ctx, u.version); err != nil {
		return nil, err
	}
	return s.list(ctx)
}

// begin starts the transport. Its life is not the attempt's, so a start that
// hangs is ended from outside.
func (u *upstream) begin(ctx, life context.Context, s *session) error {
	unhang := context.AfterFunc(ctx, s.stop)
	err := s.client.Start(life)
	if !unhang() && err == nil {
		err = context.Cause(ctx)
	}
	return err
}

func (u *upstream) clientOptions() []client.ClientOption {
	if u.ProtocolVersion == AutoProtocol {
		return nil
	}
	// A version since 2026-07-28 is asked for with a probe, whose 5 s a child that
	// is still starting does not meet; it would fall back to an older version.
	return []client.ClientOption{client.WithProtocolVersion(u.ProtocolVersion), client.WithDiscoverTimeout(u.connectTimeout())}
}

func (u *upstream) transport(s *session) (transport.Interface, error) {
	switch u.Transport {
	case Stdio:
		return u.child(s)
	case InProcess:
		return transport.NewInProcessTransport(u.Server.InProcess), nil
	case SSE:
		// The response timeout is out of the way: ours is the one that counts.
		conn, err := transport.NewSSE(u.URL, transport.WithHTTPClient(u.http), transport.WithSSELogger(silent()),
			transport.WithEndpointTimeout(connectTimeout), transport.WithResponseTimeout(24*time.Hour))
		if err != nil {
			return nil, err
		}
		conn.SetConnectionLostHandler(func(err error) { s.lost(&cutError{err}) })
		return conn, nil
	}
	return transport.NewStreamableHTTP(u.URL, transport.WithHTTPBasicClient(u.http), transport.WithHTTPLogger(silent()))
}

// silent is mcp-go's logger: its lines repeat URLs, and what they tell we log
// ourselves.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// child starts a stdio server.
func (u *upstream) child(s *session) (transport.Interface, error) {
	c := command{
		name: u.Command, args: u.Args, env: childEnv(u.baseEnv, u.Server), dir: u.Dir,
		server: u.Name, log: u.log, hide: u.hide,
	}
	p, err := c.start(u.group)
	if err != nil {
		return nil, err
	}
	l := newLines(p.stdout, p.stdin, u.group, u.Timeout, p.stop)
	if !u.group.run(func() {
		<-l.gone
		s.lost(l.reason())
	}) {
		p.stop()
		return nil, errClosed
	}
	return l, nil
}

// intercepted wraps a transport in the interceptor that fits it.
func (u *upstream) intercepted(s *session, conn transport.Interface) transport.Interface {
	t := &interceptor{Interface: conn, group: u.group, closed: s.closed, local: u.Transport == InProcess}
	if u.Transport == SSE {
		t.cut = s.gone
	}
	h, ok := conn.(transport.HTTPConnection)
	if !ok {
		return t
	}
	return httpInterceptor{t, h}
}

// listen asks a server of 2026-07-28 or later for notifications; older ones send
// them unasked. It is a hint only: when the stream ends, Refresh remains.
func (u *upstream) listen(life context.Context, s *session) {
	tools := s.client.GetServerCapabilities().Tools
	if !mcp.IsModernProtocol(s.protocol) || tools == nil || !tools.ListChanged {
		return
	}
	u.group.run(func() {
		_ = s.client.Listen(life, mcp.SubscriptionFilter{ToolsListChanged: true})
	})
}

// notified takes a server's notifications. It must not block: the transport waits
// for it.
func (u *upstream) notified(n mcp.JSONRPCNotification) {
	switch n.Method {
	case mcp.MethodNotificationToolsListChanged:
		u.hint()
	case mcp.MethodNotificationSubscriptionsAcknowledged:
		u.hint() // what changed since the list was read, and before we listened
	}
	u.listeners.notified(n)
}

// httpClient returns the client for one server's requests: no redirects, which
// would carry the headers along, and no timeout of its own, which would cut
// streams; contexts bound everything.
func (c Config) httpClient(s Server, next http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: &roundTripper{
			next: next, headers: s.Headers, sse: s.Transport == SSE,
			userAgent: fmt.Sprintf("sluice/%s", c.Version),
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (u *upstream) event(e *zerolog.Event, name string, with func(*zerolog.Event)) {
	d := zerolog.Dict().Str("server", u.Name)
	if with != nil {
		with(d)
	}
	e.Dict("details", d).Msg(name)
}
