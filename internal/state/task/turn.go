package task

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/stream"
)

// Turn is a stream.Output in front of the client's: its log has all events that its client gets.
// Its methods belong to the goroutine of the request that began the turn. Another goroutine may
// hand on the pending events (gather.go).
type Turn struct {
	gathering // its mu is held while an event is sent, until StopGathering
	identity
	turns     *openTurns // lists the turn until its End
	cancel    context.CancelCauseFunc
	work      context.Context // of a turn that began without a client here; else nil
	leave     func()          // frees the turn's place in this process; nil: its request does that
	takeovers int             // takeovers of the turn, the one by this process included
	claim     claim
	client    receiver
	log       writer
	answer    answer
	end       turnEnd
	trace     tracing
}

// connectParts connects the parts of a turn that begins.
func (t *Turn) connectParts() *Turn {
	t.to, t.log.of, t.client.alone = t, &t.identity, &t.store.detached
	return t
}

// Task returns the id of the turn's task.
func (t *Turn) Task() string { return t.task }

// ID returns the id of the turn.
func (t *Turn) ID() string { return t.id }

// Context returns a context that records model calls in the trace. began is the
// moment from which the events of the turn count.
func (t *Turn) Context(ctx context.Context, began time.Time) context.Context {
	return t.trace.Context(ctx, began)
}

// Before makes next the output of the turn's client.
func (t *Turn) Before(next stream.Output) stream.Output {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client.next = next
	return t
}

// OnBreak sets the function that drops the held events of the client's output. It is called when
// another process has the turn, or may claim it. This process does not know how the turn continues,
// so its client must not get unlogged events. Every method returns ErrBroken from then on.
func (t *Turn) OnBreak(discard func()) { t.client.discard = discard }

// Write takes the next event.
func (t *Turn) Write(s stream.Stamp, ev stream.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.client.broken {
		return ErrBroken
	}
	t.markUrgency(ev)
	if start, ok := ev.(*stream.Start); ok {
		named := *start
		named.TaskID, named.TurnID = t.task, t.id
		ev = &named
	}
	if done, ok := ev.(*stream.Done); ok && t.takeovers > 0 {
		more := *done
		more.Takeovers = t.takeovers
		ev = &more
	}
	if t.suspendOn(ev) {
		return t.client.leaveOff(t.log.n == t.log.at)
	}
	t.answer.addEvent(ev)
	t.trace.Observe(s.At, ev)
	t.log.addEvent(s, ev)
	return t.client.write(s, ev)
}

// suspendOn suspends the turn if ev says that another process, or this one later, continues it. It
// reports whether the client's stream breaks off.
//
// The client does not get a Done: its stream breaks off with the logged events, and continues when the
// client asks for the remaining ones. While the store is unavailable, the client cannot ask for
// them, and gets the error. It does not get the error of a fenced or lost run, since another
// process may have that run.
func (t *Turn) suspendOn(ev stream.Event) (breaksOff bool) {
	e, ok := ev.(*stream.Error)
	if !ok || !e.Fatal || !t.durable {
		return false
	}
	switch e.Type {
	case fault.ShuttingDown, fault.StoreUnavailable, fault.TurnLost:
		t.appendLog()
		isAbandoned := t.end.state == endAbandoned
		t.log.ended = true
		t.end.state.suspend()
		return e.Type != fault.StoreUnavailable || isAbandoned || t.isFenced()
	}
	return false
}

// isFenced reports whether another process may have the turn by now.
func (t *Turn) isFenced() bool {
	return t.turns.isFenced(t)
}

// Flush hands the pending events to the log and then to the client. It may leave deltas to a later
// flush, for two milliseconds at most.
func (t *Turn) Flush() error { return t.flush(t.durable) }

// Spill is Flush for an output that is full, and is called from its Write. If events are held,
// Spill does nothing, and the output grows.
func (t *Turn) Spill() error {
	if t.held {
		return nil
	}
	return t.handOn()
}

// StopGathering hands on the pending events. Until it returns the client's output may be used by
// another goroutine, from then on it belongs to the caller's.
func (t *Turn) StopGathering() { t.flushAndStop() }

