// This file reads dates and times of day out of English phrases. It works on the words of a
// sentence from a place on and returns how many it has read, so that only understood words are cut
// out. Everything is relative to the time of the request, in the user's zone; the next occurrence
// is meant where a phrase allows two.

package english

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Date is when something is to be done, in the user's local time. A zero At is "not said".
type Date struct {
	At    time.Time
	Timed bool // the hour counts
}

// ISO spells d as ISO 8601 in local time, a date alone where no hour was said.
func (d Date) ISO() string {
	switch {
	case d.At.IsZero():
		return ""
	case d.Timed:
		return d.At.Format("2006-01-02T15:04:05")
	}
	return d.At.Format(time.DateOnly)
}

// Spoken writes a date for people; the year only where it is not now's.
func (d Date) Spoken(now time.Time) string {
	layout := "Monday, 2 January"
	if d.At.Year() != now.Year() {
		layout += " 2006"
	}
	if d.Timed {
		layout += " at 15:04"
	}
	return d.At.Format(layout)
}

// Midnight is when the day of t begins, in the time zone of t.
func Midnight(t time.Time) time.Time { return minuteOf(t, 0) }

// minuteOf returns a minute of the day of t.
func minuteOf(t time.Time, minute int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, minute, 0, 0, t.Location())
}

// Monday returns the Monday of t's week. A week begins on Monday.
func Monday(t time.Time) time.Time { return Midnight(t).AddDate(0, 0, -(int(t.Weekday())+6)%7) }

// CutDate cuts the date that a text is about: of several the one that it begins
// with, else the last: buy tickets for Friday tomorrow.
func (s *Sentence) CutDate(now time.Time) (*Sentence, Date) {
	var last Date
	from, to := 0, 0
	for i := 0; i < len(s.Words) && (to == 0 || from > 0); i++ {
		if d, end := s.readDate(i, now); end > i {
			last, from, to = d, i, end
			i = end - 1
		}
	}
	return s.Without(from, to), last
}

// readDate reads the date that starts at word i, a day and an hour in any order, and says where it
// ends; i: none begins there. Prepositions before its parts belong to it.
func (s *Sentence) readDate(i int, now time.Time) (Date, int) {
	var day time.Time
	var hour clock
	end := i
	for {
		k := end
		for In("on by at for until before due", s.At(k)) || k > i && In(", the", s.At(k)) {
			k++
		}
		if c, n := s.readClock(k, !day.IsZero()); n > 0 && (hour == clock{} || hour.part != c.part) {
			hour, end = hour.combineWith(c), k+n
		} else if d, n := s.readDay(k, now); n > 0 && day.IsZero() {
			day, end = d, k+n
		} else {
			break
		}
	}
	switch {
	case hour == clock{}: // a day that is not at midnight is a moment: in two hours
		return Date{day, !day.Equal(Midnight(day))}, end
	case day.IsZero():
		if day = now; !minuteOf(now, hour.minute).After(now) {
			day = now.AddDate(0, 0, 1)
		}
	}
	return Date{minuteOf(day, hour.minute), true}, end
}

// readDay reads a day, or a moment such as "in two hours", at word i. It returns the number of its
// words, or 0.
func (s *Sentence) readDay(i int, now time.Time) (time.Time, int) {
	today := Midnight(now)
	for _, named := range []struct {
		names string
		day   time.Time
	}{
		{"today", today},
		{"tomorrow", today.AddDate(0, 0, 1)},
		{"the_day_after_tomorrow|day_after_tomorrow", today.AddDate(0, 0, 2)},
		{"next_week", Monday(today).AddDate(0, 0, 7)},
	} {
		if n := s.oneOf(i, named.names); n > 0 {
			return named.day, n
		}
	}
	if day, n := s.inMonth(i, today); n > 0 {
		return day, n
	}
	if s.At(i) == "in" {
		return s.afterSpan(i, now)
	}
	return s.readWeekday(i, today)
}

