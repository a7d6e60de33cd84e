// Package stream holds the events of a turn, the grammar of their order, and the interfaces between
// runners and writers:
//
//	Runner ── Sink ── Guard ── Stamper ── Output
//	(emits)          (grammar) (numbers)  (encodes, stores, counts)
//
// It knows what events mean; how they look on the wire is an Encoder's business
// (stream/sse, internal/edge/dialect/*).
//
// Core events are closed: their grammar is the Guard's. Packages add extensions, each with its
// name, its members and its rule in one file. An event that came through the Guard is safe to show:
// an encoder may rely on every rule, such as a start for each end.
//
// Events are pointers to structs that nobody changes after Emit, Delta excepted. A Sink may keep
// those. Emit and Flush are called by one goroutine at a time; Flush announces that the next event
// may take a while.
//
// Verbs: emit (give an event to a sink), check (a rule), track (a call), fold (sum events up).
package stream

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// Event is one event of a turn. The set is closed: the ten core events of this
// file and the extensions of this package (see Extension), and no others.
//
// Events are passed as pointers. A receiver must not keep a Delta, so that a sender can use one for
// a whole answer. It may keep all other events, but must not change them.
type Event interface{ markEvent() }

// Attribution names the origin of an event, if several agents may speak in one turn. The zero value
// means the turn's only agent; then encoders write nothing of it.
type Attribution struct {
	AgentID   string `json:"agent_id,omitempty"`
	NodeID    string `json:"node_id,omitempty"`    // of a workflow
	SessionID string `json:"session_id,omitempty"` // of a sub-agent
}

// Sink takes the events of one turn in order. Only one goroutine at a time may call it.
type Sink interface {
	// Emit takes the next event. It may hold it back until Flush.
	Emit(Event) error
	// Flush passes on the events that Emit has held back. A sender calls it before it waits for
	// anything, and need not between events that are there already.
	Flush() error
}

// Start is always the first event.
type Start struct {
	ConversationID string `json:"conversation_id,omitempty"` // empty: left out
	UserID         string `json:"user_id,omitempty"`         // empty: left out
	Model          string `json:"model"`
	// TaskID and TurnID name a stored turn; empty ones are left out.
	TaskID string `json:"task_id,omitempty"`
	TurnID string `json:"turn_id,omitempty"`
}

// Thinking is a summary of the model's reasoning, as it arrives.
type Thinking struct {
	Attribution
	Content string `json:"content"`
}

// Delta is a piece of the answer. It is never empty, and no code point is split
// between two.
type Delta struct {
	Attribution
	Text string `json:"text"`
}

// Call names a tool call in the events that report it.
type Call struct {
	Attribution
	// ID is unique in the turn. It is the model's own id if that is usable, else one of ours.
	ID        string
	Tool      string
	Server    string // empty: not known, as the model asked for a tool that does not exist
	Arguments jsontext.Value
}

// ToolStarted opens a tool call. Exactly one of ToolCompleted, ToolFailed and ToolUnknown with the
// same id closes it. In between there may be ToolProgress.
type ToolStarted struct {
	Call
	// Repeatable is true if the tool changes nothing, or if a second call changes nothing more. It
	// is for the code that runs agents; no encoder writes it.
	Repeatable bool
}

// ToolProgress reports the progress of a call that is under way.
type ToolProgress struct {
	Call
	Progress float64
	Total    float64 // 0: not known
	Message  string  // as the tool wrote it; empty: left out. An encoder may shorten it
}

// ToolCompleted reports that the tool did its work.
type ToolCompleted struct {
	Call
	Duration  time.Duration
	Result    string // the text of the result, whole; an encoder may shorten it
	Truncated bool   // Result is only a part of the tool's text
	Cached    bool   // the tool did not run: Result comes from an earlier call
	Warning   string // a fault of a result that counts nevertheless; for the trace alone
}

// ToolFailed reports that the tool did not run, or answered with an error.
type ToolFailed struct {
	Call
	Duration  time.Duration
	Message   string     // fit for a person
	ErrorType fault.Type // fault.ApprovalRejected: a person has not allowed the call; else empty
}

// ToolUnknown reports that the call was sent, that its outcome was lost, and that it must not be
// sent again.
type ToolUnknown struct {
	Call
	Duration time.Duration
	Message  string // fit for a person
}

// ToolRequired is a call that the client runs, and the only event of it. After it come only other
// ToolRequired events and a Done with the reason ClientTools: the client's next request brings the
// results.
type ToolRequired struct{ Call }

