package geminisim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// All dates are in the visitor's local time. Times carry whatever location now
// has, and no rule looks at it.

// dayRule finds a day at word i and says how many words name it; 0 means none.
type dayRule func(s *sentence, i int, now time.Time) (day time.Time, n int)

// dayRules in the order in which they are tried.
func dayRules() []dayRule {
	return []dayRule{
		namedDay, isoDay, monthDay, dayMonth, numericDay, weekdayDay, relativeDay, periodDay, ordinalDay, holiday,
	}
}

// findDay tries all rules at word i.
func findDay(s *sentence, i int, now time.Time) (time.Time, int) {
	for _, rule := range dayRules() {
		if day, n := rule(s, i, now); n > 0 {
			return day, n
		}
	}
	return time.Time{}, 0
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// namedDay: today, tomorrow, the day after tomorrow, as visitors spell them.
func namedDay(s *sentence, i int, now time.Time) (time.Time, int) {
	if n := s.matchAny(i, "the day after tomorrow", "day after tomorrow", "overmorrow"); n > 0 {
		return midnight(now).AddDate(0, 0, 2), n
	}
	switch s.at(i) {
	case "today", "tdy":
		return midnight(now), 1
	case "tomorrow", "tomorow", "tommorow", "tommorrow", "tmrw", "tmr", "tmw", "2morrow", "2moro":
		return midnight(now).AddDate(0, 0, 1), 1
	}
	return time.Time{}, 0
}

// isoDay: 2026-12-05.
func isoDay(s *sentence, i int, now time.Time) (time.Time, int) {
	day, err := time.ParseInLocation(time.DateOnly, s.at(i), now.Location())
	if err != nil || !plausible(day.Year()) {
		return time.Time{}, 0
	}
	return day, 1
}

// plausible says whether a number can be the year of a plan.
func plausible(year int) bool { return year >= 2000 && year < 2200 }

func month(w string) (time.Month, bool) {
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if w == name || w == name[:3] || w == "sept" && m == time.September {
			return m, true
		}
	}
	return 0, false
}

// dayNumber reads 5 or 5th; ordinal says which.
func dayNumber(w string) (n int, ordinal, ok bool) {
	digits := strings.TrimRight(w, "abcdefghijklmnopqrstuvwxyz")
	suffix := w[len(digits):]
	ordinal = slices.Contains([]string{"st", "nd", "rd", "th"}, suffix)
	n, err := strconv.Atoi(digits)
	return n, ordinal, err == nil && n >= 1 && n <= 31 && (ordinal || suffix == "")
}

// monthDay: December 5, Dec 5th 2026, December the 5th.
func monthDay(s *sentence, i int, now time.Time) (time.Time, int) {
	m, ok := month(s.at(i))
	if !ok {
		return time.Time{}, 0
	}
	k := i + 1 + s.match(i+1, "the")
	d, _, ok := dayNumber(s.at(k))
	if !ok {
		return time.Time{}, 0
	}
	return dated(s, i, k+1, m, d, now)
}

// dayMonth: 5 December, the 5th of Dec 2026.
func dayMonth(s *sentence, i int, now time.Time) (time.Time, int) {
	k := i + s.match(i, "the")
	d, _, ok := dayNumber(s.at(k))
	if !ok {
		return time.Time{}, 0
	}
	k++
	k += s.match(k, "of")
	m, ok := month(s.at(k))
	if !ok {
		return time.Time{}, 0
	}
	return dated(s, i, k+1, m, d, now)
}

// dated reads the year, if there is one, at word k and completes the date that
// began at word i. Without a year it is the next such day.
func dated(s *sentence, i, k int, m time.Month, d int, now time.Time) (time.Time, int) {
	comma := s.match(k, ",")
	if year, err := strconv.Atoi(s.at(k + comma)); err == nil && plausible(year) {
		return onlyReal(year, m, d, now), k + comma + 1 - i
	}
	day := onlyReal(now.Year(), m, d, now)
	if day.Before(midnight(now)) {
		day = onlyReal(now.Year()+1, m, d, now)
	}
	return day, k - i
}

// onlyReal returns the date, or the month's last day if the month is too short.
func onlyReal(year int, m time.Month, d int, now time.Time) time.Time {
	last := time.Date(year, m+1, 0, 0, 0, 0, 0, now.Location()).Day()
	return time.Date(year, m, min(d, last), 0, 0, 0, 0, now.Location())
}

var (
	slashed = rawPattern(`^(\d{1,2})/(\d{1,2})(?:/(\d{4}|\d{2}))?$`)
	dotted  = rawPattern(`^(\d{1,2})\.(\d{1,2})(?:\.(\d{4}|\d{2}))?$`)
)

// numericDay: 12/5/2026 (month first, unless it cannot be one) and 5.12.2026
// (day first). Without a year only after a preposition: 1/2 may be a half.
func numericDay(s *sentence, i int, now time.Time) (time.Time, int) {
	m := slashed.FindStringSubmatch(s.at(i))
	dayFirst := m == nil
	if dayFirst {
		m = dotted.FindStringSubmatch(s.at(i))
	}
	if m == nil || m[3] == "" && !slices.Contains([]string{"on", "by", "until", "till", "before", "due"}, s.at(i-1)) {
		return time.Time{}, 0
	}
	a, _ := strconv.Atoi(m[1])
	b, _ := strconv.Atoi(m[2])
	if dayFirst || a > 12 {
		a, b = b, a
	}
	if a < 1 || a > 12 || b < 1 || b > 31 {
		return time.Time{}, 0
	}
	if m[3] == "" {
		return dated(s, i, i+1, time.Month(a), b, now)
	}
	year, _ := strconv.Atoi(m[3])
	if year < 100 {
		year += 2000
	}
	if !plausible(year) {
		return time.Time{}, 0
	}
	return onlyReal(year, time.Month(a), b, now), 1
}

// ordinalDay: the 24th.
func ordinalDay(s *sentence, i int, now time.Time) (time.Time, int) {
	the := s.match(i, "the")
	d, ordinal, ok := dayNumber(s.at(i + the))
	if !ok || !ordinal || the == 0 && s.at(i-1) != "the" && !leads[s.at(i-1)] || !free(s, i+the+1) || s.at(i+the+1) == "of" {
		return time.Time{}, 0
	}
	for m := now.Month(); ; m++ {
		day := time.Date(now.Year(), m, d, 0, 0, 0, 0, now.Location())
		if day.Day() == d && !day.Before(midnight(now)) {
			return day, the + 1
		}
	}
}

// holiday: a few days that people plan for, only after a preposition: a
// Christmas tree is no date.
func holiday(s *sentence, i int, now time.Time) (time.Time, int) {
	if !slices.Contains([]string{"by", "before", "until", "till", "on", "at", "due"}, s.at(i-1)) {
		return time.Time{}, 0
	}
	for _, h := range []struct {
		name string
		m    time.Month
		d    int
	}{
		{"christmas eve", time.December, 24},
		{"christmas day", time.December, 25},
		{"christmas", time.December, 25},
		{"xmas", time.December, 25},
		{"new year's eve", time.December, 31},
		{"new year's day", time.January, 1},
		{"new year's", time.January, 1},
		{"new year", time.January, 1},
	} {
		if n := s.match(i, h.name); n > 0 && free(s, i+n) {
			day, _ := dated(s, i, i+n, h.m, h.d, now)
			return day, n
		}
	}
	return time.Time{}, 0
}
