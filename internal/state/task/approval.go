// This file lets a task continue whose turn has asked a person. The answer makes a new turn of
// the same task. Two answers at once meet at the task's version: one of them gets
// approval_used.

package task

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
)

// An answer waits up to settleWait for the end of the turn that asked: its client can be faster
// than the store. It waits up to othersWait for a turn that continues with the answer to another
// question of the same run. It looks again after each settleEvery.
const (
	settleWait  = 3 * time.Second
	othersWait  = time.Minute
	settleEvery = 20 * time.Millisecond
)

// continueWithAnswer takes up the task whose turn waits for a person.
//
// A task of another tenant is not found; whether the person may answer was decided before,
// by the service of approvals.
func (s *taskAdopter) continueWithAnswer(ctx context.Context, t *Turn, req *Request) error {
	t.task = req.TaskID
	for {
		task, doc, err := s.awaitSettled(ctx, req)
		if errors.Is(err, store.ErrNotFound) {
			return notFound()
		}
		if err != nil {
			return err
		}
		waits := slices.Contains(doc.Status.Approvals, req.Question)
		switch {
		case task.Tenant != req.Chat.Principal.Tenant:
			return notFound()
		case task.State == Working && waits:
			return &fault.Error{Type: fault.ApprovalConflict, Message: "The task is at work after another answer; try again in a moment"}
		case !waits && task.Turn != req.AskingTurn && !s.hasNoLog(ctx, task):
			return alreadyAnswered()
		case !waits || task.State != InputRequired:
			return &fault.Error{Type: fault.ApprovalConflict, Message: "The task does not wait for this approval"}
		}
		before := task
		t.end.stored.version, t.end.stored.doc = task.Version+1, doc
		doc.addContinued(t.id, req.Question, t.began)
		task.Holder, task.Turn, task.State, task.Side = s.holder, t.id, Working, t.beginSaving(req)
		err = s.replaceDocument(t.ctx, doc, task, s.workingTTL(t.durable))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return alreadyAnswered()
		case errors.Is(err, store.ErrUnavailable):
			before.Side = t.dropSaved()
			s.checkLater(err, s.undoUpdate(t.task, t.id, before, s.waitingTTL(t.durable)))
			return err
		case !errors.Is(err, store.ErrConflict): // else another answer was faster: to this question, or to another
			return err
		}
	}
}

// awaitSettled returns the task when the turn that asked is over, and no turn continues with the
// answer to another question.
//
// After its patience it returns the task as it is, and continueWithAnswer judges its state.
func (s *taskAdopter) awaitSettled(ctx context.Context, req *Request) (store.Task, *document, error) {
	for began := time.Now(); ; {
		task, err := s.cfg.Store.Task(ctx, req.TaskID)
		if err != nil {
			return task, nil, err
		}
		doc, patience := readDocument(req.TaskID, task), settleWait
		if task.Turn != req.AskingTurn {
			patience = othersWait
		}
		waits := task.State == Working && (task.Turn == req.AskingTurn || slices.Contains(doc.Status.Approvals, req.Question))
		if !waits && s.hasNoLog(ctx, task) {
			waits, patience = true, settleWait
		}
		if !waits || time.Since(began) > patience {
			return task, doc, nil
		}
		select {
		case <-ctx.Done():
			return task, doc, fault.Cause(ctx)
		case <-time.After(settleEvery):
		}
	}
}
