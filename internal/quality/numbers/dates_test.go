package numbers

import (
	"fmt"
	"testing"
	"time"
)

// spanOf writes a place.
func spanOf(start, end int) string { return fmt.Sprintf("%d-%d", start, end) }

// Dates of ISO 8601 are read with the longest time that stands behind them.
func TestTimeAt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		size       int
		zone       bool
	}{
		{"2026-11-24", "2026-11-24T00:00:00Z", 6, false},
		{"2026-11-24T10:30", "2026-11-24T10:30:00Z", 12, false},
		{"2026-11-24 10:30", "2026-11-24T10:30:00Z", 12, false},
		{"2026-11-24T10:30:15", "2026-11-24T10:30:15Z", 15, false},
		{"2026-11-24 10:30:15 and", "2026-11-24T10:30:15Z", 15, false},
		{"2026-11-24T10:30:15Z", "2026-11-24T10:30:15Z", 16, true},
		{"2026-11-24T10:30:15.123Z.", "2026-11-24T10:30:15.123Z", 20, true},
		{"2026-11-24T10:30:15+02:00", "2026-11-24T10:30:15+02:00", 21, true},
		{"2026-11-24T10:30:15.5-08:00", "2026-11-24T10:30:15.5-08:00", 23, true},
		{"2026-11-24T10:30Z", "2026-11-24T10:30:00Z", 13, true},
		{"2026-11-24 10:30:15Z", "2026-11-24T10:30:15Z", 16, true},
		{"2026-11-24T10:30:15.", "2026-11-24T10:30:15Z", 15, false},
		{"2026-11-24T25:30", "2026-11-24T00:00:00Z", 6, false},
		{"2026-11-24T10", "2026-11-24T00:00:00Z", 6, false},
		{"2026-11-24 is", "2026-11-24T00:00:00Z", 6, false},
		{"2026-13-24", "", 0, false},
		{"2026-02-30", "", 0, false},
		{"2024-02-29", "2024-02-29T00:00:00Z", 6, false},
		{"0000-01-01", "", 0, false},
		{"2026-11-2", "", 0, false},
		{"2026-11", "", 0, false},
		{"2026-1-24-", "", 0, false},
	} {
		got, size, zone := timeAt(tt.text, 4)
		written := ""
		if size > 0 {
			written = got.Format(time.RFC3339Nano)
		}
		if written != tt.want || size != tt.size || zone != tt.zone {
			t.Errorf("%q is %s of %d bytes, zone %v; want %s of %d, zone %v", tt.text, written, size, zone, tt.want, tt.size, tt.zone)
		}
	}
	if _, size, _ := timeAt("26-11-24", 2); size != 0 {
		t.Error("a year has four digits")
	}
	if got, size, _ := timeAt("due 2026-11-24.", 8); size != 6 || got.Day() != 24 {
		t.Errorf("behind a word it is %v", got)
	}
}

// Each day of some years is read back, and a day that a month does not have is none.
func TestEachDayIsReadBack(t *testing.T) {
	t.Parallel()
	for day := time.Date(2023, 12, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2025; day = day.AddDate(0, 0, 1) {
		got, size, _ := timeAt(day.Format(time.DateOnly), 4)
		if size != 6 || !got.Equal(day) {
			t.Fatalf("%v is read as %v", day, got)
		}
		if n := dayNumber(day.AddDate(0, 0, 1)) - dayNumber(day); n != 1 {
			t.Fatalf("from %v to the next day are %d days", day, n)
		}
	}
}

// A day is one day also where the clock changes in it, and before 1970.
func TestDayNumber(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", -5*3600)
	for _, tt := range []struct {
		a, b time.Time
		want int64
	}{
		{time.Date(1970, 1, 1, 23, 59, 0, 0, time.UTC), time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC), 1},
		{time.Date(1969, 12, 31, 23, 59, 0, 0, time.UTC), time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), 1},
		{time.Date(2026, 11, 22, 0, 0, 0, 0, zone), time.Date(2026, 11, 22, 23, 59, 0, 0, zone), 0},
		{time.Date(2026, 11, 22, 23, 0, 0, 0, zone), time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC), 0},
		{time.Date(2024, 2, 28, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), 2},
		{time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 12, 31, 0, 0, 0, 0, time.UTC), 364},
	} {
		if got := dayNumber(tt.b) - dayNumber(tt.a); got != tt.want {
			t.Errorf("from %v to %v: %d days, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// Reading a date ends within its text, whatever stands there.
func FuzzTimeAt(f *testing.F) {
	f.Add("2026-11-24T10:30:15.5+02:00", 4)
	f.Add("2026-11-24T10:30:15.", 4)
	f.Fuzz(func(t *testing.T, text string, at int) {
		if at < 0 || at >= len(text) {
			return
		}
		if _, size, _ := timeAt(text, at); size < 0 || at+size > len(text) {
			t.Fatalf("%q: %d bytes at %d", text, size, at)
		}
	})
}
