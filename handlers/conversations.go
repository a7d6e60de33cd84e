package handlers

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/approval"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
)

// Bounds of requests for conversations.
const (
	fewConversations = 20  // and turns of a page
	maxNamed         = 50  // ids of one request
	maxSearch        = 100 // characters
	maxTitleBody     = 8 << 10
)

// conversationAPI serves conversations. taskAPI removes them, as it also does without a journal.
type conversationAPI struct {
	journal   *conversation.Journal
	tasks     *task.Service
	approvals *approval.Service // nil: nothing waits for a person
	isOpen    bool              // without authentication
	origins   *originPolicy
	bodies    *bodyReader
}

// addRoutes routes conversations.
func (ca *conversationAPI) addRoutes(ro *router) {
	ca.origins.allowMethod(http.MethodPatch)
	ro.routeRead("/conversations", inspected, ca.listConversations)
	ro.routeRead("/conversations/:id", inspected, ca.showConversation)
	ro.routeGuarded(http.MethodPatch, "/conversations/:id", changing, withoutIdentity(ca.renameConversation))
}

// listConversations replies with a page of the caller's conversations, the last turn first. Without
// authentication it has only those that the caller names: their ids are the key.
func (ca *conversationAPI) listConversations(w http.ResponseWriter, r *http.Request) error {
	c, query, err := callerOf(r)
	if err != nil {
		return err
	}
	var e chat.ValidationError
	q := conversation.ListQuery{Tenant: c.Principal.Tenant, Owner: c.Owner(), Cursor: query.Get("cursor"), Limit: turnsIn(query, &e)}
	q.Search = searchIn(query, &e)
	q.IDs = ca.idsIn(query, &e)
	if len(e.Fields) > 0 {
		return &e
	}
	done, err := ca.tasks.Listing()
	if err != nil {
		return err
	}
	page, err := ca.pageOf(r.Context(), c, q)
	if done(); err != nil {
		return readFault(err)
	}
	return writeJSON(w, http.StatusOK, page)
}

