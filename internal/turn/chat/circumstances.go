package chat

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/jsonparts"
)

// Bounds of Request.Context.
const (
	maxContext      = 16  // entries
	maxContextValue = 256 // code points, after control characters are stripped
)

// isName accepts 1 to most characters of a-z and 0-9, and, from the second on, of marks.
func isName(s string, most int, marks string) bool {
	for i, c := range []byte(s) {
		if !isLower(c) && !isDigit(c) && (i == 0 || strings.IndexByte(marks, c) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// UnknownAgent is the fault of a request for an agent that does not exist.
func UnknownAgent() *FieldError {
	return &FieldError{Code: CodeUnknownValue, Message: "names no agent; GET /agents lists them"}
}

// checkAgent accepts texts of the form of an agent's id. It does not check that the agent exists.
func checkAgent(s string) (string, *FieldError) {
	if !isName(s, 64, "_-") {
		return "", UnknownAgent()
	}
	return s, nil
}

// readContext reads the members of an object that is well formed: CheckJSON has seen
// it.
func readContext(object jsontext.Value, e *ValidationError) (entries []ContextEntry) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	_, _ = dec.ReadToken()
	for n := 0; dec.PeekKind() == '"'; n++ {
		if n == maxContext {
			e.addFault("/context", CodeTooLong, fmt.Sprintf("must have at most %d entries", maxContext))
			return nil
		}
		key, _ := dec.ReadValue()
		name, _ := jsonparts.Unquote(key)
		value, _ := dec.ReadValue()
		if wrong := checkEntry(name, value); wrong != nil {
			at := "/context"
			if p := pointerTo(name); p != "" {
				at += p
			}
			e.addOne(at, wrong.Code, wrong.Message)
			continue
		}
		text, _ := jsonparts.Unquote(value)
		entries = append(entries, ContextEntry{name, stripControl(text)})
	}
	return entries
}

// isReserved reports whether a name is a member of a task's metadata, in which the context entries
// stand too.
func isReserved(name string) bool {
	switch name {
	case "routing", "turns", "quality", "workflow", "kind":
		return true
	}
	return false
}

// checkEntry returns the fault of one entry of the context, or nil.
func checkEntry(name string, value jsontext.Value) *FieldError {
	switch {
	case !isName(name, 32, "_") || !isLower(name[0]):
		return &FieldError{Code: CodeInvalidFormat, Message: "a name must be a-z, then up to 31 of a-z 0-9 _"}
	case isReserved(name):
		return &FieldError{Code: CodeNameTaken, Message: "is a name that the gateway uses itself"}
	case value.Kind() != '"':
		return &FieldError{Code: CodeWrongType, Message: "must be a string"}
	}
	text, _ := jsonparts.Unquote(value)
	if utf8.RuneCountInString(stripControl(text)) > maxContextValue {
		return &FieldError{Code: CodeTooLong, Message: "must have at most 256 characters"}
	}
	return nil
}
