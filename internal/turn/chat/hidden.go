package chat

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hidden reports whether a reader does not see r, or sees other characters in another order or on
// another line because of it: controls, format characters (bidi overrides and isolates, zero-width
// characters, the byte order mark), the line and paragraph separators, and the plane of tags and
// variation selectors, in which whole texts can hide.
func Hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7F && r <= 0x9F:
		return true
	case r < 0xAD:
		return false
	case r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// EscapeHidden returns a JSON text in which every Hidden character is written as \uXXXX, those
// beyond U+FFFF as two of them. The text means the same as before. Without such a character, json
// itself is returned. Controls outside strings are white space and stay; in valid JSON other hidden
// characters appear only in strings.
func EscapeHidden(json []byte) []byte {
	for i := 0; i < len(json); {
		if json[i] < 0x7F { // controls are escaped already, as JSON has it
			i++
			continue
		}
		r, size := utf8.DecodeRune(json[i:])
		if Hidden(r) {
			return appendEscaped(append(make([]byte, 0, len(json)+64), json[:i]...), json[i:])
		}
		i += size
	}
	return json
}

// appendEscaped writes hidden characters of a JSON text as escapes. The value stays the same, but a
// terminal or a browser cannot show it in another order.
func appendEscaped(dst, json []byte) []byte {
	for len(json) > 0 {
		r, size := utf8.DecodeRune(json)
		switch {
		case r < 0x7F || !Hidden(r):
			dst = append(dst, json[:size]...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			dst = appendUnit(appendUnit(dst, high), low)
		default:
			dst = appendUnit(dst, r)
		}
		json = json[size:]
	}
	return dst
}

// appendUnit writes one UTF-16 unit, as JSON escapes them.
func appendUnit(dst []byte, u rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[u>>12&0xF], hex[u>>8&0xF], hex[u>>4&0xF], hex[u&0xF])
}
