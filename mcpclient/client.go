// Package mcpclient joins the tools of any number of MCP servers to one set, and runs them. A tool
// runs at most once, behind a circuit breaker for each server, over sessions that the package
// makes, watches and replaces.
//
// It is built on mark3labs/mcp-go. A layer below mcp-go's client (internal/wire) detects whether a
// request was sent, limits the bytes that are read, and never waits longer than a context allows.
//
// An upstream is one server: its session, its catalogue and its breaker. A supervisor keeps it
// connected, with backoff. It reads the tools again when the server reports a change, or after a
// while. A turn asks for the view of all servers (Tools), an immutable set. A new one is made only
// after a catalogue changed. Models cache their rendering of a set by its pointer.
//
// A call acquires the session, is sent, and gets an outcome from the evidence. A call that was not
// sent may be sent again, over a new session. If the answer of a sent call is lost, the tool may
// have run: the call is repeated only if the tool is safe to repeat. The verdict for the breaker
// follows from the same.
//
// Texts of servers are limited and scrubbed before anyone sees them. docs/concurrency.md lists the
// goroutines and the code that waits for them: Close ends all.
//
// Verbs: connect, open (a session), call, judge (an outcome), list (tools), scrub (an error).
package mcpclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sluice/breaker"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

const (
	// closeTimeout bounds Close. A child that ignores everything is gone after 3 s.
	closeTimeout = 10 * time.Second
	// killTimeout bounds Kill. A server that hangs does not get a DELETE.
	killTimeout = 250 * time.Millisecond
)

// Client offers and runs the tools of all servers. It is safe for concurrent use.
type Client struct {
	upstreams []*upstream
	wait      time.Duration
	group     *wire.Group
	end       context.CancelFunc
	idle      func() // closes our own idle connections

	start sync.Once
	close func() error

	view    atomicView
	viewing sync.Mutex // one goroutine makes a view
}

// New returns a Client that is connected to nothing yet. The error lists every
// fault of cfg.
func New(cfg Config) (*Client, error) {
	if err := cfg.checkConfig(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	life, end := context.WithCancel(context.Background())
	c := &Client{wait: cfg.ConnectWait, group: wire.NewGroup(cfg.Log), end: end, idle: func() {}}
	next := cfg.Transport
	if next == nil {
		own := wire.NewTransport()
		next, c.idle = own, own.CloseIdleConnections
	}
	for _, s := range cfg.Servers {
		c.upstreams = append(c.upstreams, newUpstream(cfg, s, next, life, c.group))
	}
	c.close = sync.OnceValue(c.shutDown)
	return c, nil
}

// Start begins to connect all servers in the background and returns at once. After the end of ctx,
// lost servers are no longer connected in the background. The sessions themselves last until Close,
// so that turns can end.
func (c *Client) Start(ctx context.Context) {
	c.start.Do(func() {
		for _, u := range c.upstreams {
			if u.usesLists() {
				// Goroutine (offerLastTools): reads the list of a server's tools that the store has.
				// Ends: it is read, or the time for it is over.
				// Waits: the group.
				c.group.Run(u.offerLastTools)
			}
			// Goroutine (supervise, one for each server): connects, with backoff, and watches the
			// session that exists.
			// Ends: the context of `Start` ends, or the client's `life`.
			// Waits: the group.
			c.group.Run(func() { u.supervise(ctx) })
		}
	})
}

// Tools returns the tools that can be called now: the same set as long as nothing changes. A server
// that is not connected is tried at once, unless its breaker is open, and waited for no longer than
// Config.ConnectWait.
func (c *Client) Tools(ctx context.Context) *tool.Set {
	c.reconnectServers(ctx, func(string) bool { return true })
	return c.currentView().set
}

// reconnectServers tries those of the wanted servers that are not connected, all at the same
// time.
func (c *Client) reconnectServers(ctx context.Context, wanted func(server string) bool) {
	var attempts []*connecting
	for _, u := range c.upstreams {
		if u.current.Load() == nil && wanted(u.Name) {
			attempts = append(attempts, u.joinAttempt(ctx, true))
		}
	}
	if len(attempts) == 0 {
		return
	}
	timer := time.NewTimer(c.wait)
	defer timer.Stop()
	for _, f := range attempts {
		select {
		case <-f.done:
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		}
	}
}

// Checkers returns the servers' breakers, then their sessions, each in the order of the
// configuration.
func (c *Client) Checkers() []health.Checker {
	list := make([]health.Checker, 0, 2*len(c.upstreams))
	for _, u := range c.upstreams {
		list = append(list, u.Breaker)
	}
	for _, u := range c.upstreams {
		list = append(list, u)
	}
	return list
}

// Connected reports whether the sessions with all servers are up.
func (c *Client) Connected() bool {
	return !slices.ContainsFunc(c.upstreams, func(u *upstream) bool { return !u.sessionStatus().Connected })
}

// Check implements health.Checker.
func (u *upstream) Check() health.Status { return u.sessionStatus() }

// sessionStatus returns what /readyz shows of the server. It counts the tools of the last
// catalogue, also without a session.
func (u *upstream) sessionStatus() health.Session {
	s := health.Session{Server: u.Name, Connected: u.current.Load() != nil}
	if known := u.catalogue.Load(); known != nil {
		s.Tools = len(known.offers)
	}
	return s
}

// Breakers returns the servers' breakers, in the same order.
func (c *Client) Breakers() []*breaker.Breaker {
	list := make([]*breaker.Breaker, len(c.upstreams))
	for i, u := range c.upstreams {
		list[i] = u.Breaker
	}
	return list
}

// Close ends all sessions, children and calls, and waits for every goroutine. It returns an error
// if one did not end in time.
func (c *Client) Close() error { return c.close() }

// Kill is Close without patience: it kills children at once. Goroutines that do not end with that
// end with the process. It also hurries a Close that is under way.
func (c *Client) Kill() error {
	c.group.Force()
	return c.Close()
}

// shutDown ends all, once. It waits for the goroutines, for closeTimeout or, forced,
// killTimeout.
func (c *Client) shutDown() error {
	c.end()
	limit := closeTimeout
	select {
	case <-c.group.Forced():
		limit = killTimeout
	default:
	}
	ended := c.group.Stop(limit)
	c.idle()
	if !ended {
		return errors.New("mcpclient: a tool call or a child is still running")
	}
	return nil
}
