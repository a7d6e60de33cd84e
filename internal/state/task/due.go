// This file continues runs that have waited for a person until their time was over.

package task

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxDue bounds the due runs of one sweep, besides those that the previous sweep left: runs of
// other processes, and runs that this process cannot continue.
const maxDue = 256

// sweepDue continues due runs. It reports whether it has left any.
func (s *turnSuccessor) sweepDue(ctx context.Context) (more bool) {
	if s.cfg.Runs == nil {
		return false
	}
	now := time.Now()
	ids, err := s.cfg.Runs.Due(ctx, now, maxDue+s.stuckDue)
	if s.recordOutage(err) != nil {
		return false
	}
	before := s.continuing
	s.stuckDue = len(ids) // except those that continue
	defer func() { s.stuckDue -= s.continuing - before }()
	for _, id := range ids {
		if s.continuing-before == maxContinued {
			return true
		}
		if err := s.continueDue(ctx, id, now); err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, ErrNotHere) {
			_ = s.recordOutage(err)
			s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", id).AnErr("cause", err)).Msg("run_not_continued")
		}
	}
	return false
}

// continueDue continues a due run, in a new turn of its task. It returns a panic as an error.
func (s *turnSuccessor) continueDue(ctx context.Context, id string, now time.Time) (err error) {
	defer recoverError(&err)
	task, err := s.cfg.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && isFinal(task.State):
		return s.cfg.Runs.Finish(ctx, id)
	case err != nil:
		return err
	case task.State != InputRequired:
		return nil // it runs
	}
	run, err := s.cfg.Runs.Open(ctx, id)
	if run == nil || err != nil {
		return err
	}
	run.TakeOver(nil)
	run.TimeOut(now)
	t := s.resumedTurn(id, task)
	t.id = newID(chat.TurnPrefix)
	t.trace.Recorder = s.newRecorder(t.id, t.began)
	t.end.stored.doc.addContinued(t.id, "", t.began)
	before := task
	task.Holder, task.Turn, task.State = s.holder, t.id, Working
	if err := s.replaceDocument(ctx, t.end.stored.doc, task, 0); err != nil {
		if errors.Is(err, store.ErrUnavailable) {
			s.checkLater(err, s.undoUpdate(id, t.id, before, 0))
		}
		return err
	}
	t.log.beginLog(head{Task: t.task, Turn: t.id, ownership: ownership{task.Tenant, provedOwner(task.User)}, Accumulated: true})
	guard := stream.NewGuard(stream.NewStamper(t.Before(nobody{}), t.began))
	_ = guard.Emit(&stream.Start{})
	return s.startContinued(t, run, guard, task.Cancel)
}
