// This file removes the records of tasks whose time is over while the gateway runs.

package task

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
)

// retentionSweeper removes the records of ended tasks in time. But for Erase, only the keeper calls it.
type retentionSweeper struct {
	*taskStore
	progress sweepProgress
}

// sweepProgress is how far the sweeps have come.
type sweepProgress struct {
	policy Retention // policy of the keeper's last sweep
	// walking is the entry that the walk has come to. The walk corrects the whole index after
	// the policy has changed. nil: without a walk.
	walking *store.Member
	begun   bool
	// dirty is true if files may hold swept data. erased is the time of the last erasure.
	dirty  bool
	erased time.Time
}

// sweepRetained removes the expired records, and walks on through the index.
func (s *retentionSweeper) sweepRetained(ctx context.Context) {
	began, policy := time.Now(), s.currentRetention()
	w := s.newSweeper(policy)
	gone, err := w.Due(ctx, began)
	if err == nil {
		err = s.walkIndex(ctx, w, began)
	}
	s.eraseSwept(ctx, gone > 0)
	if gone > 0 {
		s.counts.deleted.Add(float64(gone))
		s.cfg.Log.Info().Dict("details", zerolog.Dict().Int("tasks", gone).Int64("duration_ms", time.Since(began).Milliseconds())).Msg("retention_swept")
	}
	_ = s.recordOutage(err)
}

// eraseAgain is the time between two erasures of swept data.
const eraseAgain = time.Minute

// eraseSwept removes swept data from the store's files, at most once in eraseAgain.
func (s *retentionSweeper) eraseSwept(ctx context.Context, swept bool) {
	k := &s.progress
	k.dirty = k.dirty || swept
	if !k.dirty || time.Since(k.erased) < eraseAgain {
		return
	}
	k.erased = time.Now()
	k.dirty = s.Erase(ctx) != nil
}

// walkIndex corrects a page of the index, if the index was made by another policy.
func (s *retentionSweeper) walkIndex(ctx context.Context, w *Sweeper, now time.Time) error {
	k := &s.progress
	if !k.begun || !k.policy.equals(w.Policy) {
		known, err := w.Policy.isMarked(ctx, w.Store)
		if err != nil {
			return err
		}
		if k.policy, k.begun, k.walking = w.Policy, true, nil; known {
			return nil
		}
		k.walking = &store.Member{Score: -1 << 53}
	}
	if k.walking == nil {
		return nil
	}
	next, err := w.sweepPage(ctx, store.Range{Min: k.walking.Score, Max: 1 << 53, After: k.walking, Limit: retainPage}, now, func(Swept) {})
	if err != nil {
		return err
	}
	if k.walking = next; next == nil {
		return w.Policy.storeMark(ctx, w.Store)
	}
	return nil
}

// Erase removes deleted data from the store's files.
func (s *retentionSweeper) Erase(ctx context.Context) error {
	if e, ok := s.cfg.Store.(store.Eraser); ok {
		if err := e.Erase(ctx); err != nil {
			return storeUnavailable(s.recordOutage(err))
		}
	}
	return nil
}
