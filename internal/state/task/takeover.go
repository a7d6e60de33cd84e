// This file takes over the turns that no process runs. Their process is dead, has released them at
// its end, or is this one, which suspended them in an outage.
//
//	sweepOrphans                finds a task
//	continueSuspended           finds a task of this process
//	  closeLost                 continues or closes it:
//	    findContinuation        reads its run of a workflow, or the turn that saved itself
//	    takeOver                brings a new Turn to where the log ends; for a run:
//	      observeLog            adds the events that the log lacks
//	      claimTask             makes the task this process's, in one write
//	    takeOverTurn            does the same for a turn that saved itself:
//	      checkContinuable      checks that it can continue, as prepareTurn does for this process
//	      admitTurn             claims a slot for it; freePlace releases the slot
//	      claimTurn             claims the task with claimTask
//	    startContinued          runs the turn to its end, without a client
//	    endLost                 closes log and task if nothing continues them
//
// The store does not know of a takeover before claimTask. If two processes try, one of them claims
// the task. After an error a later sweep tries again.

package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// turnSuccessor continues the turns that no process runs, or closes them. The keeper's goroutine calls
// it, but for Places.
type turnSuccessor struct {
	turnCloser
	turns      *openTurns
	lease      *processLease
	continuing int // how many runs were continued
	// stuckOrphans and stuckDue are how many tasks the last sweeps could not continue. The next sweeps
	// ask for as many more, so that these hide no others.
	stuckOrphans, stuckDue int
	// enter admits turns; see Places.
	enter atomic.Pointer[func(func(error)) (func(), error)]
}

// maxContinued is how many runs one sweep continues with.
const maxContinued = 8

// maxOrphans is how many turns one sweep closes, besides those that the sweep before could not.
const maxOrphans = 100

// sweepOrphans closes the turns of dead processes, and continues up to maxContinued of their runs,
// so that other processes get some too. It reports whether it has left any. After an outage of the
// store it waits for one lease, so that owners can renew theirs.
func (s *turnSuccessor) sweepOrphans(ctx context.Context) (more bool) {
	if s.lease.isUncertain() {
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

// isForOthers reports whether err leaves a task to other processes: it cannot run here, or another
// process was faster.
func isForOthers(err error) bool {
	return errors.Is(err, ErrNotHere) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)
}

// closeOrphan closes a task that no process runs. It skips this process's own tasks, even with an
// expired lease.
func (s *turnSuccessor) closeOrphan(ctx context.Context, id string) (err error) {
	defer recoverError(&err)
	task, err := s.cfg.Store.Task(ctx, id)
	if err != nil || task.Holder == s.holder {
		return err
	}
	if task.Owner == "" { // another one was faster
		return store.ErrConflict
	}
	return s.closeLost(ctx, id, task)
}

// continueSuspended continues the runs that this process has suspended because the store was
// unavailable, or full, and the turns that it has claimed without an answer. Each stays in the list
// until it runs again, or is another process's.
func (s *turnSuccessor) continueSuspended(ctx context.Context) {
	ids := s.turns.removeSuspended()
	for i, id := range ids {
		task, err := s.cfg.Store.Task(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && (task.Holder != s.holder || task.State != Working || s.turns.hasTurn(id)):
			continue
		case err == nil:
			err = s.closeOwn(ctx, id, task)
		}
		if s.recordOutage(err) == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
			continue
		}
		again := ids[i : i+1]
		if errors.Is(err, store.ErrUnavailable) {
			again = ids[i:]
		}
		for _, id := range again {
			s.turns.suspendTask(id)
		}
		if len(again) > 1 {
			return
		}
	}
}

// closeLater returns a check that closes the task of a turn whose end this process has dropped. A
// run is continued: its records know how it ended.
func (s *turnSuccessor) closeLater(id, turn string) func(context.Context) error {
	return func(ctx context.Context) error {
		task, err := s.cfg.Store.Task(ctx, id)
		if err != nil || !s.isRunHere(task, turn) {
			return err
		}
		run, err := s.openTurn(ctx, turn)
		if err != nil || run == nil {
			return errors.Join(err, s.closeOwn(ctx, id, task))
		}
		return s.endLost(ctx, id, task, run)
	}
}

// closeOwn is closeLost for a task that this process has left itself.
func (s *turnSuccessor) closeOwn(ctx context.Context, id string, task store.Task) (err error) {
	defer recoverError(&err)
	return s.closeLost(ctx, id, task)
}

// recoverError makes an error of a panic. It is deferred.
func recoverError(err *error) {
	if p := recover(); p != nil {
		*err = stream.NewPanic(p)
	}
}

