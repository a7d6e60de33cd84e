package todo

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// due says when a todo is due. The zero value is "never".
//
// A model mostly writes a day or a time without an offset. Those mean the reading of a clock on the
// user's wall, wherever that is. So they are kept as wall-clock readings and compared with one;
// only a time with an offset is an instant.
type due struct {
	// text is the canonical form: 2026-11-22, 2026-11-22T15:00:00,
	// 2026-11-22T15:00:00Z or 2026-11-22T15:00:00+02:00.
	text string
	// instant reports whether text has an offset.
	instant bool
	// seconds is the moment after which the todo is overdue, counted from 1970. For a day it is its
	// last second. Without an offset it is counted as if in UTC.
	seconds int64
}

// parseDue reads an ISO 8601 day or time, in the extended form, minutes being
// precise enough. A fraction of a second is dropped. Blank text is the zero due.
func parseDue(text string) (due, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return due{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return due{text: day.Format(time.DateOnly), seconds: day.AddDate(0, 0, 1).Unix() - 1}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if wall, err := time.Parse(layout, text); err == nil {
			return due{text: wall.Format("2006-01-02T15:04:05"), seconds: wall.Unix()}, nil
		}
		if at, err := time.Parse(layout+"Z07:00", text); err == nil {
			return due{text: at.Format(time.RFC3339), instant: true, seconds: at.Unix()}, nil
		}
	}
	return due{}, fmt.Errorf("%s is not ISO 8601; write 2026-11-22 or 2026-11-22T15:00:00", quoteShort(text))
}

// moment is one point in time in both of the measures a due can have.
type moment struct {
	wall    int64 // the wall clock's reading, in seconds as if in UTC
	instant int64 // seconds since 1970
}

// momentOf returns t as its own location's wall clock sees it.
func momentOf(t time.Time) moment {
	_, offset := t.Zone()
	return moment{wall: t.Unix() + int64(offset), instant: t.Unix()}
}

// dueFilter selects the todos that are due from one moment up to, not including,
// another.
type dueFilter struct {
	from, to moment
	// pendingOnly leaves out completed todos, because they are never overdue.
	pendingOnly bool
}

// parseDueFilter reads the words today, tomorrow, this_week (Monday to Sunday)
// and overdue, or a day, as seen at now in now's location.
func parseDueFilter(text string, now time.Time) (dueFilter, error) {
	switch text {
	case "today":
		return daysFilter(now, 0, 1), nil
	case "tomorrow":
		return daysFilter(now, 1, 1), nil
	case "this_week":
		sinceMonday := (int(now.Weekday()) + 6) % 7
		return daysFilter(now, -sinceMonday, 7), nil
	case "overdue":
		past := moment{wall: math.MinInt64, instant: math.MinInt64}
		return dueFilter{from: past, to: momentOf(now), pendingOnly: true}, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, now.Location())
	if err != nil {
		return dueFilter{}, fmt.Errorf("%s is not a filter; write today, tomorrow, this_week, overdue or a day such as 2026-11-22", quoteShort(text))
	}
	return daysFilter(day, 0, 1), nil
}

// daysFilter returns the filter for count whole days, the first of them skip days after
// t's. Days are counted on the calendar: one can have 23 or 25 hours.
func daysFilter(t time.Time, skip, count int) dueFilter {
	year, month, day := t.Date()
	midnight := func(skip int) moment {
		return momentOf(time.Date(year, month, day+skip, 0, 0, 0, 0, t.Location()))
	}
	return dueFilter{from: midnight(skip), to: midnight(skip + count)}
}
