package geminisim

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// expectation is a script's condition on a request. check returns the fault.
type expectation struct {
	line  int
	check func(r *http.Request, body []byte) error
}

// parseExpect reads the argument of an expect directive. ok is false when name
// is not one of them.
func parseExpect(name, arg string) (check func(*http.Request, []byte) error, ok bool, err error) {
	where, want := cutWord(arg)
	if name == "expect-header" {
		return expectHeader(where, want), true, usageError(where != "" && want != "", "expect-header NAME VALUE")
	}
	var test func(got any, found bool) error
	switch name {
	case "expect":
		value := looseJSON(want)
		test = func(got any, found bool) error { return compareValue(where, got, found, value) }
		err = usageError(want != "", "expect /POINTER VALUE")
	case "expect-absent":
		test = func(got any, found bool) error { return compareAbsent(where, got, found) }
		err = usageError(want == "", "expect-absent /POINTER")
	case "expect-contains":
		test = func(got any, found bool) error { return compareContains(where, got, unquoted(want)) }
		err = usageError(want != "", "expect-contains /POINTER TEXT")
	case "expect-count":
		count, numErr := strconv.Atoi(want)
		test = func(got any, found bool) error { return compareCount(where, got, count) }
		err = usageError(numErr == nil, "expect-count /POINTER NUMBER")
	default:
		return nil, false, nil
	}
	if err == nil {
		err = usageError(strings.HasPrefix(where, "/"), name+": a JSON pointer starts with /")
	}
	return expectBody(where, test), true, err
}

// expectHeader wants a header of the request. The error repeats no value,
// because it may be a key.
func expectHeader(name, want string) func(*http.Request, []byte) error {
	return func(r *http.Request, _ []byte) error {
		if got := r.Header.Get(name); got != want {
			return fmt.Errorf("the header %s is not what was expected", http.CanonicalHeaderKey(name))
		}
		return nil
	}
}

// expectBody wants something of the value at a JSON pointer in the request's
// body.
func expectBody(pointer string, test func(any, bool) error) func(*http.Request, []byte) error {
	return func(_ *http.Request, body []byte) error {
		var doc any
		if err := json.Unmarshal(body, &doc); err != nil {
			return fmt.Errorf("the body is no JSON: %w", err)
		}
		return test(lookupPointer(doc, jsontext.Pointer(pointer)))
	}
}

// indexOf returns the index that a token of a pointer names in an array of some length.
func indexOf(token string, length int) (int, bool) {
	if token == "-" {
		return length - 1, length > 0
	}
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && i < length
}

// lookupPointer finds the value that a JSON pointer (RFC 6901) names. Unlike there, "-"
// is the last element of an array.
func lookupPointer(v any, p jsontext.Pointer) (any, bool) {
	for token := range p.Tokens() {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[token]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, ok := indexOf(token, len(node))
			if !ok {
				return nil, false
			}
			v = node[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// compareValue wants the same value, as JSON has it: 1 and 1.0 are equal.
func compareValue(where string, got any, found bool, want any) error {
	if !found {
		return fmt.Errorf("%s is missing, want %s", where, showJSON(want))
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s is %s, want %s", where, showJSON(got), showJSON(want))
	}
	return nil
}

// compareAbsent requires that a member is absent. null counts as present.
func compareAbsent(where string, got any, found bool) error {
	if found {
		return fmt.Errorf("%s is %s, want it absent", where, showJSON(got))
	}
	return nil
}

// compareContains requires a part of a text, or of the JSON of another value.
func compareContains(where string, got any, want string) error {
	text, ok := got.(string)
	if !ok {
		text = showJSON(got)
	}
	if !strings.Contains(text, want) {
		return fmt.Errorf("%s is %s, which does not contain %q", where, showJSON(got), want)
	}
	return nil
}

// compareCount wants so many items or members.
func compareCount(where string, got any, want int) error {
	n := -1
	switch node := got.(type) {
	case []any:
		n = len(node)
	case map[string]any:
		n = len(node)
	}
	if n != want {
		return fmt.Errorf("%s has %d members (-1: it is no array and no object), want %d", where, n, want)
	}
	return nil
}

// showJSON writes a value as JSON, cut to a readable length.
func showJSON(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 300 {
		return strings.ToValidUTF8(string(b[:300]), "") + "…"
	}
	return string(b)
}

// looseJSON reads s as JSON, or returns s itself.
func looseJSON(s string) any {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	return v
}
