// This file lets a task go on whose turn has asked a person. The answer makes a new turn of
// the same task. Two answers at once meet at the task's version: one of them gets
// approval_used.

package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/store"
)

// A task that waits for a person is taken up by who has an answer: of several one
// succeeds, because the task changes with it.

// How long, and how often, an answer waits for the end of the turn that asked: its client
// can be faster than the store.
const (
	settleWait  = 3 * time.Second
	settleEvery = 20 * time.Millisecond
)

// goOn takes up the task whose turn waits for a person.
//
// A task of another tenant is not found; whether the person may answer was decided before,
// by the service of approvals.
func (s *Service) goOn(ctx context.Context, t *Turn, req *Request) error {
	t.task = req.TaskID
	task, err := s.settled(ctx, req)
	if errors.Is(err, store.ErrNotFound) {
		return notFound()
	}
	if err != nil {
		return err
	}
	doc := readDocument(t.task, task)
	switch {
	case task.Tenant != req.Chat.Principal.Tenant:
		return notFound()
	case task.Turn != req.Asked:
		return answered()
	case task.State != InputRequired || len(doc.Status.Approvals) == 0:
		return &fault.Error{Type: fault.ApprovalConflict, Message: "The task does not wait for this approval"}
	}
	t.version, t.doc = task.Version+1, doc
	doc.resumed(t.id, t.began)
	task.Doc, task.Holder, task.Turn, task.State = doc.encode(), s.holder, t.id, Working
	err = s.cfg.Store.UpdateTask(ctx, t.task, task, s.working(t))
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return answered()
	}
	return err
}

// settled returns the task when the turn that asked is over.
//
// After settleWait it returns the task as it is, and goOn judges its state.
func (s *Service) settled(ctx context.Context, req *Request) (store.Task, error) {
	for began := time.Now(); ; {
		task, err := s.cfg.Store.Task(ctx, req.TaskID)
		if err != nil || task.State != Working || task.Turn != req.Asked || time.Since(began) > settleWait {
			return task, err
		}
		select {
		case <-ctx.Done():
			return task, fault.Cause(ctx)
		case <-time.After(settleEvery):
		}
	}
}

// answered is said of a question whose answer has been taken by then.
func answered() error {
	return &fault.Error{Type: fault.ApprovalUsed, Message: "This approval was answered already"}
}

// Repeated returns a *Replay if the request's idempotency key was used with the same
// body, and nil otherwise.
//
// Every failure of the store is nil: the caller then begins the turn, and Begin meets the
// key again.
func (s *Service) Repeated(ctx context.Context, req Request) error {
	v, err := s.cfg.Store.Value(ctx, store.IdempotencyKey(req.Chat.Principal.Tenant, req.Chat.Owner(), req.Key))
	var used keyed
	if err != nil || json.Unmarshal(v.Data, &used) != nil || !chat.IsTurnID(used.Turn) || string(used.Body) != string(req.Body[:]) {
		return nil
	}
	return &Replay{used.Turn}
}

// Asked returns the ids of the questions for which a task waits.
func (s *Service) Asked(ctx context.Context, c Caller, id string) ([]string, error) {
	t, err := s.task(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return readDocument(id, t).Status.Approvals, nil
}

// Waiting returns the ids of the questions for which c's tasks wait, newest first, and the
// cursor of the next page.
func (s *Service) Waiting(ctx context.Context, c Caller, cursor string) (ids []string, next string, err error) {
	page, err := s.cfg.Store.Tasks(ctx, store.Query{
		Tenant: c.Principal.Tenant, User: c.Owner(), State: InputRequired, Limit: store.MaxPage, Cursor: cursor,
	})
	if errors.Is(err, store.ErrCursor) {
		e := new(chat.ValidationError)
		e.Add("/cursor", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is no next_cursor of a list"})
		return nil, "", e
	}
	if err != nil {
		return nil, "", unavailable(s.note(err))
	}
	for i, id := range page.IDs {
		ids = append(ids, readDocument(id, page.Tasks[i]).Status.Approvals...)
	}
	return ids, page.Next, nil
}
