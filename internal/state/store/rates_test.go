package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shelf is one transaction's view of an engine, in a map.
type shelf struct {
	texts map[string]string
	kept  map[string]time.Duration
	dead  map[string]bool
}

func newShelf() *shelf {
	return &shelf{map[string]string{}, map[string]time.Duration{}, map[string]bool{}}
}

func (s *shelf) Text(key string) (string, error) { return s.texts[key], nil }
func (s *shelf) PutText(key, text string, ttl time.Duration) error {
	s.texts[key], s.kept[key] = text, ttl
	return nil
}
func (s *shelf) Alive(h Holder) (bool, error) { return !s.dead[h.Owner], nil }

// charge applies a charge that must be possible or not.
func (s *shelf) charge(t *testing.T, c Charge, now time.Time, want bool) Charged {
	t.Helper()
	got, err := c.Apply(s, now)
	if err != nil || got.OK != want {
		t.Fatalf("%+v: %+v, %v, want %v", c, got, err, want)
	}
	return got
}

// perMinute is a rate of sixty a minute, of which one is asked for.
func perMinute(key string) Level {
	return Level{Key: key, Window: time.Minute, Cost: time.Second, Need: time.Second}
}

// A window is admitted at once, then one a second, and a refusal charges nothing of any limit.
func TestChargesAreAllOrNothing(t *testing.T) {
	t.Parallel()
	s, now := newShelf(), time.Unix(1_800_000_000, 0)
	narrow := Level{Key: "narrow", Window: 2 * time.Second, Cost: time.Second, Need: time.Second}
	both := Charge{Levels: []Level{perMinute("wide"), narrow}}
	s.charge(t, both, now, true)
	s.charge(t, both, now, true)
	before := s.texts["wide"]
	s.charge(t, both, now, false)
	if s.texts["wide"] != before {
		t.Error("a refused charge has charged the wide limit")
	}
	s.charge(t, both, now.Add(time.Second), true)
	wide := Charge{Levels: []Level{perMinute("wide")}}
	for range 58 {
		s.charge(t, wide, now.Add(time.Second), true)
	}
	got := s.charge(t, wide, now.Add(time.Second), false)
	if diff := cmp.Diff([]time.Duration{time.Minute}, got.Levels); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	s.charge(t, wide, now.Add(2*time.Second), true)
}

// What was used already is charged in any case, up to the debt; and given back it is there again.
func TestDebtAndGivingBack(t *testing.T) {
	t.Parallel()
	s, now := newShelf(), time.Unix(1_800_000_000, 0)
	used := Charge{Levels: []Level{{Key: "t", Window: time.Minute, Debt: time.Minute, Cost: time.Hour}}, Owed: true}
	if got := s.charge(t, used, now, true); got.Levels[0] != 2*time.Minute {
		t.Errorf("a level of %v", got.Levels[0])
	}
	s.charge(t, Charge{Levels: []Level{perMinute("t")}}, now.Add(time.Minute), false)
	s.charge(t, Charge{Levels: []Level{perMinute("t")}}, now.Add(time.Minute+time.Second), true)
	back := Charge{Levels: []Level{{Key: "t", Window: time.Minute, Cost: -time.Hour}}}
	if got := s.charge(t, back, now.Add(time.Minute), true); got.Levels[0] != 0 || s.kept["t"] <= 0 {
		t.Errorf("given back: %v, kept for %v", got.Levels[0], s.kept["t"])
	}
	// A clock that was set back leaves no level above what there can be.
	s.charge(t, used, now.Add(time.Hour), true)
	if got := s.charge(t, Charge{Levels: []Level{{Key: "t", Window: time.Minute, Debt: time.Minute}}}, now, true); got.Levels[0] != 2*time.Minute {
		t.Errorf("after the clock was set back: %v", got.Levels[0])
	}
}

