package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/metrics"
)

const (
	// defaultTimeout bounds one command.
	defaultTimeout = 500 * time.Millisecond
	// turnWait bounds how long a command waits for its place among the others of this process.
	turnWait = 2 * time.Second
	// large is from how many bytes on it is the value of a command that makes the command slow.
	large = 64 << 10
)

var (
	// errLarge says that a command ran out of time because of its size. It says nothing about the
	// store.
	errLarge = errors.New("its value is large")
	// errMate says that a command failed that was sent with another one. The other command says
	// whether the store is well.
	errMate = errors.New("it was sent with others")
)

// CallsConfig describes Calls. Its zero value works.
type CallsConfig struct {
	Timeout time.Duration // of one command; 0: defaultTimeout
	// Allow returns an error if a command may not be sent now. The caller calls done with the
	// verdict of the command. The circuit breaker "store" implements it. nil allows all.
	Allow   func(context.Context) (done func(Verdict, error), err error)
	Metrics *metrics.Registry
	Log     zerolog.Logger
}

// Verdict is the result of a command for the health of the store.
type Verdict int

// Verdicts on a store.
const (
	// Well: the store did its work, whatever its answer was.
	Well Verdict = iota
	// Ill: the store did not answer, or not in time.
	Ill
	// Unsaid: nothing was learnt, as when the caller left, or the value was large.
	Unsaid
)

// Calls runs all commands of an engine: it has its places, time limit, breaker, figures, and the
// log of its failures. It is safe for concurrent use.
type Calls struct {
	// cfg is complete: defaults are filled in.
	cfg     CallsConfig
	seconds metrics.Histogram
	errors  metrics.Counter
	failing atomic.Bool   // the last command that ended found the store unavailable
	places  chan struct{} // one for each command that may run now; nil: without a bound
	crowded chan struct{} // the same of commands that may be sent with others
	refused refusals
}

// NewCalls returns Calls.
func NewCalls(cfg CallsConfig) *Calls {
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	return &Calls{
		cfg:     cfg,
		seconds: cfg.Metrics.Histogram("store_seconds", "Time that commands to the store took.", "op"),
		errors:  cfg.Metrics.Counter("store_errors_total", "Commands to the store that failed: unavailable, full or damaged.", "op"),
	}
}

// Share bounds how many commands run at once, as an engine has so many connections. The others wait
// in the order in which they came, before their own time begins: a queue for connections says
// nothing about the store. The commands of DoTogether share connections, so they have places of
// their own. It is called before any command.
func (c *Calls) Share(connections, together int) {
	c.places, c.crowded = make(chan struct{}, connections), make(chan struct{}, together)
}

// Do runs one command. The error of command is one of this package already, or a context's. For a
// command that wrote something the engine reports to Wrote how it ended.
func (c *Calls) Do(ctx context.Context, op string, command func(context.Context) error) error {
	return c.runInPlace(ctx, op, c.places, command)
}

// DoTogether is Do for a command that may be sent with others.
func (c *Calls) DoTogether(ctx context.Context, op string, command func(context.Context) error) error {
	return c.runInPlace(ctx, op, c.crowded, command)
}

func (c *Calls) runInPlace(ctx context.Context, op string, places chan struct{}, command func(context.Context) error) error {
	leave, err := c.awaitPlace(ctx, op, places)
	if err != nil {
		return err
	}
	defer leave()
	return c.runCommand(ctx, op, command)
}

// awaitPlace waits for a place. A missing place is not a failure of the store, so the breaker does
// not count it.
func (c *Calls) awaitPlace(ctx context.Context, op string, places chan struct{}) (leave func(), err error) {
	if places == nil {
		return func() {}, nil
	}
	leave = func() { <-places }
	select {
	case places <- struct{}{}:
		return leave, nil
	default:
	}
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case places <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", op, context.Cause(ctx))
	case <-timer.C:
		c.errors.Inc(op)
		return nil, fmt.Errorf("%s: %w: %w: %w", op, ErrUnavailable, ErrNotSent, ErrCrowded)
	}
}

// runCommand runs a command that has its place.
func (c *Calls) runCommand(ctx context.Context, op string, command func(context.Context) error) error {
	done := func(Verdict, error) {}
	if c.cfg.Allow != nil {
		var err error
		if done, err = c.cfg.Allow(ctx); err != nil {
			c.errors.Inc(op)
			return fmt.Errorf("%s: %w: %w: %w", op, ErrUnavailable, ErrNotSent, err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	began := time.Now()
	err := command(limited)
	c.seconds.Observe(time.Since(began).Seconds(), op)
	if err != nil {
		err = c.classifyError(ctx, op, err)
	}
	verdict := verdictOf(ctx, err)
	done(verdict, err)
	c.logChange(op, verdict, err)
	return err
}

// classifyError says of a command that ran out of time whose time it was.
func (c *Calls) classifyError(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil && !isExpected(err) {
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	}
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrUnavailable) {
		err = fmt.Errorf("%w: no answer in %v", ErrUnavailable, c.cfg.Timeout)
	}
	if !isExpected(err) && !isRefusal(err) {
		c.errors.Inc(op)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// verdictOf returns the verdict of a command's error. A caller that left, and a value that took the
// time, say nothing.
func verdictOf(ctx context.Context, err error) Verdict {
	switch {
	case ctx.Err() != nil, errors.Is(err, errLarge), errors.Is(err, errMate) && errors.Is(err, ErrUnavailable):
		return Unsaid
	case errors.Is(err, ErrUnavailable):
		return Ill
	}
	return Well
}

// Carried returns the error of a command that has moved so many bytes: if it is that the
// store did not answer in time, it reports whether that was for their number.
func Carried(bytes int, err error) error {
	if bytes >= large && errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w: %w", errLarge, err)
	}
	return err
}

// OfMate returns the error of a command that another caller's one was sent with: a connection that
// is lost is one failure, whatever it carried.
func OfMate(err error) error { return fmt.Errorf("%w: %w", errMate, err) }

// isExpected reports whether the store did its work.
func isExpected(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, ErrConflict) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrCursor)
}

// logChange logs when the store begins to fail and when it works again, once each. Wrote logs the
// writes that the store refuses while it answers.
func (c *Calls) logChange(op string, verdict Verdict, err error) {
	if verdict == Unsaid || errors.Is(err, ErrReadOnly) {
		return
	}
	failed := verdict == Ill
	if c.failing.Swap(failed) == failed {
		return
	}
	if failed {
		c.logUnavailable(op, err)
	} else {
		c.logBack(op)
	}
}

func (c *Calls) logUnavailable(op string, err error) {
	c.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("operation", op).AnErr("error", err)).Msg("store_unavailable")
}

func (c *Calls) logBack(op string) {
	c.cfg.Log.Info().Dict("details", zerolog.Dict().Str("operation", op)).Msg("store_back")
}

// Timeout returns the time limit of one command.
func (c *Calls) Timeout() time.Duration { return c.cfg.Timeout }
