package gemini

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"sluice/breaker"
	"sluice/fault"
)

// Texts for the person who asked.
const (
	rateLimitedMessage   = "AI service is busy, please try again later"
	blockedMessage       = "AI service declined to answer this"
	rejectedMessage      = "AI service rejected the request"
	misconfiguredMessage = "AI service is not set up correctly"
	malformedMessage     = "AI service asked for a tool in a way that cannot be understood"
	timeoutMessage       = "AI service timed out"
)

// unavailableRetry is the RetryAfter of a failure that tells of none.
const unavailableRetry = 5 * time.Second

// maxRetryDelayInCall is the longest delay asked for by the service that is
// waited for inside a call.
const maxRetryDelayInCall = 2 * time.Second

// ErrMalformedCall is wrapped by the error of an answer that is no usable tool
// call: asking once more often helps. Anyone who cannot import this package finds it
// with errors.As and an interface of the method MalformedCall() bool.
var ErrMalformedCall = errors.New("malformed function call")

type malformedCall struct{ reason string }

func (e *malformedCall) Error() string     { return ErrMalformedCall.Error() + ": " + e.reason }
func (e *malformedCall) Unwrap() error     { return ErrMalformedCall }
func (*malformedCall) MalformedCall() bool { return true }

// Ways in which the service can fail without saying so.
var (
	errSilent = errors.New("no chunk in time")
	errEmpty  = errors.New("stream ended without a chunk")
	errCut    = errors.New("stream ended without a finish reason")
	errNoText = errors.New("answer with neither text nor a call")
)

// transportError is a failure of the connection.
type transportError struct{ err error }

