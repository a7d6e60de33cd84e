package mcpclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/mcpclient/internal/wire"
)

const (
	// The background waits between minBackoff and maxBackoff before it connects
	// again, twice as long each time.
	minBackoff = time.Second
	maxBackoff = 30 * time.Second
	// steady is the age from which a lost session resets the backoff. A server that dies at its
	// first call must not be started all the time.
	steady = 30 * time.Second
	// minRefresh is the least time between two refreshes, however many hints come.
	minRefresh = time.Second
)

// supervise keeps the server connected and its list of tools fresh, until ctx or
// the client ends.
func (u *upstream) supervise(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(u.life, cancel)()
	for tries := 0; ctx.Err() == nil; {
		s := u.current.Load()
		if s == nil {
			f := u.joinAttempt(u.life, false)
			select {
			case <-f.done:
			case <-ctx.Done():
				return
			}
			if f.err == nil {
				continue
			}
			u.pauseUnlessConnected(ctx, u.retryIn(tries, f.err))
			tries++
			continue
		}
		u.watchSession(ctx, s)
		if time.Since(s.born) >= steady {
			tries = 0
		}
		u.pauseUnlessConnected(ctx, backoffFor(tries))
		tries++
	}
}

// retryIn returns when to try again: an open breaker says so itself.
func (u *upstream) retryIn(tries int, err error) time.Duration {
	if open, ok := errors.AsType[*breaker.OpenError](err); ok {
		return open.RetryAfter + randomPart(100*time.Millisecond)
	}
	return backoffFor(tries)
}

// backoffFor returns a wait of 1, 2, 4, … 30 s, less up to half of it at random. So many gateways
// do not reconnect at the same time.
func backoffFor(tries int) time.Duration {
	d := maxBackoff
	if tries < 5 {
		d = minBackoff << tries
	}
	return d - randomPart(d/2)
}

// randomPart returns a random duration below d, which must be above 0.
func randomPart(d time.Duration) time.Duration { return rand.N(d) }

// pauseUnlessConnected waits for d, or until ctx ends or a turn has connected in the meantime.
func (u *upstream) pauseUnlessConnected(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for u.current.Load() == nil {
		select {
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-u.connected:
		}
	}
}

// watchSession refreshes the tools of a session, now and then and on a hint, until the
// session is retired or ctx ends.
func (u *upstream) watchSession(ctx context.Context, s *session) {
	every := time.NewTicker(u.every)
	defer every.Stop()
	for {
		select {
		case <-s.retiring:
			return
		case <-ctx.Done():
			return
		case <-every.C:
		case <-u.hints:
		}
		u.refreshTools(ctx, s)
		rest := time.NewTimer(min(minRefresh, u.every))
		select {
		case <-rest.C:
		case <-s.retiring:
		case <-ctx.Done():
		}
		rest.Stop()
	}
}

// refreshTools reads the list of tools again. An error that says nothing about the
// session leaves the list as it was.
func (u *upstream) refreshTools(ctx context.Context, s *session) {
	if u.Breaker.Snapshot().State == breaker.Open || !s.acquire() {
		return
	}
	defer s.release()
	ctx, cancel := context.WithTimeout(ctx, u.Timeout)
	defer cancel()
	tools, err := s.listTools(ctx)
	switch {
	case err == nil:
		u.offerTools(s, tools)
	case ctx.Err() != nil:
	case breaksSession(err):
		u.drop(s, u.scrubError(err))
	default:
		u.logEvent(u.log.Warn(), "mcp_refresh_failed", func(d *zerolog.Event) { d.AnErr("reason", u.scrubError(err)) })
	}
}

// offerTools takes over a list of tools that s gave.
func (u *upstream) offerTools(s *session, tools *wire.List) {
	old := u.catalogue.Load()
	c := u.readCatalogue(tools, old) // before the lock: it takes its time
	u.mu.Lock()
	if u.current.Load() != s {
		u.mu.Unlock()
		return
	}
	u.catalogue.Store(c)
	u.mu.Unlock()
	if c != old {
		u.logEvent(u.log.Info(), "mcp_tools_changed", func(d *zerolog.Event) { d.Int("tools", len(c.offers)) })
	}
}
