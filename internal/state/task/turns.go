// This file lists the turns of this process whose end is not stored. The keeper can stop, fence,
// finish or continue them.

package task

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
)

// openTurns are the turns of this process whose end is not stored. A turn is in running from its
// begin to its End, and in unsettled after that if the store does not have its end yet. It is safe
// for concurrent use.
type openTurns struct {
	mu        sync.Mutex       // guards the fields below
	running   map[string]*Turn // by task
	unsettled []*Turn          // ended, but the store does not have their end
	suspended []string         // tasks of this process that do not run here: it continues them later
	closed    bool             // no turn is continued any more
	// unattended counts the turns that run without a client here.
	unattended sync.WaitGroup
	handedOver atomic.Int64 // turns that were released for other processes
	// closeDropped returns a check that closes a turn whose end did not fit into unsettled.
	closeDropped func(task, turn string) func(context.Context) error
}

// maxUnsettled bounds the turns whose end the store does not have yet. The others are closed from
// their logs, without memory for their ends.
const maxUnsettled = 256

// add adds a turn that begins.
func (o *openTurns) add(t *Turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running[t.task] = t
}

// addUnattended adds a turn that runs without a client. It returns false if this process ends.
// After true the caller must call unattended.Done.
func (o *openTurns) addUnattended(t *Turn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.running[t.task] = t
	o.unattended.Add(1)
	return true
}

// remove removes the turn of a task. The turn has ended here.
func (o *openTurns) remove(task string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.running, task)
}

// hasTurn reports whether a turn of a task runs here.
func (o *openTurns) hasTurn(task string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.running[task] != nil
}

// isIdle reports whether no turn runs here.
func (o *openTurns) isIdle() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.running) == 0
}

// stopTurn cancels the turn of a task. It returns false if none runs here.
func (o *openTurns) stopTurn(task string) bool {
	o.mu.Lock()
	t := o.running[task]
	o.mu.Unlock()
	if t == nil {
		return false
	}
	zerolog.Ctx(t.ctx).Info().Dict("details", zerolog.Dict().Str("task_id", task)).Msg("turn_cancelled")
	t.cancel(cancelledFault())
	return true
}

// fenceRuns marks the runs that another process may continue by now, and returns those that were not
// marked before.
func (o *openTurns) fenceRuns() (fenced []*Turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.running {
		if t.durable && !t.end.fenced {
			t.end.fenced = true
			fenced = append(fenced, t)
		}
	}
	return fenced
}

// isFenced reports whether another process may continue t by now.
func (o *openTurns) isFenced(t *Turn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return t.end.fenced
}

// deferEnd leaves the end of a turn to the keeper. It returns false if the list is full.
func (o *openTurns) deferEnd(t *Turn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.unsettled) >= maxUnsettled {
		return false
	}
	o.unsettled = append(o.unsettled, t)
	return true
}

// finishUnsettled writes to the store how turns have ended while it was unavailable.
func (o *openTurns) finishUnsettled() {
	o.mu.Lock()
	turns := o.unsettled
	o.unsettled = nil
	o.mu.Unlock()
	for i, t := range turns {
		if !t.finishLogAndTask() {
			o.mu.Lock()
			o.unsettled = append(o.unsettled, turns[i:]...)
			o.mu.Unlock()
			return
		}
	}
}

// hasUnsettled reports whether the store lacks the end of a turn.
func (o *openTurns) hasUnsettled() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.unsettled) > 0
}

// suspendTask remembers a task of this process that does not run: the keeper continues it.
func (o *openTurns) suspendTask(task string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Contains(o.suspended, task) {
		o.suspended = append(o.suspended, task)
	}
}

// removeSuspended returns the tasks that suspendTask has remembered, and forgets them.
func (o *openTurns) removeSuspended() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	tasks := o.suspended
	o.suspended = nil
	return tasks
}

// closeAll keeps all turns from being continued from now on. It returns the turns that run without
// a client.
func (o *openTurns) closeAll() (unattended []*Turn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for _, t := range o.running {
		if t.work != nil {
			unattended = append(unattended, t)
		}
	}
	return unattended
}

// isClosed reports whether closeAll was called.
func (o *openTurns) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}
