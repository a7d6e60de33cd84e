package english

import (
	"testing"
	"time"
)

func TestDatesAreWritten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 11, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		date        Date
		iso, spoken string
	}{
		{Date{now, true}, "2026-11-21T11:30:00", "Saturday, 21 November at 11:30"},
		{Date{now, false}, "2026-11-21", "Saturday, 21 November"},
		{Date{now.AddDate(1, 0, 0), false}, "2027-11-21", "Sunday, 21 November 2027"},
		{Date{now.AddDate(-1, 0, 0), true}, "2025-11-21T11:30:00", "Friday, 21 November 2025 at 11:30"},
	} {
		if got := tt.date.ISO(); got != tt.iso {
			t.Errorf("ISO: %s, want %s", got, tt.iso)
		}
		if got := tt.date.Spoken(now); got != tt.spoken {
			t.Errorf("spoken: %s, want %s", got, tt.spoken)
		}
	}
	if got := (Date{}).ISO(); got != "" {
		t.Errorf("no date is written as %q", got)
	}
}

// Days begin and weeks begin in the zone of the time, also where the clock was changed.
func TestDaysAndWeeksBegin(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, tt := range []struct{ now, midnight, monday string }{
		{"2026-11-21T23:59", "2026-11-21T00:00:00+01:00", "2026-11-16T00:00:00+01:00"},
		{"2026-11-16T00:00", "2026-11-16T00:00:00+01:00", "2026-11-16T00:00:00+01:00"},
		{"2026-11-22T12:00", "2026-11-22T00:00:00+01:00", "2026-11-16T00:00:00+01:00"},
		{"2026-10-25T12:00", "2026-10-25T00:00:00+02:00", "2026-10-19T00:00:00+02:00"},
		{"2026-10-27T12:00", "2026-10-27T00:00:00+01:00", "2026-10-26T00:00:00+01:00"},
	} {
		now, err := time.ParseInLocation("2006-01-02T15:04", tt.now, berlin)
		if err != nil {
			t.Fatal(err)
		}
		if got := Midnight(now).Format(time.RFC3339); got != tt.midnight {
			t.Errorf("%s: the day begins %s, want %s", tt.now, got, tt.midnight)
		}
		if got := Monday(now).Format(time.RFC3339); got != tt.monday {
			t.Errorf("%s: the week begins %s, want %s", tt.now, got, tt.monday)
		}
	}
}

// Dates without a year are the next ones, and spans have bounds.
func TestDatesAtTheEdges(t *testing.T) {
	t.Parallel()
	newYear := time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"x on January 1":     "2027-01-01",
		"x on December 31":   "2026-12-31",
		"x on 30 December":   "2027-12-30",
		"x on 29 Feb 2028":   "2028-02-29",
		"x on 30 Feb 2028":   "",
		"x in 45 minutes":    "2027-01-01T00:15:00",
		"x in 1000 days":     "2029-09-26",
		"x in 1001 days":     "",
		"x in 0 days":        "",
		"x in seven weeks":   "2027-02-18",
		"x in eight weeks":   "",
		"x in two months":    "",
		"x at 23:30":         "2027-01-01T23:30:00",
		"x at 23:31":         "2026-12-31T23:31:00",
		"x at 7:59":          "2027-01-01T19:59:00",
		"x today at 7:59":    "2026-12-31T19:59:00",
		"x today at 8:00":    "2026-12-31T08:00:00",
		"x today at 08:00":   "2026-12-31T08:00:00",
		"x tomorrow at 1":    "2027-01-01T13:00:00",
		"x tomorrow at 0:30": "2027-01-01T00:30:00",
		"x at noon tomorrow": "2027-01-01T12:00:00",
		"x at 11 tonight":    "2027-01-01T23:00:00",
		"x every Friday":     "",
		"x last Friday":      "",
		"x a Friday":         "",
		"x tomorrow until 5": "2027-01-01",
	} {
		if got, _ := dueIn(text, newYear); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
