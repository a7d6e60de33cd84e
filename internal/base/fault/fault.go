// Package fault holds the errors that clients receive (docs/events.md, "Errors").
//
// An Error separates its readers: Type is for a program, Message for a person, Hint for the model,
// and Err for the operator only.
//
// An error that is not an Error is a bug or a surprise: clients receive internal_error, and the log
// has the rest. So nothing that an upstream wrote reaches a client unless some code has decided
// that it may. Causes of cancelled contexts are Errors, too: the code that cancels gives the
// reason.
package fault

import (
	"context"
	"errors"
	"time"

	"sluice/internal/base/redact"
)

// Type is the error_type of an error event or of a problem reply.
type Type string

// Types that travel in the stream.
const (
	ToolFailed       Type = "tool_execution_failed"
	MCPUnavailable   Type = "mcp_unavailable"
	ModelUnavailable Type = "model_unavailable"
	ModelRateLimited Type = "model_rate_limited"
	ModelBlocked     Type = "model_blocked"
	ModelError       Type = "model_error"
	Timeout          Type = "timeout"
	ShuttingDown     Type = "shutting_down"
	Overloaded       Type = "overloaded"
	Internal         Type = "internal_error"
	// Types for a team of agents.
	AgentFailed      Type = "agent_failed"      // one of several
	AgentUnavailable Type = "agent_unavailable" // no agent can answer
	RoutingFailed    Type = "routing_failed"
	// Of workflows.
	WorkflowLimit      Type = "workflow_limit"
	WorkflowExpression Type = "workflow_expression"
	WorkflowNoBranch   Type = "workflow_no_branch"
	WorkflowNodeFailed Type = "workflow_node_failed"
	WorkflowRecovery   Type = "workflow_recovery" // a value that a run needs to continue has been lost
	ApprovalRejected   Type = "approval_rejected" // a person refused, and no path follows that
	// Types for stored turns.
	Cancelled        Type = "cancelled" // somebody cancelled the task
	TurnLost         Type = "turn_lost" // the process that ran it is gone
	StoreUnavailable Type = "store_unavailable"
	// Types for checked or formatted answers. They end no turn.
	QualityFailed      Type = "quality_failed"
	QualityUnavailable Type = "quality_unavailable" // the planner or the judge
	ContentTruncated   Type = "content_truncated"
	DeliveryFailed     Type = "delivery_failed"
)

// Types that are answered before a stream begins (ShuttingDown, Overloaded and
// Internal can be both).
const (
	Validation           Type = "validation_error"
	PayloadTooLarge      Type = "payload_too_large"
	UnsupportedMediaType Type = "unsupported_media_type"
	MethodNotAllowed     Type = "method_not_allowed"
	NotFound             Type = "not_found"
	OriginRefused        Type = "origin_refused"
	DuplicateRequest     Type = "duplicate_request"
	RequestTimeout       Type = "request_timeout"
	KeyReused            Type = "key_reused" // an idempotency key, with another body
	TaskNotCancelable    Type = "task_not_cancelable"
	// Types for answers to approvals.
	ApprovalInvalid  Type = "approval_invalid" // altered, of another key, or of another user
	ApprovalExpired  Type = "approval_expired"
	ApprovalUsed     Type = "approval_used"
	ApprovalConflict Type = "approval_conflict" // not the one that waits
	// Types for access and its limits.
	Unauthorized    Type = "unauthorized" // no credential, or one that does not count
	Forbidden       Type = "forbidden"    // the credential does not allow it
	RateLimited     Type = "rate_limited"
	AuthUnavailable Type = "auth_unavailable" // the keys that would check the credential are not there
)

// Recoverable reports whether the same request is worth sending again.
func (t Type) Recoverable() bool {
	switch t {
	case ToolFailed, MCPUnavailable, ModelUnavailable, ModelRateLimited, Timeout, ShuttingDown, Overloaded, RequestTimeout,
		AgentFailed, AgentUnavailable, RoutingFailed, Cancelled, StoreUnavailable,
		QualityFailed, QualityUnavailable, DeliveryFailed, RateLimited, AuthUnavailable:
		return true
	}
	return false
}

// Recoverable reports whether the same request is worth sending again. A node of a workflow that
// failed is so as its cause is, unless it may have taken effect. A request that has had an effect
// is never sent again.
func (e *Error) Recoverable() bool {
	if e.Acted || e.Unknown && e.Type == WorkflowNodeFailed {
		return false
	}
	if e.Type == WorkflowNodeFailed {
		if cause, ok := errors.AsType[*Error](e.Err); ok {
			return cause.Recoverable()
		}
	}
	return e.Type.Recoverable()
}

// Texts that a person sees when an upstream service is unavailable. The wording is part
// of the contract.
const (
	MCPUnavailableMessage   = "MCP service temporarily unavailable"
	TurnLostMessage         = "The gateway that ran this turn has stopped; its answer is not complete"
	ModelUnavailableMessage = "AI service temporarily unavailable"
)

// ErrClientGone is the cause of a context whose client closed its connection, or was too slow to be
// kept. Nobody can receive a report.
var ErrClientGone = errors.New("client gone")

// Error is a failure with a place in the contract.
type Error struct {
	Type Type
	// Message is fit for a person: no upstream text, path, address or secret.
	Message string
	// Hint is for the model in place of Message, if more details help it to correct a call, such as
	// the wrong argument and its rule. Empty means Message.
	Hint string
	// Service names the upstream: "gemini" or "mcp:<name>". Empty means none.
	Service string
	// RetryAfter is the time until another try makes sense; 0 if it is unknown.
	RetryAfter time.Duration
	// Unknown marks a tool call that was sent, whose outcome was lost, and that
	// must not be sent again.
	Unknown bool
	// NoEffect marks a tool call that has provably changed nothing: it did not run, or the tool
	// only reads. Another tool may be tried in its place.
	NoEffect bool
	// Acted marks the end of a turn in which an unsafe call ran, or still runs: the same request
	// must not be sent again.
	Acted bool
	// Err is the cause, for the log alone. It may be nil.
	Err error
}

// Error returns the operator's text, with the cause: log it, never send it.
func (e *Error) Error() string {
	s := string(e.Type) + ": " + e.Message
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ForModel returns the text for the model.
func (e *Error) ForModel() string {
	if e.Hint != "" {
		return e.Hint
	}
	return e.Message
}

// From returns err as an *Error. Any other error is a bug, or close to it: an Internal error whose
// text stays in the log. A Shortage becomes Overloaded. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if Shortage(err) {
		return NewOverloaded("", err)
	}
	return &Error{Type: Internal, Message: "Something went wrong on our side", Err: err}
}

// LogText returns the operator's text of err. Unless payloads is true, a cause with a method
// Brief() string gives this short text instead of its whole text. An upstream's own words can quote
// users and models. If they may, what looks personal or secret is hidden.
func LogText(err error, payloads bool) string {
	e, ok := errors.AsType[*Error](err)
	if payloads {
		return (redact.AllKinds &^ redact.IP).Payload(err.Error()) // an address is the operator's own
	}
	if !ok {
		return err.Error()
	}
	var quoting interface{ Brief() string }
	if !errors.As(e.Err, &quoting) {
		return e.Error()
	}
	return string(e.Type) + ": " + e.Message + ": " + quoting.Brief()
}

// Cause returns why ctx ended, or nil while it has not. That is the cause of its cancellation, or
// ErrClientGone for a cancellation without a cause, as by net/http when a client disconnects.
func Cause(ctx context.Context) error {
	err := context.Cause(ctx)
	if err == context.Canceled {
		return ErrClientGone
	}
	return err
}
