package tool

import (
	"strings"
	"unicode/utf8"
)

// Clean makes s, a text of a tool or of its server, fit to be shown, logged and given to a model.
// It replaces invalid UTF-8. It drops controls other than tab, LF and CR, and characters that
// reorder or hide text (bidi overrides and isolates, tags).
func Clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexFunc(s, isUnfit) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isUnfit(r) {
			return -1
		}
		return r
	}, s)
}

// isUnfit reports whether a character must not appear in texts of tools. These are controls, marks
// that change the direction of text, and tags, which are invisible and can carry instructions.
func isUnfit(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return false
	case r < 0x20, r >= 0x7F && r <= 0x9F:
		return true
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

// clipText returns at most n bytes of s, with a mark if that is not all.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
