package todo

import (
	"regexp"
	"testing"
	"time"
)

func TestParseDue(t *testing.T) {
	t.Parallel()
	at := func(year int, month time.Month, day, hour, minute, second int) int64 {
		return time.Date(year, month, day, hour, minute, second, 0, time.UTC).Unix()
	}
	afternoon := at(2026, 11, 22, 15, 0, 0)
	tests := []struct {
		text string
		want due
	}{
		{"", due{}},
		{" \n", due{}},
		{"2026-11-22", due{"2026-11-22", false, at(2026, 11, 22, 23, 59, 59)}},
		{" 2028-02-29 ", due{"2028-02-29", false, at(2028, 2, 29, 23, 59, 59)}},
		{"2026-11-22T15:00", due{"2026-11-22T15:00:00", false, afternoon}},
		{"2026-11-22T15:00:00", due{"2026-11-22T15:00:00", false, afternoon}},
		{"2026-11-22T15:00:00.999", due{"2026-11-22T15:00:00", false, afternoon}},
		{"2026-11-22T15:00Z", due{"2026-11-22T15:00:00Z", true, afternoon}},
		{"2026-11-22T15:00:00.000Z", due{"2026-11-22T15:00:00Z", true, afternoon}},
		{"2026-11-22T15:00:00+00:00", due{"2026-11-22T15:00:00Z", true, afternoon}},
		{"2026-11-22T15:00-05:30", due{"2026-11-22T15:00:00-05:30", true, at(2026, 11, 22, 20, 30, 0)}},
		{"2026-11-22T00:30:00+02:00", due{"2026-11-22T00:30:00+02:00", true, at(2026, 11, 21, 22, 30, 0)}},
	}
	for _, test := range tests {
		got, err := parseDue(test.text)
		if err != nil || got != test.want {
			t.Errorf("parseDue(%q) = %+v, %v, want %+v", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{
		"tomorrow", "22.11.2026", "11/22/2026", "20261122", "2026-11", "2026-W47-7", "15:00", "2026-11-22 15:00", "2026-11-22T",
		"2026-11-22T15", "2026-11-22T24:00", "2026-11-22T15:60", "2026-11-22T15:00:00 Z", "2026-11-22T15:00:00+25:00",
		"2026-11-22Z", "2026-13-01", "2026-02-30", "12026-11-22", "-2026-11-22", "2026-11-22T15:00:00ZZ",
	} {
		if got, err := parseDue(text); err == nil {
			t.Errorf("parseDue(%q) = %+v, want an error", text, got)
		}
	}
}

// Whatever is accepted has a canonical form, which says the same.
func FuzzParseDue(f *testing.F) {
	for _, seed := range []string{"2026-11-22", "2026-11-22T15:00", "2026-11-22T15:00:00.5Z", "2026-11-22T9:00:00-12:45", "0000-01-01T00:00+23:59", "9999-12-31", "today"} {
		f.Add(seed)
	}
	canonical := regexp.MustCompile(`^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)?)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDue(text)
		if err != nil || d == (due{}) {
			return
		}
		if !canonical.MatchString(d.text) {
			t.Fatalf("parseDue(%q) has the canonical form %q", text, d.text)
		}
		again, err := parseDue(d.text)
		if err != nil || again != d {
			t.Fatalf("parseDue(%q) = %+v, but parseDue(%q) = %+v, %v", text, d, d.text, again, err)
		}
		if at, err := time.Parse(time.RFC3339, d.text); d.instant && (err != nil || at.Unix() != d.seconds) {
			t.Fatalf("parseDue(%q) = %+v, which RFC 3339 reads as %v, %v", text, d, at, err)
		}
	})
}
