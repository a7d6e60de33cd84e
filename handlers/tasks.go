package handlers

import (
	"context"
	"net/http"
	"net/url"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// taskAPI serves tasks and conversations.
type taskAPI struct {
	tasks   *task.Service
	forgets []Forget // forget a conversation, after its tasks
	isOpen  bool     // without authentication
	origins *originPolicy
	bodies  *bodyReader
	readers *readers
	native  func(dialect.StoredTurn) stream.Encoder // of our own protocol
}

// addRoutes routes tasks and conversations.
func (ta *taskAPI) addRoutes(ro *router) {
	ta.origins.allowMethod(http.MethodPost)
	ta.origins.allowMethod(http.MethodDelete)
	ro.routeRead("/tasks", inspected, ta.listTasks)
	ro.routeRead("/tasks/:id", inspected, ta.showTask)
	ro.routeRead("/tasks/:id/trace", inspected, ta.showTrace)
	ro.routeGuarded(http.MethodGet, "/tasks/:id/events", inspected, ta.taskEvents)
	ro.routeGuarded(http.MethodHead, "/tasks/:id/events", inspected, ta.taskEvents)
	ro.routeGuarded(http.MethodPost, "/tasks/:id/cancel", changing, withoutIdentity(ta.cancelTask))
	ro.routeGuarded(http.MethodDelete, "/conversations/:id", changing, withoutIdentity(ta.forgetConversation))
}

// listTasks replies with a page of the caller's tasks, newest first. Tasks of other users are never
// counted or shown.
func (ta *taskAPI) listTasks(w http.ResponseWriter, r *http.Request) error {
	c, query, err := callerOf(r)
	if err != nil {
		return err
	}
	var e chat.ValidationError
	q := task.Query{State: query.Get("state"), Cursor: query.Get("cursor")}
	required := ""
	if ta.isOpen && c.UserID == "" { // else an anonymous caller would see the tasks of all
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
	list, err := ta.taskPage(r.Context(), c, q)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}

// taskPage makes a list. It is made before the client reads of it, as the client may be slow.
func (ta *taskAPI) taskPage(ctx context.Context, c task.Caller, q task.Query) (*task.Listed, error) {
	done, err := ta.tasks.Listing()
	if err != nil {
		return nil, err
	}
	defer done()
	return ta.tasks.List(ctx, c, q, task.ListOptions{})
}

// showTask replies with one task.
func (ta *taskAPI) showTask(w http.ResponseWriter, r *http.Request) error {
	return showOf(w, r, ta.tasks.Show)
}

// showTrace replies with the trace of a task.
func (ta *taskAPI) showTrace(w http.ResponseWriter, r *http.Request) error {
	return showOf(w, r, ta.tasks.Trace)
}

// showOf replies with the document that get returns for a task. A task of another user counts as
// missing.
func showOf(w http.ResponseWriter, r *http.Request, get func(context.Context, task.Caller, string) ([]byte, error)) error {
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
func (ta *taskAPI) cancelTask(w http.ResponseWriter, r *http.Request) error {
	c, err := ta.callerOfChange(w, r)
	if err != nil {
		return err
	}
	id, err := taskID(r)
	if err != nil {
		return err
	}
	doc, already, err := ta.tasks.Cancel(r.Context(), c, id)
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

// forgetConversation removes a conversation with all its tasks. It replies the same way
// whether there was one.
func (ta *taskAPI) forgetConversation(w http.ResponseWriter, r *http.Request) error {
	c, err := ta.callerOfChange(w, r)
	if err != nil {
		return err
	}
	conversation, wrong := chat.CheckConversationID(r.PathValue("id"))
	if wrong != nil {
		return &fault.Error{Type: fault.NotFound, Message: "There can be no such conversation"}
	}
	if err := ta.tasks.Forget(r.Context(), c, conversation); err != nil {
		return err
	}
	for _, forget := range ta.forgets {
		if err := forget(r.Context(), c.Principal.Tenant, c.Owner(), conversation); err != nil {
			return fault.NewStoreUnavailable(err)
		}
	}
	if err := ta.tasks.Erase(r.Context()); err != nil {
		return err
	}
	return replyNoContent(w)
}

// callerOfChange returns the caller of a change. It refuses foreign pages.
func (ta *taskAPI) callerOfChange(w http.ResponseWriter, r *http.Request) (task.Caller, error) {
	if err := ta.origins.checkOrigin(r); err != nil {
		return task.Caller{}, err
	}
	if err := ta.bodies.dropBody(w, r); err != nil {
		return task.Caller{}, err
	}
	c, _, err := callerOf(r)
	return c, err
}

// taskEvents reports a turn of a task in our own protocol, whatever protocol began it: from the
// first event, or behind the one that Last-Event-ID or after names.
func (ta *taskAPI) taskEvents(w http.ResponseWriter, r *http.Request, who *access.Identity) error {
	if err := ta.origins.checkOrigin(r); err != nil {
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
	beatEvents, err := heartbeatIn(query)
	if err != nil {
		return err
	}
	turn, err := ta.tasks.LastTurn(r.Context(), c, id)
	if err != nil {
		return err
	}
	after, turn, err := positionOf(r, query, turn)
	if err != nil {
		return err
	}
	if turn == "" {
		return ta.readers.refuseResume(w, "gone")
	}
	return ta.readers.resumeTurn(w, r, ta.native, sought{turn: turn, task: id, after: after, by: c, until: who, rule: inspected, beatEvents: beatEvents})
}

// positionOf returns where a reader wants to begin. The turn is empty if Last-Event-ID is not of
// this gateway.
func positionOf(r *http.Request, query url.Values, last string) (after int, turn string, err error) {
	if isReconnect(r) {
		turn, after, ok := eventID(r)
		if !ok {
			return 0, "", nil
		}
		return after, turn, nil
	}
	var e chat.ValidationError
	if text := query.Get("after"); text != "" {
		n, ok := eventNumber(text)
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

// turnIn reads the requested turn; the default is the last one.
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
