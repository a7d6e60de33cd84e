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

	callerRequest *chat.ModelRequest // the caller's
	req           *chat.ModelRequest // without tools that the provider does not take
	omit          Omit               // what body leaves out
	dropped       int                // tools that this call has learned not to send
	body          *Body              // nil once no attempt can need it
	// yield is the caller's. Its error ends the call, and is not the model's
	// fault.
	yield    func(*chat.Chunk) error
	yieldErr error
	yielded  bool // something was handed to yield, so nothing can be taken back
	// chunk is used again for each event.
	chunk chat.Chunk
	// tally and end are of the attempt at hand, or of the last one. They lie here and not in
	// the frames of functions that wait for the model (docs/performance.md).
	tally tally
	end   ending
	// spent is the usage of the empty answers before this one. total adds that of the answer at
	// hand.
	spent, total chat.Usage
}

// newCall begins a call and starts its watchdog. The caller must call free, which
// stops it.
func newCall(parent context.Context, m *Model, req *chat.ModelRequest, yield func(*chat.Chunk) error) *call {
	c := &call{m: m, parent: parent, callerRequest: req, req: req, yield: yield}
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
	c.renderBody()
	done, err := c.m.cfg.Breaker.Allow(c.ctx)
	if err != nil {
		return c.refusedByBreaker(err)
	}
	c.end.verdict = breaker.Neutral // of a call without an attempt
	defer c.reportVerdict(done)     // also if yield panics
	err = c.makeAttempts()
	c.reportVerdict(done)
	c.yieldOwedUsage()
	if err != nil {
		return err
	}
	return c.callError()
}

// reportVerdict gives the breaker the verdict on the call. Further reports say nothing.
func (c *call) reportVerdict(done func(breaker.Verdict, error)) {
	done(c.end.verdict, withoutMessage(c.end.cause))
}

// makeAttempts makes attempts until one succeeds or another one is not allowed. Its error is that
// of our own limit.
func (c *call) makeAttempts() error {
	for n, retries, empties := 1, 0, 0; ; n++ {
		leave, err := c.awaitGate()
		if err != nil {
			return err
		}
		c.makeAttempt(n, leave)
		if c.dropRefused() {
			continue
		}
		if c.end.empty {
			empties++
		}
		if retries++; !c.end.retry || c.yielded || empties > 1 || retries > c.m.cfg.Retries || !c.sleep(c.end.wait+c.backoff(retries)) || c.m.cfg.Breaker.OpenFor() > 0 {
			return nil
		}
		c.recordSpent()
	}
}

// recordSpent notes the usage of an answer that is asked for again: it was paid for.
func (c *call) recordSpent() {
	if c.end.empty {
		c.spent.Add(c.end.owed)
	}
}

// awaitGate waits until another attempt may be made. Its error is that of our own limit. It says
// nothing about the service.
func (c *call) awaitGate() (leave func(tokens int), err error) {
	if c.m.cfg.Gate == nil {
		return nil, nil
	}
	left := c.watchdog.pause(false)
	defer c.watchdog.resume(left)
	return c.m.cfg.Gate(c.ctx)
}

// usedTokens returns how many tokens the last attempt has used. For a truncated answer it estimates
// them.
func (c *call) usedTokens() int {
	u := &c.tally.usage
	if !c.tally.reported && *u == (chat.Usage{}) && (c.tally.Size > 0 || c.end.outcome == OutcomeCancelled) {
		return estimateTokens(c.tally.prompt) + estimateTokens(c.tally.Size)
	}
	return u.InputTokens + u.OutputTokens + u.ThinkingTokens
}

// renderBody makes the body of the requests.
func (c *call) renderBody() {
	c.omit, c.req = c.m.learned.Omit(), c.m.withoutRefusedTools(c.callerRequest)
	c.body = bodies.Get().(*Body)
	c.body.data = c.m.renderRequest(c.body.data, c.req, c.omit)
}

// canOmit reports whether the request was refused for a member that it can do without. Members that
// ask for a form are left to Forms.
func (c *call) canOmit(r *Refusal) bool {
	return r.badRequest() && r.Member != "" && !isForm(r.Member) && c.hasMember(r.Member)
}

// dropRefused reports whether the request is to be sent once more without a member, or a tool, that
// the model does not take. This is not a retry: only our guess about the model was wrong.
func (c *call) dropRefused() bool {
	r, ok := errors.AsType[*Refusal](c.end.cause)
	if !ok || c.yielded || c.ctx.Err() != nil {
		return false
	}
	again := (r.Member == "" || r.Guessed) && c.dropTool(r) || c.dropMember(r)
	if again {
		c.body.free()
		c.renderBody()
	}
	return again
}

