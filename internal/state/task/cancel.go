// This file ends tasks for their callers: one is cancelled, or all of a conversation are forgotten.

package task

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
)

// taskCanceller cancels and removes tasks for their callers. It is safe for concurrent use.
type taskCanceller struct {
	*turnStore
	turns *openTurns
}

// Cancel asks that a task be cancelled, wherever it runs. It returns the document, and
// whether the task was cancelled before. The error of a task that has ended otherwise is
// of type TaskNotCancelable.
//
// It does not wait for the end. A task that waits for a person is ended here, since no
// process runs it.
func (s *taskCanceller) Cancel(ctx context.Context, c Caller, id string) (doc []byte, already bool, err error) {
	t, err := s.taskOf(ctx, c, id)
	if err != nil {
		return nil, false, err
	}
	switch {
	case t.State == Canceled:
		doc, err := s.encodedTask(ctx, id, t)
		return doc, err == nil, err
	case isFinal(t.State):
		return nil, false, notCancelable()
	case t.State != Working && t.State != submitted:
		return s.cancelWaiting(ctx, id, t)
	}
	if err := s.requestCancel(ctx, id, t); err != nil {
		return nil, false, err
	}
	doc, err = s.encodedTask(ctx, id, t)
	return doc, false, err
}

// notCancelable returns the fault for a task that has ended.
func notCancelable() error {
	return &fault.Error{Type: fault.TaskNotCancelable, Message: "The task has ended; there is nothing to cancel"}
}

