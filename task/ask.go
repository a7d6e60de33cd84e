// This file answers questions about tasks: show, list, cancel, forget. Each begins with
// whether the caller may know of the task; who may not gets the same answer as for one that
// is not there.

package task

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/fault"
	"sluice/store"
)

// Caller is who asks for tasks. The zero value is any caller.
type Caller struct {
	Principal chat.Principal
	UserID    string
}

// Owner returns whom what c may see belongs to.
func (c Caller) Owner() string {
	return (&chat.Request{Principal: c.Principal, UserID: c.UserID}).Owner()
}

// mine says whether a task may be shown to c. Of those whom nobody has made sure of, the
// id of the task is the key.
func (c Caller) mine(t store.Task) bool {
	if t.Tenant != c.Principal.Tenant {
		return false
	}
	return c.Principal.ID == "" || t.User == c.Owner()
}

// notFound is said of what is not there, and of what is not the caller's: the
// difference would show who has tasks.
func notFound() error {
	return &fault.Error{Type: fault.NotFound, Message: "There is no such task; it may have expired"}
}

// task returns a task that c may see.
//
// Its error is a fault: not_found, or that of a store which is unavailable.
func (s *Service) task(ctx context.Context, c Caller, id string) (store.Task, error) {
	t, err := s.cfg.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !c.mine(t):
		return store.Task{}, notFound()
	case err != nil:
		return store.Task{}, unavailable(s.note(err))
	}
	return t, nil
}

// Mine says why c may not see a task; nil: it is c's.
func (s *Service) Mine(ctx context.Context, c Caller, id string) error {
	_, err := s.task(ctx, c, id)
	return err
}

