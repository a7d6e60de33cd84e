// Package chat holds what is asked and said: the request of a chat turn with its
// validation, the messages that a model sees, and the tools that it may call.
package chat

import (
	"slices"
	"strings"
	"time"
)

// Limits of a Request, as in section 3 of the contract.
const (
	MaxInput          = 5000 // code points, after control characters are stripped
	MaxUserID         = 256  // code points, after control characters are stripped
	maxConversationID = 64   // characters after "conv_"
)

// Request is one chat turn, validated and cleaned.
type Request struct {
	Input          string
	ConversationID string         // empty: none
	UserID         string         // empty: none
	Location       *time.Location // nil: the gateway's own
	// Accumulated says that each response_delta repeats the text so far.
	Accumulated bool
	// Tools says which tools the turn may call. Whoever admits the request sets it:
	// no client can.
	Tools ToolAccess
}

// ToolAccess says which tools a turn may call. Of the others its model is told
// nothing, and none of them runs, a fallback neither. Values that are not listed
// here allow none.
type ToolAccess int

// What a turn may call.
const (
	ToolsAll      ToolAccess = iota
	ToolsReadOnly            // those that are read-only, by their server's word or by the operator's
	ToolsOff
)

// Codes of a FieldError.
const (
	CodeRequired      = "required"
	CodeWrongType     = "wrong_type"
	CodeBlank         = "blank"
	CodeTooLong       = "too_long"
	CodeInvalidFormat = "invalid_format"
	CodeDuplicateKey  = "duplicate_key"
	CodeInvalidUTF8   = "invalid_utf8"
	CodeInvalidJSON   = "invalid_json"
	CodeTrailingData  = "trailing_data"
	CodeUnsupported   = "unsupported"
)

// FieldError is one fault of a request. It never repeats the rejected value.
type FieldError struct {
	Field   string `json:"field"` // JSON pointer; "" is the whole document
	Code    string `json:"code"`
	Message string `json:"message"`
}

// maxFaults bounds the list of a ValidationError. The fields of a Request are
// listed whatever their number; others are not once the list is that long, or a
// body full of duplicate keys would become a reply and a log line of several
// times its size.
const maxFaults = 16

// ValidationError lists the faults of a request: for each field the one that was
// found first, for the document itself perhaps several.
type ValidationError struct{ Fields []FieldError }

func (e *ValidationError) Error() string {
	var b strings.Builder
	b.WriteString("invalid request")
	for _, f := range e.Fields {
		b.WriteString("; " + f.Field + ": " + f.Message)
	}
	return b.String()
}

func (e *ValidationError) add(field, code, message string) {
	f := FieldError{field, code, message}
	switch {
	case field == "" && slices.Contains(e.Fields, f):
	case field != "" && e.has(field):
	case len(e.Fields) >= maxFaults && !ours(field):
	default:
		e.Fields = append(e.Fields, f)
	}
}

// Add adds the fault that a Check function found, as that of a field. nil is none.
func (e *ValidationError) Add(field string, f *FieldError) {
	if f != nil {
		e.add(field, f.Code, f.Message)
	}
}

func (e *ValidationError) has(field string) bool {
	return slices.ContainsFunc(e.Fields, func(f FieldError) bool { return f.Field == field })
}

func ours(field string) bool {
	switch field {
	case "", "/input", "/conversation_id", "/user_id", "/timezone", "/accumulated":
		return true
	}
	return false
}

// fields are the raw values of a request; nil means absent.
type fields struct {
	input, conversationID, userID, timezone *string
	accumulated                             *bool
}

// build checks and cleans the values, on top of the faults already found in e.
func (f fields) build(e *ValidationError) (Request, error) {
	r := Request{Accumulated: f.accumulated == nil || *f.accumulated}
	var wrong *FieldError
	if f.input == nil {
		e.add("/input", CodeRequired, "is required")
	} else {
		r.Input, wrong = CheckInput(*f.input)
		e.Add("/input", wrong)
	}
	if f.conversationID != nil {
		r.ConversationID, wrong = CheckConversationID(*f.conversationID)
		e.Add("/conversation_id", wrong)
	}
	if f.userID != nil {
		r.UserID, wrong = CheckUserID(*f.userID)
		e.Add("/user_id", wrong)
	}
	if f.timezone != nil {
		r.Location, wrong = CheckTimezone(*f.timezone)
		e.Add("/timezone", wrong)
	}
	if len(e.Fields) > 0 {
		return Request{}, e
	}
	return r, nil
}
