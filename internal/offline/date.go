// This file reads dates and times of day out of English phrases. It works on the words of a
// sentence from a place on and says how many it has read, so that what is cut out is
// exactly what was understood. Everything is relative to the time of the request, in the
// visitor's zone; the next occurrence is meant where a phrase allows two.

package offline

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// date is when something is to be done, in the visitor's local time, and where a
// text says so: the words [from,to), the preposition included. A zero at is "not
// said".
type date struct {
	at       time.Time
	timed    bool // the hour counts
	anyDay   bool // an hour without a day: at is its next occurrence
	from, to int
}

// iso spells d as ISO 8601 in local time, a date alone where no hour was said.
func (d date) iso() string {
	switch {
	case d.at.IsZero():
		return ""
	case d.timed:
		return d.at.Format("2006-01-02T15:04:05")
	}
	return d.at.Format(time.DateOnly)
}

// spoken writes a date for people; the year only where it is not now's.
func (d date) spoken(now time.Time) string {
	layout := "Monday, 2 January"
	if d.at.Year() != now.Year() {
		layout += " 2006"
	}
	if d.timed {
		layout += " at 15:04"
	}
	return d.at.Format(layout)
}

// takeDate cuts the date that a text is about: of several the one that it begins
// with, else the last: buy tickets for Friday tomorrow.
func takeDate(s *sentence, now time.Time) (*sentence, date) {
	var last date
	for i := 0; i < len(s.words) && (last.to == 0 || last.from > 0); i++ {
		if d := readDate(s, i, now); !d.at.IsZero() {
			last = d
			i = d.to - 1
		}
	}
	return s.without(last.from, last.to), last
}

// readDate reads the date that starts at word i: a day and an hour, in any order.
//
// A zero at: no date begins there. Prepositions between the parts belong to the date, and
// those behind it do not.
func readDate(s *sentence, i int, now time.Time) date {
	var day time.Time
	var hour clock
	d := date{from: i, to: i}
	for {
		k := d.to
		for in("on by at for until before due around", s.at(k)) || k > i && in(", the", s.at(k)) {
			k++
		}
		c, n := readClock(s, k, !day.IsZero())
		switch {
		case n > 0 && (hour == clock{} || hour.part != c.part):
			hour = hour.and(c)
		case !day.IsZero():
			return d.complete(day, hour, now)
		default:
			if day, n = readDay(s, k, now); n == 0 {
				return d.complete(day, hour, now)
			}
		}
		d.to = k + n
	}
}

// complete sets when d is; a day that is not at midnight is a moment: in two hours.
func (d date) complete(day time.Time, hour clock, now time.Time) date {
	switch {
	case hour == clock{}:
		d.at, d.timed = day, !day.Equal(midnight(day))
		return d
	case day.IsZero():
		d.anyDay = true
		if day = now; !hour.on(now).After(now) {
			day = now.AddDate(0, 0, 1)
		}
	}
	d.at, d.timed = hour.on(day), true
	return d
}

// midnight is the begin of the day of t, in the time zone of t.
func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// monday returns the Monday of t's week.
func monday(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }

// coming returns day, or other if day has passed.
func coming(today, day, other time.Time) time.Time {
	if day.Before(today) {
		return other
	}
	return day
}

// readDay reads a day, or a moment such as "in two hours", at word i and says how
// many words name it; 0: none.
func readDay(s *sentence, i int, now time.Time) (time.Time, int) {
	today := midnight(now)
	week, month := monday(today), today.AddDate(0, 0, 1-today.Day())
	for _, named := range []struct {
		names string
		day   time.Time
	}{
		{"today", today},
		{"tomorrow|tmrw|tomorow|tommorow", today.AddDate(0, 0, 1)},
		{"the_day_after_tomorrow|day_after_tomorrow", today.AddDate(0, 0, 2)},
		{"end_of_the_week|end_of_week|this_week", coming(today, week.AddDate(0, 0, 4), week.AddDate(0, 0, 6))},
		{"end_of_the_month|end_of_month|this_month", month.AddDate(0, 1, -1)},
		{"this_weekend|the_weekend|weekend", coming(today, week.AddDate(0, 0, 5), today)},
		{"next_weekend", week.AddDate(0, 0, 12)},
		{"next_week", week.AddDate(0, 0, 7)},
		{"next_month", month.AddDate(0, 1, 0)},
	} {
		if n := s.oneOf(i, named.names); n > 0 {
			return named.day, n
		}
	}
	if day, err := time.ParseInLocation(time.DateOnly, s.at(i), now.Location()); err == nil {
		return day, 1
	}
	if s.at(i) == "in" {
		return afterSpan(s, i, now)
	}
	if day, n := calendarDay(s, i, today); n > 0 {
		return day, n
	}
	return weekdayDay(s, i, today)
}

// afterSpan: in three days, which is a day, and in two hours, which is a moment.
func afterSpan(s *sentence, i int, now time.Time) (time.Time, int) {
	n, err := strconv.Atoi(s.at(i + 1))
	if err != nil {
		n = 1 + slices.Index(strings.Fields("a two three four five six seven eight nine ten"), strings.Replace(s.at(i+1), "an", "a", 1))
	}
	if n < 1 || n > 1000 {
		return time.Time{}, 0
	}
	switch strings.TrimSuffix(s.at(i+2), "s") {
	case "minute", "min":
		return now.Add(time.Duration(n) * time.Minute).Truncate(time.Minute), 3
	case "hour":
		return now.Add(time.Duration(n) * time.Hour).Truncate(time.Minute), 3
	case "day":
		return midnight(now).AddDate(0, 0, n), 3
	case "week":
		return midnight(now).AddDate(0, 0, 7*n), 3
	case "month":
		return midnight(now).AddDate(0, n, 0), 3
	}
	return time.Time{}, 0
}

