package openai

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// refusalBody is the body of a refusal, as the SDKs make their errors of it.
type refusalBody struct {
	Error problem `json:"error"`
}

type problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// refuse words a refusal in OpenAI's form. A header informs the SDK whether to retry by itself:
// only if nothing has begun, or if a document's turn failed before any tool call.
func refuse(r dialect.Refusal) dialect.Reply {
	status := statusOf(r)
	p := problem{Message: r.Fault.Message, Type: kindOf(status), Code: string(r.Fault.Type)}
	if len(r.Fields) > 0 {
		first := r.Fields[0]
		param := paramOf(first.Field)
		p.Code = codeOf(first)
		if param != "" {
			p.Param = &param
		}
	}
	if r.Fault.Type == fault.RateLimited {
		p.Code = "rate_limit_exceeded"
	}
	if r.Fault.Message == noModelText {
		param := "model"
		p.Code, p.Param = "model_not_found", &param
	}
	body, err := json.Marshal(refusalBody{p})
	if err != nil { // plain strings: cannot happen
		body = []byte("{}")
	}
	h := http.Header{"X-Should-Retry": {strconv.FormatBool(mayRetry(r, status))}}
	if after := cmp.Or(r.RetryAfter, r.Fault.RetryAfter); after > 0 {
		h.Set("Retry-After-Ms", strconv.FormatInt(after.Milliseconds(), 10))
		h.Set("Retry-After", strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10))
	}
	return dialect.Reply{Status: status, Body: body, Header: h}
}

// longestRepeat is the longest wait for a retry by the SDK itself, since its caller waits
// meanwhile.
const longestRepeat = time.Minute

// mayRetry reports whether an SDK may send the request again by itself.
func mayRetry(r dialect.Refusal, status int) bool {
	switch {
	case r.Ended:
		// A turn was cancelled because it is not wanted.
		return r.Fault.Type.Recoverable() && r.Fault.Type != fault.Cancelled && !r.Acted
	case status == http.StatusConflict:
		return r.Fault.Type == fault.DuplicateRequest && r.Fault.RetryAfter > 0 // its turn begins
	case r.Fault.Type == fault.RateLimited:
		return r.Fault.RetryAfter <= longestRepeat
	}
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusServiceUnavailable}, status)
}

// statusOf returns the status of a refusal, and of a turn that ended without an answer.
func statusOf(r dialect.Refusal) int {
	switch {
	case r.Ended:
		return statusOfEnd(r.Fault.Type)
	case r.Status == http.StatusUnprocessableEntity:
		return http.StatusBadRequest
	}
	return r.Status
}

// statusOfEnd returns the status of a turn that ended by a fatal error.
func statusOfEnd(t fault.Type) int {
	switch t {
	case fault.ModelUnavailable, fault.AgentUnavailable, fault.StoreUnavailable, fault.Overloaded, fault.ShuttingDown:
		return http.StatusServiceUnavailable
	case fault.ModelRateLimited:
		return http.StatusTooManyRequests
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.ModelError, fault.RoutingFailed:
		return http.StatusBadGateway
	case fault.Cancelled:
		return http.StatusConflict
	case fault.ApprovalRejected:
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

// kindOf returns OpenAI's type of an error.
func kindOf(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request_error"
}

// codeOf returns the code of a field's fault: OpenAI's where it has one, else ours.
func codeOf(f chat.FieldError) string {
	switch {
	case f.Code == chat.CodeTooLong && (f.Field == dialect.ToolsAt || f.Field == stopAt):
		return "array_above_max_length"
	case f.Code == chat.CodeTooLong:
		return "string_above_max_length"
	case f.Code == chat.CodeUnsupported && isParameter(f.Field):
		return "unsupported_parameter"
	case f.Code == chat.CodeUnsupported:
		return "unsupported_value"
	}
	return f.Code
}

// isParameter reports whether a pointer names a parameter that is not served at all.
func isParameter(pointer string) bool {
	name := strings.TrimPrefix(pointer, "/")
	_, refused := unsupported[name]
	_, ofResponses := unsupportedOfResponses[name]
	return refused || ofResponses || slices.Contains(needsStore, name) || name == "tools" // the operator may forbid clients' tools
}

// paramOf writes a JSON pointer as OpenAI names parameters: messages.3.content.
func paramOf(pointer string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", "."))
}
