package handlers

import (
	"context"
	"net/http"
	"net/url"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// serveTasks routes what there is to ask of turns that are kept.
func (s *Server) serveTasks() {
	if s.cfg.Tasks == nil {
		return
	}
	s.origins.allowMethod(http.MethodPost)
	s.origins.allowMethod(http.MethodDelete)
	s.routes.readable("/tasks", inspected, s.listTasks)
	s.routes.readable("/tasks/:id", inspected, s.showTask)
	s.routes.readable("/tasks/:id/trace", inspected, s.showTrace)
	s.routes.guarded(http.MethodGet, "/tasks/:id/events", inspected, s.taskEvents)
	s.routes.guarded(http.MethodHead, "/tasks/:id/events", inspected, s.taskEvents)
	s.routes.guarded(http.MethodPost, "/tasks/:id/cancel", changing, ignoring(s.cancelTask))
	s.routes.guarded(http.MethodDelete, "/conversations/:id", changing, ignoring(s.forget))
	s.serveRecords()
}

// listTasks replies with a page of the caller's tasks, newest first. Those of
// others are never counted or shown.
func (s *Server) listTasks(w http.ResponseWriter, r *http.Request) error {
	c, query, err := callerOf(r)
	if err != nil {
		return err
	}
	var e chat.ValidationError
	q := task.Query{State: query.Get("state"), Cursor: query.Get("cursor")}
	required := ""
	if s.cfg.Door == nil && c.UserID == "" { // else nobody in particular would see the tasks of all
		required = "is required, or user_id"
	}
	q.Conversation = conversationIn(query, required, &e)
	q.Limit = limitIn(query, &e)
	if q.State != "" && !task.IsState(q.State) {
		e.Add("/state", &chat.FieldError{Code: chat.CodeUnknownValue, Message: "names no state of a task"})
	}
	if len(e.Fields) > 0 {
		return &e
	}
	list, err := s.taskPage(r.Context(), c, q)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}

// taskPage makes a list. It is made before the client reads of it, who may be slow.
func (s *Server) taskPage(ctx context.Context, c task.Caller, q task.Query) (*task.Listed, error) {
	done, err := s.cfg.Tasks.Listing()
	if err != nil {
		return nil, err
	}
	defer done()
	return s.cfg.Tasks.List(ctx, c, q, task.Shown{})
}

// showTask replies with one task.
func (s *Server) showTask(w http.ResponseWriter, r *http.Request) error {
	return showOf(s, w, r, s.cfg.Tasks.Show)
}

// showTrace replies with the trace of a task.
func (s *Server) showTrace(w http.ResponseWriter, r *http.Request) error {
	return showOf(s, w, r, s.cfg.Tasks.Trace)
}

// showOf replies with what get says about a task. One that belongs to somebody else is as if it
// did not exist.
func showOf(s *Server, w http.ResponseWriter, r *http.Request, get func(context.Context, task.Caller, string) ([]byte, error)) error {
	c, _, err := callerOf(r)
	if err != nil {
		return err
	}
	id, err := taskID(r)
	if err != nil {
		return err
	}
	doc, err := get(r.Context(), c, id)
	if err == nil {
		writeBody(w, http.StatusOK, doc)
	}
	return err
}

// cancelTask asks for the end of a task, whichever process runs it, and replies
// with the task as it is then.
func (s *Server) cancelTask(w http.ResponseWriter, r *http.Request) error {
	c, err := s.changes(w, r)
	if err != nil {
		return err
	}
	id, err := taskID(r)
	if err != nil {
		return err
	}
	doc, already, err := s.cfg.Tasks.Cancel(r.Context(), c, id)
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if already {
		status = http.StatusOK
	}
	writeBody(w, status, doc)
	return nil
}

// forget removes a conversation with all its tasks. It replies the same way
// whether there was one.
func (s *Server) forget(w http.ResponseWriter, r *http.Request) error {
	c, err := s.changes(w, r)
	if err != nil {
		return err
	}
	conversation, wrong := chat.CheckConversationID(r.PathValue("id"))
	if wrong != nil {
		return &fault.Error{Type: fault.NotFound, Message: "There can be no such conversation"}
	}
	if err := s.cfg.Tasks.Forget(r.Context(), c, conversation); err != nil {
		return err
	}
	for _, forget := range s.cfg.Forget {
		if err := forget(r.Context(), c.Principal.Tenant, c.Owner(), conversation); err != nil {
			return fault.NewStoreUnavailable(err)
		}
	}
	if err := s.cfg.Tasks.Erase(r.Context()); err != nil {
		return err
	}
	return giveUp(w)
}

// Forget forgets what is kept of a conversation of an owner: chat.Request.Owner.
type Forget func(ctx context.Context, tenant, owner, conversation string) error

// changes returns who asks for a change, unless a foreign page does.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) (task.Caller, error) {
	if err := s.origins.check(r); err != nil {
		return task.Caller{}, err
	}
	if err := s.bodies.drop(w, r); err != nil {
		return task.Caller{}, err
	}
	c, _, err := callerOf(r)
	return c, err
}

// taskEvents reports a turn of a task in our own protocol, whatever protocol began it: from the
// first event, or behind the one that Last-Event-ID or after names.
func (s *Server) taskEvents(w http.ResponseWriter, r *http.Request, who *access.Identity) error {
	if err := s.origins.check(r); err != nil {
		return err
	}
	c, query, err := callerOf(r)
	if err != nil {
		return err
	}
	id, err := taskID(r)
	if err != nil {
		return err
	}
	turn, err := s.cfg.Tasks.LastTurn(r.Context(), c, id)
	if err != nil {
		return err
	}
	after, turn, err := s.position(r, query, turn)
	if err != nil || turn == "" {
		return orGone(s, w, err)
	}
	return s.readers.resume(w, r, s.native, sought{turn: turn, task: id, after: after, by: c, until: who, rule: inspected})
}

// orGone replies without a body, or returns err. s is a parameter because
// handlers of two kinds share it.
func orGone(s *Server, w http.ResponseWriter, err error) error {
	if err != nil {
		return err
	}
	return s.readers.refuseResume(w, "gone")
}

// position returns where a reader wants to begin. The turn is empty if Last-Event-ID is
// none of ours.
func (s *Server) position(r *http.Request, query url.Values, last string) (after int, turn string, err error) {
	if lost(r) {
		turn, after, ok := eventID(r)
		if !ok {
			return 0, "", nil
		}
		return after, turn, nil
	}
	var e chat.ValidationError
	if text := query.Get("after"); text != "" {
		n, ok := number(text)
		if after = n; !ok {
			e.Add("/after", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "must be the number of an event"})
		}
	}
	turn = turnIn(query, last, &e)
	if len(e.Fields) > 0 {
		return 0, "", &e
	}
	return after, turn, nil
}

// turnIn reads which turn is asked for: the last one if none is named.
func turnIn(query url.Values, last string, e *chat.ValidationError) string {
	turn := query.Get("turn")
	if turn == "" {
		return last
	}
	if !chat.IsTurnID(turn) {
		e.Add("/turn", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "must be the id of a turn"})
	}
	return turn
}
