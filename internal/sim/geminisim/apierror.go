package geminisim

import (
	"cmp"
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

// invalidRequest is the answer to a request that breaks a rule. Messages end as the
// real ones do, a line break included.
func invalidRequest(message string) *apiError {
	return &apiError{Code: http.StatusBadRequest, Message: message, Status: "INVALID_ARGUMENT"}
}

// statusName is google.rpc's name of a code that the API answers with.
func statusName(code int) string {
	name := map[int]string{
		http.StatusBadRequest:          "INVALID_ARGUMENT",
		http.StatusUnauthorized:        "UNAUTHENTICATED",
		http.StatusForbidden:           "PERMISSION_DENIED",
		http.StatusNotFound:            "NOT_FOUND",
		http.StatusTooManyRequests:     "RESOURCE_EXHAUSTED",
		http.StatusInternalServerError: "INTERNAL",
		http.StatusServiceUnavailable:  "UNAVAILABLE",
		http.StatusGatewayTimeout:      "DEADLINE_EXCEEDED",
	}[code]
	return cmp.Or(name, "UNKNOWN")
}
