package model

import (
	"errors"
	"net/http"

	"sluice/internal/base/fault"
)

// Classes of failed calls, as a configuration names them.
const (
	classUnavailable   = "unavailable"   // the service failed, or its breaker is open
	classTimeout       = "timeout"       // silent for too long
	classRateLimited   = "rate_limited"  // too many requests
	classMisconfigured = "misconfigured" // key, permission, name, money
	classOverflow      = "overflow"      // the request is too long for the model
	classBlocked       = "blocked"       // policy
)

// DefaultFallbackOn returns the classes after which another model is asked, unless the
// configuration says otherwise.
func DefaultFallbackOn() []string {
	return []string{classUnavailable, classTimeout, classRateLimited, classMisconfigured}
}

// Class returns the class of the error of a model call. It is empty if the failure is
// of none: the request was refused for a reason that another model would have too, the
// turn ended, or the fault is ours.
//
// An answer whose call cannot be read is classUnavailable; a Chain asks for it twice.
func Class(err error) string {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal.failureClass()
	}
	if _, ok := errors.AsType[*Blocked](err); ok {
		return classBlocked
	}
	if isMalformedCall(err) {
		return classUnavailable
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return ""
	}
	return classOfFault(f.Type)
}

func classOfFault(t fault.Type) string {
	switch t {
	case fault.ModelUnavailable:
		return classUnavailable
	case fault.Timeout:
		return classTimeout
	case fault.ModelRateLimited:
		return classRateLimited
	case fault.ModelBlocked:
		return classBlocked
	}
	return ""
}

// failureClass returns the class of a refusal, or "" for one that no other model would
// answer either: the request itself is at fault.
func (e *Refusal) failureClass() string {
	switch e.Kind {
	case KindServer, KindMalformed:
		return classUnavailable
	case KindRateLimited:
		return classRateLimited
	case KindQuota, KindMisconfigured:
		return classMisconfigured
	case KindOverflow:
		return classOverflow
	case KindBlocked:
		return classBlocked
	case KindRejected:
		return ""
	}
	return classOfStatus(e.Status)
}

func classOfStatus(s int) string {
	switch {
	case s == http.StatusTooManyRequests:
		return classRateLimited
	case s == http.StatusUnauthorized, s == http.StatusPaymentRequired, s == http.StatusForbidden, s == http.StatusNotFound, s >= 300 && s < 400:
		return classMisconfigured
	case s >= 400 && s < 500 && s != http.StatusRequestTimeout:
		return ""
	}
	return classUnavailable
}

// isMalformedCall asks for a method, so that a Source that is not a codec of ours can say it too.
func isMalformedCall(err error) bool {
	var m interface{ MalformedCall() bool }
	return errors.As(err, &m) && m.MalformedCall()
}
