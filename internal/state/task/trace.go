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
	kept bool // the store has it, or never will
}

// keep adds what was recorded to the trace of the task, which is kept for ttl. It returns false
// if the store is unavailable.
func (t *tracing) keep(of *identity, ttl time.Duration) bool {
	if !t.kept {
		err := of.store.pushTrace(of.ctx, of.task, t.Part(true), ttl)
		t.kept = !errors.Is(err, store.ErrUnavailable)
	}
	return t.kept
}
