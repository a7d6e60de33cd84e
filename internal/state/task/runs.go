package task

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A turn that is a run of a workflow is not lost with its process: another one claims its
// task and continues with it, in the same log.

// maxContinued is how many runs one sweep continues with.
const maxContinued = 8

// switching is the sink of a turn whose first part is in a log.
type switching struct{ next stream.Sink }

func (s *switching) Emit(ev stream.Event) error { return s.next.Emit(ev) }

func (s *switching) Flush() error { return s.next.Flush() }

// takeOver continues the run of a task whose owner is dead. It returns false if it is over, or
// cannot go on.
func (s *Service) takeOver(ctx context.Context, id string, task store.Task, run Run) (bool, error) {
	t := s.resumedTurn(id, task)
	kept, err := s.readAll(ctx, task.Turn)
	if err != nil && !errors.Is(err, ErrGone) {
		return true, err
	}
	for _, e := range kept.logged {
		t.said.note(e.Event)
	}
	if t.said.isOver() {
		return false, nil // it was over but for its last state
	}
	if plain, ok := run.(*plainRun); ok {
		return s.takeOverTurn(ctx, task, t, plain, kept)
	}
	unlogged := len(kept.logged) == 0 && run.Unseen()
	t.trace.Recorder = kept.record(record.New(s.cfg.Trace, t.id, t.kept.doc.began(t.id, task.Created)))
	c := &closing{n: kept.last}
	sink := &switching{c}
	guard := stream.NewGuard(sink)
	t.replay(kept, run, c, guard)
	if err := s.claimTask(ctx, id, t, task, c, kept.last, store.Side{}); err != nil {
		return true, err
	}
	if unlogged { // its log begins here
		t.log.begin(head{Task: t.task, Turn: t.id, ownership: ownership{task.Tenant, provedOwner(task.User)}, Accumulated: true})
		t.log.ended = false
		sink.next = stream.NewStamper(t.Before(nobody{}), t.began)
		guard = stream.NewGuard(sink)
		_ = guard.Emit(&stream.Start{})
		return true, s.goOnWith(t, run, guard, task.Cancel)
	}
	t.began, t.log.at, t.log.n = time.Now().Add(-c.at), c.n, c.n
	sink.next = stream.NewStamperAt(t.Before(nobody{}), t.began, c.n)
	return true, s.goOnWith(t, run, guard, task.Cancel)
}

// restOf returns what goes on with a task: a run of a workflow, or the rest of its turn; nil: nothing
// does.
func (s *Service) restOf(ctx context.Context, id string, task store.Task) (Run, error) {
	if task.Turn == "" {
		return nil, nil
	}
	if s.cfg.Runs != nil {
		if run, err := s.cfg.Runs.Open(ctx, id); run != nil || err != nil {
			return run, err
		}
	}
	if run, err := s.openTurn(ctx, task.Turn); run != nil || err != nil {
		return run, err
	}
	return nil, nil
}

// replay brings guard to where the log ends, and adds to c what the log lacks of what the run
// has done.
func (t *Turn) replay(kept stored, run Run, c *closing, guard *stream.Guard) {
	var events []stream.Event
	for _, e := range kept.logged {
		_ = guard.Emit(e.Event)
		c.at = max(c.at, e.At)
		events = append(events, e.Event)
	}
	lacks := run.TakeOver(events)
	if t.log.ended = len(events) == 0; t.log.ended {
		_ = guard.Emit(&stream.Start{})
		return
	}
	c.open = true
	guard.Lose()
	for _, ev := range lacks {
		t.said.note(ev)
		t.trace.Observe(c.at, ev)
		_ = guard.Emit(ev)
	}
}

