// This file lets a task continue whose turn has asked the user: the next input is the reply.

package task

import (
	"context"
	"errors"
	"slices"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

// taskAdopter makes a task that waits for a person the task of a turn that begins.
type taskAdopter struct{ *turnStore }

// forRequest returns the question as a request answers it.
func (q *question) forRequest() *chat.Clarification {
	asked := &chat.Clarification{AgentID: q.AgentID, InARow: int(q.InARow)}
	for _, m := range q.Messages {
		role := chat.RoleModel
		if m.Role == "user" {
			role = chat.RoleUser
		}
		asked.Said = append(asked.Said, chat.HistoryMessage{Role: role, Text: m.Content})
	}
	return asked
}

// recallTask looks at the newest task of the conversation: it sets in the request who answered
// last and, if the task waits for an input, makes the request its reply.
func (s *taskAdopter) recallTask(ctx context.Context, t *Turn, req *Request) (continued bool, err error) {
	page, err := s.cfg.Store.Tasks(ctx, store.Query{
		Tenant: req.Chat.Principal.Tenant, User: req.Chat.Owner(), Conversation: req.Chat.ConversationID, Limit: 1,
	})
	if err != nil || len(page.IDs) == 0 {
		return false, err
	}
	doc := readDocument(page.IDs[0], page.Tasks[0])
	req.Chat.LastAgent = doc.Metadata.LastAgent
	if page.Tasks[0].State != InputRequired || doc.Metadata.PendingQuestion == nil {
		return false, nil
	}
	err = s.adoptTask(ctx, t, req, doc, page.Tasks[0])
	if isOvertaken(err) { // another input was faster
		return false, nil
	}
	return err == nil, err
}

// resumeTask makes the request the reply that its task waits for.
func (s *taskAdopter) resumeTask(ctx context.Context, t *Turn, req *Request) error {
	task, err := s.cfg.Store.Task(ctx, req.TaskID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err != nil || !req.canAnswer(&task) {
		return taskFault(chat.NoSuchTask())
	}
	doc := readDocument(req.TaskID, task)
	if doc.Metadata.PendingQuestion == nil {
		return taskFault(chat.TaskNeedsApproval())
	}
	err = s.adoptTask(ctx, t, req, doc, task)
	if isOvertaken(err) {
		return taskFault(chat.NoSuchTask())
	}
	return err
}

// canAnswer reports whether a task waits for input of the sender's, and is of the conversation if the
// request names one.
func (r *Request) canAnswer(t *store.Task) bool {
	return t.State == InputRequired && t.Tenant == r.Chat.Principal.Tenant && t.User == r.Chat.Owner() &&
		(r.Chat.ConversationID == "" || r.Chat.ConversationID == t.Conversation)
}

// isOvertaken reports whether another input was faster, or the task is gone.
func isOvertaken(err error) bool {
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound)
}

// taskFault is a fault of the field task_id.
func taskFault(f *chat.FieldError) error {
	e := new(chat.ValidationError)
	e.Add("/task_id", f)
	return e
}

// adoptTask makes a waiting task the turn's, and sets in the request the question that it answers.
func (s *taskAdopter) adoptTask(ctx context.Context, t *Turn, req *Request, doc *document, task store.Task) error {
	before := task
	asked, err := s.fullQuestion(ctx, doc)
	if err != nil {
		return err
	}
	doc.addInput(t.id, req, t.began, s.cfg.MaxHistory)
	own := *req.Chat
	req.Chat.Question = asked.forRequest()
	req.Chat.LastAgent = doc.Metadata.LastAgent
	if req.Chat.ConversationID == "" {
		req.Chat.ConversationID = doc.ContextID
	}
	task.Holder, task.Turn, task.State, task.Side = s.holder, t.id, Working, t.beginSaving(req)
	if err := s.replaceDocument(t.ctx, doc, task, s.cfg.TTL); err != nil {
		if errors.Is(err, store.ErrUnavailable) {
			before.Side = t.dropSaved()
			s.checkLater(err, s.undoUpdate(doc.ID, t.id, before, s.cfg.TTL))
		}
		*req.Chat, t.identity.saves = own, false
		return err
	}
	t.task, t.end.stored.doc, t.end.stored.version = doc.ID, doc, task.Version+1
	s.reportState(ctx, doc.ID, before.State, Working)
	return nil
}

// fullQuestion returns the question of a task with all of its texts. The document stays as it is.
func (s *taskAdopter) fullQuestion(ctx context.Context, d *document) (*question, error) {
	q := *d.Metadata.PendingQuestion
	if !slices.ContainsFunc(q.Messages, func(a questionMessage) bool { return a.Elsewhere != nil }) {
		return &q, nil
	}
	long, err := s.longTexts(ctx, d.ID)
	if err != nil {
		return nil, err
	}
	q.Messages = slices.Clone(q.Messages)
	(&document{Metadata: metadata{PendingQuestion: &q}}).addLongTexts(long)
	return &q, nil
}
