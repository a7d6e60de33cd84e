package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/turn/chat"
)

// The wait before a further attempt (docs/design.md, "How a turn ends").
const (
	backoffBase = 250 * time.Millisecond
	backoffCap  = 2 * time.Second
)

// call is one model call under way.
type call struct {
	m      *Model
	parent context.Context // the caller's
	// ctx ends with parent, with the call, or because of the watchdog.
	ctx    context.Context
	cancel context.CancelCauseFunc
	watchdog

	asked   *chat.ModelRequest // the caller's
	req     *chat.ModelRequest // without tools that the provider does not take
	omit    Omit               // what body leaves out
	dropped int                // tools that this call has learned not to send
	body    *Body              // nil once no attempt can need it
	// yield is the caller's. Its error ends the call, and is not the model's
	// fault.
	yield    func(*chat.Chunk) error
	yieldErr error
	handed   bool // something was handed to yield, so nothing can be taken back
	// chunk is used again for each event.
	chunk chat.Chunk
	// said and end are of the attempt at hand, or of the last one. They lie here and not in
	// the frames of functions that wait for the model (docs/performance.md).
	said tally
	end  ending
	// spent is the usage of empty answers that were asked for again, total that of all with the
	// answer at hand.
	spent, total chat.Usage
}

// newCall begins a call and starts its watchdog. The caller must call free, which
// stops it.
func newCall(parent context.Context, m *Model, req *chat.ModelRequest, yield func(*chat.Chunk) error) *call {
	c := &call{m: m, parent: parent, asked: req, req: req, yield: yield}
	c.ctx, c.cancel = context.WithCancelCause(parent)
	c.watchdog.start(m.cfg.First, m.cfg.Idle, m.cfg.Policy != PolicyGemini, func() { c.cancel(errSilent) })
	return c
}

// free stops the timer and frees the context. A body that a transport still reads is
// not reused; see Body.
func (c *call) free() {
	c.watchdog.stop()
	c.cancel(nil)
}

// stream makes the call. The breaker gets one verdict on it, that on its last attempt.
func (c *call) stream() error {
	if c.parent.Err() != nil {
		return fault.Cause(c.parent)
	}
	c.render()
	done, err := c.m.cfg.Breaker.Allow(c.ctx)
	if err != nil {
		return c.refusedByBreaker(err)
	}
	c.end.verdict = breaker.Neutral // of a call without an attempt
	defer c.report(done)            // also if yield panics
	err = c.attempts()
	c.report(done)
	c.pay()
	if err != nil {
		return err
	}
	return c.result()
}

// report gives the breaker the verdict on the call. Further reports say nothing.
func (c *call) report(done func(breaker.Verdict, error)) { done(c.end.verdict, brief(c.end.cause)) }

// attempts makes attempts until one ends well, or no other one may be made. Its error is that of a
// limit of ours.
func (c *call) attempts() error {
	for n, retries, empties := 1, 0, 0; ; n++ {
		leave, err := c.enter()
		if err != nil {
			return err
		}
		c.attempt(n, leave)
		if c.learn() {
			continue
		}
		if c.end.empty {
			empties++
		}
		if retries++; !c.end.retry || c.handed || empties > 1 || retries > c.m.cfg.Retries || !c.sleep(c.end.wait+c.backoff(retries)) || c.m.cfg.Breaker.OpenFor() > 0 {
			return nil
		}
		c.spend()
	}
}

// spend notes the usage of an answer that is asked for again: it was paid for.
func (c *call) spend() {
	if c.end.empty {
		c.spent.Add(c.end.owed)
	}
}

// enter waits until another attempt may be made. Its error is that of a limit of ours, which
// says nothing about the service.
func (c *call) enter() (leave func(tokens int), err error) {
	if c.m.cfg.Gate == nil {
		return nil, nil
	}
	left := c.watchdog.pause(false)
	defer c.watchdog.resume(left)
	return c.m.cfg.Gate(c.ctx)
}

// used returns how many tokens the last attempt has used; of an answer that was cut, about how
// many.
func (c *call) used() int {
	u := &c.said.usage
	if !c.said.reported && *u == (chat.Usage{}) && (c.said.Size > 0 || c.end.outcome == OutcomeCancelled) {
		return estimate(c.said.prompt) + estimate(c.said.Size)
	}
	return u.InputTokens + u.OutputTokens + u.ThinkingTokens
}

// render makes the body of the requests.
func (c *call) render() {
	c.omit, c.req = c.m.learned.Omit(), c.m.sendable(c.asked)
	c.body = bodies.Get().(*Body)
	c.body.data = c.m.render(c.body.data, c.req, c.omit)
}

// canOmit says whether the request was refused for a member that it can do without. Of forms,
// Forms decides.
func (c *call) canOmit(r *Refusal) bool {
	return r.badRequest() && r.Member != "" && !isForm(r.Member) && c.sent(r.Member)
}

