package task

import (
	"errors"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
)

// tracing records a turn for the trace of its task, which gets the record once.
type tracing struct {
	*record.Recorder
	isStored bool // the store has it, or never will
}

// storeTrace adds the recorded part to the trace of the task, and keeps the trace for ttl. It
// returns false if the store is unavailable.
func (t *tracing) storeTrace(of *identity, ttl time.Duration) bool {
	if !t.isStored {
		err := of.store.pushTrace(of.ctx, of.task, t.Part(true), ttl)
		t.isStored = !errors.Is(err, store.ErrUnavailable)
	}
	return t.isStored
}
