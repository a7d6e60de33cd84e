package storetest

import (
	"strconv"
	"testing"
	"time"

	"sluice/internal/state/store"
)

// minute is a rate of 60 a minute.
func minute(key string) store.Level {
	return store.Level{Key: key, Window: time.Minute, Cost: time.Second, Need: time.Second}
}

// charge charges, and checks whether that was allowed.
func charge(t *testing.T, s store.Store, c store.Charge, ok bool) store.Charged {
	t.Helper()
	r, err := s.ChargeRates(t.Context(), c)
	must(t, err)
	if r.OK != ok || len(r.Levels) != len(c.Levels) || len(r.Counts) != len(c.Counts) || len(r.Windows) != len(c.Windows) {
		t.Fatalf("charged: %+v, want %v", r, ok)
	}
	return r
}

// checkLevel fails the test unless a level is the charge, less the time that has passed.
func checkLevel(t *testing.T, level, charged time.Duration) {
	t.Helper()
	if level > charged || level < charged-30*time.Second {
		t.Errorf("a level of %v, of %v", level, charged)
	}
}

// If requests come at once, each engine admits exactly a window of them. Levels go down with time.
func ratesHold(t *testing.T, s store.Store) {
	day := store.Level{Key: "day", Window: 24 * time.Hour, Cost: 2 * time.Hour, Need: 2 * time.Hour}
	if n := countSucceeded(30, func(int) error {
		r, err := s.ChargeRates(t.Context(), store.Charge{Levels: []store.Level{day}})
		if err == nil && !r.OK {
			err = store.ErrConflict
		}
		return err
	}); n != 12 {
		t.Errorf("%d of 30 were admitted, want 12", n)
	}
	quick := store.Level{Key: "quick", Window: short, Cost: short, Need: short}
	charge(t, s, store.Charge{Levels: []store.Level{quick}}, true)
	time.Sleep(short)
	charge(t, s, store.Charge{Levels: []store.Level{quick}}, true)
}

// One limit that does not allow a charge prevents the others. A charge that is owed is made in any
// case, up to the debt. A charge of 0 only looks.
func ratesAllOrNothing(t *testing.T, s store.Store) {
	full := store.Level{Key: "full", Window: time.Hour, Debt: time.Hour, Cost: time.Hour, Need: time.Hour}
	charge(t, s, store.Charge{Levels: []store.Level{full}}, true)
	r := charge(t, s, store.Charge{Levels: []store.Level{minute("m"), full}, Counts: []store.Count{{Key: "c", Turns: 1, Seq: 1}}}, false)
	same(t, "level of what was not charged", r.Levels[0], 0)
	checkLevel(t, r.Levels[1], time.Hour)
	look := store.Charge{Levels: []store.Level{{Key: "m", Window: time.Minute}, {Key: "full", Window: time.Hour, Debt: time.Hour}}}
	r = charge(t, s, look, true)
	same(t, "level of what was not charged", r.Levels[0], 0)
	checkLevel(t, r.Levels[1], time.Hour)
	owed := full
	owed.Cost = 3 * time.Hour
	r = charge(t, s, store.Charge{Levels: []store.Level{owed, minute("m")}, Owed: true}, true)
	checkLevel(t, r.Levels[0], 2*time.Hour)
	checkLevel(t, r.Levels[1], time.Second)
	back := store.Level{Key: "full", Window: time.Hour, Debt: time.Hour, Cost: -90 * time.Minute}
	checkLevel(t, charge(t, s, store.Charge{Levels: []store.Level{back}, Owed: true}, true).Levels[0], 30*time.Minute)
	same(t, "more than there was", charge(t, s, store.Charge{Levels: []store.Level{back}, Owed: true}, true).Levels[0], 0)
	if r = charge(t, s, look, true); r.Levels[1] != 0 {
		t.Errorf("levels %v", r.Levels)
	}
}

// A level that no charge makes, as of a limit that was greater, counts as the most from then on.
func ratesAreClamped(t *testing.T, s store.Store) {
	charge(t, s, store.Charge{Levels: []store.Level{{Key: "k", Window: 48 * time.Hour, Cost: 40 * time.Hour, Need: 1}}}, true)
	small := store.Level{Key: "k", Window: 2 * short, Cost: 1, Need: 2 * short}
	charge(t, s, store.Charge{Levels: []store.Level{small}}, false)
	time.Sleep(3 * short)
	charge(t, s, store.Charge{Levels: []store.Level{small}}, true)
}

