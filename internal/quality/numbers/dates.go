// This file reads dates and times in the form of ISO 8601. monthNear reads those in words.

package numbers

import (
	"strings"
	"time"
)

// timeAt reads the date whose first separator is at a place, with a time if the text has one. size
// is its length from there, or 0 without a date.
//
// hasZone says that it names a zone, or Z.
func timeAt(text string, at int) (t time.Time, size int, hasZone bool) {
	from := at - 4
	if from < 0 {
		return t, 0, false
	}
	for _, layout := range [...]string{"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		local, hasZone := strings.CutSuffix(layout, "Z07:00")
		end := from + len(local)
		if end > len(text) {
			continue
		}
		if hasZone {
			end = zoneEnd(text, end)
		}
		if t, err := time.Parse(layout, text[from:end]); err == nil && t.Year() > 0 {
			return t, end - at, hasZone
		}
	}
	return t, 0, false
}

// zoneEnd returns the end of a fraction and a zone: .123Z, +02:00.
func zoneEnd(text string, at int) int {
	rest := text[at:]
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		rest = strings.TrimLeft(fraction, "0123456789")
	}
	end := len(text) - len(rest)
	switch {
	case strings.HasPrefix(rest, "Z"):
		return end + 1
	case len(rest) >= len("+02:00") && (rest[0] == '+' || rest[0] == '-'):
		return end + len("+02:00")
	}
	return end
}

// isDigitByte reports whether c is a digit of ASCII.
func isDigitByte(c byte) bool { return '0' <= c && c <= '9' }