// closeLost continues a task that no process runs, or closes it: it completes its log, and gives
// the task a last state.
func (s *turnSuccessor) closeLost(ctx context.Context, id string, task store.Task) error {
	run, continued, err := s.tryContinue(ctx, id, task)
	if continued || err != nil {
		return err
	}
	return s.endLost(ctx, id, task, run)
}

// tryContinue continues a task if its run, or the remaining part of its turn, can go on. run is nil
// without such a part.
func (s *turnSuccessor) tryContinue(ctx context.Context, id string, task store.Task) (run Run, continued bool, err error) {
	if run, err = s.findContinuation(ctx, id, task); run == nil || err != nil {
		return run, false, err
	}
	if continued, err = s.takeOver(ctx, id, task, run); errors.Is(err, stream.ErrGrammar) && !continued {
		err = nil // its log cannot be continued; it can be closed
	}
	return run, continued, err
}

// findContinuation returns the run of a workflow that a task has, or the remaining part of its turn. nil
// means that the task can only be closed.
func (s *turnSuccessor) findContinuation(ctx context.Context, id string, task store.Task) (Run, error) {
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

// openTurn returns the rest of a turn; nil: nothing was saved of it.
func (s *turnSuccessor) openTurn(ctx context.Context, turn string) (*plainRun, error) {
	if s.cfg.Turns == nil {
		return nil, nil
	}
	items, err := s.cfg.Store.List(ctx, store.TurnKey(turn), 0, 0)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	r := &plainRun{turns: s.cfg.Turns, items: len(items)}
	if r.savedTurn, err = readSaved(items); err == nil {
		r.request, err = chat.ReadStored(r.savedTurn.request)
	}
	if err != nil {
		r.savedTurn, r.lost = new(savedTurn), err
	}
	return r, nil
}

// takeOver continues the run of a task whose owner is dead. It returns false if the run is over, or
// cannot continue.
func (s *turnSuccessor) takeOver(ctx context.Context, id string, task store.Task, run Run) (bool, error) {
	t := s.resumedTurn(id, task)
	kept, err := s.readAll(ctx, task.Turn)
	if err != nil && !errors.Is(err, ErrGone) {
		return true, err
	}
	for _, e := range kept.logged {
		t.answer.addEvent(e.Event)
	}
	if t.answer.isOver() {
		return false, nil // it was over but for its last state
	}
	if plain, ok := run.(*plainRun); ok {
		return s.takeOverTurn(ctx, task, t, plain, kept)
	}
	unlogged := len(kept.logged) == 0 && run.Unseen()
	t.trace.Recorder = kept.recordEvents(s.newRecorder(t.id, t.end.stored.doc.beginOfTurn(t.id, task.Created)))
	c := &closing{n: kept.last}
	sink := &switching{c}
	guard := stream.NewGuard(sink)
	t.observeLog(kept, run, c, guard)
	if err := s.claimTask(ctx, id, t, task, c, kept.last, store.Side{}); err != nil {
		return true, err
	}
	if unlogged { // its log begins here
		t.log.beginLog(head{Task: t.task, Turn: t.id, ownership: ownership{task.Tenant, provedOwner(task.User)}, Accumulated: true})
		t.log.ended = false
		sink.next = stream.NewStamper(t.Before(nobody{}), t.began)
		guard = stream.NewGuard(sink)
		_ = guard.Emit(&stream.Start{})
		return true, s.startContinued(t, run, guard, task.Cancel)
	}
	t.began, t.log.at, t.log.n = time.Now().Add(-c.at), c.n, c.n
	sink.next = stream.NewStamperAt(t.Before(nobody{}), t.began, c.n)
	return true, s.startContinued(t, run, guard, task.Cancel)
}

// resumedTurn returns the turn that a task was in when its owner left it.
func (s *turnSuccessor) resumedTurn(id string, task store.Task) *Turn {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(chat.WithTurn(s.cfg.Log.WithContext(context.Background()), chat.Turn{Began: began}))
	t := &Turn{
		turns: s.turns, identity: identity{store: s.turnStore, id: task.Turn, task: id, began: began, ctx: context.WithoutCancel(ctx), durable: true},
		work: ctx, cancel: cancel, client: receiver{detached: true}, end: turnEnd{stored: storedTask{version: task.Version + 1, doc: readDocument(id, task)}},
		trace: tracing{Recorder: s.newRecorder(task.Turn, began)},
	}
	return t.connectParts()
}

// observeLog brings guard to the end of the log, and adds to c the events of the run that the log
// lacks.
func (t *Turn) observeLog(kept stored, run Run, c *closing, guard *stream.Guard) {
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
		t.answer.addEvent(ev)
		t.trace.Observe(c.at, ev)
		_ = guard.Emit(ev)
	}
}