// Error reports a failure. A fatal one comes right before Done.
type Error struct {
	Attribution
	// Type is for programs and Message for people: fit to be shown, and
	// without text of an upstream's.
	Type    fault.Type `json:"type"`
	Message string     `json:"message"`
	// Recoverable is true if the same request may succeed later; Fatal if the turn ends with
	// this.
	Recoverable bool          `json:"recoverable"`
	Fatal       bool          `json:"fatal"`
	RetryAfter  time.Duration `json:"retry_after,omitempty"` // 0: left out
	Service     string        `json:"service,omitempty"`     // empty: left out
}

// NewError returns the event that reports err.
func NewError(err error, fatal bool) *Error {
	f := fault.From(err)
	return &Error{
		Type:        f.Type,
		Message:     f.Message,
		Recoverable: f.Recoverable(),
		Fatal:       fatal,
		RetryAfter:  f.RetryAfter,
		Service:     f.Service,
	}
}

// FinishReason is the reason why a turn ended.
type FinishReason string

// Reasons for a turn's end.
const (
	Stop      FinishReason = "stop"
	MaxTokens FinishReason = "max_tokens"
	MaxSteps  FinishReason = "max_steps"
	Failed    FinishReason = "error"
	TimedOut  FinishReason = "timeout"
	Cancelled FinishReason = "cancelled"
	Shutdown  FinishReason = "shutdown"
	// InputRequired: the answer is a question to the user.
	InputRequired FinishReason = "input_required"
	// ApprovalRequired: a person must answer before the turn continues.
	ApprovalRequired FinishReason = "approval_required"
	// ClientTools: the client must run calls of its own tools.
	ClientTools FinishReason = "client_tools"
)

// Success reports whether a turn with this reason gave the answer that it was asked for.
func (r FinishReason) Success() bool {
	return r == Stop || r == MaxTokens || r == MaxSteps || r == InputRequired || r == ApprovalRequired || r == ClientTools
}

// Done is always the last event. It does not repeat the output, which is all Deltas joined, or the
// names of tools, which ToolStarted events have. So an encoder never contradicts what it has sent.
type Done struct {
	Reason FinishReason `json:"reason"`
	Usage  chat.Usage   `json:"usage"`
	// Model holds the duration of each model call, in order, retries included.
	Model []time.Duration `json:"model,omitempty"`
	// Tools holds the duration of each finished tool call, in order of the events
	// that closed them.
	Tools []ToolTiming `json:"tools,omitempty"`
	// Models lists the keys of the models that gave a part of the answer, in order; a client
	// receives them if there are several.
	Models []string `json:"models,omitempty"`
	// Keyed is true if models are configured by key: a client then receives all figures of Usage.
	Keyed bool `json:"keyed,omitempty"`
	// Agents holds the outcome of each agent of a team, in the order of their answers; nil without
	// a team.
	Agents []AgentOutcome `json:"agents,omitzero"`
	// Takeovers counts the processes that have taken the turn over; 0 if one has run all of it.
	Takeovers int `json:"takeovers,omitempty"`
	// Route is the time that a team took to choose its agents; 0 without a team.
	Route time.Duration `json:"route,omitempty"`
	// Asker is the agent of a team that has asked the user; empty without a question. It is for
	// code that stores turns: no encoder writes it.
	Asker string `json:"asker,omitempty"`
	// Quality is the result of the checks; nil without checks, or if the receipt is off.
	Quality *Receipt `json:"quality,omitempty"`
	// Channel is the form of the answer; nil for the form of a web page.
	Channel *Formatted `json:"channel,omitempty"`
	// Checked holds facts of the checks that the receipt does not have, as JSON. It is for code
	// that stores turns; no encoder and no log has it.
	Checked jsontext.Value `json:"-"`
	// Seams are the places where another call has continued a text that broke off.
	Seams []Seam `json:"seams,omitempty"`
	// Timings are the Stamper's: a sender leaves them zero.
	Timings Timings `json:"timings"`
}

// ToolTiming is the duration of one tool call.
type ToolTiming struct {
	Tool     string        `json:"tool"`
	Duration time.Duration `json:"duration"`
}

// Timings say how long a client waited, from the arrival of its request.
type Timings struct {
	Total      time.Duration `json:"total"`
	FirstEvent time.Duration `json:"first_event"`
	FirstDelta time.Duration `json:"first_delta,omitempty"` // 0 without an answer
	Blocked    time.Duration `json:"blocked"`               // spent in writes to the client
}

func (*Start) markEvent()         {}
func (*Thinking) markEvent()      {}
func (*Delta) markEvent()         {}
func (*ToolStarted) markEvent()   {}
func (*ToolProgress) markEvent()  {}
func (*ToolCompleted) markEvent() {}
func (*ToolFailed) markEvent()    {}
func (*ToolUnknown) markEvent()   {}
func (*ToolRequired) markEvent()  {}
func (*Error) markEvent()         {}
func (*Done) markEvent()          {}
