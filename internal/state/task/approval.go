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
	"sluice/internal/turn/chat"
)

// A task that waits for a person is taken up by who has an answer: of several one
// succeeds, because the task changes with it.

// How long, and how often, an answer waits for the end of the turn that asked: its client
// can be faster than the store. And how long it waits for a turn that continues with the answer
// to another question of the same run.
const (
	settleWait  = 3 * time.Second
	othersWait  = time.Minute
	settleEvery = 20 * time.Millisecond
)

// goOn takes up the task whose turn waits for a person.
//
// A task of another tenant is not found; whether the person may answer was decided before,
// by the service of approvals.
func (s *Service) goOn(ctx context.Context, t *Turn, req *Request) error {
	t.task = req.TaskID
	for {
		task, doc, err := s.settled(ctx, req)
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
		case !waits && task.Turn != req.Asked && !s.hasNoLog(ctx, task):
			return answered()
		case !waits || task.State != InputRequired:
			return &fault.Error{Type: fault.ApprovalConflict, Message: "The task does not wait for this approval"}
		}
		before := task
		t.kept.version, t.kept.doc = task.Version+1, doc
		doc.resumed(t.id, req.Question, t.began)
		task.Holder, task.Turn, task.State, task.Side = s.holder, t.id, Working, t.save(req)
		err = s.replaceDocument(t.ctx, doc, task, s.workingTTL(t.durable))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return answered()
		case errors.Is(err, store.ErrUnavailable):
			before.Side = t.saved()
			s.store.checkLater(err, s.undoUpdate(t.task, t.id, before, s.waitingTTL(t.durable)))
			return err
		case !errors.Is(err, store.ErrConflict): // else another answer was faster: to this question, or to another
			return err
		}
	}
}

// settled returns the task when the turn that asked is over, and no turn continues with the
// answer to another question.
//
// After its patience it returns the task as it is, and goOn judges its state.
func (s *Service) settled(ctx context.Context, req *Request) (store.Task, *document, error) {
	for began := time.Now(); ; {
		task, err := s.cfg.Store.Task(ctx, req.TaskID)
		if err != nil {
			return task, nil, err
		}
		doc, patience := readDocument(req.TaskID, task), settleWait
		if task.Turn != req.Asked {
			patience = othersWait
		}
		waits := task.State == Working && (task.Turn == req.Asked || slices.Contains(doc.Status.Approvals, req.Question))
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

// Repeated returns a *Replay if the request's idempotency key was used with the same
// body, and nil otherwise.
//
// Every failure of the store is nil: the caller then begins the turn, and Begin meets the
// key again.
func (s *Service) Repeated(ctx context.Context, req Request) error {
	key := req.keyName()
	v, err := s.cfg.Store.Value(ctx, key)
	if err != nil {
		return nil
	}
	used, err := readKeyed(v.Data)
	if err != nil || string(used.Body) != string(req.Body[:]) {
		return nil
	}
	return &Replay{Turn: used.Turn, key: key}
}

// KeyedTurn returns the turn that an owner's idempotency key was used for; empty: it is not known.
// Its error says that the store is unavailable.
func (s *Service) KeyedTurn(ctx context.Context, tenant, owner, key string) (string, error) {
	v, err := s.cfg.Store.Value(ctx, store.IdempotencyKey(tenant, owner, key))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", unavailable(s.recordOutage(err))
	}
	used, err := readKeyed(v.Data)
	if err != nil {
		return "", nil
	}
	return used.Turn, nil
}

// Asked returns the ids of the questions for which a task waits, and whether the task is
// c's. Of one that is not the caller must not learn even that it is there, unless it may
// answer one of them.
func (s *Service) Asked(ctx context.Context, c Caller, id string) (ids []string, own bool, err error) {
	t, err := s.cfg.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !c.sees(t.Tenant, t.User),
		err == nil && final(t.State) && !c.mine(t): // nobody is asked any more: it is not read, which would take time
		return nil, false, notFound()
	case err != nil:
		return nil, false, unavailable(s.recordOutage(err))
	}
	return readDocument(id, t).Status.Approvals, c.mine(t), nil
}

// Asking is a task that waits for people.
type Asking struct {
	Approvals []string // ids of its questions
	Cursor    string   // of the page that begins behind it
}

// Waiting returns c's tasks that wait for people, newest first, and the
// cursor of the next page; of one conversation, if conversation is not empty.
func (s *Service) Waiting(ctx context.Context, c Caller, conversation, cursor string) (list []Asking, next string, err error) {
	if c.Principal.IsAnonymous() {
		return nil, "", nil
	}
	page, err := s.cfg.Store.Tasks(ctx, store.Query{
		Tenant: c.Principal.Tenant, User: c.Owner(), Conversation: conversation, State: InputRequired, Limit: store.MaxPage, Cursor: cursor,
	})
	if errors.Is(err, store.ErrCursor) {
		e := new(chat.ValidationError)
		e.Add("/cursor", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is no next_cursor of a list"})
		return nil, "", e
	}
	if err != nil {
		return nil, "", unavailable(s.recordOutage(err))
	}
	for i, id := range page.IDs {
		at := store.NewCursor(id, page.Tasks[i].Created)
		list = append(list, Asking{readDocument(id, page.Tasks[i]).Status.Approvals, at})
	}
	return list, page.Next, nil
}