// takeOverTurn continues a turn that is not a workflow's. It returns false if the turn must be
// closed.
func (s *turnSuccessor) takeOverTurn(ctx context.Context, task store.Task, t *Turn, run *plainRun, kept stored) (bool, error) {
	if task.Cancel {
		return false, nil
	}
	silent, err := s.silenceOf(ctx, task.Turn)
	if err != nil {
		return true, err
	}
	run.readLog(kept)
	why := run.checkContinuable(kept, silent)
	// A turn that was claimed before did begin: its owner died once more before its first event.
	begins := len(kept.logged) == 0 && run.all == 0
	if age := time.Since(t.end.stored.doc.beginOfTurn(t.id, task.Created)).Abs(); why == nil && begins && age > s.mayLackLog() {
		why = fmt.Errorf("%w: it lacks a log after %s", errSaved, age.Round(time.Second))
	}
	if why == nil {
		why = run.prepareTurn(t)
	}
	if errors.Is(why, ErrNotHere) {
		return true, why
	}
	if why != nil {
		s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", t.task).AnErr("cause", why)).Msg("turn_not_continued")
		return false, nil
	}
	leave, err := s.admitTurn(t.HandOver)
	if err != nil { // another process may have one, or this one later
		return true, ErrNotHere
	}
	t.leave = leave
	guard, err := s.claimTurn(ctx, task, t, run, kept)
	if err != nil {
		leave()
		return !errors.Is(err, stream.ErrGrammar), err
	}
	s.reportClaimed(task, t.takeovers, "continued")
	return true, s.startContinued(t, run, guard, s.isUnwanted(ctx, t.task))
}

// Places sets the function that admits the turns of other processes. enter calls end when a turn
// must end, and its leave frees the place. Without Places all turns are admitted.
func (s *turnSuccessor) Places(enter func(end func(cause error)) (leave func(), err error)) {
	s.enter.Store(&enter)
}

// admitTurn admits a turn of another process.
func (s *turnSuccessor) admitTurn(end func(cause error)) (leave func(), err error) {
	if enter := s.enter.Load(); enter != nil {
		return (*enter)(end)
	}
	return func() {}, nil
}

// claimTurn makes the turn this process's, and adds the missing events to its log. It returns a
// guard that has observed all of the turn.
func (s *turnSuccessor) claimTurn(ctx context.Context, task store.Task, t *Turn, run *plainRun, kept stored) (*stream.Guard, error) {
	t.durable, t.identity.saves, t.takeovers, t.log.saved.size = false, true, run.all+1, run.size
	t.trace.Recorder = kept.recordEvents(s.newRecorder(t.id, t.end.stored.doc.beginOfTurn(t.id, task.Created)))
	c := &closing{n: gapAfter(kept.last)}
	sink := &switching{c}
	guard := stream.NewGuard(sink)
	for _, e := range kept.logged {
		_ = guard.Emit(e.Event)
		c.at = max(c.at, e.At)
	}
	c.open = true
	for _, ev := range run.lacks {
		t.answer.addEvent(ev)
		t.trace.Observe(c.at, ev)
		if err := guard.Emit(ev); err != nil {
			return nil, err
		}
	}
	line, _ := json.Marshal(savedLine{Claim: s.holder.Owner})
	err := s.claimTask(ctx, t.task, t, task, c, kept.last, store.Side{Key: store.TurnKey(t.id), Item: line})
	if err == nil {
		err = s.checkClaimed(ctx, t, run)
	}
	if err != nil {
		return nil, err
	}
	for _, ev := range run.lacks {
		if reset, ok := ev.(*stream.Reset); ok && run.frame.OnReset != nil {
			run.frame.OnReset(t.work, reset)
		}
	}
	t.began, t.log.at, t.log.n = time.Now().Add(-c.at), kept.last, kept.last
	if len(c.data) > 0 {
		t.log.at, t.log.n = c.n, c.n
	}
	guard.TakenOver()
	sink.next = stream.NewStamperAt(t.Before(nobody{}), t.began, c.n)
	if len(kept.logged) == 0 {
		t.log.pending = append(append(t.log.pendingRoom(), run.head...), '\n')
		_ = guard.Emit(&stream.Start{ConversationID: run.request.ConversationID, UserID: run.request.UserID, Model: run.frame.Model})
	}
	return guard, nil
}

