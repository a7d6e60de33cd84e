package chatkit

import (
	"strings"
	"time"
	"unicode/utf8"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// The types of requests that are answered.
const (
	threadsCreate         = "threads.create"
	threadsAddUserMessage = "threads.add_user_message"
	threadsRetryAfterItem = "threads.retry_after_item"
	threadsGetByID        = "threads.get_by_id"
	threadsList           = "threads.list"
	threadsUpdate         = "threads.update"
	threadsDelete         = "threads.delete"
	itemsList             = "items.list"
	itemsFeedback         = "items.feedback"
)

// supported names the types of requests that are read, for the error about another one.
const supported = threadsCreate + ", " + threadsAddUserMessage + ", " + threadsRetryAfterItem + ", " + threadsGetByID + ", " + threadsList + ", " +
	threadsUpdate + ", " + threadsDelete + ", " + itemsList + ", " + itemsFeedback

// Limits of what requests may ask for.
const (
	defaultPage   = 20 // items or threads, as in the Python package
	maxPage       = 100
	maxTitle      = 200 // characters
	maxItemID     = 64
	maxFeedbackTo = 100 // items of one request
)

// request is a validated request. Which fields it has depends on kind.
type request struct {
	kind     string
	user     string         // user_id; empty: not given
	owner    string         // whose threads it is about; see ownerOf
	location *time.Location // nil: not given

	threadID, itemID string
	message          *userMessage
	title            string
	query            Query
	itemIDs          []string
	feedback         string
	listsNone        bool // threads of such users are found by their ids alone
}

// use returns the use by which limits count a request.
func (req *request) use() dialect.Use {
	switch req.kind {
	case threadsCreate, threadsAddUserMessage, threadsRetryAfterItem:
		return dialect.Turn
	case threadsDelete:
		return dialect.Free
	}
	return dialect.Read
}

// readRequest reads a body. Its error is a *chat.ValidationError with every fault.
func readRequest(body []byte) (request, error) {
	var r reader
	var req request
	body = chat.ReplaceLoneSurrogates(body)
	if r.wellFormed(body) {
		root := r.object(value{raw: body})
		req.kind = r.kind(root.get("type"))
		if req.kind != "" {
			r.metadata(&req, r.object(root.get("metadata")))
			r.params(&req, r.object(root.get("params")))
		}
	}
	if len(r.faults.Fields) > 0 {
		return request{}, &r.faults
	}
	return req, nil
}

// kind returns a type that is supported, or "".
func (r *reader) kind(v value) string {
	given := r.want(v)
	switch given {
	case threadsCreate, threadsAddUserMessage, threadsRetryAfterItem, threadsGetByID, threadsList, threadsUpdate, threadsDelete, itemsList, itemsFeedback:
		return given
	}
	if !v.none() && v.raw.Kind() == '"' {
		r.fault(v, chat.CodeUnsupported, "is not supported; supported are "+supported)
	}
	return ""
}

// metadata takes the two members that a turn knows. Others are the page's own.
func (r *reader) metadata(req *request, m object) {
	var wrong *chat.FieldError
	if s := r.text(m.get("user_id")); s != nil {
		req.user, wrong = chat.CheckUserID(*s)
		r.faults.Add(m.at+"/user_id", wrong)
	}
	if s := r.text(m.get("timezone")); s != nil {
		req.location, wrong = chat.CheckTimezone(*s)
		r.faults.Add(m.at+"/timezone", wrong)
	}
}

// params reads what a request of its kind needs. Faults are collected.
func (r *reader) params(req *request, p object) {
	switch req.kind {
	case threadsList:
		req.query = r.query(p)
		return
	case threadsCreate:
		req.message = r.message(p.get("input"))
		return
	}
	req.threadID = r.threadID(p.get("thread_id"))
	switch req.kind {
	case threadsAddUserMessage:
		req.message = r.message(p.get("input"))
	case threadsRetryAfterItem:
		req.itemID = r.itemID(p.get("item_id"))
	case threadsUpdate:
		req.title = r.title(p.get("title"))
	case itemsList:
		req.query = r.query(p)
	case itemsFeedback:
		req.itemIDs, req.feedback = r.itemIDs(p.get("item_ids")), r.feedback(p.get("kind"))
	}
}

// threadID reads an id by the rule of conversation ids: it is one, in log and events.
func (r *reader) threadID(v value) string {
	if v.none() {
		r.required(v)
		return ""
	}
	s := r.text(v)
	if s == nil {
		return ""
	}
	id, wrong := chat.CheckConversationID(*s)
	r.faults.Add(v.at, wrong)
	return id
}

// itemID wants what an id of ours can look like: it goes into the log.
func (r *reader) itemID(v value) string {
	id := r.want(v)
	bad := strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	})
	if !v.none() && v.raw.Kind() == '"' && (id == "" || bad || len(id) > maxItemID) {
		r.fault(v, chat.CodeInvalidFormat, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	}
	return id
}

// itemIDs reads what a feedback is about. The bound keeps a log line short.
func (r *reader) itemIDs(v value) (ids []string) {
	list := r.list(v)
	switch {
	case v.none():
		r.required(v)
	case len(list) > maxFeedbackTo:
		r.fault(v, chat.CodeTooLong, "must have at most 100 elements")
		return nil
	}
	for _, element := range list {
		ids = append(ids, r.itemID(element))
	}
	return ids
}

// feedback reads the one word of a feedback.
func (r *reader) feedback(v value) string {
	kind := r.want(v)
	if !v.none() && v.raw.Kind() == '"' && kind != "positive" && kind != "negative" {
		r.fault(v, chat.CodeInvalidFormat, "must be positive or negative")
	}
	return kind
}

// title reads the title of a thread, on one line.
func (r *reader) title(v value) string {
	given := r.want(v)
	title := chat.Line(given, len(given))
	switch {
	case v.none() || v.raw.Kind() != '"':
	case title == "":
		r.fault(v, chat.CodeBlank, "must hold more than white space")
	case utf8.RuneCountInString(title) > maxTitle:
		r.fault(v, chat.CodeTooLong, "must have at most 200 characters")
	}
	return title
}

// query reads which page of a list is wanted; the newest come first by default.
func (r *reader) query(p object) Query {
	q := Query{Limit: defaultPage, Descending: true}
	if v := p.get("limit"); !v.none() {
		q.Limit = r.limit(v)
	}
	if v := p.get("order"); !v.none() {
		order := r.want(v)
		if v.raw.Kind() == '"' && order != "asc" && order != "desc" {
			r.fault(v, chat.CodeInvalidFormat, "must be asc or desc")
		}
		q.Descending = order != "asc"
	}
	if after := r.text(p.get("after")); after != nil {
		q.After = *after
	}
	return q
}

// limit takes 0 for the default, as the Python package does, and caps what is large.
func (r *reader) limit(v value) int {
	n, ok := dialect.WholeNumber(v.raw)
	switch {
	case !ok:
		r.fault(v, chat.CodeWrongType, "must be a whole number")
	case n < 0:
		r.fault(v, chat.CodeInvalidFormat, "must not be negative")
	case n == 0:
		return defaultPage
	}
	return min(n, maxPage)
}