// learn says whether the request is to be sent once more without a member, or a tool, that the
// model does not take. That is no retry: nothing has failed but our guess.
func (c *call) learn() bool {
	r, ok := errors.AsType[*Refusal](c.end.cause)
	if !ok || c.handed || c.ctx.Err() != nil {
		return false
	}
	again := (r.Member == "" || r.Guessed) && c.dropTool(r) || c.dropMember(r)
	if again {
		c.body.free()
		c.render()
	}
	return again
}

// dropMember reports whether the request is to be sent once more without the member that it was
// refused for.
func (c *call) dropMember(r *Refusal) bool {
	if !c.canOmit(r) {
		return false
	}
	again, news := c.m.learned.Refused(r.Member, c.omit)
	if news {
		c.logDropped(r.Member)
	}
	return again
}

// sent says whether the request holds member, so that another one without it can fare
// better. What the configuration adds to each request stays in it.
func (c *call) sent(member string) bool {
	without := c.m.render(nil, c.req, append(slices.Clone(c.omit), member))
	return !bytes.Equal(without, c.body.data)
}

// attempt makes one attempt and reports how it ended to log and metrics.
// leave, unless nil, gets the tokens that it has used.
func (c *call) attempt(n int, leave func(tokens int)) {
	start := time.Now()
	c.said = tally{}
	c.end = ending{}
	c.end.verdict, c.end.outcome = breaker.Neutral, OutcomeCancelled // if yield panics
	defer func() {
		elapsed := time.Since(start)
		if leave != nil {
			leave(c.used())
		}
		c.logResult(n, elapsed)
		c.measure(n)
		c.m.count(c.end.outcome, c.said.usage, elapsed)
	}()
	c.logCall(n)
	c.conclude(c.run())
}

// conclude notes how an attempt ended that returned err. Inlined, its frame would lie on
// the stack while the model is waited for.
//
//go:noinline
func (c *call) conclude(err error) {
	c.end = c.judge(err)
	if c.said.reported && !c.said.paid {
		c.end.owed = c.said.usage
	}
}

// measure records the last attempt in the call's span.
func (c *call) measure(n int) {
	if span := trace.Of(c.parent); span.On() {
		said := &c.said
		span.Usage(said.usage.InputTokens, said.usage.OutputTokens, said.usage.ThinkingTokens)
		span.Replied(said.usage.CachedTokens, string(said.finish))
		span.Int("sluice.attempts", n)
	}
}

// run opens an answer and hands its chunks on, until it ends.
func (c *call) run() error {
	c.said.prompt = len(c.body.data)
	ans, err := c.m.src.Open(c.ctx, c.req, c.body)
	if err != nil {
		return err
	}
	defer ans.Close()
	defer c.said.close(ans)
	patient := c.m.cfg.Policy != PolicyGemini
	if patient {
		if s, ok := ans.(interface{ Listen(Pinged) }); ok {
			s.Listen(&c.watchdog)
		}
	}
	reported := false // how the answer ends
	for first := true; ; first = false {
		promised := c.chunk.More
		c.clear()
		err := ans.Next(&c.chunk)
		if err == io.EOF && first {
			return errEmpty
		}
		if err == io.EOF || reported && c.brokeOff(err) {
			return c.last(ans)
		}
		if err := c.handOn(ans, promised, err); err != nil {
			return err
		}
		if patient && !reported && ans.Finished() {
			reported = true
			c.watchdog.linger()
		}
	}
}

// brokeOff says whether err is that nothing more comes. Once the end was reported, that is not
// a failure: only figures can be missing.
func (c *call) brokeOff(err error) bool {
	_, broken := errors.AsType[*transportError](err)
	return broken && c.parent.Err() == nil
}

// last hands on the end of an answer.
func (c *call) last(ans Stream) error {
	if err := ans.End(&c.chunk); err != nil {
		return err
	}
	if err := c.said.add(&c.chunk); err != nil {
		return err
	}
	c.settleUsage(ans)
	c.said.finish = c.chunk.Finish
	return c.hand()
}

// settleUsage completes the usage that a service reports in part, or not at all.
func (c *call) settleUsage(ans Stream) {
	if u := c.chunk.Usage; u != nil && u.Estimated && u.InputTokens == 0 {
		c.said.split()
		c.chunk.Usage = &c.said.usage
	}
	if !c.said.reported && c.chunk.Usage == nil && c.m.cfg.Policy != PolicyGemini {
		c.said.estimate(ans)
		c.chunk.Usage = &c.said.usage
	}
}

// pay hands on the usage of the last answer, if that failed before it was reported: what was
// used counts. The GEMINI_* model never did so.
func (c *call) pay() {
	end := &c.end
	if c.m.cfg.Policy == PolicyGemini || end.owed == (chat.Usage{}) && c.spent == (chat.Usage{}) || end.err == nil || end.outcome == OutcomeCancelled {
		return
	}
	c.clear()
	c.chunk.Usage = &end.owed
	if err := c.hand(); err != nil {
		end.err, end.outcome = err, OutcomeCancelled
	}
}