// Counts of all living processes are added up. A process writes its true number, and the last one
// stays. The needed room can depend on the number of running turns.
func ratesCount(t *testing.T, s store.Store) {
	one, two := store.Holder{Owner: "one", Epoch: 7}, store.Holder{Owner: "two", Epoch: 1_790_000_000_001}
	must(t, s.RenewLease(t.Context(), one, long))
	must(t, s.RenewLease(t.Context(), two, long))
	count := func(of store.Holder, turns, watchers, seq, most int, ok bool) store.Running {
		t.Helper()
		return charge(t, s, store.Charge{
			Holder: of, Counts: []store.Count{{Key: "c", Turns: turns, Watchers: watchers, Seq: int64(seq), Most: most}},
			Levels: []store.Level{{Key: "tokens", Window: time.Minute, Need: 15 * time.Second, Of: 1}},
		}, ok).Counts[0]
	}
	same(t, "first", count(one, 1, 0, 1, 3, true), store.Running{Turns: 1})
	same(t, "of another", count(two, 1, 1, 1, 3, true), store.Running{Turns: 2, Watchers: 1})
	same(t, "beyond", count(one, 2, 0, 2, 3, false), store.Running{Turns: 3, Watchers: 1})
	same(t, "not counted", count(two, 1, 1, 2, 3, true), store.Running{Turns: 2, Watchers: 1})
	same(t, "any number", count(two, 3, 6, 5, 0, true), store.Running{Turns: 4, Watchers: 6})
	same(t, "for five turns there is not enough", count(two, 4, 6, 6, 0, false), store.Running{Turns: 5, Watchers: 6})
	same(t, "an older write", count(two, 1, 0, 4, 0, true), store.Running{Turns: 2})
	same(t, "which changed nothing", count(one, 1, 0, 3, 0, true), store.Running{Turns: 4, Watchers: 6})
	same(t, "ended", count(two, 0, 0, 7, 0, true), store.Running{Turns: 1})
	same(t, "an older write of what has ended", count(two, 2, 0, 6, 0, true), store.Running{Turns: 3})
	same(t, "which changed nothing", count(one, 1, 0, 4, 0, true), store.Running{Turns: 1})
}

// A process that dies takes its count along, and so does an earlier life of one.
func ratesOfTheDead(t *testing.T, s store.Store) {
	me, dead := store.Holder{Owner: "me", Epoch: 2}, store.Holder{Owner: "other", Epoch: 3}
	must(t, s.RenewLease(t.Context(), me, long))
	must(t, s.RenewLease(t.Context(), dead, long))
	count := func(of store.Holder, turns int, seq int64) store.Charge {
		return store.Charge{Holder: of, Counts: []store.Count{{Key: "c", Turns: turns, Seq: seq, Most: 3}}}
	}
	charge(t, s, count(dead, 3, 1), true)
	charge(t, s, count(me, 1, 1), false)
	must(t, s.ReleaseLease(t.Context(), dead))
	charge(t, s, count(me, 3, 2), true)
	must(t, s.RenewLease(t.Context(), store.Holder{Owner: "other", Epoch: 4}, long))
	same(t, "of the life after it", charge(t, s, count(store.Holder{Owner: "other", Epoch: 4}, 0, 1), true).Counts[0], store.Running{Turns: 3})
}

// Many that count at once agree.
func ratesOfMany(t *testing.T, s store.Store) {
	for i := range 6 {
		must(t, s.RenewLease(t.Context(), store.Holder{Owner: strconv.Itoa(i)}, long))
	}
	if n := countSucceeded(6, func(i int) error {
		r, err := s.ChargeRates(t.Context(), store.Charge{
			Holder: store.Holder{Owner: strconv.Itoa(i)}, Counts: []store.Count{{Key: "c", Turns: 2, Seq: 1, Most: 8}}, Levels: []store.Level{minute("m")},
		})
		if err == nil && !r.OK {
			err = store.ErrConflict
		}
		return err
	}); n != 4 {
		t.Errorf("%d of 6 were admitted, want 4", n)
	}
	r := charge(t, s, store.Charge{Levels: []store.Level{{Key: "m", Window: time.Minute}}}, true)
	checkLevel(t, r.Levels[0], 4*time.Second)
}

