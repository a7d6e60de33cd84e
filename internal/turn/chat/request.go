// Package chat defines the request of a chat turn with its validation, and the messages for a
// model.
//
// All input of a client is untrusted. Decoding lists all faults at once, with JSON pointers, in
// bounded time and memory. A request that passes it is valid. One table (fields.go) defines the
// fields, for bodies, queries and the other protocols.
//
// Verbs: read (JSON), check (a rule), add (a fault), prune (a history), append (a message).
package chat

import (
	"slices"
	"strings"
	"time"
)

// Limits of a Request (web/openapi.yaml has them for clients).
const (
	maxInput          = 5000 // code points, after control characters are stripped
	maxUserID         = 256  // code points, after control characters are stripped
	maxUserName       = 64   // code points, after control characters are stripped
	maxSubject        = 200  // code points, after control characters are stripped
	maxTitle          = 200  // code points, after control characters are stripped
	maxConversationID = 64   // characters after "conv_"
)

// Request is one chat turn, validated and cleaned.
type Request struct {
	Past
	// Input is the user's new message.
	Input          string
	ConversationID string // empty: none
	// UserID is the user's id, as the client claims; empty without a certain user.
	UserID    string
	Principal Principal
	Location  *time.Location // nil: the gateway's own
	// Agent is the id of the agent that is to answer; empty: the router decides.
	Agent string
	// Workflow is the name of the workflow that is to answer; empty: none.
	Workflow string
	Keeping
	// Context holds the client's facts about the circumstances. They are data for agents, by name,
	// in the order of the request.
	Context []ContextEntry
	Additions
	// Record asks for the agents' messages: stream.Result.TurnMessages.
	Record bool
	// App holds the additions of the client's program; nil without additions.
	App *Application
	ReplyForm
	// Tools selects the tools that the turn may call. The code that admits the request sets it: no
	// client can.
	Tools ToolAccess
	// Mute is true if the client cannot show a question to its user: calls that a person must allow
	// are refused. Questions of a workflow's run are answered in another way. The code of a
	// protocol sets it.
	Mute bool
	// Hops counts the gateways that the request has come through, each as a remote agent of the
	// previous one; 0 for a request from a client. See MaxHops.
	Hops int
	// Resumed continues with a turn that was paused; nil: the request begins one. The rest of
	// the request is then as it was, but for its History.
	Resumed *Resumed
	// Facts are those of the turn that the request is part of. No client sets them.
	Facts Facts
}

// Additions are the gateway's additions to the words of a client.
type Additions struct {
	// Note is the gateway's note to the agent about the turn, next to its instructions. It never
	// contains words of others, which belong to Data.
	Note string
	// Data holds quotes of others, for the agent to read; see WithMoment.
	Data []Quote
	// Instruction is the gateway's addition to the instructions of every agent of the turn, such as
	// a style or the steps of a plan. Empty: nothing.
	Instruction string
	// Line gives the time of the input, as the memory keeps it; empty: the agent makes it.
	Line string
}

// Keeping holds the names under which the turn is stored, and the time for that.
type Keeping struct {
	// Task and Turn are the ids under which the turn is stored; empty for a turn that is not
	// stored. The code that keeps it sets them.
	Task string
	Turn string
	// ParentTask is the task that the request belongs to, as its client says; empty: none.
	ParentTask string
	// Kind and RetentionDays (nil: as configured) say how long the records of a workflow's
	// run are kept.
	Kind          string
	RetentionDays *int
}

// Past is the conversation before the request.
type Past struct {
	// History holds the earlier messages, oldest first, as PruneHistory returns them. It is the
	// client's word, for the model to read: neither limits nor permissions look at it.
	History []Message
	// Pruning describes the part of the history that was left out.
	Pruning Pruning
	// HasHistory is true if the request brings its history, even an empty one, or if its dialect
	// keeps it: nothing else said before belongs to the turn. A null history counts as absent.
	HasHistory bool
	// LastAgent is who answered last in the conversation; empty: not known.
	LastAgent string
	// After is the turn of the conversation that the new turn follows, or AfterStart; empty: the
	// newest one. Only a turn that is appended to a conversation has one.
	After string `json:",omitempty"`
	// Question is the question that the input answers; nil for a new request.
	Question *Clarification
}

// ReplyForm is the form of the answer, and the person for whom it is. Its zero value is the
// answer as it is written.
type ReplyForm struct {
	Channel string // whose form the answer gets; empty: web
	// Drafts selects whether a held answer is shown as it is written.
	Drafts Choice
	// UserName is the user's name; empty if it is unknown. The model sees it as data, and no log
	// has it.
	UserName string
	Locale   string // BCP 47; empty: not known
	Subject  string // of an e-mail; empty: made of the text
	Deliver  bool   // the channel's receiver gets the answer too
	// Answer asks for a JSON object in place of a text; nil: the answer is a text. The code of
	// a protocol sets it.
	Answer *AnswerForm `json:",omitempty"`
}

