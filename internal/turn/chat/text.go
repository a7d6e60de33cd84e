package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stripControl removes C0 and C1 controls and DEL, but keeps tab, LF and CR.
func stripControl(s string) string {
	if !hasControl(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, s)
}

// hasControl goes by bytes, without decoding code points: U+0080 to U+009F are C2 80 to
// C2 9F, and in UTF-8 a byte C2 only ever begins a code point.
func hasControl(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x20 && c != '\t' && c != '\n' && c != '\r', c == 0x7F:
			return true
		case c == 0xC2 && i+1 < len(s) && s[i+1] >= 0x80 && s[i+1] <= 0x9F:
			return true
		}
	}
	return false
}

// isControl reports whether a character is stripped from what users send: the controls of ASCII and
// Latin-1 except for tab and line ends.
func isControl(r rune) bool {
	switch r {
	case '\t', '\n', '\r':
		return false
	}
	return r < 0x20 || r >= 0x7F && r <= 0x9F
}

// isBlank reports whether nothing would be left of s without white space, as Unicode has it.
func isBlank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) }) < 0
}

// validConversationID accepts a UUID in its usual form of 36 characters, any
// version, either case; or conv_ and a short id.
func validConversationID(s string) bool {
	if rest, ok := strings.CutPrefix(s, "conv_"); ok {
		return len(rest) >= 1 && len(rest) <= maxConversationID && strings.IndexFunc(rest, notIDChar) < 0
	}
	return IsUUID(s)
}

// IsUUID reports whether s is a UUID in its usual form of 36 characters, any version, either case.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

// notIDChar reports whether r cannot stand in an id that clients choose.
func notIDChar(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
}

// isHex reports whether c is a hexadecimal digit.
func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// Token reports whether s has lo to hi characters, all of [A-Za-z0-9._-].
func Token(s string, lo, hi int) bool {
	return len(s) >= lo && len(s) <= hi && strings.IndexFunc(s, func(r rune) bool { return r != '.' && notIDChar(r) }) < 0
}

// isLonger reports whether s has more than limit code points, without counting all of a text that
// is far longer.
func isLonger(s string, limit int) bool {
	return len(s) > limit && (len(s) > utf8.UTFMax*limit || utf8.RuneCountInString(s) > limit)
}

// Truncate cuts s to at most limit bytes, between two code points.
func Truncate(s string, limit int) (head string, cut bool) {
	if len(s) <= limit {
		return s, false
	}
	for limit > 0 && s[limit]&0xC0 == 0x80 {
		limit--
	}
	return s[:limit], true
}

// Clip returns at most limit bytes of s, and a mark if that is not all. It is for texts in a log.
func Clip(s string, limit int) string {
	head, cut := Truncate(s, limit)
	if cut {
		head += "…"
	}
	return head
}

// Line makes of s a text for one line: without control characters, with spaces for
// line ends and tabs, trimmed, and at most limit bytes.
func Line(s string, limit int) string {
	head, _ := Truncate(s, 4*limit) // the rest need not be looked at
	head = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, head))
	head, _ = Truncate(head, limit)
	return head
}
