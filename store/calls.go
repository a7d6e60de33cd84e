package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/metrics"
)

// DefaultTimeout bounds one command.
const DefaultTimeout = 500 * time.Millisecond

// CallsConfig describes Calls. Its zero value works.
type CallsConfig struct {
	Timeout time.Duration // of one command; 0: DefaultTimeout
	// Allow says whether a command may be sent now; done is told how it ended. The
	// circuit breaker "store" stands behind it; nil: there is none.
	Allow   func(context.Context) (done func(error), err error)
	Metrics *metrics.Registry
	Log     zerolog.Logger
}

// Calls is what all commands of an engine go through, if it can be unavailable: time
// limit, breaker, figures, and the log of its failures. It is safe for concurrent use.
type Calls struct {
	// cfg is complete: defaults are filled in.
	cfg     CallsConfig
	seconds metrics.Histogram
	errors  metrics.Counter
	failing atomic.Bool // the last command that ended found the store unavailable
}

// NewCalls returns Calls.
func NewCalls(cfg CallsConfig) *Calls {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	return &Calls{
		cfg:     cfg,
		seconds: cfg.Metrics.Histogram("store_seconds", "Time that commands to the store took.", "op"),
		errors:  cfg.Metrics.Counter("store_errors_total", "Commands to the store that failed: unavailable, full or damaged.", "op"),
	}
}

// Do runs one command. What command returns is an error of this package already, or a
// context's.
func (c *Calls) Do(ctx context.Context, op string, command func(context.Context) error) error {
	done := func(error) {}
	if c.cfg.Allow != nil {
		var err error
		if done, err = c.cfg.Allow(ctx); err != nil {
			c.errors.Inc(op)
			return fmt.Errorf("%s: %w: %w", op, ErrUnavailable, err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	began := time.Now()
	err := command(limited)
	c.seconds.Observe(time.Since(began).Seconds(), op)
	if err != nil {
		err = c.classify(ctx, op, err)
	}
	done(err)
	c.note(ctx, op, err)
	return err
}

// classify says of a command that ran out of time whose time it was.
func (c *Calls) classify(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil && !expected(err) {
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: no answer in %v", ErrUnavailable, c.cfg.Timeout)
	}
	if !expected(err) {
		c.errors.Inc(op)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// expected says whether the store did its work.
func expected(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrCursor)
}

// note logs when the store begins to fail and when it works again, once each. A
// call whose caller gave up says nothing of the store.
func (c *Calls) note(ctx context.Context, op string, err error) {
	if ctx.Err() != nil {
		return // nothing was learnt
	}
	failed := errors.Is(err, ErrUnavailable)
	if c.failing.Swap(failed) == failed {
		return
	}
	if failed {
		c.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("operation", op).AnErr("error", err)).Msg("store_unavailable")
	} else {
		c.cfg.Log.Info().Dict("details", zerolog.Dict().Str("operation", op)).Msg("store_back")
	}
}

// Crowded counts a command that was not sent, because too many others were under way.
func (c *Calls) Crowded(op string) { c.errors.Inc(op) }

// Failing says whether the last command found the store unavailable.
func (c *Calls) Failing() bool { return c.failing.Load() }

// Timeout returns the time limit of one command.
func (c *Calls) Timeout() time.Duration { return c.cfg.Timeout }