// Choice is yes, no, or left to the configuration.
type Choice int8

// Choices.
const (
	Unsaid Choice = iota
	No
	Yes
)

// ParsedRequest is a body or a query of our own protocol: the request of a turn, and the form of
// its report.
type ParsedRequest struct {
	Request
	// Accumulated is true if each response_delta repeats the text so far.
	Accumulated bool
	// BeatEvents is true if heartbeats are events, for clients that do not see comments.
	BeatEvents bool
	// TaskID is the task that waits for this input; empty: the turn begins one.
	TaskID string
	// NamesHistory is true if there is a history at the top level, even a null or a faulty one: the
	// body may then be longer. It counts with an error too.
	NamesHistory bool
	// OnDisconnect is OnDisconnectContinue, OnDisconnectCancel, or empty: the gateway
	// decides.
	OnDisconnect string
	// Approval answers a question of a turn that was paused; nil: the request asks for
	// a new turn.
	Approval *Answer
}

// ContextEntry is one member of Request.Context.
type ContextEntry struct{ Name, Value string }

// Messages returns the conversation as the model is shown it: the history, then the question that
// the input answers, then the input. If the history ends with a message of the user without an
// answer, the input is joined to it.
func (r *Request) Messages() []Message {
	history := r.historyWithQuestion()
	messages := append(make([]Message, 0, len(history)+1), history...)
	return appendSaid(messages, HistoryMessage{Role: RoleUser, Text: r.Input})
}

// ToolAccess selects the tools that a turn may call. The model does not get the other tools, and
// they never run, even as a fallback. Values that are not listed here allow none.
type ToolAccess int

// Tools that a turn may call.
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
	CodeUnknownValue  = "unknown_value"
	CodeNotConfigured = "not_configured"
	CodeNotAllowed    = "not_allowed"
	CodeNameTaken     = "name_taken"
)

// FieldError is one fault of a request. It never repeats the rejected value.
type FieldError struct {
	Field   string `json:"field"` // JSON pointer; "" is the whole document
	Code    string `json:"code"`
	Message string `json:"message"`
}

// maxFaults bounds the list of a ValidationError. The fields of a Request are always listed. Faults
// within them, and fields of other requests, are not once the list is that long: a body full of
// duplicate keys would become a reply and a log line of several times its size.
const maxFaults = 16

// ValidationError lists the faults of a request: for each field the one that was
// found first, for the document itself perhaps several.
type ValidationError struct{ Fields []FieldError }

// Error lists all faults on one line, for the log. Clients get Fields.
func (e *ValidationError) Error() string {
	var b strings.Builder
	b.WriteString("invalid request")
	for _, f := range e.Fields {
		b.WriteString("; " + f.Field + ": " + f.Message)
	}
	return b.String()
}

// addFault reports a fault. A field has at most one fault, the first, which mostly causes the
// others. Each fault without a field is reported once.
func (e *ValidationError) addFault(field, code, message string) {
	f := FieldError{field, code, message}
	switch {
	case field == "" && slices.Contains(e.Fields, f):
	case field != "" && e.hasFault(field), code == CodeRequired && e.hasWithin(field):
	default:
		e.Fields = append(e.Fields, f)
	}
}

// addOne adds a fault of which there may be many.
func (e *ValidationError) addOne(field, code, message string) {
	if len(e.Fields) < maxFaults {
		e.addFault(field, code, message)
	}
}

// Add adds the fault of a Check function for a field of another protocol, of which there may be
// many. It ignores nil.
func (e *ValidationError) Add(field string, f *FieldError) {
	if f != nil {
		e.addOne(field+f.Field, f.Code, f.Message)
	}
}

// addOwnField adds the fault of a field of a Request. It ignores nil.
func (e *ValidationError) addOwnField(field string, f *FieldError) {
	if f != nil {
		e.addFault(field+f.Field, f.Code, f.Message)
	}
}

// hasWithin reports whether a field has text inside that CheckJSON refuses: it is there, but was
// not read.
func (e *ValidationError) hasWithin(field string) bool {
	return slices.ContainsFunc(e.Fields, func(f FieldError) bool {
		return (f.Code == CodeInvalidUTF8 || f.Code == CodeDuplicateKey) && strings.HasPrefix(f.Field, field+"/")
	})
}

// hasFault reports whether a field has a fault already.
func (e *ValidationError) hasFault(field string) bool {
	return slices.ContainsFunc(e.Fields, func(f FieldError) bool { return f.Field == field })
}
