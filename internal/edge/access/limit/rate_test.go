package limit

import (
	"testing"
	"testing/quick"
	"time"

	"sluice/internal/edge/access"
)

// Whatever the rate, a burst of it fits into its window, and no window is longer than a day.
func TestCompile(t *testing.T) {
	t.Parallel()
	fits := func(n uint32, unit uint8) bool {
		r := access.Rate{Quota: access.Quota{N: int(n%1_000_000_000) + 1, Unit: access.Unit(access.Units[int(unit)%len(access.Units)])}}
		for _, afterwards := range []bool{false, true} {
			g := newGCRA(r, afterwards)
			if g.one < 1 || g.window < g.one || g.window > int64(24*time.Hour) || g.remainingAt(0) != r.Quota.N || g.remainingAt(g.window) != 0 || (g.debt > 0) != afterwards {
				return false
			}
		}
		return true
	}
	if err := quick.Check(fits, nil); err != nil {
		t.Error(err)
	}
	if !fits(0, 3) || !fits(999_999_999, 0) || !fits(999_999_999, 3) {
		t.Error("the least or the greatest rate")
	}
}

// Of what comes at once exactly a burst is admitted, and what is left is always a whole number.
func TestBurst(t *testing.T) {
	t.Parallel()
	for _, r := range []access.Rate{
		{Quota: access.Quota{N: 60, Unit: 'm'}}, {Quota: access.Quota{N: 7, Unit: 's'}}, {Quota: access.Quota{N: 1, Unit: 'd'}}, {Quota: access.Quota{N: 997, Unit: 'h'}}, {Quota: access.Quota{N: 60, Unit: 'm'}, Burst: 5}, {Quota: access.Quota{N: 1, Unit: 'h'}, Burst: 40},
	} {
		g, tat, n := newGCRA(r, false), int64(0), 0
		want := r.Quota.N
		if r.Burst > 0 {
			want = r.Burst
		}
		for level := int64(0); g.waitFor(level, g.one) == 0; level = g.levelAt(tat, 0) {
			tat = g.charge(level, g.one, 0)
			n++
			if left := g.remainingAt(g.levelAt(tat, 0)); left != want-n {
				t.Fatalf("%v: %d are left after %d", r, left, n)
			}
		}
		if n != want {
			t.Errorf("%v: %d at once, want %d", r, n, want)
		}
		wait := g.waitFor(g.levelAt(tat, 0), g.one)
		if g.waitFor(g.levelAt(tat, int64(wait)-1), g.one) == 0 || g.waitFor(g.levelAt(tat, int64(wait)), g.one) != 0 {
			t.Errorf("%v: not admitted exactly after %v", r, wait)
		}
		if every := r.Quota.Unit.Length() / time.Duration(r.Quota.N); wait > every || wait < every-2*time.Duration(r.Quota.N) {
			t.Errorf("%v: the next one waits %v, of %v", r, wait, every)
		}
	}
}

// However requests come, no time has more than its rate and one burst, and what keeps to the
// rate is never refused.
func TestRateHolds(t *testing.T) {
	t.Parallel()
	holds := func(n uint16, unit uint8, gaps []uint32) bool {
		r := access.Rate{Quota: access.Quota{N: int(n)%500 + 1, Unit: access.Unit(access.Units[int(unit)%len(access.Units)])}}
		g := newGCRA(r, false)
		var now, tat int64
		admitted := 0
		for _, gap := range gaps {
			now += int64(gap) % (2 * g.one)
			if level := g.levelAt(tat, now); g.waitFor(level, g.one) == 0 {
				tat = g.charge(level, g.one, now)
				admitted++
			}
		}
		return int64(admitted) <= int64(r.Quota.N)+now/g.one+1
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
	g := newGCRA(access.Rate{Quota: access.Quota{N: 7, Unit: 's'}, Burst: 1}, false)
	tat := int64(0)
	for now := int64(0); now < int64(time.Minute); now += int64(time.Second)/7 + 1 {
		level := g.levelAt(tat, now)
		if wait := g.waitFor(level, g.one); wait > 0 {
			t.Fatalf("one that keeps to the rate waits %v", wait)
		}
		tat = g.charge(level, g.one, now)
	}
}

// What is charged afterwards leaves a debt of at most one window.
func TestDebt(t *testing.T) {
	t.Parallel()
	g := newGCRA(access.Rate{Quota: access.Quota{N: 100, Unit: 'm'}}, true)
	tat := g.charge(0, g.cost(130), 0)
	if got := g.levelAt(tat, 0); got != int64(78*time.Second) {
		t.Errorf("130 of 100 are a level of %v", time.Duration(got))
	}
	for _, n := range []int{1 << 20, 1 << 40, 1 << 62} {
		if got := g.levelAt(g.charge(0, g.cost(n), 0), 0); got != int64(2*time.Minute) {
			t.Errorf("%d of 100 are a level of %v", n, time.Duration(got))
		}
	}
	if got := g.levelAt(int64(time.Hour), 0); got != int64(2*time.Minute) {
		t.Errorf("a level that no charge makes counts as %v", time.Duration(got))
	}
}
