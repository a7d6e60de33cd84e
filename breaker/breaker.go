// Package breaker guards one upstream service with a circuit breaker.
//
// A call counts when it ends, and not when its answer begins. The caller asks Allow before it sends
// anything and reports one Verdict after the last byte. So a stream that breaks half-way is a
// failure. A call with retries asks once and reports once.
//
// With Config.TurnOf a turn adds at most one failure to a row of failures, however many calls
// it makes. So one turn never closes a service for the others, unless Failures is 1.
package breaker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/sony/gobreaker/v2"

	"sluice/internal/base/telemetry/health"
)

// State is a breaker's state, spelt as in the log and in /readyz.
type State = health.State

// States of a breaker.
const (
	Closed   = health.Closed
	Open     = health.Open
	HalfOpen = health.HalfOpen
)

// probeWait is the RetryAfter of a call that is refused because enough probes
// are under way: when one of them will end is not known.
const probeWait = time.Second

// Defaults of Config.
const (
	DefaultFailures      = 5
	DefaultRecovery      = 30 * time.Second
	DefaultHalfOpenCalls = 3
)

// Config describes a breaker. Its zero value, with a Service, works: 0 means the
// default.
type Config struct {
	// Service is "gemini" or "mcp:<name>".
	Service string
	// Failures is how many consecutive failures open the breaker.
	Failures uint32
	// Recovery is how long it stays open before it lets probes through.
	Recovery time.Duration
	// HalfOpenCalls is how many probes run at once while half-open, and how many
	// must succeed in a row to close it.
	HalfOpenCalls uint32
	// TurnOf returns what identifies the turn of a call, a comparable value, or nil for a call of no
	// turn: chat.TurnKeyOf. Nil makes every failure count, also several of one turn. The store needs
	// that: its commands share connections, and one turn may be all that uses it.
	TurnOf func(context.Context) any
	// Log gets the changes of state that a call caused whose context carries no
	// logger. Others go to the logger in the context, the request's.
	Log zerolog.Logger
}

// Verdict is how a guarded call ended.
type Verdict int

// Verdicts on a call.
const (
	// Success: the service did its work, whatever its answer was.
	Success Verdict = iota
	// Failure: the service is to blame.
	Failure
	// Neutral: nothing was learnt about the service, as when the client left or
	// when we sent a bad request.
	Neutral
)

// OpenError refuses a call without sending it.
type OpenError struct {
	Service string
	// RetryAfter is the time until the breaker lets a probe through, at least 1 ms.
	RetryAfter time.Duration
}

// Error returns a text for the log; RetryAfter is for the caller.
func (e *OpenError) Error() string { return "circuit breaker of " + e.Service + " is open" }

// Breaker is a circuit breaker for one service, safe for concurrent use.
type Breaker struct {
	cfg Config

	mu       sync.Mutex // guards the fields below and every call of gobreaker
	cb       *gobreaker.TwoStepCircuitBreaker[struct{}]
	state    State
	failures uint32          // consecutive, across the open state
	row      []any           // turns that have added a failure since the last success or change
	turn     any             // of the call at hand; nil: none
	lastErr  error           // of the last failure
	openTill time.Time       // set while state is Open
	log      *zerolog.Logger // of the call at hand

	failedAt, changedAt time.Time // of the last failure, and of the last change of state
	successes           uint32    // consecutive, in this state
}

// withDefaults fills in what zero values mean.
func (c Config) withDefaults() Config {
	if c.Failures == 0 {
		c.Failures = DefaultFailures
	}
	if c.Recovery == 0 {
		c.Recovery = DefaultRecovery
	}
	if c.HalfOpenCalls == 0 {
		c.HalfOpenCalls = DefaultHalfOpenCalls
	}
	return c
}

// New returns a closed breaker.
func New(cfg Config) *Breaker {
	cfg = cfg.withDefaults()
	b := &Breaker{cfg: cfg, state: Closed, changedAt: time.Now()}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:          cfg.Service,
		MaxRequests:   cfg.HalfOpenCalls,
		Timeout:       cfg.Recovery,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= cfg.Failures },
		IsExcluded:    func(err error) bool { return errors.Is(err, errNeutral) },
		IsSuccessful:  b.countVerdict,
		OnStateChange: func(_ string, from, to gobreaker.State) { b.onStateChange(from, to) },
	})
	return b
}

var errNeutral = errors.New("neutral")

// failure passes the cause of a Failure, which may be nil, through gobreaker.
type failure struct{ cause error }

// Error is only needed by the library below, to count a failed call; nobody sees its text.
func (failure) Error() string { return "failure" }