// dropMember reports whether the request is to be sent once more without the member that it was
// refused for.
func (c *call) dropMember(r *Refusal) bool {
	if !c.canOmit(r) {
		return false
	}
	again, news, omit := false, false, c.omit
	for range c.stepsWithout(r.Member) { // without one of them the server refuses this request again
		var first bool
		again, first = c.m.learned.Refused(r.Member, omit)
		news, omit = news || first, append(slices.Clone(omit), r.Member)
	}
	if news {
		c.logDropped(r.Member)
	}
	return again
}

// hasMember reports whether the request holds member, so that another one without it can fare better.
// Members from the configuration (Extra) stay in every request.
func (c *call) hasMember(member string) bool { return c.stepsWithout(member) > 0 }

// stepsWithout returns how many steps of member change the request. It is 0 if the request does not
// hold member, and above 1 if a first step is about another part of a conversation.
func (c *call) stepsWithout(member string) int {
	const most = 2
	omit := slices.Clone(c.omit)
	for n := 1; n <= most; n++ {
		omit = append(omit, member)
		if !bytes.Equal(c.m.renderRequest(nil, c.req, omit), c.body.data) {
			return n
		}
	}
	return 0
}

// makeAttempt makes one attempt and reports how it ended to log and metrics.
// leave, unless nil, gets the tokens that it has used.
func (c *call) makeAttempt(n int, leave func(tokens int)) {
	start := time.Now()
	c.tally = tally{}
	c.end = ending{}
	c.end.verdict, c.end.outcome = breaker.Neutral, OutcomeCancelled // if yield panics
	defer func() {
		elapsed := time.Since(start)
		if leave != nil {
			leave(c.usedTokens())
		}
		c.logResult(n, elapsed)
		c.recordSpan(n)
		c.m.countAttempt(c.end.outcome, c.tally.usage, elapsed)
	}()
	c.logCall(n)
	c.concludeAttempt(c.runAttempt())
}

// concludeAttempt records the ending of an attempt that returned err. Inlined, its frame would lie
// on the stack while the call waits for the model.
//
//go:noinline
func (c *call) concludeAttempt(err error) {
	c.end = c.judgeEnding(err)
	if c.tally.reported && !c.tally.paid {
		c.end.owed = c.tally.usage
	}
}

// recordSpan records the last attempt in the call's span.
func (c *call) recordSpan(n int) {
	if span := trace.Of(c.parent); span.On() {
		said := &c.tally
		span.Usage(said.usage.InputTokens, said.usage.OutputTokens, said.usage.ThinkingTokens)
		span.Replied(said.usage.CachedTokens, said.usage.ThinkingTokens, string(said.finish))
		span.Int("sluice.attempts", n)
	}
}

// runAttempt opens an answer and hands its chunks on, until it ends.
func (c *call) runAttempt() error {
	c.tally.prompt = len(c.body.data)
	ans, err := c.m.src.Open(c.ctx, c.req, c.body)
	if err != nil {
		return err
	}
	defer ans.Close()
	defer c.tally.readStats(ans)
	patient := c.m.cfg.Policy != PolicyGemini
	if patient {
		if s, ok := ans.(interface{ Listen(Pinged) }); ok {
			s.Listen(&c.watchdog)
		}
	}
	reported := false // how the answer ends
	for first := true; ; first = false {
		promised := c.chunk.More
		c.clearChunk()
		err := ans.Next(&c.chunk)
		if err == io.EOF && first {
			return errEmpty
		}
		if err == io.EOF || reported && c.brokeOff(err) {
			return c.yieldEnd(ans)
		}
		if err := c.yieldEvent(ans, promised, err); err != nil {
			return err
		}
		if patient && !reported && ans.Finished() {
			reported = true
			c.watchdog.linger()
		}
	}
}

// brokeOff reports whether err is a break of the connection. Once the end was reported, that is not
// a failure: only figures can be missing.
func (c *call) brokeOff(err error) bool {
	_, broken := errors.AsType[*transportError](err)
	return broken && c.parent.Err() == nil
}

// yieldEnd hands on the end of an answer.
func (c *call) yieldEnd(ans Stream) error {
	if err := ans.End(&c.chunk); err != nil {
		return err
	}
	if err := c.tally.addChunk(&c.chunk); err != nil {
		return err
	}
	c.settleUsage(ans)
	c.tally.finish = c.chunk.Finish
	return c.yieldChunk()
}

