package fault

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"time"
)

// OverloadedMessage is the text for a person if the gateway itself ran short of a resource during a
// turn.
const OverloadedMessage = "The gateway is overloaded; try again in a moment"

// shortageRetry is the RetryAfter of a shortage: descriptors and ports come back
// as other turns end, which takes seconds.
const shortageRetry = 5 * time.Second

// Shortage reports whether err means that this process or its machine ran out of something: file
// descriptors, memory, processes, local ports. Such an error says nothing about the upstream, so
// its breaker must not count it.
//
// A name that could not be looked up for this reason counts as well: net.DNSError
// keeps only the text of such a cause. So does an error with a method Shortage() bool that
// returns true.
func Shortage(err error) bool {
	if own, ok := errors.AsType[shortage](err); ok {
		return own.Shortage()
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return isShortage(errno)
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return mentionsShortage(lookup.Err)
	}
	return false
}

// shortage is an error that knows whether it is a Shortage.
type shortage interface {
	error
	Shortage() bool
}

// mentionsShortage looks for the words of a shortage in an error that does not
// wrap its cause, as some libraries make them.
func mentionsShortage(text string) bool {
	for _, errno := range shortageErrors() {
		if strings.Contains(text, errno.Error()) {
			return true
		}
	}
	return false
}

// isShortage reports whether errno means that this process or machine lacks a resource.
func isShortage(errno syscall.Errno) bool {
	for _, e := range shortageErrors() {
		if errno == e {
			return true
		}
	}
	return false
}

// NewStoreUnavailable returns the fault of an action that needs a store, which failed with err: that of
// an overloaded gateway if err is a Shortage.
func NewStoreUnavailable(err error) *Error {
	if Shortage(err) {
		return NewOverloaded("", err)
	}
	return &Error{Type: StoreUnavailable, Message: "The store is unavailable; try again in a moment", Err: err}
}

// IsStoreUnavailable reports whether err is a fault that NewStoreUnavailable returns. Another try may succeed.
func IsStoreUnavailable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Type == StoreUnavailable || e.Type == Overloaded)
}

// NewOverloaded returns the error of a call of service that a shortage prevented
// or cut. It ends the turn: the next call would run into the same shortage.
func NewOverloaded(service string, err error) *Error {
	return &Error{Type: Overloaded, Message: OverloadedMessage, Service: service, RetryAfter: shortageRetry, Err: err}
}
