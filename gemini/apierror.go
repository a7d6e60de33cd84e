package gemini

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/redact"
)

// maxMessage is how much of the API's own text an error shows, in bytes.
const maxMessage = 200

// maxRetryDelay bounds what is believed of a delay: a daily quota is the longest
// that there is.
const maxRetryDelay = 24 * time.Hour

// apiError is the service's refusal, as an HTTP status or in the stream.
type apiError struct {
	status     int    // the HTTP status, or the error's own code; 0: not known
	name       string // Google's status, such as UNAVAILABLE
	reason     string // of its ErrorInfo, such as API_KEY_INVALID
	message    string // the service's, without anything that looks like a key
	retryAfter time.Duration
}

// Error returns the operator's text.
func (e *apiError) Error() string {
	if e.message == "" {
		return e.Brief()
	}
	return e.Brief() + ": " + shorten(e.message)
}

// Brief returns the text for a log in which no word of the API's may stand, as
// its messages quote requests.
func (e *apiError) Brief() string {
	return strings.TrimRight(fmt.Sprintf("upstream answered %d %s %s", e.status, e.name, e.reason), " ")
}

// hide takes secrets out of e, should the service repeat them.
func (e *apiError) hide(secrets *redact.Scrubber) {
	for _, s := range []*string{&e.name, &e.reason, &e.message} {
		*s = secrets.Text(*s)
	}
}

// findError returns the API's error in body, which is an object, or an array that
// has one among its elements; or nil. What comes after the first JSON value is
// ignored: it is the rest of an array whose beginning went by as chunks.
func findError(body []byte) *apiError {
	d := jsontext.NewDecoder(bytes.NewReader(body), lenient)
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
		if json.Unmarshal(v, &probe, lenient) == nil && probe.Error != nil {
			return parseError(probe.Error)
		}
	}
	return nil
}

// parseError reads the value of an error member, a google.rpc.Status. Whatever it
// holds, it is an error: members of a wrong type are left out.
func parseError(v jsontext.Value) *apiError {
	var status struct {
		Code    jsontext.Value `json:"code"`
		Message jsontext.Value `json:"message"`
		Status  jsontext.Value `json:"status"`
		Details jsontext.Value `json:"details"`
	}
	_ = json.Unmarshal(v, &status, lenient)
	var details []jsontext.Value
	_ = json.Unmarshal(status.Details, &details, lenient)
	message := unquote(status.Message)
	e := &apiError{name: keepUpper(unquote(status.Status)), message: redact.KeyLike(message)}
	e.status, _ = strconv.Atoi(string(status.Code))
	if e.status == 0 {
		e.status = statusOf[e.name]
	}
	e.readDetails(details)
	if m := retryIn.FindStringSubmatch(message); m != nil && e.retryAfter == 0 {
		e.retryAfter = parseDelay(m[1])
	}
	return e
}

// retryIn finds the delay in "Please retry in 48.9s.".
var retryIn = regexp.MustCompile(`retry in ([0-9hms.]*[hms])`)

// readDetails takes what it knows from google.rpc.ErrorInfo and RetryInfo.
func (e *apiError) readDetails(details []jsontext.Value) {
	for _, v := range details {
		var d struct {
			Type       jsontext.Value `json:"@type"`
			Reason     jsontext.Value `json:"reason"`
			RetryDelay jsontext.Value `json:"retryDelay"`
		}
		_ = json.Unmarshal(v, &d, lenient)
		switch unquote(d.Type) {
		case "type.googleapis.com/google.rpc.ErrorInfo":
			e.reason = keepUpper(unquote(d.Reason))
		case "type.googleapis.com/google.rpc.RetryInfo":
			e.retryAfter = parseDelay(unquote(d.RetryDelay))
		}
	}
}

// lenient reads what is only looked at, never handed on.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// unquote returns the string that v is, or "".
func unquote(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b)
}

// statusOf gives the HTTP status of google.rpc.Code names (google/rpc/code.proto)
// that change what we do, for an error that has no code.
var statusOf = map[string]int{
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

// parseDelay reads a duration such as "34.4s"; anything else is 0.
func parseDelay(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0
	}
	return min(max(d, 0), maxRetryDelay)
}

// retryAfterHeader reads a Retry-After header, seconds or a date (RFC 9110,
// section 10.2.3); anything else is 0.
func retryAfterHeader(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxRetryDelay)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(time.Until(t), 0), maxRetryDelay)
	}
	return 0
}

// shorten cuts s to maxMessage bytes, at a code point.
func shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	n := maxMessage
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// keepUpper returns s if it looks like an enum value of Google's, else "". Only
// such values may be logged.
func keepUpper(s string) string {
	if len(s) > 64 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return ""
	}
	return s
}