// calendarDay: December 5, Dec 5th 2026, 5 December, the 5th of Dec.
func calendarDay(s *sentence, i int, today time.Time) (time.Time, int) {
	k := i + s.oneOf(i, "the")
	dayAt, monthAt := k, k+1
	if s.at(k+1) == "of" {
		monthAt++
	}
	if month(s.at(k)) > 0 {
		monthAt, dayAt = k, k+1
	}
	m := month(s.at(monthAt))
	d, err := strconv.Atoi(strings.TrimRight(s.at(dayAt), "stndrh"))
	if m == 0 || err != nil || d < 1 || d > 31 {
		return time.Time{}, 0
	}
	k = max(dayAt, monthAt) + 1
	comma := s.oneOf(k, ",")
	if year, err := strconv.Atoi(s.at(k + comma)); err == nil && year >= 2000 && year < 2200 {
		return time.Date(year, m, d, 0, 0, 0, 0, today.Location()), k + comma + 1 - i
	}
	day := time.Date(today.Year(), m, d, 0, 0, 0, 0, today.Location())
	return coming(today, day, day.AddDate(1, 0, 0)), k - i
}

// month reads December or Dec; 0: neither.
func month(w string) time.Month {
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); w == name || w == name[:3] {
			return m
		}
	}
	return 0
}

// weekdayDay: Friday, this Friday, next Friday. "Next" is the day in the next
// week (weeks start on Monday), so on a Saturday next Monday is two days away.
func weekdayDay(s *sentence, i int, today time.Time) (time.Time, int) {
	which := s.oneOf(i, "this|next")
	w := s.at(i + which)
	isWord := in("sat sun wed", w) && !in("on by until for this next", s.at(i+which-1)) // buy sun cream
	for ahead := range 7 {
		day := today.AddDate(0, 0, ahead)
		name := strings.ToLower(day.Weekday().String())
		switch {
		case w != name && w != name[:3] || isWord || in("every each last a", s.at(i-1)):
			continue
		case s.at(i) == "next":
			day = monday(today).AddDate(0, 0, 7+(int(day.Weekday())+6)%7)
		case ahead == 0 && which == 0:
			day = today.AddDate(0, 0, 7)
		}
		return day, which + 1
	}
	return time.Time{}, 0
}

// clock is a time of day; zero: none, as nobody writes 0:00 for a plan.
type clock struct {
	hour, min int  // 24:00 is the midnight that ends the day
	part      bool // a part of the day, which an hour makes precise: tonight at 8
}

// on returns the time of day c on the day of t.
func (c clock) on(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), c.hour, c.min, 0, 0, t.Location())
}

// and makes one time of an hour and a part of the day, in either order.
//
// "Tonight at 8" and "8 tonight" are the same.
func (c clock) and(other clock) clock {
	if c == (clock{}) {
		return other
	}
	part, exact := c, other
	if other.part {
		part, exact = other, c
	}
	if exact.hour %= 12; part.hour > 12 {
		exact.hour += 12
	}
	return exact
}

// readClock reads a time of day at word i and says how many words name it.
// afterDay says that a day was named right before: Friday morning.
func readClock(s *sentence, i int, afterDay bool) (clock, int) {
	lead := s.oneOf(i, "this|in_the")
	switch name := s.at(i + lead); {
	case in("noon midday", name):
		return clock{hour: 12}, lead + 1
	case name == "midnight":
		return clock{hour: 24}, lead + 1
	case name == "tonight", name == "night" && afterDay:
		return clock{20, 0, true}, lead + 1
	case lead == 0 && !afterDay:
	case name == "morning":
		return clock{9, 0, true}, lead + 1
	case name == "afternoon":
		return clock{15, 0, true}, lead + 1
	case name == "evening":
		return clock{19, 0, true}, lead + 1
	}
	return digitalClock(s, i)
}

// digitalClock: 3pm, 3:30, 15:30, 3 p.m., and after "at" also a bare 3.
//
// Hours from 1 to 7 without a suffix are in the afternoon.
func digitalClock(s *sentence, i int) (clock, int) {
	digits := strings.TrimRight(s.at(i), "apm.")
	suffix, n := s.at(i)[len(digits):], 1
	if next := s.at(i + 1); suffix == "" && in("am pm a.m p.m", next) {
		suffix, n = next, 2
	}
	street := i+n < len(s.words) && s.span(i+n, i+n+1) != s.at(i+n) // at 5 Main Street
	if bare := !strings.Contains(digits, ":"); bare && suffix == "" && (s.at(i-1) != "at" || street) {
		return clock{}, 0
	} else if bare {
		digits += ":00"
	}
	at, err := time.Parse("15:04", digits)
	if err != nil {
		return clock{}, 0
	}
	hour := at.Hour()
	switch {
	case in("am a.m", suffix):
		hour %= 12
	case in("pm p.m", suffix), hour >= 1 && hour <= 7 && digits[0] != '0': // hardly anybody plans for four at night
		hour = hour%12 + 12
	}
	return clock{hour: hour, min: at.Minute()}, n
}
