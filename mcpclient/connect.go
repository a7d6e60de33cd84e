package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/mcpclient/internal/wire"
)

// connecting is one attempt to connect, which any number of turns wait for.
type connecting struct {
	done chan struct{}
	// Set before done is closed.
	session    *session
	err        *fault.Error
	background bool // no turn began the attempt
	// turn is the context of the first turn that wants the attempt; nil: none does. The mutex of
	// the upstream guards it.
	turn context.Context
}

// finishedAttempt returns the attempt of an upstream that has a session, or err.
func finishedAttempt(s *session, err *fault.Error) *connecting {
	f := &connecting{done: make(chan struct{}), session: s, err: err}
	close(f.done)
	return f
}

// joinAttempt joins the attempt under way, or begins one if the breaker allows it. If asked is
// true, a turn needs the attempt, and ctx is its context.
func (u *upstream) joinAttempt(ctx context.Context, asked bool) *connecting {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.current.Load(); s != nil {
		return finishedAttempt(s, nil)
	}
	if u.connecting == nil {
		report, err := u.Breaker.Allow(ctx)
		if err != nil {
			return finishedAttempt(nil, u.unavailableError(err))
		}
		f := &connecting{done: make(chan struct{}), background: !asked}
		// Goroutine (dial, at most one for each server): opens a session, for a turn or for
		// supervise, and reports the result to all who wait for the attempt.
		// Ends: the attempt ends; its time is limited, whether or not those who asked still wait.
		// Waits: the group.
		if !u.group.Run(func() { u.dial(f, report) }) {
			report(breaker.Neutral, nil)
			return finishedAttempt(nil, u.unavailableError(wire.ErrClosed))
		}
		u.connecting = f
	}
	if asked && u.connecting.turn == nil {
		u.connecting.turn = ctx
	}
	return u.connecting
}

// dial makes the attempt and reports to all who wait.
func (u *upstream) dial(f *connecting, report func(breaker.Verdict, error)) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(u.life, u.connectTimeout())
	s, err := u.openSession(ctx)
	cancel()
	refused := isRefusal(err)
	err = u.scrubError(err)
	u.mu.Lock()
	short := fault.Shortage(err) // says nothing about the server
	u.reportAttempt(f, report, u.connectVerdict(f, err, refused), err)
	if err != nil {
		f.err = u.setDown(err)
	} else {
		f.session = s
		u.catalogue.Store(s.offers)
		u.current.Store(s)
	}
	if !short {
		u.failed = err != nil
	}
	u.connecting = nil
	u.mu.Unlock()
	close(f.done)
	u.announceAttempt(s, err, time.Since(began))
}

// reportAttempt reports the verdict on an attempt. A failure is the turn's that wants the attempt, also
// if the background has begun it: the breaker counts one failure a turn.
// The caller must hold u.mu.
func (u *upstream) reportAttempt(f *connecting, report func(breaker.Verdict, error), v breaker.Verdict, cause error) {
	if v != breaker.Failure || !f.background {
		report(v, cause)
		return
	}
	report(breaker.Neutral, nil)
	if again, err := u.Breaker.Allow(f.turn); err == nil {
		again(v, cause)
	}
}

// isRefusal reports whether a handshake failed although the server replied: with a response, or
// with a 4xx other than 429. The service works then, whatever it thinks of us.
func isRefusal(err error) bool {
	if status, ok := errors.AsType[*wire.HTTPStatusError](err); ok {
		return status.Code < 500 && status.Code != http.StatusTooManyRequests
	}
	_, answered := errors.AsType[*refusedError](err)
	return answered || errors.Is(err, wire.ErrExpired)
}

// connectVerdict returns the verdict on an attempt. A shortage of our own and a refusal count for
// nothing. In the background a failure counts for nothing: the breaker opens because turns fail,
// and while it is half-open a turn's own probe decides. A success counts as a probe, and it ends a
// run of failed attempts. Otherwise it does not count either: a server that accepts every session
// and fails every call must not look sound. The caller must hold u.mu.
func (u *upstream) connectVerdict(f *connecting, err error, refused bool) breaker.Verdict {
	switch {
	case refused, fault.Shortage(err):
		return breaker.Neutral
	case err != nil && f.turn != nil:
		return breaker.Failure
	case err == nil && (u.failed || u.Breaker.Snapshot().State == breaker.HalfOpen):
		return breaker.Success
	}
	return breaker.Neutral
}

// announceAttempt follows up an attempt.
func (u *upstream) announceAttempt(s *session, err error, elapsed time.Duration) {
	if err != nil {
		u.logEvent(u.log.Warn(), "mcp_connect_failed", func(d *zerolog.Event) {
			d.AnErr("reason", err).Int64("duration_ms", elapsed.Milliseconds())
		})
		return
	}
	u.logEvent(u.log.Info(), "mcp_connected", func(d *zerolog.Event) {
		d.Str("transport", string(u.Transport)).Str("protocol", s.protocol).
			Int("tools", len(u.catalogue.Load().offers)).Int64("duration_ms", elapsed.Milliseconds())
	})
	// Goroutine (awaitClose, one for each session): drops the session when its transport is lost,
	// and shuts it when its last call has ended.
	// Ends: the session is shut.
	// Waits: the group.
	if !u.group.Run(func() { u.awaitClose(s) }) {
		u.drop(s, wire.ErrClosed)
		s.closeSession()
	}
	signalOnce(u.connected)
}