// claimTask makes the task this process's, and adds to the log what it lacks. A task that
// this process has left itself is its own already.
func (s *Service) claimTask(ctx context.Context, id string, t *Turn, task store.Task, c *closing, at int, side store.Side) error {
	owned := task.Holder == s.holder
	task.Holder, task.State, task.Side = s.holder, Working, side
	closing := store.Closing{Task: task, Log: store.Append{Entry: store.Entry{N: at}, At: at, TTL: s.cfg.EventTTL}}
	if len(c.data) > 0 {
		closing.Log.N, closing.Log.Data = c.n, c.data
	}
	if len(c.data) > 0 || !owned { // without data it only checks that the owner has added nothing
		closing.LogOf = t.id
	}
	gone, err := s.change(ctx, id, closing, owned)
	if gone {
		t.log.ended = true
	}
	if errors.Is(err, store.ErrUnavailable) { // it may be this process's by now
		s.turns.suspend(id)
	}
	return err
}

// change brings a task, and the log of its turn, to where another process continues, or nobody
// does. A task of this process is changed as its holder. gone says that the log had no room,
// and was removed.
func (s *Service) change(ctx context.Context, id string, c store.Closing, owned bool) (gone bool, err error) {
	if !owned {
		err = s.cfg.Store.CloseTask(ctx, id, c)
		if gone = errors.Is(err, store.ErrTooLarge); gone {
			c.LogOf = ""
			err = s.cfg.Store.CloseTask(ctx, id, c)
		}
		return gone, s.confirmWrite(ctx, id, c.Task, err)
	}
	if c.LogOf != "" {
		c.Log.Task, c.Log.Holder = id, s.holder
		err = s.cfg.Store.AppendLog(ctx, c.LogOf, c.Log)
		if gone = errors.Is(err, store.ErrTooLarge); err != nil && !gone {
			return gone, err
		}
	}
	return gone, s.confirmWrite(ctx, id, c.Task, s.cfg.Store.UpdateTask(ctx, id, c.Task, c.TTL))
}

// resumedTurn is the turn in which a task was when its owner left it.
func (s *Service) resumedTurn(id string, task store.Task) *Turn {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(chat.WithTurn(s.cfg.Log.WithContext(context.Background()), chat.Turn{Began: began}))
	t := &Turn{
		turns: s.turns, identity: identity{store: s.store, id: task.Turn, task: id, began: began, ctx: context.WithoutCancel(ctx), durable: true},
		work: ctx, cancel: cancel, client: receiver{detached: true}, kept: keeping{version: task.Version + 1, doc: readDocument(id, task)},
		trace: tracing{Recorder: record.New(s.cfg.Trace, task.Turn, began)},
	}
	return t.wire()
}

// goOnWith runs a run to its end, without a client. One that was cancelled
// while it had no owner ends at once.
func (s *Service) goOnWith(t *Turn, run Run, guard *stream.Guard, stop bool) error {
	if !s.turns.addUnattended(t) {
		t.giveBack()
		return nil // the lease ends, and another process finds the task
	}
	if t.durable {
		s.continuing++
	}
	if stop {
		t.cancel(cancelled())
	}
	// Goroutine (run that was taken over): continues a workflow's run whose process is gone.
	// Ends: the run ends, waits, or `stopContinued` cancels it.
	// Waits: `Service.Close`, by stopContinued.
	go func() {
		defer s.turns.unattended.Done()
		defer t.giveBack()
		defer s.survive(t.task)
		defer t.End()
		defer t.cancel(nil)
		t.goOn(run, guard)
	}()
	return nil
}

// goOn runs the rest of the turn. A panic ends it like any other failure: the process has
// other turns.
func (t *Turn) goOn(run Run, guard *stream.Guard) {
	defer func() {
		if p := recover(); p != nil {
			err := stream.NewPanic(p)
			t.store.logPanic(t.task, err)
			_ = guard.Fail(err)
		}
	}()
	frame, req := run.Frame(t.work, t.task, t.id)
	if t.saves {
		own := t.Saving()
		if before := req.Facts.Saving; before != nil {
			own.Before = before.Before
		}
		req.Facts.Saving = own
	}
	_ = guard.Flush()
	_ = frame.GoOn(t.Context(t.work), req, guard)
}