func (e *transportError) Error() string { return "transport: " + e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// driverError is a failure of the driver's own: a bug of ours, or of the SDK's.
type driverError struct{ what string }

func (e *driverError) Error() string { return "driver sdk: " + e.what }

// streamError returns err, as reading an answer's body gave it, as the error of
// answer.next.
func streamError(err error) error {
	if _, ok := errors.AsType[*apiError](err); ok || err == io.EOF || errors.Is(err, errUnreadable) || errors.Is(err, errTooLarge) {
		return err
	}
	return &transportError{err}
}

// finishError tells of an answer that was given up for a reason.
type finishError struct{ reason string }

func (e *finishError) Error() string {
	return fmt.Sprintf("finish reason %q", shorten(e.reason))
}

// The reasons of candidates (FinishReason in google.ai.generativelanguage.v1beta)
// that are not the end of an answer. A reason that is not here is a failure of
// the service.
var (
	blockedReasons = map[string]bool{
		"SAFETY": true, "RECITATION": true, "LANGUAGE": true, "BLOCKLIST": true, "PROHIBITED_CONTENT": true, "SPII": true,
		"IMAGE_SAFETY": true, "IMAGE_PROHIBITED_CONTENT": true, "IMAGE_RECITATION": true,
	}
	malformedReasons = map[string]bool{
		"MALFORMED_FUNCTION_CALL": true, "UNEXPECTED_TOOL_CALL": true, "TOO_MANY_TOOL_CALLS": true,
	}
)

// blockedPrompt is the error of a prompt that was not answered at all.
type blockedPrompt struct{ reason string }

func (e *blockedPrompt) Error() string {
	return fmt.Sprintf("prompt blocked: %q", shorten(e.reason))
}

// ending is how an attempt ended, for all who want to know.
type ending struct {
	err     error // for the caller; nil: the answer is complete
	cause   error // for the breaker
	verdict breaker.Verdict
	outcome string
	// retry says that another attempt may do better, after wait at least.
	retry bool
	wait  time.Duration
}

// endingOf puts err, as an attempt returned it, into the words of docs/events.md.
func endingOf(err error) ending {
	if e, ok := errors.AsType[*apiError](err); ok {
		return refusedEnding(e)
	}
	if e, ok := errors.AsType[*malformedCall](err); ok {
		return failed(breaker.Failure, OutcomeError, fault.ModelError, malformedMessage, e)
	}
	if e, ok := errors.AsType[*blockedPrompt](err); ok {
		return failed(breaker.Neutral, OutcomeBlocked, fault.ModelBlocked, blockedMessage, e)
	}
	if e, ok := errors.AsType[*finishError](err); ok {
		return finishEnding(e)
	}
	if e, ok := errors.AsType[*driverError](err); ok {
		return failed(breaker.Failure, OutcomeError, fault.Internal, fault.From(e).Message, e)
	}
	if errors.Is(err, errSilent) {
		return failed(breaker.Failure, OutcomeTimeout, fault.Timeout, timeoutMessage, err)
	}
	if fault.Shortage(err) {
		return shortageEnding(err)
	}
	end := unavailable(err, 0)
	end.retry = errors.Is(err, errEmpty) || worthRedialing(err)
	return end
}

func finishEnding(e *finishError) ending {
	switch {
	case blockedReasons[e.reason]:
		return failed(breaker.Neutral, OutcomeBlocked, fault.ModelBlocked, blockedMessage, e)
	case malformedReasons[e.reason]:
		return failed(breaker.Failure, OutcomeError, fault.ModelError, malformedMessage, &malformedCall{e.Error()})
	case e.reason == "MISSING_THOUGHT_SIGNATURE": // it is our request that lacks it
		return failed(breaker.Neutral, OutcomeRejected, fault.ModelError, rejectedMessage, e)
	}
	return unavailable(e, 0)
}

// refusedEnding judges by status.
func refusedEnding(e *apiError) ending {
	switch s := e.status; {
	case s == http.StatusTooManyRequests:
		end := failed(breaker.Neutral, OutcomeRateLimited, fault.ModelRateLimited, rateLimitedMessage, e)
		end.err.(*fault.Error).RetryAfter = e.retryAfter
		end.retry = e.retryAfter > 0 && e.retryAfter <= maxRetryDelayInCall
		end.wait = e.retryAfter
		return end
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusNotFound, e.reason == "API_KEY_INVALID":
		return failed(breaker.Neutral, OutcomeRejected, fault.ModelError, misconfiguredMessage, e)
	case s >= 400 && s < 500:
		return failed(breaker.Neutral, OutcomeRejected, fault.ModelError, rejectedMessage, e)
	case s >= 300 && s < 400:
		return failed(breaker.Failure, OutcomeRejected, fault.ModelError, misconfiguredMessage, e)
	}
	end := unavailable(e, e.retryAfter)
	end.wait = e.retryAfter
	switch e.status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		end.retry = e.retryAfter <= maxRetryDelayInCall
	}
	return end
}

// shortageEnding judges an attempt that a shortage of our own ended. It is not made
// again: more calls make a shortage worse, and the client is told when to come back.
func shortageEnding(err error) ending {
	return ending{err: fault.NewOverloaded(Service, err), cause: err, verdict: breaker.Neutral, outcome: OutcomeOverloaded}
}

func failed(v breaker.Verdict, outcome string, t fault.Type, message string, cause error) ending {
	return ending{
		err:     &fault.Error{Type: t, Message: message, Service: Service, Err: cause},
		cause:   cause,
		verdict: v,
		outcome: outcome,
	}
}

func unavailable(cause error, retryAfter time.Duration) ending {
	end := failed(breaker.Failure, OutcomeError, fault.ModelUnavailable, fault.ModelUnavailableMessage, cause)
	if retryAfter == 0 {
		retryAfter = unavailableRetry
	}
	end.err.(*fault.Error).RetryAfter = retryAfter
	return end
}

// worthRedialing says whether err is a fault of a connection that a new one may
// not have. A certificate stays what it is.
func worthRedialing(err error) bool {
	_, broken := errors.AsType[*transportError](err)
	_, distrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return broken && !distrusted
}
