package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"sluice/internal/edge/dialect"
	"sluice/internal/engine/approval"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
	"sluice/stream/sse"
)

// Turns that wait for a person: what Config.Approvals adds to the way of a turn.

// serveApprovals routes the list of what waits.
func (s *Server) serveApprovals() {
	if s.cfg.Approvals != nil {
		s.readable("/approvals", reviewed, s.listApprovals)
	}
}

// approvalList is the reply of GET /approvals.
type approvalList struct {
	Approvals []*stream.Approval `json:"approvals"`
	Next      string             `json:"next_cursor,omitempty"`
}

// listApprovals says what the caller may decide: first of its own tasks, then of those of
// others. Nobody in particular must name a conversation, as for tasks, and sees what waits in
// it for nobody in particular. Without a store nobody knows.
func (s *Server) listApprovals(w http.ResponseWriter, r *http.Request) error {
	c, query, err := s.caller(r)
	if err != nil {
		return err
	}
	var e chat.ValidationError
	required := ""
	if s.cfg.Door == nil && c.UserID == "" {
		required = "is required without user_id"
	}
	conversation := conversationIn(query, required, &e)
	if len(e.Fields) > 0 {
		return &e
	}
	list := approvalList{Approvals: []*stream.Approval{}}
	if s.cfg.Tasks != nil {
		done, err := s.cfg.Tasks.Listing()
		if err != nil {
			return err
		}
		err = s.fillApprovals(r.Context(), &list, c, conversation, query.Get("cursor"))
		if done(); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, list)
}

// conversationIn reads the conversation of a list. required says that it must be named; empty: it
// need not be.
func conversationIn(query url.Values, required string, e *chat.ValidationError) string {
	id := query.Get("conversation_id")
	if id == "" {
		if required != "" {
			e.Add("/conversation_id", &chat.FieldError{Code: chat.CodeRequired, Message: required})
		}
		return ""
	}
	id, wrong := chat.CheckConversationID(id)
	e.Add("/conversation_id", wrong)
	return id
}

// fillApprovals fills in one page: at most 100 questions, and 1 MiB of them.
func (s *Server) fillApprovals(ctx context.Context, list *approvalList, c task.Caller, conversation, cursor string) (err error) {
	page := approval.Listing{Approvals: list.Approvals}
	defer func() { list.Approvals = page.Approvals }()
	if !approval.NamesOthers(cursor) {
		if list.Next, err = s.fillOwn(ctx, &page, c, conversation, cursor); err != nil || list.Next != "" {
			return err
		}
		if cursor = ""; page.IsFull(1) {
			list.Next = approval.OfOthers()
			return nil
		}
	}
	list.Next, err = s.cfg.Approvals.ForOthers(ctx, approval.Caller(c), conversation, cursor, &page)
	return err
}

// fillOwn adds the questions of the caller's own tasks. next is the cursor of the next page; empty:
// these are all.
func (s *Server) fillOwn(ctx context.Context, page *approval.Listing, c task.Caller, conversation, cursor string) (next string, err error) {
	waiting, next, err := s.cfg.Tasks.Waiting(ctx, c, conversation, cursor)
	if err != nil {
		return "", err
	}
	for i := range waiting {
		if page.IsFull(len(waiting[i].Approvals)) {
			return waiting[i-1].Cursor, nil
		}
		if err := s.cfg.Approvals.List(ctx, approval.Caller(c), waiting[i].Approvals, page); err != nil {
			return "", err
		}
	}
	return next, nil
}

// deciders are the scopes of which a sender needs one for an answer that lets anything run. With fewer
// scopes an answer can only reject: a credential causes no more than its own turns could.
const deciders = chat.ScopeChat | chat.ScopeApprove

// goOn makes of an answer the turn with which the paused one continues. A key that was used is
// looked at first: what it has answered may not wait any more, and what waits now it must not
// answer.
func (s *Server) goOn(r *http.Request, t *turn) error {
	if s.cfg.Approvals == nil {
		e := new(chat.ValidationError)
		e.Add(t.Approval.At, &chat.FieldError{Code: chat.CodeNotConfigured, Message: "is not configured: this gateway asks for no approvals (SLUICE_CONFIRM)"})
		return e
	}
	if t.who != nil && !t.who.May(deciders) && !t.Approval.OnlyRejects() {
		return s.senders.refuseScopes(r, t.who, deciders)
	}
	sender := t.Request.Owner()
	t.sender = &sender
	if err := s.repeated(r, t); err != nil {
		return err
	}
	acc, err := s.accept(r.Context(), t)
	if err != nil {
		return err
	}
	t.accepted, t.Request = acc, acc.Request
	t.TaskID, t.asked, t.question = acc.Request.Resumed.Task, acc.Request.Resumed.Turn, acc.ID()
	if t.RunsOn && durable(&t.Request) {
		t.Mode = dialect.Detached
	}
	return nil
}

