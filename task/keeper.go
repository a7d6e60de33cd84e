package task

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/fault"
	"sluice/store"
	"sluice/stream"
)

const (
	// lookEvery is how often the keeper looks for cancels whose signal was lost.
	lookEvery = 500 * time.Millisecond
	// sweepEvery is how often it looks for the turns of the dead: more often while
	// a client reads a log here, and would wait for them.
	sweepEvery, sweepForReaders = 5 * time.Second, time.Second
	// sweep is how many turns one sweep closes.
	sweep = 100
	// cancelMemory is how long a cancel waits for the process that it is meant for.
	cancelMemory = time.Minute
)

const lostMessage = "The gateway that ran this turn has stopped; its answer is not complete"

// lost ends a turn whose process is gone. Whether its last tools ran is
// unknown.
func lost() error { return &fault.Error{Type: fault.TurnLost, Message: lostMessage} }

// lostOr is lost; owned says that this process has left the turn, and has not stopped.
func lostOr(owned bool) error {
	if owned {
		return unavailable(nil)
	}
	return lost()
}

// cancelled ends a turn that a caller asked to end.
func cancelled() error { return &fault.Error{Type: fault.Cancelled, Message: "The turn was cancelled"} }

// keep is the keeper's loop.
func (s *Service) keep() {
	defer close(s.ended)
	var watching sync.WaitGroup
	// Goroutine (watchLease): ends the turns of this process when its lease could not be renewed.
	// Ends: `Service.Close`.
	// Waits: keep.
	watching.Go(s.watchLease)
	defer watching.Wait()
	watch := s.cfg.Store.Watch(store.CancelTopic(s.holder.Owner))
	defer watch.Stop()
	renew, sweeps, look := time.NewTicker(s.cfg.Lease/3), time.NewTimer(jitter(sweepForReaders)), time.NewTicker(lookEvery)
	defer renew.Stop()
	defer sweeps.Stop()
	defer look.Stop()
	swept := time.Now()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-renew.C:
			if s.renew() == nil {
				s.settle()
				s.retake()
			}
		case <-watch.C:
			s.observe()
		case <-look.C:
			s.observe()
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

// renew takes or prolongs the lease.
func (s *Service) renew() error {
	s.fence() // a process that was stopped for long does not know yet that its lease is over
	began := time.Now()
	err := s.note(s.cfg.Store.RenewLease(context.WithoutCancel(s.ctx), s.holder, s.cfg.Lease))
	s.leased.Store(err == nil)
	if err == nil {
		s.mu.Lock()
		s.renewed = began
		s.mu.Unlock()
	}
	return err
}

// cancels returns the index of the cancelled tasks of a process.
func cancels(owner string) string { return "sluice:cancel:" + owner }

// observe cancels the turns whose end was asked for on any gateway.
func (s *Service) observe() {
	s.mu.Lock()
	idle := len(s.running) == 0
	s.mu.Unlock()
	if idle {
		return
	}
	name := cancels(s.holder.Owner)
	asked, err := s.cfg.Store.Index(s.ctx, name, store.Range{Max: 1 << 53, Limit: 1000})
	if s.note(err) != nil {
		return
	}
	for _, m := range asked {
		s.stop(m.ID)
		_ = s.cfg.Store.RemoveIndex(s.ctx, name, m.ID)
	}
}

// stop cancels a turn of this process. It says whether there is one.
func (s *Service) stop(task string) bool {
	s.mu.Lock()
	t := s.running[task]
	s.mu.Unlock()
	if t == nil {
		return false
	}
	zerolog.Ctx(t.ctx).Info().Dict("details", zerolog.Dict().Str("task_id", task)).Msg("turn_cancelled")
	t.cancel(cancelled())
	return true
}

// sweep closes the turns of dead processes, and continues their runs: with
// some of them, as others want theirs. It says whether it has left any. After an outage of
// the store it waits for one lease, so that owners can renew theirs.
func (s *Service) sweep(ctx context.Context) (more bool) {
	if s.uncertain() {
		return false
	}
	ids, err := s.cfg.Store.Orphans(ctx, sweep)
	if s.note(err) != nil {
		return false
	}
	before := s.continuing
	for _, id := range ids {
		if s.continuing-before == maxContinued {
			return true
		}
		if err := s.closeOrphan(ctx, id); err != nil && !errors.Is(err, ErrNotHere) && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			_ = s.note(err)
			s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", id).AnErr("cause", err)).Msg("turn_not_closed")
		}
	}
	return false
}

