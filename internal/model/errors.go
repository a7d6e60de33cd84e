package model

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sluice/internal/base/redact"
)

// Errors of answers that do not report their failure.
var (
	errSilent     = errors.New("no chunk in time")
	errEmpty      = errors.New("stream ended without a chunk")
	ErrCut        = errors.New("stream ended without a finish reason")
	ErrNoText     = errors.New("answer with neither text nor a call")
	ErrUnreadable = errors.New("unreadable chunk")
	ErrTooLarge   = errors.New("too large")
)

// ErrOurRequest is wrapped by the error of an answer if our request is at fault.
var ErrOurRequest = errors.New("our request is at fault")

// ErrMalformedCall is wrapped by the error of an answer that is not a usable tool call: asking
// once more often helps. Anyone who cannot import this package finds it with errors.As and an
// interface of the method MalformedCall() bool.
var ErrMalformedCall = errors.New("malformed function call")

// Malformed is the error of an answer whose call cannot be read. Reason holds no word
// of the model's.
type Malformed struct{ Reason string }

// It is for the log and quotes nothing of the model: Reason names the fault.
func (e *Malformed) Error() string { return ErrMalformedCall.Error() + ": " + e.Reason }

// Unwrap makes errors.Is find ErrMalformedCall.
func (*Malformed) Unwrap() error { return ErrMalformedCall }

// MalformedCall says true.
func (*Malformed) MalformedCall() bool { return true }

// Blocked is the error of a prompt or an answer that the provider's policy stopped.
type Blocked struct{ Reason string }

// It is for the log. Reason is the provider's word.
func (e *Blocked) Error() string { return fmt.Sprintf("blocked: %q", e.Reason) }

// Kind is the meaning of a Refusal, unless its status says it.
type Kind int

// Kinds of refusals. docs/models.md says what becomes of each.
const (
	KindStatus        Kind = iota // as the status says; without one, a fault of the server's
	KindServer                    // the service failed
	KindRateLimited               // too many requests
	KindQuota                     // no money or quota is left
	KindMisconfigured             // key, permission or name of the model
	KindRejected                  // another fault of the request
	KindOverflow                  // the request is too long for the model
	KindBlocked                   // policy
	KindMalformed                 // the model wrote a call that the service could not read

	kindRedirect // somewhere else; never followed
)

// Refusal is an error that the provider reported, as an HTTP status or in the stream.
type Refusal struct {
	Status     int    // HTTP's, or the error's own code; 0: not known
	Kind       Kind   // the codec's knowledge beyond the status
	Type, Code string // the provider's words, if Word took them; they may be logged
	// Member is the member of the request that the provider does not take, among those that we add
	// ourselves. It is empty if the refusal is about something else.
	Member string
	// Guessed is true if Member stands in Message alone. Message may quote the request. The frame,
	// which knows the request, decides whether it counts.
	Guessed bool
	// Place is where in the request the fault is, in a field of the error: "tools[1].function". It
	// is empty without such a field.
	Place      string
	Message    string        // the provider's text; never logged, since it may quote the request
	RetryAfter time.Duration // 0: not reported
	NoRetry    bool          // the provider asked not to be asked again
}

// Error returns the operator's text.
func (e *Refusal) Error() string {
	if e.Message == "" {
		return e.Brief()
	}
	return e.Brief() + ": " + Shorten(e.Message)
}

// Brief returns the text for a log. It leaves out the provider's message, because messages quote
// requests.
func (e *Refusal) Brief() string {
	return strings.TrimRight(fmt.Sprintf("upstream answered %d %s %s", e.Status, e.Type, e.Code), " ")
}

// hideSecrets removes secrets from e, in case the service repeats them.
func (e *Refusal) hideSecrets(secrets *redact.Scrubber) {
	for _, s := range []*string{&e.Type, &e.Code, &e.Message} {
		*s = secrets.Text(*s)
	}
}

// Defect is a failure that is neither the service's nor the network's: a bug of ours, or of a
// library's. Reason quotes neither a request nor an answer.
type Defect struct{ Reason string }

// It names what we did wrong, without bytes of the request.
func (e *Defect) Error() string { return e.Reason }

// transportError is a failure of the connection.
type transportError struct{ err error }

// It marks errors of the connection, so that the text of a service's own error is not
// taken for one.
func (e *transportError) Error() string { return "transport: " + e.err.Error() }

// It leads to the cause: a shortage of our own, or a deadline.
func (e *transportError) Unwrap() error { return e.err }

var errEncoded = fmt.Errorf("%w: it is compressed, which was not asked for", ErrUnreadable)

// streamError returns err, as reading an answer's body gave it, as the error of
// Events.Next.
func streamError(err error) error {
	if _, ok := errors.AsType[*Refusal](err); ok || err == nil || err == io.EOF || err == errDocument ||
		errors.Is(err, ErrUnreadable) || errors.Is(err, ErrTooLarge) {
		return err
	}
	return &transportError{err}
}

// withoutMessage returns err without the provider's message, if it has one.
func withoutMessage(err error) error {
	if err == nil { // nearly always, and before b is made
		return nil
	}
	var b interface{ Brief() string }
	if errors.As(err, &b) {
		return errors.New(b.Brief())
	}
	return err
}
