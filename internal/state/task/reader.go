// This file answers questions about tasks: show, list, trace. Each begins with whether the caller
// may know of the task. A caller that may not gets the same answer as for a task that is not there.

package task

import (
	"cmp"
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// taskReader shows tasks, and the logs of their turns, to callers. It is safe for concurrent use.
type taskReader struct {
	*turnLogs
	lease   *processLease
	listing chan struct{} // holds a value for each list that is made
}

// Mine returns a fault if c may not see a task.
func (s *taskReader) Mine(ctx context.Context, c Caller, id string) error {
	_, err := s.taskOf(ctx, c, id)
	return err
}

// Show returns the document of a task.
func (s *taskReader) Show(ctx context.Context, c Caller, id string) ([]byte, error) {
	t, err := s.taskOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	d, err := s.fullDocument(ctx, id, t)
	if err != nil {
		return nil, err
	}
	return d.encode(), nil
}

// LastTurn returns the turn of a task's log.
func (s *taskReader) LastTurn(ctx context.Context, c Caller, id string) (string, error) {
	t, err := s.taskOf(ctx, c, id)
	if err == nil && t.Turn == "" {
		err = notFound()
	}
	return t.Turn, err
}

// Recorded returns the document of a task, and the turn of its log.
func (s *taskReader) Recorded(ctx context.Context, c Caller, id string) (doc []byte, turn string, err error) {
	t, err := s.taskOf(ctx, c, id)
	if err != nil {
		return nil, "", err
	}
	d, err := s.fullDocument(ctx, id, t)
	if err != nil {
		return nil, "", err
	}
	return d.encode(), t.Turn, nil
}

// maxList bounds the documents of a page, in bytes.
const maxList = 1 << 20

// lists bounds the lists that are made at once: each reads and writes up to maxList.
const lists = 8

// Listing claims room for one list, or returns a fault if too many are made. The caller must call
// done.
func (s *taskReader) Listing() (done func(), err error) {
	select {
	case s.listing <- struct{}{}:
		return func() { <-s.listing }, nil
	default:
		return nil, &fault.Error{Type: fault.Overloaded, Message: "Too many lists are made now; try again in a moment"}
	}
}

// Query selects tasks of a caller.
type Query = store.Query

// MaxPage bounds the tasks of a page.
const MaxPage = store.MaxPage

// Listed is a page of tasks as it is shown.
type Listed struct {
	Tasks []jsontext.Value `json:"tasks"` // their documents, with texts that are cut
	Next  string           `json:"next_cursor,omitempty"`
}

// ListOptions configures a list.
type ListOptions struct {
	Artifacts bool // of each task
	Most      int  // bytes of documents, unless the first one has more; 0: maxList
}

// List returns a page of c's tasks, newest first. q's tenant and user are c's. It may be
// called after Listing.
func (s *taskReader) List(ctx context.Context, c Caller, q store.Query, what ListOptions) (*Listed, error) {
	if c.Principal.IsAnonymous() { // a list would show the tasks of all anonymous users
		return &Listed{Tasks: []jsontext.Value{}}, nil
	}
	q.Tenant, q.User = c.Principal.Tenant, c.Owner()
	conversation := ""
	if c.seesAll() {
		q.User, q.Conversation, conversation = store.AllUsers, "", q.Conversation
	}
	page, err := s.cfg.Store.Tasks(ctx, q)
	if errors.Is(err, store.ErrCursor) {
		e := new(chat.ValidationError)
		e.Add("/cursor", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is no next_cursor of a list"})
		return nil, e
	}
	if err != nil {
		return nil, storeUnavailable(s.recordOutage(err))
	}
	list := &Listed{Tasks: []jsontext.Value{}, Next: page.Next}
	room := cmp.Or(what.Most, maxList) - 100 // the text around them
	for i, id := range page.IDs {
		if conversation != "" && page.Tasks[i].Conversation != conversation {
			continue
		}
		doc := readDocument(id, page.Tasks[i]).encodeListed(what.Artifacts)
		if room -= len(doc) + 1; room < 0 && i > 0 {
			list.Next = store.NewCursor(page.IDs[i-1], page.Tasks[i-1].Created)
			break
		}
		list.Tasks = append(list.Tasks, doc)
	}
	return list, nil
}

// Count returns how many tasks of c's a query has, up to most. It may be called after Listing.
func (s *taskReader) Count(ctx context.Context, c Caller, q store.Query, most int) (n int, err error) {
	if c.Principal.IsAnonymous() {
		return 0, nil
	}
	q.Tenant, q.User, q.Cursor, q.Limit, q.Bare = c.Principal.Tenant, c.Owner(), "", store.MaxPage, true
	for n < most {
		page, err := s.cfg.Store.Tasks(ctx, q)
		if err != nil {
			return 0, storeUnavailable(s.recordOutage(err))
		}
		n += len(page.IDs)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	return n, nil
}

// Resumed counts a request for the rest of a stream. outcome is resumed, attached, gone or
// failed.
func (s *taskReader) Resumed(outcome string) { s.counts.resumes.Inc(outcome) }

// Trace returns the trace of a task of c's: of turns that have ended as it was kept, of
// others as far as their logs have them now.
func (s *taskReader) Trace(ctx context.Context, c Caller, id string) ([]byte, error) {
	t, err := s.taskOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return s.traceOf(ctx, id, t)
}

// OpenQuestions returns the ids of the questions for which a task waits. own is true if the task is
// c's. If the task is another user's, the caller must not even learn that it exists, unless the
// caller may answer one of the questions.
func (s *taskReader) OpenQuestions(ctx context.Context, c Caller, id string) (ids []string, own bool, err error) {
	t, err := s.cfg.Store.Task(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !c.sharesTenant(t.Tenant, t.User),
		err == nil && isFinal(t.State) && !c.ownsTask(t): // the questions are closed, so the document need not be read
		return nil, false, notFound()
	case err != nil:
		return nil, false, storeUnavailable(s.recordOutage(err))
	}
	return readDocument(id, t).Status.Approvals, c.ownsTask(t), nil
}

// Asking is a task that waits for people.
type Asking struct {
	Approvals []string // ids of its questions
	Cursor    string   // of the page that begins behind it
}

// Waiting returns c's tasks that wait for people, newest first, and the
// cursor of the next page; of one conversation, if conversation is not empty.
func (s *taskReader) Waiting(ctx context.Context, c Caller, conversation, cursor string) (list []Asking, next string, err error) {
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
		return nil, "", storeUnavailable(s.recordOutage(err))
	}
	for i, id := range page.IDs {
		at := store.NewCursor(id, page.Tasks[i].Created)
		list = append(list, Asking{readDocument(id, page.Tasks[i]).Status.Approvals, at})
	}
	return list, page.Next, nil
}