// claimTask makes the task this process's, and adds the missing events to its log. A task that this
// process has left itself is its own already.
func (s *turnSuccessor) claimTask(ctx context.Context, id string, t *Turn, task store.Task, c *closing, at int, side store.Side) error {
	owned := task.Holder == s.holder
	task.Holder, task.State, task.Side = s.holder, Working, side
	closing := store.Closing{Task: task, Log: store.Append{Entry: store.Entry{N: at}, At: at, TTL: s.cfg.EventTTL}}
	if len(c.data) > 0 {
		closing.Log.N, closing.Log.Data = c.n, c.data
	}
	if len(c.data) > 0 || !owned { // without data it only checks that the owner has added nothing
		closing.LogOf = t.id
	}
	gone, err := s.writeClosing(ctx, id, closing, owned)
	if gone {
		t.log.ended = true
	}
	if errors.Is(err, store.ErrUnavailable) { // it may be this process's by now
		s.turns.suspendTask(id)
	}
	return err
}

// checkClaimed returns an error if the turn that this process has claimed saved more than run has read.
// Its owner was alive, and may make a call of which run does not know. Then the keeper reads it again.
func (s *turnSuccessor) checkClaimed(ctx context.Context, t *Turn, run *plainRun) error {
	later, err := s.cfg.Store.List(ctx, store.TurnKey(t.id), run.items, 0)
	if err == nil && len(later) != 1 { // one is the claim
		err = store.ErrConflict
	}
	if err != nil {
		s.turns.suspendTask(t.task)
	}
	return err
}

// isUnwanted reports whether the end of a task was asked for, or the task was removed, before it was
// claimed. If the store does not answer, the keeper stops the task's turn later.
func (s *turnSuccessor) isUnwanted(ctx context.Context, id string) (stop bool) {
	check := func(ctx context.Context) error {
		now, err := s.cfg.Store.Task(ctx, id)
		if stop = errors.Is(err, store.ErrNotFound) || err == nil && now.Cancel; stop {
			s.turns.stopTurn(id)
		}
		return err
	}
	if err := check(ctx); errors.Is(err, store.ErrUnavailable) {
		s.checkLater(nil, check)
	}
	return stop
}

// startContinued runs a turn to its end, without a client. A turn that was cancelled without an
// owner ends at once.
func (s *turnSuccessor) startContinued(t *Turn, run Run, guard *stream.Guard, stop bool) error {
	if !s.turns.addUnattended(t) {
		t.freePlace()
		return nil // the lease ends, and another process finds the task
	}
	if t.durable {
		s.continuing++
	}
	if stop {
		t.cancel(cancelledFault())
	}
	// Goroutine (run that was taken over): continues a workflow's run whose process is gone.
	// Ends: the run ends, waits, or `stopContinued` cancels it.
	// Waits: `Service.Close`, by stopContinued.
	go func() {
		defer s.turns.unattended.Done()
		defer t.freePlace()
		defer s.recoverPanic(t.task)
		defer t.End()
		defer t.cancel(nil)
		t.runContinued(run, guard)
	}()
	return nil
}

// runContinued runs the remaining part of the turn. A panic ends it like any other failure: the
// process has other turns.
func (t *Turn) runContinued(run Run, guard *stream.Guard) {
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
	_ = frame.GoOn(t.Context(t.work, t.began), req, guard)
}

// recoverPanic keeps a panic of a goroutine without a caller from ending the process. It is
// deferred.
func (s *turnSuccessor) recoverPanic(task string) {
	if p := recover(); p != nil {
		s.logPanic(task, stream.NewPanic(p))
	}
}

// freePlace frees the turn's place in this process.
func (t *Turn) freePlace() {
	if t.leave != nil {
		t.leave()
	}
}

// switching is the sink of a turn whose first part is in a log.
type switching struct{ next stream.Sink }

func (s *switching) Emit(ev stream.Event) error { return s.next.Emit(ev) }

func (s *switching) Flush() error { return s.next.Flush() }

// stopContinued ends the runs without a client, so that other processes continue them.
func (s *turnSuccessor) stopContinued() {
	for _, t := range s.turns.closeAll() {
		t.HandOver(shuttingDown())
	}
	s.turns.unattended.Wait()
}

// nobody is the output of a turn without a client.
type nobody struct{}

func (nobody) Write(stream.Stamp, stream.Event) error { return nil }

func (nobody) Flush() error { return nil }

func (nobody) Blocked() time.Duration { return 0 }