// clear empties the chunk and keeps the room of its parts.
func (c *call) clear() {
	parts := c.chunk.Parts
	clear(parts)
	c.chunk = chat.Chunk{}
	c.chunk.Parts = parts[:0]
}

// handOn hands on what the chunk at hand holds, also if verdict is that the answer
// ends with it: a blocked or botched answer has its price as well. The service is not
// to blame for the time that takes.
func (c *call) handOn(ans Stream, promised bool, verdict error) error {
	life, pinged := len(c.chunk.Parts) > 0 || c.m.cfg.Policy == PolicyGemini, false
	if !life {
		life, pinged = c.said.grown(ans)
	}
	left := c.watchdog.pause(life)
	err := c.said.add(&c.chunk)
	if err != nil {
		return err
	}
	if len(c.chunk.Parts) > 0 || promised && verdict == nil || verdict != nil && c.chunk.Usage != nil && !c.mayRepeat(verdict) {
		c.chunk.More = verdict == nil && ans.Buffered()
		err = c.hand()
	}
	if err == nil {
		err = verdict
	}
	if err == nil && c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
	}
	if c.chunk.More {
		c.watchdog.stay(left)
	} else {
		c.watchdog.resume(left)
	}
	if pinged {
		c.watchdog.Ping()
	}
	return err
}

// mayRepeat reports whether an answer that ends with verdict may be asked for again. Then its usage
// waits, because nothing may be handed on before another attempt.
func (c *call) mayRepeat(verdict error) bool {
	return !c.handed && c.m.cfg.Policy != PolicyGemini && isEmptyEnd(verdict)
}

// hand hands on the chunk at hand.
func (c *call) hand() error {
	if !c.handed { // no attempt comes after this one
		c.body.free()
		c.handed, c.body = true, nil
		if len(c.chunk.Parts) > 0 {
			trace.Of(c.parent).First()
		}
	}
	if c.chunk.Usage != nil {
		c.said.paid = true
		c.addSpent()
	}
	c.chunk.Maker = c.m.cfg.Maker
	c.yieldErr = c.yield(&c.chunk)
	return c.yieldErr
}

// addSpent adds the usage of earlier answers to that of the chunk at hand.
func (c *call) addSpent() {
	if c.spent == (chat.Usage{}) {
		return
	}
	c.total = c.spent
	c.total.Add(*c.chunk.Usage)
	c.chunk.Usage = &c.total
}

// judge says how an attempt ended that returned err.
func (c *call) judge(err error) ending {
	if err == nil {
		return ending{verdict: breaker.Success, outcome: OutcomeOK}
	}
	if c.yieldErr != nil {
		return ending{err: c.yieldErr, verdict: breaker.Neutral, outcome: OutcomeCancelled}
	}
	r, refused := errors.AsType[*Refusal](err)
	if refused {
		c.m.complete(r)
		r.settleMember(c.req)
	}
	switch cause := context.Cause(c.ctx); {
	case refused, cause == nil:
	case cause == errSilent:
		err = errSilent
	default:
		return ending{err: fault.Cause(c.parent), verdict: breaker.Neutral, outcome: OutcomeCancelled}
	}
	return c.m.endingOf(err)
}

// complete makes a refusal fit to be reported, and uses the wait from its message if that is
// longer than what is known.
func (m *Model) complete(r *Refusal) {
	if m.cfg.Policy != PolicyGemini {
		r.RetryAfter = max(r.RetryAfter, WaitIn(r.Message))
	}
	r.hide(m.secrets)
}

// backoff returns how long to wait after attempt n, with full jitter.
func (c *call) backoff(n int) time.Duration {
	return c.m.cfg.Jitter(min(backoffBase<<(n-1), backoffCap))
}

// sleep waits, and says whether there is a point in continuing after it.
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
func (c *call) result() error {
	e, ok := errors.AsType[*fault.Error](c.end.err)
	if !ok || c.end.outcome == OutcomeCancelled {
		return c.end.err
	}
	if c.parent.Err() != nil && c.end.retry {
		return fault.Cause(c.parent) // it ended while we waited
	}
	if e.Type == fault.ModelUnavailable {
		e.RetryAfter = cmp.Or(c.m.cfg.Breaker.OpenFor(), e.RetryAfter)
	}
	return e
}

// refusedByBreaker returns the error of a call that the breaker did not let through.
func (c *call) refusedByBreaker(err error) error {
	open, ok := errors.AsType[*breaker.OpenError](err)
	if !ok {
		return fault.From(err)
	}
	return c.m.unavailable(open, open.RetryAfter).err
}
