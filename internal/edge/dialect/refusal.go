package dialect

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// Refusal is the reason why a request is refused, for a Route to word.
type Refusal struct {
	// Fault has the error type and the sentence for the caller. Its cause is for the log
	// alone.
	Fault *fault.Error
	// Fields are the faulty fields of a request; nil: it is something else.
	Fields []chat.FieldError
	// Status is that of web/openapi.yaml for this type.
	Status    int
	RequestID string
	// RetryAfter is after how long the client may come back, as the reply's header says where
	// Fault does not; 0: nothing is said.
	RetryAfter time.Duration
	// Policies names the limits that the request is beyond, if it is refused for that.
	Policies []string
	// Ended means that the turn began, and ended with Fault: its reply is not a stream. Acted says
	// that it may have done something: a tool was started, then or earlier in its run.
	Ended, Acted bool
}

// problem is the JSON form of a Refusal (RFC 9457).
type problem struct {
	Type      string            `json:"type"`
	Title     string            `json:"title"`
	Status    int               `json:"status"`
	ErrorType fault.Type        `json:"error_type"`
	Detail    string            `json:"detail"`
	Errors    []chat.FieldError `json:"errors,omitempty"`
	RequestID string            `json:"request_id"`
	// Members for a request beyond a limit.
	RetryAfterMS int64    `json:"retry_after_ms,omitzero"`
	Policies     []string `json:"violated-policies,omitempty"`
}

// Problem words a Refusal as a problem document.
func Problem(r Refusal) Reply {
	doc := problem{
		Type: "about:blank", Title: http.StatusText(r.Status), Status: r.Status, ErrorType: r.Fault.Type,
		Detail: r.Fault.Message, Errors: r.Fields, RequestID: r.RequestID, Policies: r.Policies,
	}
	if r.Fault.Type == fault.RateLimited {
		doc.RetryAfterMS = r.RetryAfter.Milliseconds()
	}
	body, err := json.Marshal(doc)
	if err != nil { // plain strings and numbers: cannot happen
		body = []byte("{}")
	}
	return Reply{Status: r.Status, ContentType: "application/problem+json", Body: body}
}

// ForeignUser refuses a request that names somebody else than its credential.
func ForeignUser() error {
	return &fault.Error{Type: fault.Forbidden,
		Message: "user_id is not that of the credential; leave it out, or use a credential with the scope act_as"}
}
