package model

import (
	"crypto/tls"
	"errors"
	"net/http"
	"time"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// Texts for the user.
const (
	rateLimitedMessage   = "AI service is busy, please try again later"
	blockedMessage       = "AI service declined to answer this"
	rejectedMessage      = "AI service rejected the request"
	misconfiguredMessage = "AI service is not set up correctly"
	malformedMessage     = "AI service asked for a tool in a way that cannot be understood"
	timeoutMessage       = "AI service timed out"
)

// unavailableRetry is the RetryAfter of a failure that reports none.
const unavailableRetry = 5 * time.Second

// maxWaitInCall is the longest wait that a call accepts from a service.
const maxWaitInCall = 2 * time.Second

// ending is the result of an attempt: for the caller, the breaker, the metrics and the next
// attempt.
type ending struct {
	err     error // for the caller; nil: the answer is complete
	cause   error // for the breaker
	verdict breaker.Verdict
	outcome string
	// retry says that another attempt may do better, after wait at least.
	retry bool
	empty bool // the answer came to its end and holds nothing: one retry is enough
	wait  time.Duration
	owed  chat.Usage // usage that was reported and not handed on
}

// endingOf puts err, as an attempt returned it, into the words of docs/events.md. For the breaker
// only a missing answer is a failure. An answer that ended, or cannot be read, is neutral.
func (m *Model) endingOf(err error) ending {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return m.refusedEnding(r)
	}
	if _, ok := errors.AsType[*Malformed](err); ok {
		return m.failedEnding(breaker.Neutral, OutcomeError, fault.ModelError, malformedMessage, err)
	}
	if _, ok := errors.AsType[*Blocked](err); ok {
		return m.failedEnding(breaker.Neutral, OutcomeBlocked, fault.ModelBlocked, blockedMessage, err)
	}
	if e, ok := errors.AsType[*Defect](err); ok {
		return m.failedEnding(breaker.Neutral, OutcomeError, fault.Internal, fault.From(e).Message, e)
	}
	if errors.Is(err, ErrOurRequest) {
		return m.failedEnding(breaker.Neutral, OutcomeRejected, fault.ModelError, rejectedMessage, err)
	}
	if errors.Is(err, errSilent) {
		return m.failedEnding(breaker.Failure, OutcomeTimeout, fault.Timeout, timeoutMessage, err)
	}
	if fault.Shortage(err) {
		return m.shortageEnding(err)
	}
	end := m.unavailableEnding(err, 0)
	switch {
	case isEmptyEnd(err):
		end.verdict, end.retry, end.empty = breaker.Neutral, m.cfg.Policy != PolicyGemini || errors.Is(err, ErrNoText), true
	case errors.Is(err, ErrUnreadable), errors.Is(err, ErrTooLarge):
		end.verdict = breaker.Neutral
	default:
		end.retry = errors.Is(err, errEmpty) || worthRedialing(err)
	}
	return end
}

// isEmptyEnd reports whether err is that of an answer that ended without text or call. The service
// did answer, so this is not its failure.
func isEmptyEnd(err error) bool {
	_, givenUp := errors.AsType[*GivenUp](err)
	return givenUp || errors.Is(err, ErrNoText)
}

// refusedEnding judges a refusal by the service.
func (m *Model) refusedEnding(r *Refusal) ending {
	end := m.refusedAs(m.cfg.Policy.kindOf(r), r)
	end.retry = end.retry && !r.NoRetry
	return end
}

// kindOf returns the meaning of a refusal.
func (p Policy) kindOf(r *Refusal) Kind {
	if r.Kind != KindStatus {
		return r.Kind
	}
	switch s := r.Status; {
	case s == http.StatusTooManyRequests:
		return KindRateLimited
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusNotFound, s == http.StatusPaymentRequired && p != PolicyGemini:
		return KindMisconfigured
	case s == http.StatusRequestTimeout && p != PolicyGemini:
		return KindServer
	case s >= 300 && s < 400:
		return kindRedirect
	case s >= 400 && s < 500:
		return KindRejected
	}
	return KindServer
}

