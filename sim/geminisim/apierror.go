package geminisim

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
)

// apiError is an error reply in the API's own shape.
type apiError struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Status  string           `json:"status"`
	Details []jsontext.Value `json:"details,omitempty"`
}

// It is for tests and the log of the simulator; clients get the JSON.
func (e *apiError) Error() string { return fmt.Sprintf("%d %s: %s", e.Code, e.Status, e.Message) }

// invalid is the answer to a request that breaks a rule. Messages end as the
// real ones do, a line break included.
func invalid(message string) *apiError {
	return &apiError{Code: http.StatusBadRequest, Message: message, Status: "INVALID_ARGUMENT"}
}

// statusName is google.rpc's name of a code that the API answers with.
func statusName(code int) string {
	switch code {
	case http.StatusBadRequest:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	return "UNKNOWN"
}
