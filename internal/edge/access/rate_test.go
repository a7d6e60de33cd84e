package access

import (
	"testing"
	"time"
)

func TestQuota(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Quota{
		"1/s": {1, 's'}, "60/m": {60, 'm'}, "5/h": {5, 'h'}, "1000000000/d": {1_000_000_000, 'd'},
	} {
		var got Quota
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%q is read as %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "60", "/m", "60/", "0/m", "-1/m", "+1/m", "060/m", "1.5/m", "60 /m", "60/ m", "60/min", "60/M", "60/w", "1000000001/d", "99999999999999999999/s", "6_0/m", "60/m/m", "٣/m"} {
		var got Quota
		if err := got.UnmarshalText([]byte(text)); err == nil || got != (Quota{}) {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	if (Quota{}).String() != "" {
		t.Error("no quota has a text")
	}
	for unit, want := range map[Unit]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour} {
		if unit.Length() != want {
			t.Errorf("%c is %v", unit, unit.Length())
		}
	}
}

// What is read is written as it was, and bounded; what is not changes nothing.
func FuzzRate(f *testing.F) {
	for _, text := range []string{"60/m", "1/s", "1000000000/d", "", "/", "0/s", "9999999999/h", "60/µ"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var q Quota
		switch err := q.UnmarshalText([]byte(text)); {
		case err != nil && q != (Quota{}):
			t.Fatalf("%q is refused and read as %v", text, q)
		case err == nil && (q.String() != text || q.N < 1 || q.N > maxQuota):
			t.Fatalf("%q is read as %v", text, q)
		}
	})
}
