package geminisim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// unit is a unit of time that visitors name.
type unit int

const (
	minutes unit = iota + 1
	hours
	days
	weeks
	months
	years
)

func unitOf(w string) unit {
	switch strings.TrimSuffix(w, "s") {
	case "minute", "min", "m":
		return minutes
	case "hour", "hr", "h":
		return hours
	case "day", "d":
		return days
	case "week", "wk", "w":
		return weeks
	case "month":
		return months
	case "year", "yr":
		return years
	}
	return 0
}

// span is a length of time: 2 hours, a week.
type span struct {
	n    int
	unit unit
}

// after returns t plus the span. timed says whether the hour is part of it: in
// two hours is a moment, in two days is a day.
func (sp span) after(t time.Time) (at time.Time, timed bool) {
	switch sp.unit {
	case minutes:
		return t.Add(time.Duration(sp.n) * time.Minute).Truncate(time.Minute), true
	case hours:
		return t.Add(time.Duration(sp.n) * time.Hour).Truncate(time.Minute), true
	case days:
		return t.AddDate(0, 0, sp.n), false
	case weeks:
		return t.AddDate(0, 0, 7*sp.n), false
	case months:
		first := time.Date(t.Year(), t.Month()+time.Month(sp.n), 1, 0, 0, 0, 0, t.Location())
		day := onlyReal(first.Year(), first.Month(), t.Day(), t)
		return day.Add(t.Sub(midnight(t))), false
	}
	return t.AddDate(sp.n, 0, 0), false
}

// numberWord reads a count: 3, three, a, an.
func numberWord(w string) (int, bool) {
	if n, err := strconv.Atoi(w); err == nil && n > 0 && n < 10000 {
		return n, true
	}
	if w == "a" || w == "an" {
		return 1, true
	}
	names := []string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	if i := slices.Index(names, w); i >= 0 {
		return i + 1, true
	}
	tens := []string{"ten", "twenty", "thirty", "forty", "fifty", "sixty"}
	if i := slices.Index(tens, w); i >= 0 {
		return 10 * (i + 1), true
	}
	return 0, false
}

var compactSpan = rawPattern(`^(\d{1,4})(m|min|mins|h|hr|hrs|d|w|wk)$`)

// findSpan reads a length of time at word i: 2 hours, half an hour, a couple of
// days, 30min. n is how many words it has; 0 means none.
func findSpan(s *sentence, i int) (sp span, n int) {
	if n := s.matchAny(i, "half an hour", "half hour"); n > 0 {
		return span{30, minutes}, n
	}
	if s.at(i) == "fortnight" || s.match(i, "a fortnight") > 0 {
		return span{2, weeks}, 1 + s.match(i, "a")
	}
	if m := compactSpan.FindStringSubmatch(s.at(i)); m != nil {
		count, _ := strconv.Atoi(m[1])
		return span{count, unitOf(m[2])}, 1
	}
	k, count := i, 0
	switch {
	case s.matchAny(i, "a couple of", "the next couple of") > 0:
		k, count = i+s.matchAny(i, "a couple of", "the next couple of"), 2
	case s.match(i, "a few") > 0:
		k, count = i+2, 3
	default:
		c, ok := numberWord(s.at(i))
		if !ok {
			return span{}, 0
		}
		k, count = i+1, c
		k += s.match(k, "more")
	}
	u := unitOf(s.at(k))
	if u == 0 || len(s.at(k)) == 1 {
		return span{}, 0
	}
	return span{count, u}, k + 1 - i
}

// relativeDay: in three days, two weeks from now. Minutes and hours are moments,
// see findMoment.
func relativeDay(s *sentence, i int, now time.Time) (time.Time, int) {
	sp, n := relativeSpan(s, i)
	if n == 0 || sp.unit < days {
		return time.Time{}, 0
	}
	day, _ := sp.after(midnight(now))
	return day, n
}

// findMoment: in two hours, 30 minutes from now.
func findMoment(s *sentence, i int, now time.Time) (time.Time, int) {
	sp, n := relativeSpan(s, i)
	if n == 0 || sp.unit >= days {
		return time.Time{}, 0
	}
	at, _ := sp.after(now)
	return at, n
}

func relativeSpan(s *sentence, i int) (span, int) {
	if in := s.matchAny(i, "in", "within", "in about", "in the next"); in > 0 {
		if about := s.matchAny(i, "in about", "in the next"); about > 0 {
			in = about
		}
		if sp, n := findSpan(s, i+in); n > 0 {
			return sp, in + n
		}
		return span{}, 0
	}
	sp, n := findSpan(s, i)
	if n == 0 {
		return span{}, 0
	}
	if m := s.matchAny(i+n, "from now", "from today"); m > 0 {
		return sp, n + m
	}
	return span{}, 0
}

// periodDay: next week (its Monday), this week (its end), the weekend, end of
// the month and the like.
func periodDay(s *sentence, i int, now time.Time) (time.Time, int) {
	today := midnight(now)
	thisFriday := monday(today).AddDate(0, 0, 4)
	if today.After(thisFriday) {
		thisFriday = monday(today).AddDate(0, 0, 6)
	}
	endOfMonth := time.Date(now.Year(), now.Month()+1, 0, 0, 0, 0, 0, now.Location())
	for _, p := range []struct {
		day      time.Time
		patterns []string
	}{
		{thisFriday, []string{"the end of the week", "end of the week", "end of week", "end of this week", "eow", "this week"}},
		{endOfMonth, []string{"the end of the month", "end of the month", "end of month", "end of this month", "eom", "this month"}},
		{endOfMonth.AddDate(0, 0, 1).AddDate(0, 1, -1), []string{"the end of next month", "end of next month"}},
		{monday(today).AddDate(0, 0, 11), []string{"the end of next week", "end of next week"}},
		{time.Date(now.Year(), 12, 31, 0, 0, 0, 0, now.Location()), []string{"the end of the year", "end of the year", "end of year", "year end", "this year"}},
		{saturday(today), []string{"this weekend", "the weekend", "at the weekend", "weekend"}},
		{saturday(today.AddDate(0, 0, 7)), []string{"next weekend"}},
		{monday(today).AddDate(0, 0, 7), []string{"next week"}},
		{endOfMonth.AddDate(0, 0, 1), []string{"next month"}},
		{time.Date(now.Year()+1, 1, 1, 0, 0, 0, 0, now.Location()), []string{"next year"}},
	} {
		if n := s.matchAny(i, p.patterns...); n > 0 && free(s, i+n) {
			return p.day, n
		}
	}
	return time.Time{}, 0
}

// saturday returns the Saturday of today's week, or today on a Sunday, when the
// weekend is on already.
func saturday(today time.Time) time.Time {
	if today.Weekday() == time.Sunday {
		return today
	}
	return monday(today).AddDate(0, 0, 5)
}