// handOn appends the new events to the log, and then hands them to the client. The task gets its
// state before the client learns of the end, since the client's next request may depend on that. A
// turn that another process continues with has not ended, whatever its client receives.
//
// The caller must hold mu.
func (t *Turn) handOn() error {
	defer t.handedOn()
	if !t.client.broken && !t.end.concludeTurn(&t.log, &t.answer, &t.trace) {
		t.appendLog()
	}
	if t.client.broken || t.end.state == endAbandoned {
		return t.client.breakOff()
	}
	if t.answer.Done != nil && t.end.state.isOpen() && t.log.isComplete() {
		t.end.finishTask(&t.identity, &t.answer)
	}
	return t.client.flush()
}

// appendLog sends the pending events to the log.
func (t *Turn) appendLog() {
	if !t.log.appendPending() {
		t.abandonIfClaimed()
	}
}

// abandonIfClaimed ends a turn that another process has closed because it took this one for dead. A task
// that is not there any more was removed, or the store has lost it: then the turn continues.
func (t *Turn) abandonIfClaimed() {
	_, err := t.store.cfg.Store.Task(t.ctx, t.task)
	switch {
	case errors.Is(err, store.ErrNotFound):
		t.log.giveUp()
	case err != nil:
		t.log.retryLater()
	default:
		t.log.ended = true
		t.end.state.abandon()
		t.cancel(lostFault())
	}
}

// ClientLeft records that the connection of the turn's client is gone. It may be called from any
// goroutine, more than once, and after End.
func (t *Turn) ClientLeft() { t.client.countDetached() }

// Blocked returns the time that the client's writes took.
func (t *Turn) Blocked() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.client.next.Blocked()
}

// NoRoom is true from when the store has refused an event of the turn for lack of room. The code
// that warns the client clears it.
func (t *Turn) NoRoom() *atomic.Bool { return &t.log.noRoom }

// End is called once, when the turn is over.
func (t *Turn) End() {
	t.StopGathering()
	t.client.endDetached()
	t.turns.remove(t.task)
	switch t.end.state {
	case endHandedOver:
		t.releaseTask()
		return
	case endSuspended:
		t.turns.suspendTask(t.task)
		return
	}
	if !t.finishLogAndTask() {
		if !t.turns.deferEnd(t) {
			t.store.addCheck(t.turns.closeDropped(t.task, t.id))
		}
		return
	}
	t.answer.giveBack(&t.store.buffers)
}

// finishLogAndTask brings log and task to their end. It returns false if the store is unavailable.
func (t *Turn) finishLogAndTask() bool {
	if !t.end.confirmEnd(&t.log, &t.trace) {
		return false
	}
	t.log.retry = time.Time{}
	t.appendLog()
	if !t.log.isComplete() {
		return false
	}
	if !t.log.ended && t.answer.Done == nil { // it has ended with its client
		ours, closed := t.log.closeLog()
		if !closed {
			return false
		}
		if !ours {
			t.abandonIfClaimed()
		}
	}
	t.claim.releaseKey(&t.identity)
	return t.end.state == endAbandoned || t.end.finishTask(&t.identity, &t.answer) && t.trace.storeTrace(&t.identity, t.end.stored.ttl)
}

// releaseTask gives up the task of a turn that ends here, and wakes the processes that may continue
// it.
func (t *Turn) releaseTask() {
	s := t.store
	doc, long := t.end.stored.doc.encodeStored()
	task := store.Task{Doc: doc, Meta: store.Meta{Version: t.end.stored.version, Turn: t.id, State: Working,
		Holder: store.Holder{Owner: leftPrefix + s.holder.Owner, Epoch: s.holder.Epoch}}}
	err := s.storeLong(t.ctx, t.end.stored.doc, long, s.workingTTL(t.durable))
	if err == nil {
		err = s.confirmWrite(t.ctx, t.task, task, s.cfg.Store.UpdateTask(t.ctx, t.task, task, s.workingTTL(t.durable)))
	}
	if s.recordOutage(err) != nil {
		s.checkLater(nil, s.undoUpdate(t.task, t.id, task, s.workingTTL(t.durable)))
		s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", t.task).AnErr("cause", err)).Msg("turn_not_released")
		return
	}
	t.turns.handedOver.Add(1)
	_ = s.cfg.Store.Signal(t.ctx, store.OrphansTopic)
}
