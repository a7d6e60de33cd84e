package geminisim

import "time"

// dueBuilder puts a date together from the days and hours that stand in a row.
type dueBuilder struct {
	now    time.Time
	day    time.Time // zero: none yet
	kind   dayKind
	clock  *clockTime // nil: none yet
	moment time.Time  // set: complete in itself, as in two hours
}

// dayKind says what a day was named by, as some names go together: Friday, 27
// November; Friday next week.
type dayKind int

const (
	plainDay    dayKind = iota
	bareWeekday         // Friday
	nextWeek            // next week
	calendarDay         // 27 November, the 24th
)

func kindOf(s *sentence, i, n int) dayKind {
	if s.match(i, "next week") == n {
		return nextWeek
	}
	if _, _, ok := weekday(s.at(i)); ok && n == 1 {
		return bareWeekday
	}
	for k := i; k < i+n; k++ {
		if _, _, ok := dayNumber(s.at(k)); ok {
			return calendarDay
		}
	}
	return plainDay
}

// take reads a day, an hour or a moment at word i, if the date still lacks it,
// and returns how many words it took.
func (b *dueBuilder) take(s *sentence, i int) int {
	if !b.moment.IsZero() {
		return 0
	}
	if n := b.takeMoment(s, i); n > 0 {
		return n
	}
	if n := b.takeClock(s, i); n > 0 {
		return n
	}
	return b.takeDay(s, i)
}

func (b *dueBuilder) takeMoment(s *sentence, i int) int {
	if !b.day.IsZero() || b.clock != nil {
		return 0
	}
	for _, layout := range []string{"2006-01-02t15:04", "2006-01-02t15:04:05"} {
		if at, err := time.ParseInLocation(layout, s.at(i), b.now.Location()); err == nil && plausible(at.Year()) {
			b.moment = at
			return 1
		}
	}
	at, n := findMoment(s, i, b.now)
	if n > 0 {
		b.moment = at
	}
	return n
}

func (b *dueBuilder) takeClock(s *sentence, i int) int {
	c, n := findClock(s, i, !b.day.IsZero())
	if n == 0 || b.clock != nil && b.clock.rough == c.rough {
		return 0
	}
	if b.clock != nil {
		c = refine(*b.clock, c)
	}
	b.clock = &c
	if first := s.at(i); b.day.IsZero() && (first == "tonight" || first == "this") {
		b.day = midnight(b.now)
	}
	return n
}

// refine makes one time of a part of the day and an hour, in either order:
// tonight at 8, at 7 in the morning.
func refine(a, b clockTime) clockTime {
	part, exact := a, b
	if b.rough {
		part, exact = b, a
	}
	switch {
	case part.hour > 12 && exact.hour < 12:
		exact.hour += 12
	case part.hour < 12 && exact.hour > 12:
		exact.hour -= 12
	}
	return exact
}

func (b *dueBuilder) takeDay(s *sentence, i int) int {
	if !b.day.IsZero() && b.kind != bareWeekday && b.kind != nextWeek {
		return 0
	}
	day, n := findDay(s, i, b.now)
	if n == 0 {
		return 0
	}
	kind := kindOf(s, i, n)
	switch {
	case b.kind == bareWeekday && kind == nextWeek:
		day = sameWeekday(day, b.day)
	case b.kind == nextWeek && kind == bareWeekday:
		day = sameWeekday(b.day, day)
	case !b.day.IsZero() && (b.kind != bareWeekday || kind != calendarDay):
		return 0
	}
	if !b.day.IsZero() {
		kind = plainDay // complete
	}
	b.day, b.kind = day, kind
	return n
}

// sameWeekday returns the day of the week that begins with monday on the weekday of d.
func sameWeekday(monday, d time.Time) time.Time {
	return monday.AddDate(0, 0, (int(d.Weekday())+6)%7)
}

// due returns what was put together.
func (b *dueBuilder) due() due {
	switch {
	case !b.moment.IsZero():
		return due{at: b.moment, timed: true}
	case b.clock == nil:
		return due{at: b.day}
	case b.day.IsZero():
		at := b.clock.on(b.now)
		if !at.After(b.now) {
			at = at.AddDate(0, 0, 1)
		}
		return due{at: at, timed: true, anyDay: true}
	}
	if today := b.clock.on(b.now); b.kind == bareWeekday && b.day.Weekday() == b.now.Weekday() && today.After(b.now) {
		return due{at: today, timed: true}
	}
	return due{at: b.clock.on(b.day), timed: true}
}

// on returns the time of day c on the day of t.
func (c clockTime) on(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), c.hour, c.min, 0, 0, t.Location())
}