// requestCancel has the process that runs a task end it.
//
// A turn of this process is ended directly. For a turn of another process the request is stored in
// an index that the process reads, and in the task. A lost signal therefore only delays the cancel.
func (s *taskCanceller) requestCancel(ctx context.Context, id string, t store.Task) error {
	if s.turns.stopTurn(id) {
		return nil
	}
	wish := store.Member{ID: id, Score: time.Now().UnixMilli()}
	err := s.cfg.Store.PutIndex(ctx, cancelIndex(t.Owner), wish, cancelMemory)
	if err == nil {
		var now store.Task
		if now, err = s.cfg.Store.CancelTask(ctx, id); err == nil && now.Owner != t.Owner { // another process has claimed it meanwhile
			err = s.cfg.Store.PutIndex(ctx, cancelIndex(now.Owner), wish, cancelMemory)
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return storeUnavailable(s.recordOutage(err))
	}
	return nil
}

// cancelWaiting cancels a task that no process runs: it waits for an input.
//
// If the person answers at the same moment, the task's version decides which of the two
// counts.
func (s *taskCanceller) cancelWaiting(ctx context.Context, id string, t store.Task) ([]byte, bool, error) {
	before := t.State
	doc := readDocument(id, t)
	asked := doc.Status.Approvals
	doc.Status = statusOf(Canceled, time.Now())
	t.State, t.Holder = Canceled, store.Holder{}
	ttl, err := s.scheduleRemoval(ctx, id, doc, 0)
	if err == nil {
		err = s.replaceDocument(ctx, doc, t, ttl)
	}
	ended := func(ctx context.Context) {
		if s.cfg.Runs != nil {
			_ = s.cfg.Runs.Finish(ctx, id)
		}
		s.withdrawQuestions(ctx, asked)
		s.reportState(ctx, id, before, Canceled)
	}
	switch {
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
		return nil, false, notCancelable()
	case err != nil:
		s.checkLater(err, s.onceCanceled(id, t, ended))
		return nil, false, storeUnavailable(s.recordOutage(err))
	}
	ended(ctx)
	if long, err := s.longTexts(ctx, id); err == nil && !doc.isWhole() {
		doc.addLongTexts(long)
	}
	return doc.encode(), false, nil
}

// onceCanceled returns a check that calls ended if the task was cancelled as t. It calls ended once.
func (s *taskCanceller) onceCanceled(id string, t store.Task, ended func(context.Context)) func(context.Context) error {
	called := false
	return func(ctx context.Context) error {
		there, err := s.cfg.Store.Task(ctx, id)
		if err == nil && !called && there.State == Canceled && there.Turn == t.Turn {
			called = true
			ended(ctx)
		}
		return err
	}
}

// Forget removes the tasks and logs of a conversation of c's. Running turns are cancelled before,
// and get a moment to end, so that they store nothing afterwards.
//
// Turns that do not end within patience are removed as well. Their later writes find no task.
func (s *taskCanceller) Forget(ctx context.Context, c Caller, conversation string) error {
	if c.Principal.IsAnonymous() { // the id of a conversation can be guessed
		return nil
	}
	q := store.Query{Tenant: c.Principal.Tenant, User: c.Owner(), Conversation: conversation, Limit: store.MaxPage}
	q.State = Working
	if err := s.forEachTask(ctx, q, s.requestCancel); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.forEachTask(limited, q, s.awaitEnd); err != nil && limited.Err() == nil {
		return err
	}
	q.State = ""
	return s.forEachTask(ctx, q, s.removeTask)
}

// forEachTask calls do for each task of a list.
//
// do may change the listed tasks: the cursor continues behind the last task that was seen.
func (s *taskCanceller) forEachTask(ctx context.Context, q store.Query, do func(context.Context, string, store.Task) error) error {
	for {
		page, err := s.cfg.Store.Tasks(ctx, q)
		if err != nil {
			return storeUnavailable(s.recordOutage(err))
		}
		for i, id := range page.IDs {
			if err := do(ctx, id, page.Tasks[i]); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}

const (
	// patience is how long turns may take to end that were cancelled, and lookAgain how often
	// their tasks are looked at.
	patience  = 3 * time.Second
	lookAgain = 50 * time.Millisecond
)

// awaitEnd waits until a turn that was cancelled has ended. A turn whose process is dead stores
// nothing, so the wait for it is not longer than for others.
func (s *taskCanceller) awaitEnd(ctx context.Context, id string, _ store.Task) error {
	for {
		if t, err := s.cfg.Store.Task(ctx, id); err != nil || t.State != Working {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// removeTask removes a task, its turns and its questions, which hold the user's words.
//
// The task goes last, so that a second try after an error still finds it. An entry of the retention
// index has a sweep remove the other records. Only a turn that runs can write before its task is gone.
func (s *taskCanceller) removeTask(ctx context.Context, id string, t store.Task) error {
	doc := readDocument(id, t)
	turns := doc.Metadata.Turns
	if t.Turn != "" && !slices.Contains(turns, t.Turn) {
		turns = append(turns, t.Turn)
	}
	err := s.removeTurns(ctx, turns)
	for _, asked := range doc.Status.Approvals {
		if err == nil {
			err = s.cfg.Store.DeleteValue(ctx, store.ApprovalKey(asked))
		}
	}
	if err == nil {
		err = s.cfg.Store.PutIndex(ctx, store.RetainIndex, store.Member{ID: id, Score: time.Now().UnixMilli()}, 0)
	}
	if err == nil {
		err = s.newSweeper(s.currentRetention()).deleteRecords(ctx, id)
	}
	if err == nil && t.State == Working {
		err = s.removeTurns(ctx, turns)
	}
	if err != nil {
		return storeUnavailable(s.recordOutage(err))
	}
	return nil
}

// removeTurns removes the logs of turns, and their saved requests and states.
func (s *taskCanceller) removeTurns(ctx context.Context, turns []string) error {
	for _, turn := range turns {
		if err := s.cfg.Store.DropLog(ctx, turn); err != nil {
			return err
		}
		if err := s.cfg.Store.DeleteList(ctx, store.TurnKey(turn)); err != nil {
			return err
		}
	}
	return nil
}

// cancelMemory is how long a cancel waits for the process that it is meant for.
const cancelMemory = time.Minute
