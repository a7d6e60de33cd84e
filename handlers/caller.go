package handlers

import (
	"net/http"
	"net/url"
	"strconv"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// callerOf returns the caller of a request about tasks, and the request's query. The query may name
// the user of the caller, or the user whose tasks an inspector reads.
func callerOf(r *http.Request) (c task.Caller, query url.Values, err error) {
	query = r.URL.Query()
	named, err := userInQuery(query)
	if err != nil {
		return c, nil, err
	}
	p := chat.TurnOf(r.Context()).Principal
	inspects := isRead(r.Method) && p.IsKnown() && p.Scopes&chat.ScopeInspect != 0
	if inspects && named != "" {
		p = p.As(named)
	}
	if c, err = callerFor(p, named); err != nil {
		return c, nil, err
	}
	c.Inspects = inspects
	return c, query, nil
}

// userInQuery returns the user that a query names, or "".
func userInQuery(query url.Values) (string, error) {
	user, wrong := chat.CheckUserID(query.Get("user_id"))
	if wrong != nil {
		e := new(chat.ValidationError)
		e.Add("/user_id", wrong)
		return "", e
	}
	return user, nil
}

// callerFor returns the caller that p is with the name of a user in its request. It is the one way to a
// task.Caller of a request that names something by its id. The error refuses a name that p may not use.
func callerFor(p chat.Principal, named string) (task.Caller, error) {
	own, ok := p.For(named)
	if !ok {
		return task.Caller{}, dialect.ForeignUser()
	}
	return task.Caller{Principal: own, UserID: named}, nil
}

// taskID returns the task of the path. A text that cannot be an id is a fault of type NotFound.
func taskID(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if len(id) == 0 || len(id) > 128 || !chat.Token(id, 1, 128) {
		return "", &fault.Error{Type: fault.NotFound, Message: "There is no such task; it may have expired"}
	}
	return id, nil
}

// limitIn reads how many tasks a page may have.
func limitIn(query url.Values, e *chat.ValidationError) int {
	text := query.Get("limit")
	if text == "" {
		return task.MaxPage
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > task.MaxPage {
		e.Add("/limit", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "must be a number from 1 to 100"})
	}
	return n
}

// conversationIn reads the conversation of a list. required is the message of the fault if it is
// missing; "" makes it optional.
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
