// This file reads dates and times in evidence and makes the numbers of which an answer may
// say them: 2026-11-24T15:00Z is backed as 24, 11, 2026, 3 and 15.00, and in the reader's
// own time zone as well. Dates in words are read by monthNear.

package check

import (
	"strconv"
	"strings"
	"time"
)

// instants adds the dates and times that a text names as in ISO 8601 and RFC 3339.
//
// It finds separators and looks around them, so that a text without dates costs one search.
func (e *evidence) instants(text string, r *result) {
	for at := 0; at+5 <= len(text); {
		i := strings.IndexAny(text[at:], "-:")
		if i < 0 {
			return
		}
		at += i
		t, size, hasZone := timeAt(text, at)
		if size == 0 {
			at++
			continue
		}
		e.instant(t, size > len("-01-02"), hasZone, r)
		at += size
	}
}

// timeAt reads the date or time of which the first separator is at a place. size is how
// far it reaches from there; 0: there is none.
//
// A time alone is of the year 0. hasZone says that it names a zone, or Z.
func timeAt(text string, at int) (t time.Time, size int, hasZone bool) {
	if text[at] == ':' {
		if at < 1 || at+3 > len(text) {
			return t, 0, false
		}
		start := max(0, at-2)
		if !isDigitByte(text[start]) {
			start++
		}
		h, errH := strconv.Atoi(text[start:at])
		m, errM := strconv.Atoi(text[at+1 : at+3])
		if errH != nil || errM != nil || h < 0 || h > 24 || m < 0 || m > 59 {
			return t, 0, false
		}
		return time.Date(0, 1, 1, h, m, 0, 0, time.UTC), 3, false
	}
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

// instant adds a time, as it is written and as a clock beside the reader shows it. In the
// year 0 it is a time of any day.
//
// A time without a zone is taken for one of the reader's. r may be nil: then only the
// numbers are noted.
func (e *evidence) instant(t time.Time, hasClock, hasZone bool, r *result) {
	if r != nil && len(r.instants) < maxInstants {
		at := t
		if !hasZone {
			at = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, e.zone)
		}
		r.instants = append(r.instants, at)
	}
	if t.Year() > 0 {
		e.date(t)
	}
	if hasClock || t.Year() == 0 {
		e.clock(t.Hour(), t.Minute())
	}
	if hasZone {
		local := t.In(e.zone)
		e.date(local)
		e.clock(local.Hour(), local.Minute())
	}
}

// date adds the numbers of a date in any order and form.
func (e *evidence) date(t time.Time) {
	y, m, d := t.Date()
	for _, n := range [...]int{y, y % 100, int(m), d} {
		e.keys[strconv.Itoa(n)] = true
	}
	ds, ms := strconv.Itoa(d), strconv.Itoa(int(m))
	for _, form := range [...]string{ds + "." + ms, two(d) + "." + two(int(m))} {
		e.keys["="+form] = true
	}
	e.dates[day{int(m), d}] = true
}

// clock notes a time of day in the forms in which an answer may write it, of 24
// and of 12 hours.
func (e *evidence) clock(h, m int) {
	twelve := (h+11)%12 + 1
	for _, n := range [...]int{h, m, twelve} {
		e.keys[strconv.Itoa(n)] = true
	}
	for _, n := range [...]int{h, twelve} {
		e.keys["="+strconv.Itoa(n)+"."+two(m)] = true
		e.keys["="+two(n)+"."+two(m)] = true
	}
}

// two writes two digits.
func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// apart says whether two of the instants of a result, or one and now, are so many minutes
// apart, as rounded. Days are counted by the calendar.
//
// x is compared in the unit of minutes (60 for hours), with tolerance in that unit.
func (e *evidence) apart(r *result, x, minutes, tolerance float64) bool {
	all := r.instants
	if !e.now.IsZero() {
		all = append(all[:len(all):len(all)], e.now)
	}
	for i, a := range all {
		for _, b := range all[:i] {
			span := a.Sub(b).Minutes()
			if minutes >= 1440 {
				span = float64(dayNumber(a.In(e.zone))-dayNumber(b.In(e.zone))) * 1440
			}
			if near := max(span, -span) / minutes; near >= x-tolerance && near <= x+tolerance {
				return true
			}
		}
	}
	return false
}

// yearsAgo says whether a number of a result is a year, and x years ago or ahead.
func (e *evidence) yearsAgo(r *result, x float64) bool {
	year := float64(e.now.Year())
	for _, v := range r.values {
		if v >= 1000 && v <= 2999 && (year-v == x || v-year == x) {
			return true
		}
	}
	return false
}

// dayNumber counts days, so that the difference of two is exact across changes
// of the clock.
func dayNumber(t time.Time) int64 {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400
}
