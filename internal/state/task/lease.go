// This file renews the lease of this process, and fences its runs before others may claim them.

package task

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
)

// processLease is the right of this process to its turns, which ends if it is not renewed.
// It is safe for concurrent use.
type processLease struct {
	*taskStore
	turns   *openTurns                // turns that the lease covers
	leased  atomic.Bool               // the last renewal succeeded
	renewed atomic.Pointer[time.Time] // when the last renewal that succeeded began
}

// keepRenewed renews the lease each third of it. After each renewal it sends a value to renewed, a
// channel with room for one.
func (l *processLease) keepRenewed(ctx context.Context, renewed chan<- struct{}) {
	due := time.NewTicker(l.cfg.Lease / 3)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-due.C:
		}
		if l.renewLease() != nil {
			continue
		}
		select {
		case renewed <- struct{}{}:
		default: // the keeper has not seen the last one yet
		}
	}
}

// renewLease takes or prolongs the lease of this process.
func (l *processLease) renewLease() error {
	l.fenceIfLate() // a process that was stopped for long does not know yet that its lease is over
	began := time.Now()
	err := l.recordOutage(l.cfg.Store.RenewLease(context.Background(), l.holder, l.cfg.Lease))
	l.leased.Store(err == nil)
	if err == nil {
		l.renewed.Store(&began)
	}
	return err
}

// Holder is this process in the store, whose lease the Service renews.
func (l *processLease) Holder() store.Holder { return l.holder }

// watchLease fences while the keeper waits for a store that does not answer.
func (l *processLease) watchLease(ctx context.Context) {
	look := time.NewTicker(min(lookEvery, l.cfg.Lease/10))
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			l.fenceIfLate()
		}
	}
}

// fenceIfLate ends the runs of this process before another one can claim them: its lease has not
// been renewed for two thirds of it, by a clock that is never set.
func (l *processLease) fenceIfLate() {
	if renewed := l.renewed.Load(); renewed != nil && time.Since(*renewed) <= l.cfg.Lease*2/3 {
		return
	}
	for _, t := range l.turns.fenceRuns() {
		l.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", t.task)).Msg("run_fenced")
		t.cancel(storeUnavailable(nil))
	}
}

// isUncertain reports whether processes may live whose lease is over: the store was unavailable so
// shortly ago that they could not renew it.
func (l *processLease) isUncertain() bool {
	failed := l.failed.Load()
	return failed != nil && time.Since(*failed) < l.cfg.Lease || !l.leased.Load()
}