// refusedAs returns the ending of a refusal. A mistake of the caller and a limit are neutral for
// the breaker, since the service is healthy. A redirect is a failure, because nothing answers at
// the configured place.
func (m *Model) refusedAs(kind Kind, r *Refusal) ending {
	switch kind {
	case KindRateLimited:
		return m.rateLimited(r)
	case KindQuota, KindMisconfigured:
		return m.failedEnding(breaker.Neutral, OutcomeRejected, fault.ModelError, misconfiguredMessage, r)
	case kindRedirect:
		return m.failedEnding(breaker.Failure, OutcomeRejected, fault.ModelError, misconfiguredMessage, r)
	case KindRejected, KindOverflow:
		return m.failedEnding(breaker.Neutral, OutcomeRejected, fault.ModelError, rejectedMessage, r)
	case KindBlocked:
		return m.failedEnding(breaker.Neutral, OutcomeBlocked, fault.ModelBlocked, blockedMessage, r)
	case KindMalformed:
		return m.failedEnding(breaker.Neutral, OutcomeError, fault.ModelError, malformedMessage, &Malformed{Reason: r.Brief()})
	}
	return m.brokenDown(r)
}

// rateLimited returns the ending of a refusal because of a limit.
func (m *Model) rateLimited(r *Refusal) ending {
	end := m.failedEnding(breaker.Neutral, OutcomeRateLimited, fault.ModelRateLimited, rateLimitedMessage, r)
	end.err.(*fault.Error).RetryAfter = m.limitedFor(r.RetryAfter)
	end.retry = r.RetryAfter > 0 && r.RetryAfter <= maxWaitInCall
	end.wait = r.RetryAfter
	return end
}

// brokenDown returns the ending of a refusal because of a fault of the service.
func (m *Model) brokenDown(r *Refusal) ending {
	end := m.unavailableEnding(r, r.RetryAfter)
	end.wait = r.RetryAfter
	end.retry = m.cfg.Policy.worthAsking(r) && r.RetryAfter <= maxWaitInCall
	return end
}

// limitedFor returns the wait after a 429 that asked for given.
func (m *Model) limitedFor(given time.Duration) time.Duration {
	if given == 0 && m.cfg.Policy != PolicyGemini {
		return unavailableRetry
	}
	return given
}

// worthAsking reports whether a service that failed with r may do better a moment later.
func (p Policy) worthAsking(r *Refusal) bool {
	if p != PolicyGemini {
		return r.Status >= 500 || r.Status == http.StatusRequestTimeout || r.Kind == KindServer
	}
	switch r.Status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// shortageEnding judges an attempt that our own shortage ended. It is not retried, because more
// calls make a shortage worse. The client learns when to come back.
func (m *Model) shortageEnding(err error) ending {
	return ending{err: fault.NewOverloaded(m.cfg.Service, err), cause: err, verdict: breaker.Neutral, outcome: OutcomeOverloaded}
}

// failedEnding makes an ending without a retry. message is for the client. cause is for the log,
// the breaker and Class.
func (m *Model) failedEnding(v breaker.Verdict, outcome string, t fault.Type, message string, cause error) ending {
	return ending{
		err:     &fault.Error{Type: t, Message: message, Service: m.cfg.Service, Err: cause},
		cause:   cause,
		verdict: v,
		outcome: outcome,
	}
}

// unavailableEnding is the ending of a service that does not work. The client is asked to come back
// after retryAfter, or after unavailableRetry if the service named no time.
func (m *Model) unavailableEnding(cause error, retryAfter time.Duration) ending {
	end := m.failedEnding(breaker.Failure, OutcomeError, fault.ModelUnavailable, fault.ModelUnavailableMessage, cause)
	if retryAfter == 0 {
		retryAfter = unavailableRetry
	}
	end.err.(*fault.Error).RetryAfter = retryAfter
	return end
}

// worthRedialing reports whether err is a fault of a connection that a new one may not have. A
// distrusted certificate stays distrusted.
func worthRedialing(err error) bool {
	_, broken := errors.AsType[*transportError](err)
	_, distrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return broken && !distrusted
}