// survive keeps a panic of a goroutine that has no caller from ending the process. It is
// deferred.
func (s *Service) survive(task string) {
	if p := recover(); p != nil {
		s.logPanic(task, stream.NewPanic(p))
	}
}

// logPanic logs a panic.
func (s *taskStore) logPanic(task string, err error) {
	s.cfg.Log.Error().Dict("details", zerolog.Dict().Str("task_id", task).AnErr("error_message", err)).Msg("panic_recovered")
}

// maxDue is how many runs whose wait is over one sweep looks at, besides those that the sweep before
// left: some are run elsewhere, and some this process cannot continue with.
const maxDue = 256

// sweepDue continues with runs whose wait is over. It says whether it has left any.
func (s *Service) sweepDue(ctx context.Context) (more bool) {
	if s.cfg.Runs == nil {
		return false
	}
	now := time.Now()
	ids, err := s.cfg.Runs.Due(ctx, now, maxDue+s.stuckDue)
	if s.recordOutage(err) != nil {
		return false
	}
	before := s.continuing
	s.stuckDue = len(ids) // but for those that go on
	defer func() { s.stuckDue -= s.continuing - before }()
	for _, id := range ids {
		if s.continuing-before == maxContinued {
			return true
		}
		if err := s.timeOut(ctx, id, now); err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, ErrNotHere) {
			_ = s.recordOutage(err)
			s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", id).AnErr("cause", err)).Msg("run_not_continued")
		}
	}
	return false
}

// timeOut continues with one of them, in a new turn of its task. A panic is an error of this
// one.
func (s *Service) timeOut(ctx context.Context, id string, now time.Time) (err error) {
	defer caught(&err)
	task, err := s.cfg.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && final(task.State):
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
	t.trace.Recorder = record.New(s.cfg.Trace, t.id, t.began)
	t.kept.doc.resumed(t.id, "", t.began)
	before := task
	task.Holder, task.Turn, task.State = s.holder, t.id, Working
	if err := s.replaceDocument(ctx, t.kept.doc, task, 0); err != nil {
		if errors.Is(err, store.ErrUnavailable) {
			s.store.checkLater(err, s.undoUpdate(id, t.id, before, 0))
		}
		return err
	}
	t.log.begin(head{Task: t.task, Turn: t.id, ownership: ownership{task.Tenant, provedOwner(task.User)}, Accumulated: true})
	guard := stream.NewGuard(stream.NewStamper(t.Before(nobody{}), t.began))
	_ = guard.Emit(&stream.Start{})
	return s.goOnWith(t, run, guard, task.Cancel)
}

// caught makes an error of a panic. It is deferred.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = stream.NewPanic(p)
	}
}

// watchLease fences while the keeper waits for a store that does not answer.
func (s *Service) watchLease() {
	look := time.NewTicker(min(lookEvery, s.cfg.Lease/10))
	defer look.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-look.C:
			s.fence()
		}
	}
}

// fence ends the runs of this process before another one can claim them: its lease has not
// been renewed for two thirds of it, by a clock that is never set.
func (s *Service) fence() {
	if renewed := s.renewed.Load(); renewed != nil && time.Since(*renewed) <= s.cfg.Lease*2/3 {
		return
	}
	for _, t := range s.turns.fenceRuns() {
		s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", t.task)).Msg("run_fenced")
		t.cancel(unavailable(nil))
	}
}

// stopContinued ends the runs that have no client, for others to continue with.
func (s *Service) stopContinued() {
	for _, t := range s.turns.closeAll() {
		t.HandOver(shuttingDown())
	}
	s.turns.unattended.Wait()
}

// nobody is the output of a turn that has no client.
type nobody struct{}

func (nobody) Write(stream.Stamp, stream.Event) error { return nil }

func (nobody) Flush() error { return nil }

func (nobody) Blocked() time.Duration { return 0 }