// quotaWindow is a quota per hour, with a charge of one.
func quotaWindow(key string, most int) store.Window {
	return store.Window{Key: key, Period: time.Hour, Most: most, Cost: 1}
}

// If requests come at once, exactly the quota is admitted, and all learn how long the wait is.
func windowsHold(t *testing.T, s store.Store) {
	if n := countSucceeded(30, func(int) error {
		r, err := s.ChargeRates(t.Context(), store.Charge{Windows: []store.Window{quotaWindow("w", 12)}})
		if err == nil && !r.OK {
			err = store.ErrConflict
		}
		return err
	}); n != 12 {
		t.Errorf("%d of 30 were admitted, want 12", n)
	}
	wait := func(what string, used store.Used, n int) {
		t.Helper()
		if most := time.Hour * store.WindowSpan / store.WindowParts; used.N != n || used.Wait < most-4*time.Minute || used.Wait > most {
			t.Errorf("%s: %+v, want %d", what, used, n)
		}
	}
	wait("refused", charge(t, s, store.Charge{Windows: []store.Window{quotaWindow("w", 12)}}, false).Windows[0], 12)
	same(t, "of a quota that is greater", charge(t, s, store.Charge{Windows: []store.Window{quotaWindow("w", 14)}}, true).Windows[0], store.Used{N: 13})
	wait("used up", charge(t, s, store.Charge{Windows: []store.Window{quotaWindow("w", 14)}}, true).Windows[0], 14)
	look := quotaWindow("w", 14)
	look.Cost = 0
	same(t, "a look", charge(t, s, store.Charge{Windows: []store.Window{look, {Key: "none", Period: time.Hour, Most: 1}}}, true).Windows, []store.Used{{N: 14}, {}})
}

// A full window prevents all charges, and a refused charge of another limit prevents that of the
// window. A charge that is owed is made in any case.
func windowsAllOrNothing(t *testing.T, s store.Store) {
	me := store.Holder{Owner: "me", Epoch: 1}
	must(t, s.RenewLease(t.Context(), me, long))
	full := store.Level{Key: "full", Window: time.Hour, Cost: time.Hour, Need: time.Hour}
	both := store.Charge{Levels: []store.Level{full}, Windows: []store.Window{quotaWindow("w", 1), quotaWindow("v", 5)}, Holder: me, Counts: []store.Count{{Key: "c", Turns: 1, Seq: 1}}}
	charge(t, s, both, true)
	same(t, "what a level has no room for", charge(t, s, both, false).Windows[1].N, 1)
	r := charge(t, s, store.Charge{Levels: []store.Level{minute("m")}, Windows: both.Windows, Holder: me, Counts: []store.Count{{Key: "c", Turns: 2, Seq: 2}}}, false)
	same(t, "what another window has no room for", r.Windows[1].N, 1)
	r = charge(t, s, store.Charge{Levels: []store.Level{{Key: "m", Window: time.Minute}}, Holder: store.Holder{Owner: "other"}, Counts: []store.Count{{Key: "c"}}}, true)
	same(t, "level of what was not charged", r.Levels[0], 0)
	same(t, "count of what was not charged", r.Counts[0], store.Running{Turns: 1})
	owed := quotaWindow("w", 1)
	owed.Cost = 3
	same(t, "owed", charge(t, s, store.Charge{Windows: []store.Window{owed}, Owed: true}, true).Windows[0].N, 4)
}

// A charge is free again after its period and not before, a part of it at a time.
func windowsGiveBack(t *testing.T, s store.Store) {
	const period = 400 * time.Millisecond
	quick := store.Charge{Windows: []store.Window{{Key: "w", Period: period, Most: 2, Cost: 1}}}
	began := time.Now()
	for range 6 {
		for {
			r, err := s.ChargeRates(t.Context(), quick)
			must(t, err)
			if r.OK {
				break
			}
			if r.Windows[0].Wait <= 0 || r.Windows[0].Wait > period*store.WindowSpan/store.WindowParts {
				t.Fatalf("no room, and a wait of %v", r.Windows[0].Wait)
			}
			time.Sleep(r.Windows[0].Wait + time.Millisecond)
		}
	}
	if spent := time.Since(began); spent < 2*period {
		t.Errorf("6 at 2 in %v within %v", period, spent)
	}
}