// pageOf makes a page. Anonymous callers have no conversations.
func (ca *conversationAPI) pageOf(ctx context.Context, c task.Caller, q conversation.ListQuery) (*conversation.Page, error) {
	if c.Principal.IsAnonymous() {
		return &conversation.Page{Conversations: []conversation.Object{}}, nil
	}
	page, err := ca.journal.List(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range page.Conversations {
		if err := ca.fillWaiting(ctx, c, &page.Conversations[i]); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// showConversation replies with a conversation and its newest messages.
func (ca *conversationAPI) showConversation(w http.ResponseWriter, r *http.Request) error {
	c, query, err := callerOf(r)
	if err != nil {
		return err
	}
	id, err := conversationID(r, c)
	if err != nil {
		return err
	}
	var e chat.ValidationError
	limit := turnsIn(query, &e)
	if len(e.Fields) > 0 {
		return &e
	}
	done, err := ca.tasks.Listing()
	if err != nil {
		return err
	}
	detail, err := ca.journal.Get(r.Context(), c.Principal.Tenant, c.Owner(), id, query.Get("line"), query.Get("cursor"), limit)
	if err == nil {
		err = ca.fillWaiting(r.Context(), c, &detail.Object)
	}
	if done(); err != nil {
		return readFault(err)
	}
	return writeJSON(w, http.StatusOK, detail)
}

// renameConversation gives a conversation another title, or the one that was made.
func (ca *conversationAPI) renameConversation(w http.ResponseWriter, r *http.Request) error {
	if err := ca.origins.checkOrigin(r); err != nil {
		return err
	}
	if err := wantType(r, "application/json"); err != nil {
		return err
	}
	body, err := ca.bodies.readBody(w, r, maxTitleBody)
	if err != nil {
		return err
	}
	title, err := readTitle(body)
	ca.bodies.releaseBody(body)
	if err != nil {
		return err
	}
	c, _, err := callerOf(r)
	if err != nil {
		return err
	}
	id, err := conversationID(r, c)
	if err != nil {
		return err
	}
	o, err := ca.journal.Rename(r.Context(), c.Principal.Tenant, c.Owner(), id, title)
	if err == nil {
		err = ca.fillWaiting(r.Context(), c, &o)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, o)
}

// fillWaiting adds the questions for which the turns of a conversation wait, without tokens.
func (ca *conversationAPI) fillWaiting(ctx context.Context, c task.Caller, o *conversation.Object) error {
	if ca.approvals == nil {
		return nil
	}
	for _, id := range o.WaitingTasks {
		ids, _, err := ca.tasks.OpenQuestions(ctx, c, id)
		if err != nil {
			if fault.IsStoreUnavailable(err) {
				return err
			}
			continue // the task is gone
		}
		page := approval.Listing{Approvals: o.Waiting}
		if err := ca.approvals.List(ctx, approval.Caller(c), ids, &page); err != nil {
			return err
		}
		o.Waiting = page.Approvals
	}
	return nil
}

// conversationID returns the conversation of the path. An id that no conversation can have, and
// each id of an anonymous caller, is a fault of type NotFound.
func conversationID(r *http.Request, c task.Caller) (string, error) {
	id, wrong := chat.CheckConversationID(r.PathValue("id"))
	if wrong != nil || c.Principal.IsAnonymous() {
		return "", &fault.Error{Type: fault.NotFound, Message: "There is no such conversation; it may have expired"}
	}
	return id, nil
}

// readFault makes a fault of a field of an error about a cursor or a line.
func readFault(err error) error {
	var e chat.ValidationError
	switch {
	case errors.Is(err, conversation.ErrLine):
		e.Add("/line", &chat.FieldError{Code: chat.CodeUnknownValue, Message: "names no turn of the conversation"})
	case errors.Is(err, store.ErrCursor):
		e.Add("/cursor", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is no next_cursor of a list"})
	default:
		return err
	}
	return &e
}

// turnsIn reads the length of a page, of conversations or turns.
func turnsIn(query url.Values, e *chat.ValidationError) int {
	text := query.Get("limit")
	if text == "" {
		return fewConversations
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > store.MaxPage {
		e.Add("/limit", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "must be a number from 1 to 100"})
	}
	return n
}

// searchIn reads the part of a title that a list searches for.
func searchIn(query url.Values, e *chat.ValidationError) string {
	given, ok := query["q"]
	if !ok {
		return ""
	}
	part := chat.TitleLine(given[0])
	switch n := utf8.RuneCountInString(part); {
	case n == 0:
		e.Add("/q", &chat.FieldError{Code: chat.CodeBlank, Message: "must hold more than white space"})
	case n > maxSearch:
		e.Add("/q", &chat.FieldError{Code: chat.CodeTooLong, Message: "must have at most 100 characters"})
	}
	return part
}

// idsIn reads the conversations that a request names; nil if it names none. Without authentication
// it must.
func (ca *conversationAPI) idsIn(query url.Values, e *chat.ValidationError) (ids []string) {
	given := query["id"]
	switch {
	case len(given) == 0 && ca.isOpen:
		e.Add("/id", &chat.FieldError{Code: chat.CodeRequired, Message: "is required without authentication, once for each conversation"})
	case len(given) > maxNamed:
		e.Add("/id", &chat.FieldError{Code: chat.CodeTooLong, Message: "must be given at most 50 times"})
		return nil
	}
	for _, id := range given {
		id, wrong := chat.CheckConversationID(id)
		e.Add("/id", wrong)
		ids = append(ids, id)
	}
	return ids
}

// readTitle reads the body of a request for another title. The title is empty for null.
func readTitle(body []byte) (string, error) {
	var e chat.ValidationError
	var members map[string]jsontext.Value
	err := json.Unmarshal(body, &members)
	switch title, ok := members["title"]; {
	case err != nil:
		e.Add("", &chat.FieldError{Code: chat.CodeInvalidJSON, Message: "the body must be a JSON object with a title"})
	case !ok:
		e.Add("/title", &chat.FieldError{Code: chat.CodeRequired, Message: "is required; null restores the title that was made"})
	case title.Kind() == 'n':
	case title.Kind() != '"':
		e.Add("/title", &chat.FieldError{Code: chat.CodeWrongType, Message: "must be a string or null"})
	default:
		var text string
		_ = json.Unmarshal(title, &text) // it is a string
		clean, wrong := chat.CheckTitle(text)
		e.Add("/title", wrong)
		if len(e.Fields) == 0 {
			return clean, nil
		}
	}
	if len(e.Fields) > 0 {
		return "", &e
	}
	return "", nil
}
