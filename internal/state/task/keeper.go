// This file is the keeper: a goroutine that looks after the turns of this process and of dead ones.

package task

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
)

// turnKeeper looks after the turns of this process and of dead processes, in a goroutine of its own.
type turnKeeper struct {
	store     *turnStore
	turns     *openTurns
	lease     *processLease
	successor *turnSuccessor
	retained  *retentionSweeper

	ctx   context.Context // ends with Close
	close context.CancelFunc
	ended chan struct{} // closed when the keeper has returned
	ready chan struct{} // see Ready
}

// newKeeper returns a turnKeeper that does not run yet.
func newKeeper(st *turnStore, turns *openTurns, lease *processLease, successor *turnSuccessor, retained *retentionSweeper) *turnKeeper {
	k := &turnKeeper{store: st, turns: turns, lease: lease, successor: successor, retained: retained, ended: make(chan struct{}), ready: make(chan struct{}, 1)}
	k.ctx, k.close = context.WithCancel(context.Background())
	return k
}

// runKeeper is the keeper's loop.
func (k *turnKeeper) runKeeper() {
	defer close(k.ended)
	var watching sync.WaitGroup
	// Goroutine (watchLease): ends the turns of this process when its lease could not be renewed.
	// Ends: `Service.Close`.
	// Waits: runKeeper.
	watching.Go(func() { k.lease.watchLease(k.ctx) })
	renewed := make(chan struct{}, 1)
	// Goroutine (keepLease): renews the lease, however long the keeper works on the turns of others.
	// Ends: `Service.Close`.
	// Waits: runKeeper.
	watching.Go(func() { k.lease.keepRenewed(k.ctx, renewed) })
	defer watching.Wait()
	watch := k.store.cfg.Store.Watch(store.CancelTopic(k.store.holder.Owner))
	defer watch.Stop()
	orphans := k.store.cfg.Store.Watch(store.OrphansTopic)
	defer orphans.Stop()
	sweeps, look := time.NewTimer(withJitter(sweepForReaders)), time.NewTicker(lookEvery)
	defer sweeps.Stop()
	defer look.Stop()
	swept, subscribed := time.Now(), false
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-renewed:
			k.turns.finishUnsettled()
			k.successor.continueSuspended(k.ctx)
			k.store.checkUnconfirmed(k.ctx, true)
		case <-watch.C:
			k.cancelRequested()
		case <-look.C:
			k.cancelRequested()
			k.store.checkUnconfirmed(k.ctx, false)
			k.checkClosing()
		case <-orphans.C:
			if !subscribed {
				subscribed = true
				continue
			}
			swept = k.sweepAll(time.Time{})
		case <-k.ready:
			swept = k.sweepAll(time.Time{})
		case <-sweeps.C:
			swept = k.sweepAll(swept)
			sweeps.Reset(withJitter(sweepForReaders))
		}
	}
}

// Ready says that Config.Runs can be continued from now on: the keeper looks at once
// whether there are some.
func (k *turnKeeper) Ready() {
	select {
	case k.ready <- struct{}{}:
	default:
	}
}

// sweepAll sweeps if it is time for that. It returns when it was done last; the zero time
// if there is more to do.
func (k *turnKeeper) sweepAll(last time.Time) time.Time {
	if k.store.readers.Load() == 0 && time.Since(last) < sweepEvery*4/5 {
		return last
	}
	more := k.successor.sweepOrphans(k.ctx)
	more = k.successor.sweepDue(k.ctx) || more
	k.retained.sweepRetained(k.ctx)
	if more {
		return time.Time{}
	}
	return time.Now()
}

// withJitter keeps gateways from doing the same thing at the same time.
func withJitter(d time.Duration) time.Duration { return d - d/5 + rand.N(2*d/5) }

// cancelRequested cancels the turns whose end was asked for on any gateway.
func (k *turnKeeper) cancelRequested() {
	if k.turns.isIdle() {
		return
	}
	name := cancelIndex(k.store.holder.Owner)
	asked, err := k.store.cfg.Store.Index(k.ctx, name, store.Range{Max: 1 << 53, Limit: 1000})
	if k.store.recordOutage(err) != nil {
		return
	}
	for _, m := range asked {
		k.turns.stopTurn(m.ID)
		_ = k.store.cfg.Store.RemoveIndex(k.ctx, name, m.ID)
	}
}

// Close ends the keeper and gives the lease back. No turn may run any more.
func (k *turnKeeper) Close() {
	k.successor.stopContinued()
	k.awaitConfirmed()
	k.reportHandedOver()
	k.close()
	<-k.ended
	if k.retained.progress.dirty {
		_ = k.retained.Erase(context.Background())
	}
	_ = k.store.cfg.Store.ReleaseLease(context.Background(), k.store.holder)
}

// closeWait is how long Close waits for the outcome of writes. It is longer than the breaker
// of the store stays open.
const closeWait = 6 * time.Second

// awaitConfirmed waits until the outcome of every write is known, and the store has the end of every
// turn, for closeWait at most. The keeper must run.
func (k *turnKeeper) awaitConfirmed() {
	isOpen := func() bool { return k.turns.hasUnsettled() || k.store.hasUnconfirmed() }
	for began := time.Now(); isOpen() && time.Since(began) < closeWait; {
		time.Sleep(lookEvery / 10)
	}
}

// checkClosing writes ends that an outage has delayed, if this process ends: the next process would
// take such a turn for a lost one.
func (k *turnKeeper) checkClosing() {
	if k.turns.isClosed() {
		k.turns.finishUnsettled()
	}
}

// reportHandedOver logs how many turns this process has let go of.
func (k *turnKeeper) reportHandedOver() {
	if n := k.turns.handedOver.Load(); n > 0 {
		k.store.cfg.Log.Info().Dict("details", zerolog.Dict().Int64("turns", n)).Msg("turns_handed_over")
	}
}