// Allow asks whether a call may be made now; if not, it returns an *OpenError.
// Otherwise the caller must call done once, however the call ends; later calls
// of done do nothing. The error given with a Failure is logged as last_error, so
// it must hold no secret.
//
// A half-open breaker waits for its probes without a limit of its own: every
// guarded call needs a deadline.
func (b *Breaker) Allow(ctx context.Context) (done func(Verdict, error), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logTo(ctx)
	report, err := b.cb.Allow()
	if err != nil {
		wait := probeWait
		if b.state == Open {
			wait = max(time.Until(b.openTill), time.Millisecond)
		}
		return nil, &OpenError{Service: b.cfg.Service, RetryAfter: wait}
	}
	return func(v Verdict, cause error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if report == nil {
			return
		}
		b.logTo(ctx)
		r := report
		report = nil
		switch v {
		case Success:
			r(nil)
		case Failure:
			r(b.failureOf(ctx, cause))
		default:
			r(errNeutral)
		}
	}, nil
}

// failureOf returns what gobreaker gets for a failed call: errNeutral if its turn has added a
// failure to the row already. While half-open every failure counts, because the row that opened
// the breaker is over. The caller must hold b.mu.
func (b *Breaker) failureOf(ctx context.Context, cause error) error {
	b.turn = nil
	if b.cfg.TurnOf != nil {
		b.turn = b.cfg.TurnOf(ctx)
	}
	if b.turn != nil && slices.Contains(b.row, b.turn) {
		return errNeutral
	}
	return failure{cause}
}

// countVerdict is called by gobreaker for each verdict that counts. Verdicts on calls from before
// the last change of state never come here. gobreaker clears its own counts before it reports a
// change, so the figures for the log are kept here.
func (b *Breaker) countVerdict(err error) bool {
	if err == nil {
		b.failures, b.row = 0, b.row[:0]
		b.successes++
		return true
	}
	b.failures++
	b.successes, b.failedAt = 0, time.Now()
	if b.turn != nil {
		b.row = append(b.row, b.turn)
	}
	if f, ok := err.(failure); ok {
		b.lastErr = f.cause
	}
	return false
}

// Snapshot reports the state. It never changes it: a breaker whose recovery time
// is over stays Open here until the next call.
func (b *Breaker) Snapshot() health.Breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := health.Breaker{Service: b.cfg.Service, State: b.state, FailureCount: b.failures, LastFailure: b.failedAt, LastChange: b.changedAt, Successes: b.successes}
	if b.state == Open {
		s.RetryAfter = max(time.Until(b.openTill), 0)
	}
	return s
}

// OpenFor returns the time until an open breaker lets a call through, or 0 if it is not open.
func (b *Breaker) OpenFor() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != Open {
		return 0
	}
	return max(time.Until(b.openTill), 0)
}

// Check implements health.Checker. It changes no more than Snapshot does.
func (b *Breaker) Check() health.Status { return b.Snapshot() }

// logTo sets the logger of a change of state for the next call of gobreaker, which has no parameter
// for it.
func (b *Breaker) logTo(ctx context.Context) {
	b.log = zerolog.Ctx(ctx)
	if b.log.GetLevel() == zerolog.Disabled {
		b.log = &b.cfg.Log
	}
}

// onStateChange records and logs a change of state. It runs inside gobreaker's lock. The caller
// must hold b.mu.
func (b *Breaker) onStateChange(from, to gobreaker.State) {
	b.state, b.row = stateOf(to), b.row[:0]
	b.changedAt, b.successes = time.Now(), 0
	if b.state == Open {
		b.openTill = time.Now().Add(b.cfg.Recovery)
	}
	details := zerolog.Dict().
		Str("service", b.cfg.Service).
		Str("old_state", string(stateOf(from))).
		Str("new_state", string(b.state)).
		Uint32("failure_count", b.failures)
	if b.lastErr != nil {
		details.AnErr("last_error", b.lastErr)
	}
	b.log.Warn().Dict("details", details).Msg("circuit_breaker_state_change")
	if b.state == Open {
		b.log.Error().Dict("details", zerolog.Dict().
			Str("service", b.cfg.Service).
			Uint32("failure_count", b.failures).
			Uint32("threshold", b.cfg.Failures)).Msg("circuit_breaker_opened")
	}
}

// stateOf names a state of gobreaker's in the words of health.
func stateOf(s gobreaker.State) State {
	switch s {
	case gobreaker.StateOpen:
		return Open
	case gobreaker.StateHalfOpen:
		return HalfOpen
	}
	return Closed
}
