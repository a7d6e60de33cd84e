package handlers

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
)

// statuses are the HTTP statuses of faults that no stream reports; of a type that is not named
// here it is 500.
var statuses = map[fault.Type]int{
	fault.Validation:           http.StatusUnprocessableEntity,
	fault.KeyReused:            http.StatusUnprocessableEntity,
	fault.PayloadTooLarge:      http.StatusRequestEntityTooLarge,
	fault.UnsupportedMediaType: http.StatusUnsupportedMediaType,
	fault.MethodNotAllowed:     http.StatusMethodNotAllowed,
	fault.NotFound:             http.StatusNotFound,
	fault.OriginRefused:        http.StatusForbidden,
	fault.ApprovalInvalid:      http.StatusForbidden,
	fault.Forbidden:            http.StatusForbidden,
	fault.DuplicateRequest:     http.StatusConflict,
	fault.TaskNotCancelable:    http.StatusConflict,
	fault.ApprovalUsed:         http.StatusConflict,
	fault.ApprovalConflict:     http.StatusConflict,
	fault.RequestTimeout:       http.StatusRequestTimeout,
	fault.Overloaded:           http.StatusServiceUnavailable,
	fault.ShuttingDown:         http.StatusServiceUnavailable,
	fault.StoreUnavailable:     http.StatusServiceUnavailable,
	fault.AuthUnavailable:      http.StatusServiceUnavailable,
	fault.Unauthorized:         http.StatusUnauthorized,
	fault.RateLimited:          http.StatusTooManyRequests,
	fault.ApprovalExpired:      http.StatusGone,
}

func statusOf(t fault.Type) int { return cmp.Or(statuses[t], http.StatusInternalServerError) }

// routingFault translates an error of echo's router.
func routingFault(he *echo.HTTPError) error {
	switch he.Code {
	case http.StatusNotFound:
		return &fault.Error{Type: fault.NotFound, Message: "There is nothing at this path", Err: he}
	case http.StatusMethodNotAllowed:
		return &fault.Error{Type: fault.MethodNotAllowed, Message: "This path does not take this method; the Allow header names those it takes", Err: he}
	}
	return he
}

// faultOf returns err as a fault, and the faulty fields of a request.
func faultOf(err error) (*fault.Error, []chat.FieldError) {
	v, ok := errors.AsType[*chat.ValidationError](err)
	if !ok {
		return fault.From(err), nil
	}
	detail := "The request has a fault"
	if len(v.Fields) > 1 {
		detail = fmt.Sprintf("The request has %d faults", len(v.Fields))
	}
	first := v.Fields[0]
	detail += ": " + strings.TrimPrefix(first.Field+" "+first.Message, " ") // the whole document lacks a name
	return &fault.Error{Type: fault.Validation, Message: detail, Err: v}, v.Fields
}

// comeBackAfter returns after how long a client may send its request again; 0: it is not said.
func comeBackAfter(f *fault.Error) time.Duration {
	switch f.Type {
	case fault.Overloaded, fault.ShuttingDown, fault.StoreUnavailable:
		return time.Duration(1+rand.IntN(5)) * time.Second // jittered, so that not all come back at once
	case fault.DuplicateRequest, fault.RateLimited, fault.AuthUnavailable:
		return f.RetryAfter
	}
	return 0
}

// levelOfRefusal is the log level of a refusal: an error is ours to fix, a warning is
// for the operator, all else is the client's.
func levelOfRefusal(status int) zerolog.Level {
	switch status {
	case http.StatusServiceUnavailable:
		return zerolog.WarnLevel
	case http.StatusInternalServerError:
		return zerolog.ErrorLevel
	}
	return zerolog.InfoLevel
}

// faultDetails begins the details of a log line about f, with its cause. The client does not get
// the cause.
func faultDetails(f *fault.Error) *zerolog.Event {
	return zerolog.Dict().
		Str("error_type", string(f.Type)).
		AnErr("error_message", f).
		Bool("recoverable", f.Type.Recoverable())
}

// tooLarge returns the fault of a body above limit bytes.
func tooLarge(limit int64) error {
	size := fmt.Sprintf("%d KiB", limit>>10)
	if limit%(1<<20) == 0 {
		size = fmt.Sprintf("%d MiB", limit>>20)
	}
	return &fault.Error{Type: fault.PayloadTooLarge, Message: "The request's body may have at most " + size}
}

// isRepetition reports whether err refuses a request whose idempotency key was used by a turn
// that is not worth waiting for.
func isRepetition(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Type == fault.DuplicateRequest && f.RetryAfter == 0
}
