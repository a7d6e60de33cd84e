package chat

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// UnknownChannel is the fault of a request for a channel that does not exist.
func UnknownChannel() *FieldError {
	return &FieldError{Code: CodeUnknownValue, Message: "names no channel; GET /channels lists them"}
}

// checkChannel accepts texts of the form of a channel's name. It does not check that the channel
// exists.
func checkChannel(s string) (string, *FieldError) {
	if !isName(s, 32, "_-") || !isLower(s[0]) {
		return "", UnknownChannel()
	}
	return s, nil
}

// CheckUserName accepts 1 to MaxUserName characters, on one line: it strips all controls.
func CheckUserName(s string) (string, *FieldError) {
	s = oneLine(s)
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		return "", &FieldError{Code: CodeBlank, Message: "must hold more than white space"}
	case n > maxUserName:
		return "", &FieldError{Code: CodeTooLong, Message: "must have at most 64 characters"}
	}
	return s, nil
}

// CheckSubject accepts at most MaxSubject characters, on one line: it strips all controls.
func CheckSubject(s string) (string, *FieldError) {
	s = oneLine(s)
	if utf8.RuneCountInString(s) > maxSubject {
		return "", &FieldError{Code: CodeTooLong, Message: "must have at most 200 characters"}
	}
	return s, nil
}

// CheckTitle accepts 1 to 200 characters, on one line: it strips all controls.
func CheckTitle(s string) (string, *FieldError) {
	s = TitleLine(s)
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		return "", &FieldError{Code: CodeBlank, Message: "must hold more than white space"}
	case n > maxTitle:
		return "", &FieldError{Code: CodeTooLong, Message: "must have at most 200 characters"}
	}
	return s, nil
}

// TitleLine returns a text on one line, without controls and without marks that turn the direction
// of the text: next to other titles these would turn theirs too.
func TitleLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' {
			return -1
		}
		return r
	}, oneLine(s)))
}

// oneLine makes spaces of line breaks and tabs, and leaves out whatever else a reader does
// not see.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t', r == '\u2028', r == '\u2029':
			return ' '
		case isControl(r):
			return -1
		}
		return r
	}, s))
}

// CheckLocale accepts a tag of the form of BCP 47.
func CheckLocale(s string) (string, *FieldError) {
	if !languageTag.MatchString(s) || len(s) > maxLocale {
		return "", &FieldError{Code: CodeInvalidFormat, Message: "must be a language tag such as en or pt-BR"}
	}
	return s, nil
}

const maxLocale = 35 // RFC 5646, section 4.4.1

// languageTag is the shape of a tag (RFC 5646, section 2.1) of any length; whether there is such a
// language is not asked.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,8}(-[0-9A-Za-z]{1,8})*$`)
