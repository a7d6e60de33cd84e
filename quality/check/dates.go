// This file reads dates and times in the form of ISO 8601. Those in words are read by monthNear.

package check

import (
	"strings"
	"time"
)

// timeAt reads the date of which the first separator is at a place, with a time if there is
// one. size is how far it reaches from there; 0: there is none.
//
// hasZone says that it names a zone, or Z.
func timeAt(text string, at int) (t time.Time, size int, hasZone bool) {
	if at < 4 || at+6 > len(text) {
		return t, 0, false
	}
	for _, layout := range [...]string{"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		length := len(layout)
		hasZone = strings.HasSuffix(layout, "Z07:00")
		if hasZone {
			length -= len("Z07:00")
		}
		if at-4+length > len(text) {
			continue
		}
		end := at - 4 + length
		if hasZone {
			end = zoneEnd(text, end)
		}
		if t, err := time.Parse(layout, text[at-4:end]); err == nil && t.Year() > 0 {
			return t, end - at, hasZone
		}
	}
	return t, 0, false
}

// zoneEnd returns the end of a fraction and a zone: .123Z, +02:00.
func zoneEnd(text string, at int) int {
	if at < len(text) && text[at] == '.' {
		for at++; at < len(text) && isDigitByte(text[at]); at++ {
		}
	}
	switch {
	case at < len(text) && text[at] == 'Z':
		return at + 1
	case at+6 <= len(text) && (text[at] == '+' || text[at] == '-'):
		return at + 6
	}
	return at
}

// isDigitByte says whether c is a digit of ASCII.
func isDigitByte(c byte) bool { return '0' <= c && c <= '9' }
