// This file answers questions about tasks: show, list, cancel, forget. Each begins with
// whether the caller may know of the task; who may not gets the same answer as for one that
// is not there.

package task

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// Mine says why c may not see a task; nil: it is c's.
func (s *Service) Mine(ctx context.Context, c Caller, id string) error {
	_, err := s.taskOf(ctx, c, id)
	return err
}

// Show returns the document of a task.
func (s *Service) Show(ctx context.Context, c Caller, id string) ([]byte, error) {
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
func (s *Service) LastTurn(ctx context.Context, c Caller, id string) (string, error) {
	t, err := s.taskOf(ctx, c, id)
	if err == nil && t.Turn == "" {
		err = notFound()
	}
	return t.Turn, err
}

// Recorded returns the document of a task, and the turn of its log.
func (s *Service) Recorded(ctx context.Context, c Caller, id string) (doc []byte, turn string, err error) {
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

// lists is how many lists are made at once: each reads and writes up to MaxList.
const lists = 8

// Listing waits for nothing: it returns what ends a list that is to be made, or the fault of
// too many at once.
func (s *Service) Listing() (done func(), err error) {
	select {
	case s.listing <- struct{}{}:
		return func() { <-s.listing }, nil
	default:
		return nil, &fault.Error{Type: fault.Overloaded, Message: "Too many lists are made now; try again in a moment"}
	}
}

// Query says which tasks of a caller are listed.
type Query = store.Query

// MaxPage bounds the tasks of a page.
const MaxPage = store.MaxPage

// Listed is a page of tasks as it is shown.
type Listed struct {
	Tasks []jsontext.Value `json:"tasks"` // their documents, with texts that are cut
	Next  string           `json:"next_cursor,omitempty"`
}

// Shown says what a list shows.
type Shown struct {
	Artifacts bool // of each task
	Most      int  // bytes of documents, unless the first one has more; 0: MaxList
}

// List returns a page of c's tasks, newest first. q's tenant and user are c's. It may be
// called after Listing.
func (s *Service) List(ctx context.Context, c Caller, q store.Query, what Shown) (*Listed, error) {
	if c.Principal.IsAnonymous() { // no list shows what belongs to all of them
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
		return nil, unavailable(s.recordOutage(err))
	}
	list := &Listed{Tasks: []jsontext.Value{}, Next: page.Next}
	room := cmp.Or(what.Most, maxList) - 100 // what stands around them
	for i, id := range page.IDs {
		if conversation != "" && page.Tasks[i].Conversation != conversation {
			continue
		}
		doc := readDocument(id, page.Tasks[i]).listed(what.Artifacts)
		if room -= len(doc) + 1; room < 0 && i > 0 {
			list.Next = store.NewCursor(page.IDs[i-1], page.Tasks[i-1].Created)
			break
		}
		list.Tasks = append(list.Tasks, doc)
	}
	return list, nil
}

// Count returns how many tasks of c's a query has, up to most. It may be called after Listing.
func (s *Service) Count(ctx context.Context, c Caller, q store.Query, most int) (n int, err error) {
	if c.Principal.IsAnonymous() {
		return 0, nil
	}
	q.Tenant, q.User, q.Cursor, q.Limit, q.Bare = c.Principal.Tenant, c.Owner(), "", store.MaxPage, true
	for n < most {
		page, err := s.cfg.Store.Tasks(ctx, q)
		if err != nil {
			return 0, unavailable(s.recordOutage(err))
		}
		n += len(page.IDs)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	return n, nil
}

// Cancel asks that a task be cancelled, wherever it runs. It returns the document, and
// whether the task was cancelled before. The error of a task that has ended otherwise is
// of type TaskNotCancelable.
//
// It does not wait for the end. A task that waits for a person is ended here, since no
// process runs it.
func (s *Service) Cancel(ctx context.Context, c Caller, id string) (doc []byte, already bool, err error) {
	t, err := s.taskOf(ctx, c, id)
	if err != nil {
		return nil, false, err
	}
	switch {
	case t.State == Canceled:
		doc, err := s.encodedTask(ctx, id, t)
		return doc, err == nil, err
	case final(t.State):
		return nil, false, notCancelable()
	case t.State != Working && t.State != submitted:
		return s.cancelWaiting(ctx, id, t)
	}
	if err := s.ask(ctx, id, t); err != nil {
		return nil, false, err
	}
	doc, err = s.encodedTask(ctx, id, t)
	return doc, false, err
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
	if s.turns.stopTurn(id) {
		return nil
	}
	wish := store.Member{ID: id, Score: time.Now().UnixMilli()}
	err := s.cfg.Store.PutIndex(ctx, cancels(t.Owner), wish, cancelMemory)
	if err == nil {
		var now store.Task
		if now, err = s.cfg.Store.CancelTask(ctx, id); err == nil && now.Owner != t.Owner { // another process has claimed it meanwhile
			err = s.cfg.Store.PutIndex(ctx, cancels(now.Owner), wish, cancelMemory)
		}
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return unavailable(s.recordOutage(err))
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
		s.store.withdraw(ctx, asked)
		s.reportState(ctx, id, before, Canceled)
	}
	switch {
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
		return nil, false, notCancelable()
	case err != nil:
		s.store.checkLater(err, s.onceCanceled(id, t, ended))
		return nil, false, unavailable(s.recordOutage(err))
	}
	ended(ctx)
	if long, err := s.longTexts(ctx, id); err == nil && !doc.isWhole() {
		doc.complete(long)
	}
	return doc.encode(), false, nil
}

// onceCanceled returns a check that calls ended if the task was cancelled as t. It calls ended once.
func (s *Service) onceCanceled(id string, t store.Task, ended func(context.Context)) func(context.Context) error {
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

// Forget removes the tasks and logs of a conversation of c's. What runs is cancelled
// before, and given a moment to end: it keeps nothing more of itself then.
//
// Turns that do not end within patience are removed all the same: what they write
// afterwards finds no task.
func (s *Service) Forget(ctx context.Context, c Caller, conversation string) error {
	if c.Principal.IsAnonymous() { // the id of a conversation can be guessed
		return nil
	}
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
// do may change what is listed: the cursor continues behind the last task that was seen.
func (s *Service) each(ctx context.Context, q store.Query, do func(context.Context, string, store.Task) error) error {
	for {
		page, err := s.cfg.Store.Tasks(ctx, q)
		if err != nil {
			return unavailable(s.recordOutage(err))
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

// remove removes a task, its turns and its questions, which hold the user's words.
//
// The task goes last, so that a second try after an error still finds it. An entry of the retention
// index has a sweep remove the other records. Only a turn that runs can write before its task is gone.
func (s *Service) remove(ctx context.Context, id string, t store.Task) error {
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
		err = s.sweeper(s.retention()).forget(ctx, id)
	}
	if err == nil && t.State == Working {
		err = s.removeTurns(ctx, turns)
	}
	if err != nil {
		return unavailable(s.recordOutage(err))
	}
	return nil
}

// removeTurns removes the logs of turns, and their saved requests and states.
func (s *Service) removeTurns(ctx context.Context, turns []string) error {
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

// Resumed counts a request for the rest of a stream. outcome is resumed, attached, gone or
// failed.
func (s *Service) Resumed(outcome string) { s.counts.resumes.Inc(outcome) }

// Trace returns the trace of a task of c's: of turns that have ended as it was kept, of
// others as far as their logs have them now.
func (s *Service) Trace(ctx context.Context, c Caller, id string) ([]byte, error) {
	t, err := s.taskOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	return s.traceOf(ctx, id, t)
}

// cancelMemory is how long a cancel waits for the process that it is meant for.
const cancelMemory = time.Minute

// cancels returns the index of the cancelled tasks of a process.
func cancels(owner string) string { return "sluice:cancel:" + owner }
