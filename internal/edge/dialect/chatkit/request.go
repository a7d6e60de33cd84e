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

// request is a validated request. kind decides the fields that it has.
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

// limitUse returns the use by which limits count a request.
func (req *request) limitUse() dialect.Use {
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
		root := r.readObject(value{raw: body})
		req.kind = r.readKind(root.get("type"))
		if req.kind != "" {
			r.readMetadata(&req, r.readObject(root.get("metadata")))
			r.readParams(&req, r.readObject(root.get("params")))
		}
	}
	if len(r.faults.Fields) > 0 {
		return request{}, &r.faults
	}
	return req, nil
}

// readKind returns a type that is supported, or "".
func (r *reader) readKind(v value) string {
	given := r.readRequired(v)
	switch given {
	case threadsCreate, threadsAddUserMessage, threadsRetryAfterItem, threadsGetByID, threadsList, threadsUpdate, threadsDelete, itemsList, itemsFeedback:
		return given
	}
	if !v.isAbsent() && v.raw.Kind() == '"' {
		r.addFault(v, chat.CodeUnsupported, "is not supported; supported are "+supported)
	}
	return ""
}

// readMetadata takes the two members that a turn knows. Others are the page's own.
func (r *reader) readMetadata(req *request, m object) {
	var wrong *chat.FieldError
	if s := r.readText(m.get("user_id")); s != nil {
		req.user, wrong = chat.CheckUserID(*s)
		r.faults.Add(m.at+"/user_id", wrong)
	}
	if s := r.readText(m.get("timezone")); s != nil {
		req.location, wrong = chat.CheckTimezone(*s)
		r.faults.Add(m.at+"/timezone", wrong)
	}
}

// readParams reads the parameters of the request's kind. Faults are collected.
func (r *reader) readParams(req *request, p object) {
	switch req.kind {
	case threadsList:
		req.query = r.readQuery(p)
		return
	case threadsCreate:
		req.message = r.readMessage(p.get("input"))
		return
	}
	req.threadID = r.readThreadID(p.get("thread_id"))
	switch req.kind {
	case threadsAddUserMessage:
		req.message = r.readMessage(p.get("input"))
	case threadsRetryAfterItem:
		req.itemID = r.readItemID(p.get("item_id"))
	case threadsUpdate:
		req.title = r.readTitle(p.get("title"))
	case itemsList:
		req.query = r.readQuery(p)
	case itemsFeedback:
		req.itemIDs, req.feedback = r.readItemIDs(p.get("item_ids")), r.readFeedback(p.get("kind"))
	}
}

// readThreadID reads an id by the rule of conversation ids: it is one, in log and events.
func (r *reader) readThreadID(v value) string {
	if v.isAbsent() {
		r.addMissing(v)
		return ""
	}
	s := r.readText(v)
	if s == nil {
		return ""
	}
	id, wrong := chat.CheckConversationID(*s)
	r.faults.Add(v.at, wrong)
	return id
}

// readItemID accepts the characters of the gateway's own ids, as the id goes into the log.
func (r *reader) readItemID(v value) string {
	id := r.readRequired(v)
	bad := strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	})
	if !v.isAbsent() && v.raw.Kind() == '"' && (id == "" || bad || len(id) > maxItemID) {
		r.addFault(v, chat.CodeInvalidFormat, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	}
	return id
}

// readItemIDs reads the items that a feedback is about. The bound keeps a log line short.
func (r *reader) readItemIDs(v value) (ids []string) {
	list := r.readList(v)
	switch {
	case v.isAbsent():
		r.addMissing(v)
	case len(list) > maxFeedbackTo:
		r.addFault(v, chat.CodeTooLong, "must have at most 100 elements")
		return nil
	}
	for _, element := range list {
		ids = append(ids, r.readItemID(element))
	}
	return ids
}

// readFeedback reads the one word of a feedback.
func (r *reader) readFeedback(v value) string {
	kind := r.readRequired(v)
	if !v.isAbsent() && v.raw.Kind() == '"' && kind != "positive" && kind != "negative" {
		r.addFault(v, chat.CodeInvalidFormat, "must be positive or negative")
	}
	return kind
}

// readTitle reads the title of a thread, on one line.
func (r *reader) readTitle(v value) string {
	given := r.readRequired(v)
	title := chat.Line(given, len(given))
	switch {
	case v.isAbsent() || v.raw.Kind() != '"':
	case title == "":
		r.addFault(v, chat.CodeBlank, "must hold more than white space")
	case utf8.RuneCountInString(title) > maxTitle:
		r.addFault(v, chat.CodeTooLong, "must have at most 200 characters")
	}
	return title
}

// readQuery reads which page of a list is wanted; the newest come first by default.
func (r *reader) readQuery(p object) Query {
	q := Query{Limit: defaultPage, Descending: true}
	if v := p.get("limit"); !v.isAbsent() {
		q.Limit = r.readLimit(v)
	}
	if v := p.get("order"); !v.isAbsent() {
		order := r.readRequired(v)
		if v.raw.Kind() == '"' && order != "asc" && order != "desc" {
			r.addFault(v, chat.CodeInvalidFormat, "must be asc or desc")
		}
		q.Descending = order != "asc"
	}
	if after := r.readText(p.get("after")); after != nil {
		q.After = *after
	}
	return q
}

// readLimit takes 0 for the default, as the Python package does, and caps large numbers.
func (r *reader) readLimit(v value) int {
	n, ok := dialect.WholeNumber(v.raw)
	switch {
	case !ok:
		r.addFault(v, chat.CodeWrongType, "must be a whole number")
	case n < 0:
		r.addFault(v, chat.CodeInvalidFormat, "must not be negative")
	case n == 0:
		return defaultPage
	}
	return min(n, maxPage)
}