// settleUsage completes the usage that a service reports in part, or not at all.
func (c *call) settleUsage(ans Stream) {
	if u := c.chunk.Usage; u != nil && u.Estimated && u.InputTokens == 0 {
		c.tally.splitTotal()
		c.chunk.Usage = &c.tally.usage
	}
	if !c.tally.reported && c.chunk.Usage == nil && c.m.cfg.Policy != PolicyGemini {
		c.tally.estimateUsage(ans)
		c.chunk.Usage = &c.tally.usage
	}
}

// yieldOwedUsage hands on the usage of a failed last answer, unless it was handed on already: used
// tokens count. It does nothing for the GEMINI_* model.
func (c *call) yieldOwedUsage() {
	end := &c.end
	if c.m.cfg.Policy == PolicyGemini || end.owed == (chat.Usage{}) && c.spent == (chat.Usage{}) || end.err == nil || end.outcome == OutcomeCancelled {
		return
	}
	c.clearChunk()
	c.chunk.Usage = &end.owed
	if err := c.yieldChunk(); err != nil {
		end.err, end.outcome = err, OutcomeCancelled
	}
}

// clearChunk empties the chunk and keeps the room of its parts.
func (c *call) clearChunk() {
	parts := c.chunk.Parts
	clear(parts)
	c.chunk = chat.Chunk{}
	c.chunk.Parts = parts[:0]
}

// yieldEvent hands on the content of the current chunk, even if verdict ends the answer: a blocked
// or malformed answer has its price too. The service is not to blame for the time that takes.
func (c *call) yieldEvent(ans Stream, promised bool, verdict error) error {
	life, pinged := len(c.chunk.Parts) > 0 || c.m.cfg.Policy == PolicyGemini, false
	if !life {
		life, pinged = c.tally.hasGrown(ans)
	}
	left := c.watchdog.pause(life)
	err := c.tally.addChunk(&c.chunk)
	if err != nil {
		return err
	}
	if len(c.chunk.Parts) > 0 || promised && verdict == nil || verdict != nil && c.chunk.Usage != nil && !c.mayRepeat(verdict) {
		c.chunk.More = verdict == nil && ans.Buffered()
		err = c.yieldChunk()
	}
	if err == nil {
		err = verdict
	}
	if err == nil && c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
	}
	if c.chunk.More {
		c.watchdog.extendDue(left)
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
	return !c.yielded && c.m.cfg.Policy != PolicyGemini && isEmptyEnd(verdict)
}

// yieldChunk hands on the chunk at hand.
func (c *call) yieldChunk() error {
	if !c.yielded { // no attempt comes after this one
		c.body.free()
		c.yielded, c.body = true, nil
		if len(c.chunk.Parts) > 0 {
			trace.Of(c.parent).First()
		}
	}
	if c.chunk.Usage != nil {
		c.tally.paid = true
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

// judgeEnding returns the ending of an attempt that returned err.
func (c *call) judgeEnding(err error) ending {
	if err == nil {
		return ending{verdict: breaker.Success, outcome: OutcomeOK}
	}
	if errors.Is(c.yieldErr, errNoSeam) {
		return ending{err: c.yieldErr, verdict: breaker.Success, outcome: OutcomeOK}
	}
	if c.yieldErr != nil {
		return ending{err: c.yieldErr, verdict: breaker.Neutral, outcome: OutcomeCancelled}
	}
	r, refused := errors.AsType[*Refusal](err)
	if refused {
		c.m.completeRefusal(r)
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

// completeRefusal prepares a refusal for reports. It uses the wait in the message if that is longer
// than the known one.
func (m *Model) completeRefusal(r *Refusal) {
	if m.cfg.Policy != PolicyGemini {
		r.RetryAfter = max(r.RetryAfter, WaitIn(r.Message))
	}
	r.hideSecrets(m.secrets)
}

// backoff returns how long to wait after attempt n, with full jitter.
func (c *call) backoff(n int) time.Duration {
	return c.m.cfg.Jitter(min(backoffBase<<(n-1), backoffCap))
}

// sleep waits, and reports whether the call can continue after it.
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

// callError returns the last attempt's error as the call's. An error that is not ours
// is not touched.
func (c *call) callError() error {
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
	return c.m.unavailableEnding(open, open.RetryAfter).err
}
