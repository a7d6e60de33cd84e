package gemini

import (
	"context"
	"errors"
	"io"
	"time"

	"sluice/breaker"
	"sluice/chat"
	"sluice/fault"
)

// Retries of one call (docs/design.md, "How a turn ends").
const (
	maxAttempts = 3
	backoffBase = 250 * time.Millisecond
	backoffCap  = 2 * time.Second
)

// call is one model call under way.
type call struct {
	m      *Model
	parent context.Context // the caller's
	// ctx ends with parent, with the call, or because of the watchdog.
	ctx      context.Context
	cancel   context.CancelCauseFunc
	watchdog *time.Timer

	req      *chat.ModelRequest
	body     *payload // nil once no attempt can need it
	yield    func(*chat.Chunk) error
	yieldErr error
	handed   bool // something was handed to yield, so nothing can be taken back
	raw      rawChunk
}

func newCall(parent context.Context, m *Model, req *chat.ModelRequest, yield func(*chat.Chunk) error) *call {
	c := &call{m: m, parent: parent, req: req, yield: yield}
	c.ctx, c.cancel = context.WithCancelCause(parent)
	c.watchdog = time.AfterFunc(m.timeout, func() { c.cancel(errSilent) })
	return c
}

func (c *call) end() {
	c.watchdog.Stop()
	c.cancel(nil)
}

// stream makes attempts until one ends well, or none is left.
func (c *call) stream() error {
	if c.parent.Err() != nil {
		return fault.Cause(c.parent)
	}
	c.body = payloads.Get().(*payload)
	c.body.data = c.m.render(c.body.data, c.req)
	var last ending
	for n := 1; ; n++ {
		done, err := c.m.breaker.Allow(c.ctx)
		if err != nil {
			return refusedByBreaker(last, err)
		}
		last = c.attempt(n, done)
		if !last.retry || c.handed || n == maxAttempts || !c.sleep(last.wait+c.backoff(n)) {
			return c.result(last)
		}
	}
}

// attempt makes one attempt and tells everyone how it ended.
func (c *call) attempt(n int, done func(breaker.Verdict, error)) (end ending) {
	start := time.Now()
	a := new(assembler)
	end = ending{verdict: breaker.Neutral, outcome: OutcomeCancelled} // if yield panics
	defer func() {
		done(end.verdict, brief(end.cause))
		c.logResult(n, a, &end, time.Since(start))
		c.m.attempts.Inc(end.outcome)
		c.m.attemptTime.Observe(time.Since(start).Seconds(), end.outcome)
	}()
	c.logCall(n)
	end = c.judge(c.run(a))
	return end
}

// run opens an answer and hands its chunks on, until it ends.
func (c *call) run(a *assembler) error {
	ans, err := c.m.src.open(c.ctx, c.req, c.body)
	if err != nil {
		return err
	}
	defer ans.close()
	for first := true; ; first = false {
		err := ans.next(&c.raw)
		if err == io.EOF && first {
			return errEmpty
		}
		if err == io.EOF {
			if err := a.end(); err != nil {
				return err
			}
			return c.hand(&a.chunk)
		}
		if err != nil {
			return err
		}
		if err := c.handOn(a, ans); err != nil {
			return err
		}
	}
}

// handOn takes the raw chunk at hand, hands on what it holds and judges it. The
// service is not to blame for the time that takes.
func (c *call) handOn(a *assembler, ans answer) error {
	c.watchdog.Stop()
	promised := a.chunk.More
	err := a.take(&c.raw)
	if err != nil {
		return err
	}
	verdict := a.judge(&c.raw)
	unpaid := verdict != nil && c.raw.hasUsage // a blocked or botched answer has its price as well
	if len(a.chunk.Parts) > 0 || promised || unpaid {
		a.chunk.More = verdict == nil && ans.buffered()
		err = c.hand(&a.chunk)
	}
	if err == nil {
		err = verdict
	}
	if err == nil && c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
	}
	c.watchdog.Reset(c.m.timeout)
	return err
}

func (c *call) hand(chunk *chat.Chunk) error {
	if !c.handed { // no attempt comes after this one
		c.body.free()
		c.handed, c.body = true, nil
	}
	c.yieldErr = c.yield(chunk)
	return c.yieldErr
}

// judge tells how an attempt ended that returned err.
func (c *call) judge(err error) ending {
	if err == nil {
		return ending{verdict: breaker.Success, outcome: OutcomeOK}
	}
	if c.yieldErr != nil {
		return ending{err: c.yieldErr, verdict: breaker.Neutral, outcome: OutcomeCancelled}
	}
	e, refused := errors.AsType[*apiError](err)
	if refused {
		e.hide(c.m.secrets)
	}
	switch cause := context.Cause(c.ctx); {
	case refused, cause == nil:
	case cause == errSilent:
		err = errSilent
	default:
		return ending{err: fault.Cause(c.parent), verdict: breaker.Neutral, outcome: OutcomeCancelled}
	}
	return endingOf(err)
}

// backoff returns how long to wait after attempt n, with full jitter.
func (c *call) backoff(n int) time.Duration {
	return c.m.jitter(min(backoffBase<<(n-1), backoffCap))
}

// sleep waits, and says whether there is a point in going on after it.
func (c *call) sleep(d time.Duration) bool {
	if deadline, ok := c.parent.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// result returns the last attempt's error as the call's. An error that is not ours
// is not touched.
func (c *call) result(last ending) error {
	e, ok := errors.AsType[*fault.Error](last.err)
	if !ok || last.outcome == OutcomeCancelled {
		return last.err
	}
	if c.parent.Err() != nil && last.retry {
		return fault.Cause(c.parent) // it ended while we waited
	}
	if s := c.m.breaker.Snapshot(); e.Type == fault.ModelUnavailable && s.State == breaker.Open && s.RetryAfter > 0 {
		e.RetryAfter = s.RetryAfter
	}
	return e
}

// refusedByBreaker returns the error of a call that the breaker did not let
// through. If an attempt had failed before, its error stays, and only the time is
// the breaker's.
func refusedByBreaker(last ending, err error) error {
	open, ok := errors.AsType[*breaker.OpenError](err)
	if !ok {
		return fault.From(err)
	}
	e, ok := errors.AsType[*fault.Error](last.err)
	if !ok {
		e = fault.From(unavailable(open, 0).err)
	}
	e.RetryAfter = open.RetryAfter
	return e
}