// Show returns the document of a task.
func (s *Service) Show(ctx context.Context, c Caller, id string) ([]byte, error) {
	t, err := s.task(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return readDocument(id, t).encode(), nil
}

// LastTurn returns the turn of a task's log.
func (s *Service) LastTurn(ctx context.Context, c Caller, id string) (string, error) {
	t, err := s.task(ctx, c, id)
	if err == nil && t.Turn == "" {
		err = notFound()
	}
	return t.Turn, err
}

// Told returns the document of a task, and the turn of its log.
func (s *Service) Told(ctx context.Context, c Caller, id string) (doc []byte, turn string, err error) {
	t, err := s.task(ctx, c, id)
	if err != nil {
		return nil, "", err
	}
	return readDocument(id, t).encode(), t.Turn, nil
}

// List returns a page of c's tasks, newest first, as one JSON document. q's tenant and user
// are c's.
func (s *Service) List(ctx context.Context, c Caller, q store.Query) ([]byte, error) {
	q.Tenant, q.User = c.Principal.Tenant, c.Owner()
	page, err := s.cfg.Store.Tasks(ctx, q)
	if errors.Is(err, store.ErrCursor) {
		e := new(chat.ValidationError)
		e.Add("/cursor", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is no next_cursor of a list"})
		return nil, e
	}
	if err != nil {
		return nil, unavailable(s.note(err))
	}
	list := struct {
		Tasks []jsontext.Value `json:"tasks"`
		Next  string           `json:"next_cursor,omitempty"`
	}{Tasks: []jsontext.Value{}, Next: page.Next}
	for i, id := range page.IDs {
		list.Tasks = append(list.Tasks, readDocument(id, page.Tasks[i]).encode())
	}
	return json.Marshal(list, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// Cancel asks that a task be cancelled, wherever it runs. It returns the document, and
// whether the task was cancelled before. The error of a task that has ended otherwise is
// of type TaskNotCancelable.
//
// It does not wait for the end. A task that waits for a person is ended here, since no
// process runs it.
func (s *Service) Cancel(ctx context.Context, c Caller, id string) (doc []byte, already bool, err error) {
	t, err := s.task(ctx, c, id)
	if err != nil {
		return nil, false, err
	}
	switch {
	case t.State == Canceled:
		return readDocument(id, t).encode(), true, nil
	case final(t.State):
		return nil, false, notCancelable()
	case t.State != Working && t.State != Submitted:
		return s.cancelWaiting(ctx, id, t)
	}
	if err := s.ask(ctx, id, t); err != nil {
		return nil, false, err
	}
	return readDocument(id, t).encode(), false, nil
}

// notCancelable is said of a task that has ended.
func notCancelable() error {
	return &fault.Error{Type: fault.TaskNotCancelable, Message: "The task has ended; there is nothing to cancel"}
}

// ask has the process that runs a task end it.
//
// A turn of this process is ended directly. For another one the wish is kept in an index
// that the process reads, and in the task itself, so that a signal which is lost delays it
// only.
func (s *Service) ask(ctx context.Context, id string, t store.Task) error {
	if s.stop(id) {
		return nil
	}
	err := s.cfg.Store.PutIndex(ctx, cancels(t.Owner), store.Member{ID: id, Score: time.Now().UnixMilli()}, cancelMemory)
	if err == nil {
		_, err = s.cfg.Store.CancelTask(ctx, id)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return unavailable(s.note(err))
	}
	return nil
}

// cancelWaiting cancels a task that no process runs: it waits for an input.
//
// If the person answers at the same moment, the task's version decides which of the two
// counts.
func (s *Service) cancelWaiting(ctx context.Context, id string, t store.Task) ([]byte, bool, error) {
	before := t.State
	doc := readDocument(id, t)
	asked := doc.Status.Approvals
	doc.Status = Status{State: Canceled, Timestamp: stamp(time.Now())}
	t.Doc, t.State, t.Holder = doc.encode(), Canceled, store.Holder{}
	ttl, err := s.keepEnded(ctx, id, doc, 0)
	if err == nil {
		err = s.cfg.Store.UpdateTask(ctx, id, t, ttl)
	}
	switch {
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
		return nil, false, notCancelable()
	case err != nil:
		return nil, false, unavailable(s.note(err))
	}
	if s.cfg.Runs != nil {
		_ = s.cfg.Runs.Finish(ctx, id)
	}
	s.withdraw(ctx, asked)
	s.changed(ctx, id, before, Canceled)
	return t.Doc, false, nil
}

// withdraw empties questions that can no longer be answered. They hold what the user and
// the model said, for as long as an answer had time, which may be longer than the task is
// kept. A failure leaves them to that time.
func (s *Service) withdraw(ctx context.Context, ids []string) {
	for _, id := range ids {
		key := store.ApprovalKey(id)
		v, err := s.cfg.Store.Value(ctx, key)
		if err == nil {
			v.Data = []byte(store.Withdrawn)
			_, err = s.cfg.Store.PutValue(ctx, key, v, s.cfg.TTL)
		}
		_ = s.note(err)
	}
}

// Forget removes the tasks and logs of a conversation of c's. What runs is cancelled
// before, and given a moment to end: it keeps nothing more of itself then.
//
// Turns that do not end within patience are removed all the same: what they write
// afterwards finds no task.
func (s *Service) Forget(ctx context.Context, c Caller, conversation string) error {
	q := store.Query{Tenant: c.Principal.Tenant, User: c.Owner(), Conversation: conversation, Limit: store.MaxPage}
	q.State = Working
	if err := s.each(ctx, q, s.ask); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.each(limited, q, s.gone); err != nil && limited.Err() == nil {
		return err
	}
	q.State = ""
	return s.each(ctx, q, s.remove)
}

// each does something to all tasks of a list.
//
// do may change what is listed: the cursor goes on behind the last task that was seen.
func (s *Service) each(ctx context.Context, q store.Query, do func(context.Context, string, store.Task) error) error {
	for {
		page, err := s.cfg.Store.Tasks(ctx, q)
		if err != nil {
			return unavailable(s.note(err))
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

// gone waits until a turn that was cancelled has ended. One whose process is dead keeps
// nothing, so it is not waited for longer than for others.
func (s *Service) gone(ctx context.Context, id string, _ store.Task) error {
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

// remove removes a task, its logs and what it asks: a question has what the user said.
func (s *Service) remove(ctx context.Context, id string, t store.Task) error {
	err := s.sweeper(s.Retention()).forget(ctx, id)
	doc := readDocument(id, t)
	for _, asked := range doc.Status.Approvals {
		if err == nil {
			err = s.cfg.Store.DeleteValue(ctx, store.ApprovalKey(asked))
		}
	}
	for _, turn := range doc.Metadata.Turns {
		if err == nil {
			err = s.cfg.Store.DropLog(ctx, turn)
		}
	}
	if err != nil {
		return unavailable(s.note(err))
	}
	return nil
}

// Resumed counts a request for the rest of a stream. outcome is resumed, attached, gone or
// failed.
func (s *Service) Resumed(outcome string) { s.resumes.Inc(outcome) }
