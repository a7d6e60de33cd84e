package english

import (
	"strings"
	"testing"
	"time"
)

// dueIn reads the date of a text and what is left of it.
func dueIn(text string, now time.Time) (iso, rest string) {
	s, d := Read(text).CutDate(now)
	return d.ISO(), strings.Join(strings.Fields(s.Text()), " ")
}

func TestDates(t *testing.T) {
	t.Parallel()
	saturday := time.Date(2026, 11, 21, 11, 30, 0, 0, time.FixedZone("Europe/Berlin", 3600))
	for _, tc := range []struct{ text, due, rest string }{
		{"x today", "2026-11-21", "x"},
		{"x tomorrow", "2026-11-22", "x"},
		{"x the day after tomorrow", "2026-11-23", "x"},
		{"Tomorrow x", "2026-11-22", "x"},
		{"x on friday", "2026-11-27", "x"},
		{"x by Fri", "2026-11-27", "x"},
		{"x this friday", "2026-11-27", "x"},
		{"x next friday", "2026-11-27", "x"},
		{"x next monday", "2026-11-23", "x"},
		{"x on saturday", "2026-11-28", "x"},
		{"x this saturday", "2026-11-21", "x"},
		{"x saturday at 8am", "2026-11-28T08:00:00", "x"},
		{"x on Wed", "2026-11-25", "x"},
		{"x December 5", "2026-12-05", "x"},
		{"x on 5 Dec 2026", "2026-12-05", "x"},
		{"x 2026-12-05", "2026-12-05", "x"},
		{"x in 2 hours", "2026-11-21T13:30:00", "x"},
		{"x in an hour", "2026-11-21T12:30:00", "x"},
		{"x in three days", "2026-11-24", "x"},
		{"x in a week", "2026-11-28", "x"},
		{"x in two weeks", "2026-12-05", "x"},
		{"x next week", "2026-11-23", "x"},

		{"x at 3pm", "2026-11-21T15:00:00", "x"},
		{"x at 15:30", "2026-11-21T15:30:00", "x"},
		{"x 15:30", "2026-11-21T15:30:00", "x"},
		{"x at 9", "2026-11-22T09:00:00", "x"},
		{"x at 7", "2026-11-21T19:00:00", "x"},
		{"x at 07:00", "2026-11-22T07:00:00", "x"},
		{"x at 3:30", "2026-11-21T15:30:00", "x"},
		{"x at 12pm", "2026-11-21T12:00:00", "x"},
		{"x at noon", "2026-11-21T12:00:00", "x"},
		{"x tonight", "2026-11-21T20:00:00", "x"},
		{"x tonight at 8", "2026-11-21T20:00:00", "x"},
		{"x this evening at 9", "2026-11-21T21:00:00", "x"},
		{"x in the morning", "2026-11-22T09:00:00", "x"},
		{"x at 7 in the morning", "2026-11-22T07:00:00", "x"},
		{"x tomorrow morning at 7", "2026-11-22T07:00:00", "x"},
		{"x tomorrow night", "2026-11-22T20:00:00", "x"},
		{"x friday afternoon", "2026-11-27T15:00:00", "x"},
		{"x at 3pm tomorrow", "2026-11-22T15:00:00", "x"},
		{"x tomorrow, 3pm", "2026-11-22T15:00:00", "x"},

		{"buy tickets for Friday tomorrow", "2026-11-22", "buy tickets for Friday"},
		{"tomorrow buy tickets for Friday", "2026-11-22", "buy tickets for Friday"},
		{"prepare the trip on Monday by tomorrow", "2026-11-22", "prepare the trip on Monday"},

		{"water plants every Monday", "", "water plants every Monday"},
		{"buy sun cream", "", "buy sun cream"},
		{"call Bob at 5 Main Street", "", "call Bob at 5 Main Street"},
		{"use Monday's notes", "", "use Monday's notes"},
		{"you may call 5 people", "", "you may call 5 people"},
		{"eat 1/2 a cake", "", "eat 1/2 a cake"},
		{"pay 3.50", "", "pay 3.50"},
		{"work 3h on it", "", "work 3h on it"},
		{"wait a second", "", "wait a second"},
		{"fix version 5.12", "", "fix version 5.12"},
	} {
		if due, rest := dueIn(tc.text, saturday); due != tc.due || rest != tc.rest {
			t.Errorf("%q: due %q, rest %q; want %q, %q", tc.text, due, rest, tc.due, tc.rest)
		}
	}
}

// The rules for weeks, on each day of one.
func TestWeekdaysFromEveryDay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, due string }{ // from Monday 23 to Sunday 29 November
		{"friday", "27 27 27 27 04 04 04"},
		{"this friday", "27 27 27 27 27 04 04"},
		{"next friday", "04 04 04 04 04 04 04"},
		{"next monday", "30 30 30 30 30 30 30"},
		{"next week", "30 30 30 30 30 30 30"},
	} {
		var got []string
		for day := 23; day <= 29; day++ {
			now := time.Date(2026, 11, day, 11, 30, 0, 0, time.UTC)
			iso, _ := dueIn("x "+tc.text, now)
			got = append(got, iso[8:])
		}
		if strings.Join(got, " ") != tc.due {
			t.Errorf("%s: %v, want %s", tc.text, got, tc.due)
		}
	}
}

// Whatever is written, dates must lie in a sane range and the rest within the text.
func FuzzDates(f *testing.F) {
	for _, text := range []string{"x tomorrow at 3pm", "on 31 January", "in 9999 years", "2199-12-31 24:00", "at half past", "next week friday, 5 dec 2026 at noon", "’s 5th of Ünï", "\xff at 5"} {
		f.Add(text, int64(1_795_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix%4_000_000_000, 0).UTC()
		s := Read(text)
		for i := range s.Words {
			d, end := s.readDate(i, now)
			if d.At.IsZero() {
				continue
			}
			if end <= i || end > len(s.Words) {
				t.Fatalf("%q: the date at word %d ends at %d", text, i, end)
			}
			if y := d.At.Year(); y < 0 || y > 12200 {
				t.Errorf("%q: year %d", text, y)
			}
		}
	})
}