// afterSpan reads spans: "in three days" is a day, and "in two hours" a moment.
func (s *Sentence) afterSpan(i int, now time.Time) (time.Time, int) {
	n, err := strconv.Atoi(s.At(i + 1))
	if err != nil {
		n = 1 + slices.Index(strings.Fields("a two three four five six seven"), strings.Replace(s.At(i+1), "an", "a", 1))
	}
	if n < 1 || n > 1000 {
		return time.Time{}, 0
	}
	unit := strings.TrimSuffix(s.At(i+2), "s")
	if minutes := map[string]int{"minute": 1, "hour": 60}[unit]; minutes > 0 {
		return now.Add(time.Duration(n*minutes) * time.Minute).Truncate(time.Minute), 3
	}
	if days := map[string]int{"day": 1, "week": 7}[unit]; days > 0 {
		return Midnight(now).AddDate(0, 0, n*days), 3
	}
	return time.Time{}, 0
}

// inMonth reads a date with the name of its month, or as ISO 8601 has it.
func (s *Sentence) inMonth(i int, today time.Time) (time.Time, int) {
	for _, layout := range []string{time.DateOnly, "2 January 2006", "2 Jan 2006", "2 January", "2 Jan", "January 2", "Jan 2"} {
		n := 1 + strings.Count(layout, " ")
		day, err := time.ParseInLocation(layout, s.Span(i, i+n), today.Location())
		if err != nil {
			continue
		}
		if day.Year() == 0 { // not said: the next one
			if day = day.AddDate(today.Year(), 0, 0); day.Before(today) {
				day = day.AddDate(1, 0, 0)
			}
		}
		return day, n
	}
	return time.Time{}, 0
}

// readWeekday: Friday, this Friday, next Friday. "Next" is the day in the next
// week (weeks start on Monday), so on a Saturday next Monday is two days away.
func (s *Sentence) readWeekday(i int, today time.Time) (time.Time, int) {
	which := s.oneOf(i, "this|next")
	w, before := s.At(i+which), s.At(i+which-1)
	for ahead := range 8 {
		day := today.AddDate(0, 0, ahead)
		name := strings.ToLower(day.Weekday().String())
		short := w == name[:3] && In("on by until for this next", before) // buy sun cream
		switch {
		case w != name && !short || ahead == 0 && which == 0 || In("every each last a", s.At(i-1)):
			continue
		case s.At(i) == "next":
			day = Monday(today).AddDate(0, 0, 7+(int(day.Weekday())+6)%7)
		}
		return day, which + 1
	}
	return time.Time{}, 0
}

// clock is a time of day. Zero stands for a missing time, because hardly anybody plans for 0:00.
type clock struct {
	minute int  // of the day
	part   bool // a part of the day; an hour makes it precise: tonight at 8
}

// combineWith makes one time of an hour and a part of the day, in either order.
func (c clock) combineWith(other clock) clock {
	if c == (clock{}) {
		return other
	}
	if c.part {
		c, other = other, c
	}
	return clock{minute: c.minute%720 + other.minute/720*720}
}

// readClock reads a time of day at word i. It returns the number of its words, or 0. afterDay says
// that a day was named right before: Friday morning.
func (s *Sentence) readClock(i int, afterDay bool) (clock, int) {
	lead := s.oneOf(i, "this|in_the")
	w := s.At(i + lead)
	part := map[string]int{"morning": 9, "noon": 12, "afternoon": 15, "evening": 19, "night": 20, "tonight": 20}[w]
	if part > 0 && (lead > 0 || afterDay || In("noon tonight", w)) {
		return clock{60 * part, true}, lead + 1
	}
	return s.readDigital(i)
}

// readDigital: 3pm, 3:30 pm, 15:30, and after "at" also a bare 3.
//
// Hours from 1 to 7 without a suffix are in the afternoon: hardly anybody plans for four at night.
func (s *Sentence) readDigital(i int) (clock, int) {
	for _, layout := range []string{"3:04 pm", "3 pm", "3:04pm", "3pm", "15:04", "15"} {
		n := 1 + strings.Count(layout, " ")
		at, err := time.Parse(layout, strings.ToLower(s.Span(i, i+n)))
		street := s.Span(i+1, i+2) != s.At(i+1) // at 5 Main Street
		if err != nil || layout == "15" && (s.At(i-1) != "at" || street) {
			continue
		}
		minute := 60*at.Hour() + at.Minute()
		if early := minute >= 60 && minute < 480 && s.At(i)[0] != '0'; early && layout[0] == '1' {
			minute += 720
		}
		return clock{minute: minute}, n
	}
	return clock{}, 0
}
