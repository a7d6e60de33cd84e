package chat

import (
	"bytes"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/check"
)

// maxPlace bounds the place of a fault within a value, in bytes.
const maxPlace = 128

// The rules for the parts of a Request, for anyone who builds one from another
// protocol. Each function returns the value cleaned, or a fault without the field,
// which ValidationError.Add gives its place.

// CheckInput accepts 1 to MaxInput characters that are more than white space. It strips control
// characters, but for tab, LF and CR.
func CheckInput(s string) (string, *FieldError) {
	s = stripControl(s)
	switch {
	case isBlank(s):
		return s, &FieldError{Code: CodeBlank, Message: "must hold more than white space"}
	case utf8.RuneCountInString(s) > maxInput:
		return s, &FieldError{Code: CodeTooLong, Message: "must have at most 5000 characters"}
	}
	return s, nil
}

// CheckConversationID accepts a UUID, or conv_ and a short id.
func CheckConversationID(s string) (string, *FieldError) {
	if !validConversationID(s) {
		return "", &FieldError{Code: CodeInvalidFormat, Message: "must be a UUID, or conv_ and 1 to 64 of A-Z a-z 0-9 _ -"}
	}
	return s, nil
}

// CheckUserID accepts at most MaxUserID characters, after control characters are stripped as from
// an input.
func CheckUserID(s string) (string, *FieldError) {
	s = stripControl(s)
	if utf8.RuneCountInString(s) > maxUserID {
		return "", &FieldError{Code: CodeTooLong, Message: "must have at most 256 characters"}
	}
	return s, nil
}

// CheckTimezone accepts a name that check.Location knows.
func CheckTimezone(s string) (*time.Location, *FieldError) {
	loc, ok := check.Location(s)
	if !ok {
		return nil, &FieldError{Code: CodeInvalidFormat, Message: "must be an IANA time zone name such as Europe/Berlin"}
	}
	return loc, nil
}

// CheckJSON accepts a well-formed value that is strict inside: without duplicate keys at any depth,
// invalid UTF-8, and lone surrogates. The fault has its place within the value, as far as a reply
// may repeat that: /1/content of an array of messages.
func CheckJSON(value jsontext.Value) *FieldError {
	if value.IsValid() {
		return nil
	}
	_, err := jsontext.NewDecoder(bytes.NewBuffer(value)).ReadValue()
	var at jsontext.Pointer
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = e.JSONPointer
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return &FieldError{Field: repeatablePlace(at.Parent()), Code: CodeDuplicateKey, Message: "holds an object with a duplicate key"}
	}
	return &FieldError{Field: repeatablePlace(at), Code: CodeInvalidUTF8, Message: "holds invalid UTF-8 or a lone surrogate"}
}

// repeatablePlace returns the beginning of a pointer that a reply may repeat. A client must not
// choose its length or put control characters in it.
func repeatablePlace(at jsontext.Pointer) string {
	place := ""
	for name := range at.Tokens() {
		next := pointerTo(name)
		if next == "" || strings.ContainsRune(next, utf8.RuneError) || len(place)+len(next) > maxPlace {
			break
		}
		place += next
	}
	return place
}
