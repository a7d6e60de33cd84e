// This file closes the turns of processes that are gone, and those that this one has left: each
// is continued if it is a run, else its log gets what it lacks and its task a last state.

package task

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
	"sluice/stream"
)

// maxOrphans is how many turns one sweep closes, besides those that the sweep before could not.
const maxOrphans = 100

// sweep closes the turns of dead processes, and continues their runs: with
// some of them, as others want theirs. It says whether it has left any. After an outage of
// the store it waits for one lease, so that owners can renew theirs.
func (s *Service) sweep(ctx context.Context) (more bool) {
	if s.uncertain() {
		return false
	}
	ids, err := s.cfg.Store.Orphans(ctx, maxOrphans+s.stuckOrphans)
	if s.recordOutage(err) != nil {
		return false
	}
	before, stuck := s.continuing, 0
	defer func() { s.stuckOrphans = stuck }()
	for _, id := range ids {
		if s.continuing-before == maxContinued {
			stuck = max(stuck, s.stuckOrphans)
			return true
		}
		err := s.closeOrphan(ctx, id)
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			stuck++ // the next sweep meets it again
		}
		if err != nil && !isForOthers(err) {
			_ = s.recordOutage(err)
			s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", id).AnErr("cause", err)).Msg("turn_not_closed")
		}
	}
	return false
}

// isForOthers says whether a task is left to other processes: it cannot run here, or one was
// faster.
func isForOthers(err error) bool {
	return errors.Is(err, ErrNotHere) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)
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
	run, continued, err := s.continued(ctx, id, task)
	if continued || err != nil {
		return err
	}
	return s.endLost(ctx, id, task, run)
}

// endLost closes a task of which run is the rest, if there is one.
func (s *Service) endLost(ctx context.Context, id string, task store.Task, run Run) error {
	owned := task.Holder == s.holder
	kept, err := s.readAll(ctx, task.Turn)
	if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	doc, begun := readDocument(id, task), readDocument(id, task)
	c := store.Closing{Task: task}
	var said answer
	lost := lostOr(owned)
	if plain, ok := run.(*plainRun); ok {
		kept.claims, c.Side = plain.all+1, store.Side{Key: store.TurnKey(task.Turn), Drop: true}
		if lost = lostOr(false); task.Cancel {
			lost = cancelled()
		}
	}
	if err != nil {
		c.State = Failed
		said.note(stream.NewError(lost, true))
	} else {
		silent, err := s.silence(ctx, task.Turn)
		if err != nil {
			return s.recordOutage(err)
		}
		s.closeLog(kept, lost, kept.lasted()+silent, &said, &c)
	}
	doc.ended(c.State, &said, task.Turn, time.Now(), s.cfg.MaxHistory)
	var long []byte
	c.Doc, long = doc.stored()
	c.Holder = store.Holder{}
	if c.TTL, err = s.scheduleRemoval(ctx, id, doc, said.waits()); err != nil {
		return err
	}
	if c.State == InputRequired && run != nil && kept.claims == 0 { // a run ends its wait itself
		c.TTL = 0
	}
	if err = s.storeLong(ctx, doc, long, c.TTL); err != nil {
		return err
	}
	if _, err = s.change(ctx, id, c, owned); err != nil {
		return err
	}
	s.traceLost(ctx, id, begun, task, kept, &c)
	s.reportLost(ctx, id, task, kept.claims, c.State)
	return nil
}

// continued continues a task if there is a rest of it, run, that can go on; nil: there is none.
func (s *Service) continued(ctx context.Context, id string, task store.Task) (run Run, continued bool, err error) {
	if run, err = s.restOf(ctx, id, task); run == nil || err != nil {
		return run, false, err
	}
	if continued, err = s.takeOver(ctx, id, task, run); errors.Is(err, stream.ErrGrammar) && !continued {
		err = nil // its log cannot be continued; it can be closed
	}
	return run, continued, err
}

// reportLost logs and counts that a task was closed which was as before.
func (s *Service) reportLost(ctx context.Context, id string, before store.Task, claims int, state string) {
	if claims > 0 {
		s.claimed(before, claims, state)
	}
	s.counts.lost.Inc()
	s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", id).Str("owner", before.Owner)).Msg("turn_lost")
	s.reportState(s.cfg.Log.WithContext(ctx), id, before.State, state)
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

// closeOwn is closeLost for a task that this process has left itself.
func (s *Service) closeOwn(id string, task store.Task) (err error) {
	defer caught(&err)
	return s.closeLost(s.ctx, id, task)
}

// retake continues with the runs that this process has left because the store was unavailable,
// or full, and with the turns that it has claimed without an answer. Each stays in the list until
// it runs again, or is another process's.
func (s *Service) retake() {
	ids := s.turns.takeSuspended()
	for i, id := range ids {
		task, err := s.cfg.Store.Task(s.ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && (task.Holder != s.holder || task.State != Working || s.turns.hasTurn(id)):
			continue
		case err == nil:
			err = s.closeOwn(id, task)
		}
		if s.recordOutage(err) == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
			continue
		}
		again := ids[i : i+1]
		if errors.Is(err, store.ErrUnavailable) {
			again = ids[i:]
		}
		for _, id := range again {
			s.turns.suspend(id)
		}
		if len(again) > 1 {
			return
		}
	}
}

// closeLater returns a check that closes the task of a turn whose end this process has dropped. A
// run is continued: its records know how it ended.
func (s *Service) closeLater(id, turn string) func(context.Context) error {
	return func(ctx context.Context) error {
		task, err := s.cfg.Store.Task(ctx, id)
		if err != nil || !s.isMine(task, turn) {
			return err
		}
		run, err := s.openTurn(ctx, turn)
		if err != nil || run == nil {
			return errors.Join(err, s.closeOwn(id, task))
		}
		return s.endLost(ctx, id, task, run)
	}
}