// uncertain says that processes may live whose lease is over: the store was unavailable so
// shortly ago that they could not renew it.
func (s *Service) uncertain() bool {
	failed := s.failed.Load()
	return failed != nil && time.Since(*failed) < s.cfg.Lease || !s.leased.Load()
}

// closeOrphan closes one of them. What this process holds itself is none, whatever the
// store's clock says of its lease.
func (s *Service) closeOrphan(ctx context.Context, id string) (err error) {
	defer caught(&err)
	task, err := s.cfg.Store.Task(ctx, id)
	if err != nil || task.Holder == s.holder {
		return err
	}
	if task.Owner == "" { // another one was faster
		return store.ErrConflict
	}
	return s.closeLost(ctx, id, task)
}

// closeLost continues a task that no process runs, or closes it: its log gets what it
// lacks, its task a last state.
func (s *Service) closeLost(ctx context.Context, id string, task store.Task) error {
	if continued, err := s.takeOver(ctx, id, task); continued || err != nil {
		return err
	}
	before, dead, owned := task.State, task.Owner, task.Holder == s.holder
	kept, err := s.readAll(ctx, task.Turn)
	if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	doc, begun := readDocument(id, task), readDocument(id, task)
	c := store.Closing{Task: task}
	var said answer
	if lost := lostOr(owned); err != nil {
		c.State = Failed
		said.note(stream.NewError(lost, true))
	} else {
		s.closeLog(kept, lost, time.Since(begun.began(task.Turn, task.Created)), &said, &c)
	}
	doc.ended(c.State, &said, task.Turn, time.Now(), s.cfg.MaxHistory)
	var long []byte
	c.Doc, long = doc.stored()
	c.Holder = store.Holder{}
	if c.TTL, err = s.keepEnded(ctx, id, doc, said.waits()); err != nil {
		return err
	}
	if c.State == InputRequired && s.cfg.Runs != nil { // a run ends its wait itself
		if run, err := s.cfg.Runs.Open(ctx, id); run != nil || err != nil {
			c.TTL = 0
		}
	}
	if err = s.keepLong(ctx, doc, long, c.TTL); err != nil {
		return err
	}
	if _, err = s.change(ctx, id, c, owned); err != nil {
		return err
	}
	s.traceLost(ctx, id, begun, task, kept, &c)
	s.lost.Inc()
	s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", id).Str("owner", dead)).Msg("turn_lost")
	s.changed(s.cfg.Log.WithContext(ctx), id, before, c.State)
	return nil
}

// closeLog fills into c what the log of a lost turn lacks and the state in which the turn ends,
// and into said all that the turn has said then.
func (s *Service) closeLog(kept stored, lost error, after time.Duration, said *answer, c *store.Closing) {
	for _, logged := range kept.logged {
		said.note(logged.Event)
	}
	data, n := kept.close(lost, after, said)
	if c.State = Failed; said.Done != nil {
		c.State = stateOf(said.Reason())
	}
	if n > 0 {
		c.LogOf = c.Turn
		c.Log = store.Append{Entry: store.Entry{N: n, Data: data}, At: kept.last, TTL: s.cfg.EventTTL}
	}
}

// changed reports a task's new state.
func (s *Service) changed(ctx context.Context, task, before, state string) {
	if state != Working {
		s.states.Inc(state)
	}
	zerolog.Ctx(ctx).Info().Dict("details", zerolog.Dict().
		Str("task_id", task).Str("old_state", before).Str("new_state", state)).Msg("task_state_changed")
}

// maxUnsettled bounds the turns whose end the store does not have yet. The store
// learns nothing more of the others: their logs end without Done.
const maxUnsettled = 256

// later leaves the end of a turn to the keeper.
func (s *Service) later(t *Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unsettled) < maxUnsettled {
		s.unsettled = append(s.unsettled, t)
	}
}

// settle writes to the store how turns have ended while it was unavailable.
func (s *Service) settle() {
	s.mu.Lock()
	turns := s.unsettled
	s.unsettled = nil
	s.mu.Unlock()
	for i, t := range turns {
		if !t.finish() {
			s.mu.Lock()
			s.unsettled = append(s.unsettled, turns[i:]...)
			s.mu.Unlock()
			return
		}
	}
}
