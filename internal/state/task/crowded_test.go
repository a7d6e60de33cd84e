package task

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// crowded is a store whose connections are all in use when a log is read.
type crowded struct{ *memory.Store }

func (crowded) ReadLog(context.Context, string, int, int) ([]store.Entry, error) {
	return nil, fmt.Errorf("read_log: %w: %w: %w", store.ErrUnavailable, store.ErrNotSent, store.ErrCrowded)
}

// A wait for a connection of our own says that the gateway is overloaded. Nothing is learnt of the
// store, so that its processes are not taken for dead later.
func TestCrowdOfReadersIsAnOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Store: crowded{memory.New(memory.Config{})}})
		defer s.Close()
		_, err := s.OpenLog(t.Context(), newID("turn_"))
		if f := fault.From(err); f.Type != fault.Overloaded || !f.Type.Recoverable() {
			t.Errorf("%v, want %s", err, fault.Overloaded)
		}
		if s.isUncertain() {
			t.Error("the store counts as unavailable")
		}
	})
}