// Counts are those of all that live; a process's own are what it says last, whatever overtakes it.
func TestCountsOfProcesses(t *testing.T) {
	t.Parallel()
	s, now := newShelf(), time.Unix(1_800_000_000, 0)
	says := func(owner string, turns, watchers int, seq int64, most int) Charge {
		return Charge{Holder: Holder{owner, 1}, Counts: []Count{{Key: "c", Turns: turns, Watchers: watchers, Seq: seq, Most: most}}}
	}
	s.charge(t, says("a", 2, 1, 1, 5), now, true)
	if got := s.charge(t, says("b:x", 1, 1, 1, 5), now, true); got.Counts[0] != (Running{3, 2}) {
		t.Errorf("both: %+v", got.Counts[0])
	}
	s.charge(t, says("b:x", 2, 1, 2, 5), now, false)
	s.charge(t, says("a", 1, 1, 3, 0), now, true)
	s.charge(t, says("a", 9, 9, 2, 0), now, true) // an older write comes late
	if got := s.charge(t, says("b:x", 1, 1, 3, 5), now, true); got.Counts[0] != (Running{2, 2}) {
		t.Errorf("after an older write: %+v", got.Counts[0])
	}
	s.dead["a"] = true
	if got := s.charge(t, says("b:x", 0, 0, 4, 5), now, true); got.Counts[0] != (Running{}) || s.kept["c"] != KeepZero {
		t.Errorf("a is gone: %+v, kept for %v", got.Counts[0], s.kept["c"])
	}
	s.texts["c"] = "something else"
	s.charge(t, says("b:x", 1, 0, 5, 1), now, true)
	// There must be room for each turn that runs.
	room := says("b:x", 3, 0, 6, 0)
	room.Levels = []Level{{Key: "r", Window: time.Minute, Need: 21 * time.Second, Of: 1}}
	s.charge(t, room, now, false)
	room.Levels[0].Need = 20 * time.Second
	s.charge(t, room, now, true)
}

// A holder is read back from its name, whatever is in it; other texts name none.
func TestNamesOfHolders(t *testing.T) {
	t.Parallel()
	for _, h := range []Holder{{"a", 1}, {"", 0}, {"b:x", 1 << 53}, {"é:2:3", 7}} {
		if got, ok := holderOf(h.countName()); !ok || got != h {
			t.Errorf("%+v becomes %q and %+v, %v", h, h.countName(), got, ok)
		}
	}
	for _, name := range []string{"", "a", "a:", "a:x", "a:1.5"} {
		if got, ok := holderOf(name); ok {
			t.Errorf("%q names %+v", name, got)
		}
	}
}

// Whatever a provider's periods are, none has more than the quota, and the quota is used as far as it
// goes; what is admitted is what the wait says.
func TestWindows(t *testing.T) {
	t.Parallel()
	s, now := newShelf(), time.Unix(1_800_000_000, 123)
	c := Charge{Windows: []Window{{Key: "w", Period: time.Minute, Most: 7, Cost: 1}}}
	var at []time.Time
	end := now.Add(10 * time.Minute)
	for step := 0; now.Before(end); step++ {
		r, err := c.Apply(s, now)
		if err != nil || r.Windows[0].N > 7 {
			t.Fatalf("%+v, %v", r, err)
		}
		if !r.OK {
			if early, _ := c.Apply(s, now.Add(r.Windows[0].Wait-1)); early.OK {
				t.Fatal("there is room before the time")
			}
			now = now.Add(r.Windows[0].Wait)
			continue
		}
		if at = append(at, now); len(at) > 7 && now.Sub(at[len(at)-8]) < time.Minute+time.Minute/20 {
			t.Fatalf("eight calls within %v", now.Sub(at[len(at)-8]))
		}
		now = now.Add(time.Duration(step%5) * 800 * time.Millisecond)
	}
	if want := 7 * 9; len(at) < want {
		t.Errorf("%d calls in ten minutes, want %d at least", len(at), want)
	}
	if kept := s.kept["w"]; kept < time.Minute || kept > 65*time.Second {
		t.Errorf("kept for %v", kept)
	}
}

// What was charged before the clock was set back counts from now on, and for no longer than a period.
func TestWindowsAndAClockThatMoves(t *testing.T) {
	t.Parallel()
	s, now := newShelf(), time.Unix(1_800_000_000, 0)
	c := Charge{Windows: []Window{{Key: "w", Period: time.Minute, Most: 2, Cost: 1}}}
	s.charge(t, c, now, true)
	s.charge(t, c, now, true)
	now = now.Add(-48 * time.Hour)
	if got := s.charge(t, c, now, false).Windows[0]; got.N != 2 || got.Wait > 65*time.Second {
		t.Errorf("back by two days: %+v", got)
	}
	s.charge(t, c, now.Add(time.Minute), false)
	s.charge(t, c, now.Add(65*time.Second), true)
	s.charge(t, c, now.Add(30*24*time.Hour), true)
	s.texts["w"] = "something else"
	s.charge(t, c, now.Add(30*24*time.Hour), true)
}
