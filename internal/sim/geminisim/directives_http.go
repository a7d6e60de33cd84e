package geminisim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Directives for replies that are not a stream.

// parseStatus parses the status of the reply. It must come before the first byte.
func parseStatus(arg string) (step, error) {
	code, err := strconv.Atoi(arg)
	return func(t *playing) error { t.status = code; return nil }, usageError(err == nil && code >= 200 && code < 600, "status CODE")
}

// parseHeader parses a header of the reply.
func parseHeader(arg string) (step, error) {
	name, value, ok := strings.Cut(arg, ":")
	return func(t *playing) error {
		t.w.Header().Set(name, strings.TrimSpace(value))
		return nil
	}, usageError(ok && name != "", "header NAME: VALUE")
}

// parseBody: the reply's body, as it is.
func parseBody(arg string) (step, error) {
	s, err := unquotedText(arg)
	kind := "text/plain; charset=utf-8"
	switch trimmed := strings.TrimSpace(s); {
	case strings.HasPrefix(trimmed, "{"), strings.HasPrefix(trimmed, "["):
		kind = "application/json; charset=UTF-8"
	case strings.HasPrefix(trimmed, "<"):
		kind = "text/html; charset=utf-8"
	}
	return func(t *playing) error {
		if h := t.w.Header(); h.Get("Content-Type") == "" {
			h.Set("Content-Type", kind)
		}
		return t.write(s)
	}, err
}

// parseError: a whole error reply in the API's shape, with RetryInfo if asked for.
func parseError(arg string) (step, error) {
	number, rest := cutWord(arg)
	code, err := strconv.Atoi(number)
	if err != nil || code < 400 || code > 599 {
		return nil, usageError(false, "error CODE [retry=DURATION] [MESSAGE]")
	}
	e := &apiError{Code: code, Status: statusName(code), Message: http.StatusText(code)}
	if after, ok := strings.CutPrefix(rest, "retry="); ok {
		delay, message := cutWord(after)
		info := fmt.Sprintf(`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":%q}`, delay)
		e.Details, rest = []jsontext.Value{jsontext.Value(info)}, message
	}
	if rest != "" {
		e.Message = unquoted(rest)
	}
	return func(t *playing) error {
		if err := t.fail(e); err != nil {
			return err
		}
		return errEnd
	}, nil
}

// parseRedirect parses a redirect. A client of ours must not follow it: the key
// would go along.
func parseRedirect(arg string) (step, error) {
	var code int
	var location string
	n, _ := fmt.Sscan(arg, &code, &location)
	return func(t *playing) error {
		t.status = code
		t.w.Header().Set("Location", location)
		return nil
	}, usageError(n == 2 && code >= 300 && code < 400, "redirect CODE URL")
}
