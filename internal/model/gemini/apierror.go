package gemini

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/redact"
	"sluice/internal/model"
)

// findError returns the API's error in body, or nil. body is an object, or an array with the error
// among its elements. Bytes after the first JSON value are ignored: they are the rest of an array
// whose beginning went by as chunks.
func findError(body []byte) *model.Refusal {
	d := jsontext.NewDecoder(bytes.NewReader(body), model.Tolerant())
	if d.PeekKind() == '[' {
		if _, err := d.ReadToken(); err != nil {
			return nil
		}
	}
	for d.PeekKind() == '{' {
		v, err := d.ReadValue()
		if err != nil {
			return nil
		}
		var probe struct {
			Error jsontext.Value `json:"error"`
		}
		if json.Unmarshal(v, &probe, model.Tolerant()) == nil && probe.Error != nil {
			return parseError(probe.Error)
		}
	}
	return nil
}

// parseError reads the value of an error member, a google.rpc.Status. Whatever it
// holds, it is an error: members of a wrong type are left out.
func parseError(v jsontext.Value) *model.Refusal {
	var status struct {
		Code    jsontext.Value `json:"code"`
		Message jsontext.Value `json:"message"`
		Status  jsontext.Value `json:"status"`
		Details jsontext.Value `json:"details"`
	}
	_ = json.Unmarshal(v, &status, model.Tolerant())
	var details []jsontext.Value
	_ = json.Unmarshal(status.Details, &details, model.Tolerant())
	message := model.Unquote(status.Message)
	e := &model.Refusal{Type: keepUpper(model.Unquote(status.Status)), Message: redact.KeyLike(message)}
	e.Status, _ = strconv.Atoi(string(status.Code))
	if e.Status == 0 {
		e.Status = statuses[e.Type]
	}
	readDetails(e, details)
	classifyError(e)
	if e.RetryAfter == 0 {
		e.RetryAfter = model.WaitIn(message)
	}
	return e
}

// classifyError sets the kind of e if its status does not decide it.
func classifyError(e *model.Refusal) {
	e.Kind = model.KindStatus
	switch {
	case e.Code == "API_KEY_INVALID" && e.Status != http.StatusTooManyRequests:
		e.Kind = model.KindMisconfigured
	case e.Status == 0:
		e.Kind = model.KindServer
	}
}

// readDetails reads google.rpc.ErrorInfo, RetryInfo and BadRequest.
func readDetails(e *model.Refusal, details []jsontext.Value) {
	for _, v := range details {
		var d struct {
			Type       jsontext.Value `json:"@type"`
			Reason     jsontext.Value `json:"reason"`
			RetryDelay jsontext.Value `json:"retryDelay"`
			Violations jsontext.Value `json:"fieldViolations"`
		}
		_ = json.Unmarshal(v, &d, model.Tolerant())
		switch model.Unquote(d.Type) {
		case "type.googleapis.com/google.rpc.ErrorInfo":
			e.Code = keepUpper(model.Unquote(d.Reason))
		case "type.googleapis.com/google.rpc.RetryInfo":
			e.RetryAfter = model.ParseWait(model.Unquote(d.RetryDelay))
		case "type.googleapis.com/google.rpc.BadRequest":
			e.Member, e.Place = violatedMember(d.Violations), toolIn(d.Violations)
		}
	}
}

// violatedMember returns the member of generationConfig that fieldViolations name, or "".
func violatedMember(list jsontext.Value) string {
	for _, v := range model.Elements(list) {
		o := model.Members(v)
		field := model.Unquote(o.Get("field"))
		if strings.HasPrefix(strings.ReplaceAll(strings.ToLower(field), "_", ""), "generationconfig") {
			if name := memberIn(field + " " + model.Unquote(o.Get("description"))); name != "" {
				return name
			}
		}
	}
	return ""
}

// toolIn returns the first field of fieldViolations that is of a function's declaration, or "".
func toolIn(list jsontext.Value) string {
	for _, v := range model.Elements(list) {
		if field := model.Unquote(model.Members(v).Get("field")); strings.Contains(field, "eclarations[") {
			return field
		}
	}
	return ""
}

// statuses are the HTTP statuses of the google.rpc.Code names (google/rpc/code.proto) that decide
// how we react. They serve errors without a code.
var statuses = map[string]int{
	"INVALID_ARGUMENT":    http.StatusBadRequest,
	"FAILED_PRECONDITION": http.StatusBadRequest,
	"UNAUTHENTICATED":     http.StatusUnauthorized,
	"PERMISSION_DENIED":   http.StatusForbidden,
	"NOT_FOUND":           http.StatusNotFound,
	"RESOURCE_EXHAUSTED":  http.StatusTooManyRequests,
	"INTERNAL":            http.StatusInternalServerError,
	"UNAVAILABLE":         http.StatusServiceUnavailable,
	"DEADLINE_EXCEEDED":   http.StatusGatewayTimeout,
}

// keepUpper returns s if it looks like an enum value of Google's, else "". Only
// such values may be logged.
func keepUpper(s string) string {
	if len(s) > 64 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return ""
	}
	return s
}
