// This file brings a turn to its end in the store, in one of two ways.
//
//	concludeTurn  writes all in one step, if the store can: rest of the log, last state, trace
//	  confirmEnd  finds out whether the store has it, if the answer was lost
//	finishTask    writes the task's last state alone; log and trace have writes of their own
//
// Both write the same final document, made once; see storedTask.

package task

import (
	"bytes"
	"errors"

	"sluice/internal/state/store"
)

// turnEnd is the end of a turn: its state, and the task that gets it.
type turnEnd struct {
	state  endState
	fenced bool // another process may continue the turn by now; guarded by openTurns.mu
	stored storedTask
}

// concludeTurn writes the end of the turn, if it has come. It returns false if the log is to be written
// by itself. A run of a workflow is left out: its records know of its end as well.
func (e *turnEnd) concludeTurn(log *writer, answer *answer, trace *tracing) bool {
	of, k := log.of, &e.stored
	ender, ok := of.store.cfg.Store.(store.Ender)
	if !ok || of.durable || answer.Done == nil || !e.state.isOpen() || log.ended || !log.retry.IsZero() {
		return e.state == endUnknown
	}
	if k.final == nil {
		k.makeFinal(of, answer)
	}
	err := k.prepareFinal(of, answer)
	if err == nil {
		err = ender.EndTurn(of.ctx, store.End{
			Turn: of.id, TaskID: of.task, Log: log.nextAppend(), Task: k.finalTask(of), TTL: k.ttl,
			Trace: trace.Part(true).Encode(), Bounds: traceBounds(of.task),
		})
		if errors.Is(err, store.ErrUnavailable) {
			e.state.doubt()
		}
	}
	switch {
	case err == nil:
		e.recordConcluded(log, trace)
	case errors.Is(err, store.ErrUnavailable): // the client does not wait for another try
		_ = of.store.recordOutage(err)
		log.retryLater()
	}
	return err == nil || e.state == endUnknown
}

// recordConcluded records that the store has the end of the turn.
func (e *turnEnd) recordConcluded(log *writer, trace *tracing) {
	log.recordAppended()
	e.stored.reportFinal(log.of)
	e.state.finish()
	trace.isStored = true
}

// confirmEnd finds out whether the store has the end of the turn, if that is not known. It returns
// false if the store is unavailable.
func (e *turnEnd) confirmEnd(log *writer, trace *tracing) bool {
	if e.state != endUnknown {
		return true
	}
	of := log.of
	there, err := of.store.cfg.Store.Task(of.ctx, of.task)
	if errors.Is(of.store.recordOutage(err), store.ErrUnavailable) {
		return false
	}
	if err == nil && bytes.Equal(there.Doc, e.stored.final) {
		e.recordConcluded(log, trace)
		return true
	}
	e.state.deny()
	return true
}

// finishTask writes the task's last state, once. It returns false if that is to be tried again.
func (e *turnEnd) finishTask(of *identity, answer *answer) bool {
	if e.state.isOpen() && e.stored.writeFinal(of, answer) {
		e.state.finish()
	}
	return !e.state.isOpen()
}
