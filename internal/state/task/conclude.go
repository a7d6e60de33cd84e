// This file writes the end of a turn in one step, where the store can: what the log lacks, the task's
// last state, and the trace. Else, and after an error, each of them is written by itself.

package task

import (
	"bytes"
	"errors"

	"sluice/internal/state/store"
)

// conclude writes the end of the turn, if it has come. It returns false if the log is to be written
// by itself. A run of a workflow is left out: its records know of its end as well.
func (t *Turn) conclude() bool {
	ender, ok := t.store.cfg.Store.(store.Ender)
	if !ok || t.durable || t.said.Done == nil || t.life != running || t.log.ended || !t.log.retry.IsZero() {
		return t.unsure
	}
	k := &t.kept
	if k.last == nil {
		k.end(&t.identity, &t.said)
	}
	err := k.prepare(&t.identity, &t.said)
	if err == nil {
		err = ender.EndTurn(t.ctx, store.End{
			Turn: t.id, TaskID: t.task, Log: t.log.next(), Task: k.final(&t.identity), TTL: k.ttl,
			Trace: t.trace.Part(true).Encode(), Bounds: traceBounds(t.task),
		})
		t.unsure = errors.Is(err, store.ErrUnavailable)
	}
	switch {
	case err == nil:
		t.conclusion()
	case errors.Is(err, store.ErrUnavailable): // the client does not wait for another try
		_ = t.store.recordOutage(err)
		t.log.later()
	}
	return err == nil || t.unsure
}

// conclusion notes that the store has the end of the turn.
func (t *Turn) conclusion() {
	t.log.appended()
	t.kept.settled(&t.identity)
	t.life.settle()
	t.trace.kept, t.unsure = true, false
}

// concluded finds out whether the store has the end of the turn, if that is not known. It returns
// false if the store is unavailable.
func (t *Turn) concluded() bool {
	if !t.unsure {
		return true
	}
	there, err := t.store.cfg.Store.Task(t.ctx, t.task)
	if errors.Is(t.store.recordOutage(err), store.ErrUnavailable) {
		return false
	}
	if t.unsure = false; err == nil && bytes.Equal(there.Doc, t.kept.last) {
		t.conclusion()
	}
	return true
}
