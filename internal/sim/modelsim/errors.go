// This file has errors before and in the shape of a protocol. A rule makes a refusal
// without knowing who will read it; the protocol words it.

package modelsim

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
)

// refusal is an error reply before it has the shape of a protocol.
//
// It is not a Go error, as it is an answer of the server and not a failure of it.
type refusal struct {
	Status  int
	Type    string // "": invalid_request_error, or by the status
	Code    string // "": null
	Param   string // the member that is at fault; "": null
	Message string

	extra       bool // the member is unknown: 422 has a shape of its own for it
	isRequested bool // a directive asked for it: no failure of the caller
}

// invalidMember refuses a request for the member param.
func invalidMember(param, message string) *refusal {
	return &refusal{Status: http.StatusBadRequest, Param: param, Message: message}
}

// kind returns the type in the error's JSON. It follows from the status, unless a script sets it.
func (e *refusal) kind() string {
	if e.Type != "" {
		return e.Type
	}
	kind := map[int]string{
		http.StatusUnauthorized:    "authentication_error",
		http.StatusForbidden:       "permission_error",
		http.StatusNotFound:        "not_found_error",
		http.StatusTooManyRequests: "rate_limit_error",
		529:                        "overloaded_error",
	}[e.Status]
	switch {
	case kind != "":
		return kind
	case e.Status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// object is JSON in the making.
type object = map[string]any

// list is a JSON array in the making.
type list = []any

// orNull returns nil for "".
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// openAIError is the shape of OpenAI and most that speak its protocols. For an unknown member with
// 422 it is Mistral's.
func openAIError(e *refusal) any {
	if e.Status == http.StatusUnprocessableEntity {
		loc := list{"body"}
		for _, step := range pathSteps(e.Param) {
			loc = append(loc, step)
		}
		return object{"object": "error", "type": "invalid_request_error", "param": nil, "code": nil, "message": object{
			"detail": list{object{"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs are not permitted", "input": true}},
		}}
	}
	return object{"error": object{"message": e.Message, "type": e.kind(), "param": orNull(e.Param), "code": orNull(e.Code)}}
}

// anthropicError is the shape of the Messages API.
func anthropicError(e *refusal) any {
	kind := e.kind()
	if kind == "server_error" {
		kind = "api_error"
	}
	message := e.Message
	switch {
	case e.extra:
		message = e.Param + ": Extra inputs are not permitted"
	case e.Param != "":
		message = e.Param + ": " + message
	}
	return object{"type": "error", "request_id": "req_modelsim", "error": object{"type": kind, "message": message}}
}

// rejectRequest answers with an error.
func rejectRequest(w http.ResponseWriter, p protocol, e *refusal) {
	body := encodeJSON(p.errors(e))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(e.Status)
	_, _ = w.Write(body) // a client that has left is of no interest
}

// encodeJSON returns v as JSON with its members in order of their names.
//
// Deterministic order makes answers comparable byte by byte.
func encodeJSON(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err) // only maps, strings, numbers and checked JSON
	}
	return b
}
