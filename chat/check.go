package chat

import (
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/check"
)

// The rules for the parts of a Request, for anyone who builds one from another
// protocol. Each function returns the value cleaned, or a fault without the field,
// which ValidationError.Add gives its place.

// CheckInput wants 1 to MaxInput characters that are more than white space. It
// strips control characters, but for tab, LF and CR.
func CheckInput(s string) (string, *FieldError) {
	s = stripControl(s)
	switch {
	case blank(s):
		return s, &FieldError{Code: CodeBlank, Message: "must hold more than white space"}
	case utf8.RuneCountInString(s) > maxInput:
		return s, &FieldError{Code: CodeTooLong, Message: "must have at most 5000 characters"}
	}
	return s, nil
}

// CheckConversationID wants a UUID, or conv_ and a short id.
func CheckConversationID(s string) (string, *FieldError) {
	if !validConversationID(s) {
		return "", &FieldError{Code: CodeInvalidFormat, Message: "must be a UUID, or conv_ and 1 to 64 of A-Z a-z 0-9 _ -"}
	}
	return s, nil
}

// CheckUserID wants at most MaxUserID characters, after control characters are
// stripped as from an input.
func CheckUserID(s string) (string, *FieldError) {
	s = stripControl(s)
	if utf8.RuneCountInString(s) > maxUserID {
		return "", &FieldError{Code: CodeTooLong, Message: "must have at most 256 characters"}
	}
	return s, nil
}

// CheckTimezone wants a name that check.Location knows.
func CheckTimezone(s string) (*time.Location, *FieldError) {
	loc, ok := check.Location(s)
	if !ok {
		return nil, &FieldError{Code: CodeInvalidFormat, Message: "must be an IANA time zone name such as Europe/Berlin"}
	}
	return loc, nil
}

// CheckJSON wants a well-formed value to be strict inside: no duplicate key at any
// depth, no invalid UTF-8, no lone surrogate.
func CheckJSON(value jsontext.Value) *FieldError {
	switch {
	case value.IsValid():
		return nil
	case value.IsValid(jsontext.AllowDuplicateNames(true)):
		return twice()
	}
	return notUTF8()
}

// twice is the fault of an object that has a key twice.
func twice() *FieldError {
	return &FieldError{Code: CodeDuplicateKey, Message: "holds an object with a duplicate key"}
}

// notUTF8 is the fault of text that is none.
func notUTF8() *FieldError {
	return &FieldError{Code: CodeInvalidUTF8, Message: "holds invalid UTF-8 or a lone surrogate"}
}
