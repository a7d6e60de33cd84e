package task

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"sluice/internal/state/store"
)

// sweepEvery is how often the keeper looks for the turns of the dead: more often while
// a client reads a log here, and would wait for them.
const sweepEvery, sweepForReaders = 5 * time.Second, time.Second

// keep is the keeper's loop.
func (s *Service) keep() {
	defer close(s.ended)
	var watching sync.WaitGroup
	// Goroutine (watchLease): ends the turns of this process when its lease could not be renewed.
	// Ends: `Service.Close`.
	// Waits: keep.
	watching.Go(s.watchLease)
	renewed := make(chan struct{}, 1)
	// Goroutine (keepLease): renews the lease, however long the keeper works on the turns of others.
	// Ends: `Service.Close`.
	// Waits: keep.
	watching.Go(func() { s.keepLease(renewed) })
	defer watching.Wait()
	watch := s.cfg.Store.Watch(store.CancelTopic(s.holder.Owner))
	defer watch.Stop()
	orphans := s.cfg.Store.Watch(store.OrphansTopic)
	defer orphans.Stop()
	sweeps, look := time.NewTimer(jitter(sweepForReaders)), time.NewTicker(lookEvery)
	defer sweeps.Stop()
	defer look.Stop()
	swept, subscribed := time.Now(), false
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-renewed:
			s.turns.finishUnsettled()
			s.retake()
			s.store.checkUnconfirmed(s.ctx, true)
		case <-watch.C:
			s.observe()
		case <-look.C:
			s.observe()
			s.store.checkUnconfirmed(s.ctx, false)
			s.checkClosing()
		case <-orphans.C:
			if !subscribed {
				subscribed = true
				continue
			}
			swept = s.sweepAll(time.Time{})
		case <-s.ready:
			swept = s.sweepAll(time.Time{})
		case <-sweeps.C:
			swept = s.sweepAll(swept)
			sweeps.Reset(jitter(sweepForReaders))
		}
	}
}

// Ready says that Config.Runs can be continued from now on: the keeper looks at once
// whether there are some.
func (s *Service) Ready() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// sweepAll sweeps if it is time for that. It returns when it was done last; the zero time
// if there is more to do.
func (s *Service) sweepAll(last time.Time) time.Time {
	if s.readers.Load() == 0 && time.Since(last) < sweepEvery*4/5 {
		return last
	}
	more := s.sweep(s.ctx)
	more = s.sweepDue(s.ctx) || more
	s.sweepRetained(s.ctx)
	if more {
		return time.Time{}
	}
	return time.Now()
}

// jitter keeps gateways from doing the same thing at the same time.
func jitter(d time.Duration) time.Duration { return d - d/5 + rand.N(2*d/5) }

// keepLease renews the lease each third of it. It reports each time that it could to renewed, which has
// room for one.
func (s *Service) keepLease(renewed chan<- struct{}) {
	due := time.NewTicker(s.cfg.Lease / 3)
	defer due.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-due.C:
		}
		if s.renew() != nil {
			continue
		}
		select {
		case renewed <- struct{}{}:
		default: // the keeper has not seen the last one yet
		}
	}
}

// renew takes or prolongs the lease.
func (s *Service) renew() error {
	s.fence() // a process that was stopped for long does not know yet that its lease is over
	began := time.Now()
	err := s.recordOutage(s.cfg.Store.RenewLease(context.WithoutCancel(s.ctx), s.holder, s.cfg.Lease))
	s.leased.Store(err == nil)
	if err == nil {
		s.renewed.Store(&began)
	}
	return err
}

// observe cancels the turns whose end was asked for on any gateway.
func (s *Service) observe() {
	if s.turns.isIdle() {
		return
	}
	name := cancels(s.holder.Owner)
	asked, err := s.cfg.Store.Index(s.ctx, name, store.Range{Max: 1 << 53, Limit: 1000})
	if s.recordOutage(err) != nil {
		return
	}
	for _, m := range asked {
		s.turns.stopTurn(m.ID)
		_ = s.cfg.Store.RemoveIndex(s.ctx, name, m.ID)
	}
}

// Holder is this process in the store, whose lease the Service renews.
func (s *Service) Holder() store.Holder { return s.holder }

// New returns a Service and starts its keeper, which has the lease renewed, learns of cancels,
// and closes the turns of dead processes. The caller must call Close.
func New(cfg Config) *Service {
	tasks := newTaskStore(cfg)
	logs := &turnLogs{taskStore: tasks}
	s := &Service{
		taskStore: tasks, turnLogs: logs,
		store:   &turnStore{turnLogs: logs, unconfirmedWrites: unconfirmedWrites{tasks: tasks}},
		turns:   &openTurns{running: map[string]*Turn{}},
		ended:   make(chan struct{}),
		ready:   make(chan struct{}, 1),
		listing: make(chan struct{}, lists),
	}
	s.turns.closeDropped = s.closeLater
	cfg.Metrics.GaugeFunc("turns_detached", "Turns that go on without the client that began them.", func() float64 {
		return float64(s.store.detached.Load())
	})
	s.ctx, s.close = context.WithCancel(context.Background())
	s.renew()
	// Goroutine (keep): sweeps, looks for cancels, and settles ends when the lease was renewed.
	// Ends: `Service.Close`.
	// Waits: `Service.Close`.
	go s.keep()
	return s
}

// Close ends the keeper and gives the lease back. No turn may run any more.
func (s *Service) Close() {
	s.stopContinued()
	s.awaitConfirmed()
	s.reportHandedOver()
	s.close()
	<-s.ended
	if s.retained.left {
		_ = s.Erase(context.Background())
	}
	_ = s.cfg.Store.ReleaseLease(context.Background(), s.holder)
}

// awaitConfirmed waits until the outcome of every write is known, and the store has the end of every
// turn, for closeWait at most. The keeper must run.
func (s *Service) awaitConfirmed() {
	isOpen := func() bool { return s.turns.hasUnsettled() || s.store.hasUnconfirmed() }
	for began := time.Now(); isOpen() && time.Since(began) < closeWait; {
		time.Sleep(lookEvery / 10)
	}
}

// checkClosing writes ends that an outage has delayed, if this process ends: the next process would
// take such a turn for a lost one.
func (s *Service) checkClosing() {
	if s.turns.isClosed() {
		s.turns.finishUnsettled()
	}
}
