package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/redact"
	"sluice/mcpclient/internal/wire"
)

// upstream is one server; it outlives its sessions. All methods are safe for concurrent
// use.
type upstream struct {
	Server
	service string // "mcp:<name>"
	version string
	log     zerolog.Logger
	settings

	warned    sync.Map  // names in the policy that the server does not have
	listeners listeners // to the progress of the calls under way

	// current is the session in use; nil without a session.
	current atomic.Pointer[session]
	// catalogue is the last one known; it outlives the session that it came from.
	catalogue atomic.Pointer[catalogue]
	// keptList is when the list was kept last; nil: not yet.
	keptList atomic.Pointer[time.Time]
	// down is the reason why the server has no session. It changes with each failed attempt.
	down atomic.Pointer[fault.Error]

	hints     chan struct{} // a refresh of the tools is due
	connected chan struct{} // a session was made

	mu         sync.Mutex  // guards the fields below
	connecting *connecting // the attempt under way, or nil
	failed     bool        // the last attempt failed
}

// settings say how an upstream makes its sessions, and keeps them.
type settings struct {
	wait    time.Duration // Config.ConnectWait
	every   time.Duration // Config.Refresh
	baseEnv []string
	http    *http.Client
	hide    *redact.Scrubber
	group   *wire.Group
	lists   Lists           // Config.Lists
	life    context.Context // ends with Client.Close
}

var errNotConnected = errors.New("the MCP server is not connected yet")

// newUpstream returns a server that is not connected. next carries its requests if it is
// reached over HTTP; life ends its sessions.
func newUpstream(c Config, s Server, next http.RoundTripper, life context.Context, group *wire.Group) *upstream {
	s = c.withServerDefaults(s)
	u := &upstream{
		Server: s, service: "mcp:" + s.Name, version: c.Version, log: c.Log, settings: settings{
			wait:    c.ConnectWait,
			every:   c.Refresh,
			baseEnv: c.BaseEnv,
			http:    c.httpClient(s, next),
			hide:    newScrubber(s),
			group:   group,
			lists:   c.Lists,
			life:    life,
		},
		hints: make(chan struct{}, 1), connected: make(chan struct{}, 1),
	}
	u.down.Store(u.unavailableError(errNotConnected))
	return u
}

// awaitClose stays with a session until it is shut.
func (u *upstream) awaitClose(s *session) {
	select {
	case <-s.dead:
		u.drop(s, s.deadErr)
	case <-s.retiring:
	case <-u.life.Done():
		u.drop(s, wire.ErrClosed)
	}
	limit := time.NewTimer(u.Timeout)
	defer limit.Stop()
	select {
	case <-s.drained:
	case <-limit.C:
	case <-u.life.Done():
	}
	s.closeSession()
}

// drop retires a session because of err, unless another one has taken its place.
func (u *upstream) drop(s *session, err error) {
	u.mu.Lock()
	dropped := u.current.CompareAndSwap(s, nil)
	if dropped {
		u.setDown(err)
	}
	u.mu.Unlock()
	s.retire()
	if dropped && u.life.Err() == nil {
		u.logEvent(u.log.Warn(), "mcp_lost", func(d *zerolog.Event) { d.AnErr("reason", err) })
	}
}

// setDown stores the reason why the server has no session. An equal reason changes nothing, so that
// the set of tools stays the same.
func (u *upstream) setDown(err error) *fault.Error {
	f := u.unavailableError(err)
	if old := u.down.Load(); old.Error() == f.Error() && old.RetryAfter == f.RetryAfter {
		return old
	}
	u.down.Store(f)
	return f
}

// awaitSession returns a session to call on. It waits for a session that is being made, up to
// Config.ConnectWait; with patient, until ctx ends. The error is a *fault.Error, or ctx's.
func (u *upstream) awaitSession(ctx context.Context, patient bool) (*session, error) {
	if s := u.current.Load(); s != nil {
		return s, nil
	}
	f := u.joinAttempt(ctx, true)
	var late <-chan time.Time
	if !patient {
		timer := time.NewTimer(u.wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-late:
		return nil, u.unavailableError(errNotConnected)
	}
	if f.err != nil {
		return nil, f.err
	}
	return f.session, nil
}

// requestRefresh asks for a refresh of the list of tools.
func (u *upstream) requestRefresh() { signalOnce(u.hints) }

// signalOnce puts a token into a channel with room for one, unless a token is in it.
func signalOnce(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// unavailableError returns the error of a server that cannot be used because of err, so
// that no tool was run.
func (u *upstream) unavailableError(err error) *fault.Error {
	f := &fault.Error{Type: fault.MCPUnavailable, Message: fault.MCPUnavailableMessage, Service: u.service, NoEffect: true, Err: err}
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		f.RetryAfter = open.RetryAfter
	}
	if status, ok := errors.AsType[*wire.HTTPStatusError](err); ok {
		f.RetryAfter = status.RetryAfter
	}
	return f
}