// repeated returns what the key of a turn was used for, if it was.
func (s *Server) repeated(r *http.Request, t *turn) error {
	if t.Key == "" || s.cfg.Tasks == nil {
		return nil
	}
	return s.cfg.Tasks.Repeated(r.Context(), s.kept(r, t))
}

// accept reads the answer of a request: by its token, or to the task that it names.
func (s *Server) accept(ctx context.Context, t *turn) (*approval.Accepted, error) {
	if t.Decides == "" {
		return s.cfg.Approvals.Check(ctx, t.Approval, t.Request)
	}
	ids, err := s.askedOf(ctx, t)
	if err != nil {
		return nil, err
	}
	id, err := meant(t.Approval.ApprovalID, ids)
	if err != nil {
		return nil, err
	}
	return s.cfg.Approvals.CheckTask(ctx, id, t.Approval, t.Request)
}

// meant returns which of the approvals that a task waits for an answer is for. One of several must
// be named.
func meant(id string, ids []string) (string, error) {
	switch {
	case len(ids) == 0, id != "" && !slices.Contains(ids, id):
		return "", approval.Conflict()
	case id == "" && len(ids) > 1:
		e := new(chat.ValidationError)
		e.Add("/approval_id", &chat.FieldError{Code: chat.CodeRequired, Message: "is required: the task waits for several"})
		return "", e
	case id == "":
		return ids[0], nil
	}
	return id, nil
}

// askedOf returns the questions of the task that an answer is for: of another one's task
// those that the caller may answer. If there are none, the task is as if it were not there.
func (s *Server) askedOf(ctx context.Context, t *turn) ([]string, error) {
	who := task.Caller{Principal: t.Request.Principal, UserID: t.Request.UserID}
	ids, own, err := s.cfg.Tasks.Asked(ctx, who, t.Decides)
	if err != nil || own {
		return ids, err
	}
	shown, err := s.cfg.Approvals.Shown(ctx, approval.Caller(who), ids)
	if err == nil && len(shown) == 0 {
		err = task.NotFound()
	}
	ids = nil
	for _, q := range shown {
		ids = append(ids, q.ID)
	}
	return ids, err
}

// reattach answers a repeated idempotency key whose answer was used, by the turn that
// used it; who wants no stream gets the task as it is now.
func (s *Server) reattach(w http.ResponseWriter, r *http.Request, t *turn, replay *task.Replay) error {
	switch t.Mode {
	case dialect.Unattended:
		return s.again(r.Context(), w, t)
	case dialect.Early:
		return s.sendFirst(w, r, t, func() error { return s.attach(nil, r, t, replay) })
	}
	return s.attach(w, r, t, replay)
}

// again answers a repeated answer whose client wants the task alone. That its key was used
// shows that the caller might answer, also about a task of somebody else.
func (s *Server) again(ctx context.Context, w http.ResponseWriter, t *turn) error {
	tenant := chat.Principal{Tenant: t.Request.Principal.Tenant}
	doc, err := s.cfg.Tasks.Show(ctx, task.Caller{Principal: tenant, Inspects: true}, t.Decides)
	if err == nil {
		w.Header().Set("X-Sluice-Replayed", "true")
		s.cfg.Tasks.Resumed("attached")
		writeBody(w, http.StatusAccepted, doc)
	}
	return err
}

// unattended runs a kept turn without a reader, and answers with its task.
func (s *Server) unattended(in *slot, w http.ResponseWriter, r *http.Request, t *turn) error {
	doc, err := s.cfg.Tasks.Show(in.ctx, task.Caller{Principal: t.Request.Principal, UserID: t.Request.UserID}, t.stored.Task())
	// Goroutine (unattended): runs the whole turn that goes on after an answer to a question,
	// without a reader.
	// Ends: the turn has its `done`.
	// Waits: `handlers`, which counts it for a drain as any turn.
	go func() { // the gate waits for it
		defer survive(in.ctx)
		s.finish(in, nil, r, t)
	}()
	if err == nil {
		writeBody(w, http.StatusAccepted, doc)
	}
	return err
}

// nobody is the output of a turn without a client.
type nobody struct{}

func (nobody) Write(stream.Stamp, stream.Event) error { return nil }
func (nobody) Flush() error                           { return nil }
func (nobody) Blocked() time.Duration                 { return 0 }
func (nobody) Discard()                               {}
func (nobody) Close() error                           { return nil }
func (nobody) Stats() sse.Stats                       { return sse.Stats{} }
