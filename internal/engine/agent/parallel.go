package agent

import (
	"context"
	"sync"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/base/stack"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// parallel runs tool calls at the same time. The calls have goroutines of their own;
// everything else here belongs to the turn's, which alone says what happens.
type parallel struct {
	turn  *turn
	tools *tool.Set
	// ctx is the calls': it ends when one of them ends the turn, or the client
	// leaves.
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	working []*job    // in the order of their begins
	ended   chan *job // has room for all, so that nobody waits for the client
	// news has room for one: that some mailbox has something, not which.
	news      chan struct{}
	inner     chan stream.Event // of calls that emit events of their own; nil: none does
	innerDone chan struct{}     // closed when inner is not read any more
	due       *time.Timer       // for news that came too soon after the last
	fatal     error             // of the first call that ended the turn
}

// runAll runs the jobs at the same time, reports their progress, and closes each as it ends. If a
// job has a bug, the gateway lacks room, or the client is gone, the other jobs are cut, and runAll
// waits for them.
func (t *turn) runAll(tools *tool.Set, jobs []*job) error {
	if len(jobs) == 0 {
		return t.stopCause()
	}
	c := &parallel{turn: t, tools: tools, ended: make(chan *job, maxParallel), news: make(chan struct{}, 1), due: time.NewTimer(time.Hour)}
	c.due.Stop()
	defer c.due.Stop()
	c.ctx, c.cancel = context.WithCancelCause(t.ctx)
	defer c.wg.Wait()
	defer c.cancel(nil) // before the wait, so that a panic here does not wait for hours
	if t.agent.callees != nil {
		c.inner, c.innerDone = make(chan stream.Event, maxInner), make(chan struct{})
		defer close(c.innerDone)
	}
	for _, j := range jobs {
		c.startCall(j)
	}
	for len(c.working) > 0 {
		select {
		case j := <-c.ended:
			c.endCall(j)
		case ev := <-c.inner:
			t.sink.Emit(ev)
			c.emitInner()
		case <-c.news:
		case <-c.due.C:
		}
		c.emitProgress(time.Now())
		t.sink.Flush()
		if t.sink.Err != nil {
			c.cancel(t.sink.Err)
		}
	}
	if c.fatal != nil {
		return c.fatal
	}
	return t.stopCause()
}

// startCall runs j on a goroutine of its own, and runAll waits for that. ended has room for all, so
// nobody blocks on it.
func (c *parallel) startCall(j *job) {
	c.working = append(c.working, j)
	if c.turn.hand.open != nil && j.isUnsafe() {
		j.endSaving = c.turn.saver().Begin()
	}
	// Goroutine (tool call): runs one call and puts it into `ended`, which has room for all.
	// Ends: the call returns; its context ends with the turn.
	// Waits: `internal/engine/agent/parallel.go`: runAll (whatever happens, a panic included).
	c.wg.Go(func() {
		stack.Reserve()
		if c.inner != nil {
			j.inner = &Inner{CallID: j.event.ID, Continued: j.continued, Request: c.turn.req, events: c.inner, done: c.innerDone}
		}
		j.runTool(c.ctx, c.turn, c.wakeTurn)
		c.ended <- j
	})
}

// endCall closes a job and, if its server was unavailable, starts its fallback.
func (c *parallel) endCall(j *job) {
	c.emitProgressOf(j, time.Now()) // it came before the end
	if j.inner != nil {
		c.emitInner()
		c.turn.state.Usage.Add(j.inner.usage)
	}
	c.working = removeJob(c.working, j)
	c.turn.saveOutcome(j)
	c.turn.closeCall(j)
	if j.endSaving != nil {
		j.endSaving()
	}
	if j.err != nil && endsTurn(fault.From(j.err)) && c.fatal == nil {
		c.fatal = j.err
		c.cancel(c.fatal)
	}
	if c.fatal == nil && c.turn.stopCause() == nil {
		if s := c.turn.openFallback(j, c.tools); s != nil {
			c.startCall(s)
		}
	}
}

// removeJob removes j in place.
func removeJob(jobs []*job, j *job) []*job {
	kept := jobs[:0]
	for _, other := range jobs {
		if other != j {
			kept = append(kept, other)
		}
	}
	return kept
}

// emitInner emits what calls have reported so far.
func (c *parallel) emitInner() {
	for {
		select {
		case ev := <-c.inner:
			c.turn.sink.Emit(ev)
		default:
			return
		}
	}
}

// wakeTurn notifies the turn's goroutine that there is news. It does not block.
func (c *parallel) wakeTurn() {
	select {
	case c.news <- struct{}{}:
	default: // it has been woken
	}
}

// emitProgress emits the progress of all calls under way, as far as it is due, and sets the timer
// for the other calls.
func (c *parallel) emitProgress(now time.Time) {
	var next time.Time
	for _, j := range c.working {
		c.emitProgressOf(j, now)
		if j.news.holds() && (next.IsZero() || j.nextAt.Before(next)) {
			next = j.nextAt
		}
	}
	if !next.IsZero() {
		c.due.Reset(next.Sub(now))
	}
}

// emitProgressOf emits the latest progress of j, unless it is too soon. The first is
// emitted at once.
func (c *parallel) emitProgressOf(j *job, now time.Time) {
	if now.Before(j.nextAt) {
		return
	}
	p, ok := j.news.drain()
	if !ok {
		return
	}
	j.nextAt = now.Add(progressEvery)
	c.turn.sink.Emit(&stream.ToolProgress{Call: j.event, Progress: p.Progress, Total: p.Total, Message: p.Message})
}
