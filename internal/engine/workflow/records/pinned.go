package records

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sluice/internal/engine/workflow/graph"
	"sluice/internal/state/store"
)

// A definition is stored as long as some run is pinned to it, even if the file has changed. Each
// run is in an index of its definition from before its begin until it is forgotten; the gateway
// that takes the last one out lets the definition expire. Two gateways may do both at the same
// time, without a lock. It is safe because of the order of the writes:
//
//   - a gateway that begins a run puts it into the index, and makes the definition stay after that;
//   - one that removes the last run lets the definition expire, and looks at the index again
//     after that: if there is a run it makes the definition stay.
//
// The second of the two sees the write of the first.

const (
	// putAgain is how long a process trusts that a definition that it has put is still there: so
	// not every run costs a write of it. A run that was begun by such trust makes sure before it
	// waits or ends.
	putAgain = 5 * time.Second
	// unpinned is how long a definition stays without a run: longer than a run that was begun by
	// trust takes to make sure.
	unpinned = 48 * time.Hour
)

// pinned is the definition that a run is pinned to, until the store certainly has it.
type pinned struct {
	w     *graph.Workflow // nil: it is sure
	since time.Time       // when the run was in the index
}

// pinDefinition pins a run that begins to its definition, and puts that into the store.
func (k *keeping) pinDefinition(ctx context.Context, w *graph.Workflow) error {
	err := k.s.cfg.Store.PutIndex(ctx, store.DefinitionRunsKey(w.Sum()), store.Member{ID: k.id, Score: time.Now().UnixMilli()}, 0)
	if err != nil {
		return err
	}
	k.pinned = pinned{w, time.Now()}
	return k.s.keepDefinition(ctx, w, time.Now().Add(-putAgain))
}

// ensurePinned makes the definition stay, if this process has not done so since the run began. An
// error is not the run's: its definition is there for a while in any case. It needs mu.
func (k *keeping) ensurePinned(ctx context.Context) {
	if k.pinned.w != nil && k.s.keepDefinition(ctx, k.pinned.w, k.pinned.since) == nil {
		k.pinned.w = nil
	}
}

// keepDefinition makes a definition stay in the store, if this process has not done so after that
// time. The store may have been restarted without its data.
func (s *RunStore) keepDefinition(ctx context.Context, w *graph.Workflow, after time.Time) error {
	text, sum := w.Stored()
	s.mu.Lock()
	at, known := s.put[sum]
	s.mu.Unlock()
	if known && at.After(after) {
		return nil
	}
	began := time.Now()
	_, err := s.cfg.Store.PutValue(ctx, store.DefinitionKey(sum), store.Value{Data: text}, 0)
	if errors.Is(err, store.ErrConflict) { // it is there, and may be about to expire
		err = s.cfg.Store.KeepValue(ctx, store.DefinitionKey(sum), 0)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defs[sum], s.put[sum] = w, began
	return nil
}

// unpinRun takes a run that is forgotten out of the index of its definition. If the run's record is
// missing, the run was unpinned before; if it cannot be read, the run stays in the index.
func (s *RunStore) unpinRun(ctx context.Context, id string) error {
	v, err := s.cfg.Store.Value(ctx, store.RunKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	var r storedRun
	if err != nil || json.Unmarshal(v.Data, &r) != nil || r.Header.Definition == "" {
		return err
	}
	return s.unpinFrom(ctx, id, r.Header.Definition)
}

// unpinFrom takes a run out of the index of a definition. With its last run a definition expires.
func (s *RunStore) unpinFrom(ctx context.Context, id, definition string) error {
	index, key := store.DefinitionRunsKey(definition), store.DefinitionKey(definition)
	if err := s.cfg.Store.RemoveIndex(ctx, index, id); err != nil {
		return err
	}
	if n, err := s.cfg.Store.CountIndex(ctx, index); n > 0 || err != nil {
		return err
	}
	err := s.cfg.Store.KeepValue(ctx, key, unpinned)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	n, failed := s.cfg.Store.CountIndex(ctx, index)
	if n > 0 || failed != nil { // a run has begun meanwhile, or may have
		err = errors.Join(err, failed, s.cfg.Store.KeepValue(ctx, key, 0))
	}
	return err
}
