package limit

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/edge/access"
	"sluice/internal/state/store"
)

// slowAda is ada by a credential of another class.
var slowAda = Subject{User: ada.User, Tenant: ada.Tenant, Class: "slow"}

// twoPlans are the limits of a user with two credentials.
func twoPlans(t *testing.T) Spec {
	return Spec{
		User:    &Limit{Requests: rate(t, "600/d"), Streams: 2, Tokens: []access.Rate{rate(t, "1000000/d")}},
		Classes: map[string]Limit{"slow": {Requests: rate(t, "1/h"), Streams: 2, Tokens: []access.Rate{rate(t, "5000/m")}}},
	}
}

// A second credential of another class gives nothing back of a limit that is used up, in one process
// and in a store. Streams count for both together.
func TestClassesGiveEachOtherNothingBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for name, l := range map[string]*Limiter{"alone": New(Config{Spec: twoPlans(t)}), "shared": w.gateway("one", Config{Spec: twoPlans(t)})} {
			if n := admit(t, l, ada, Turn, 700); n != 600 {
				t.Fatalf("%s: %d of 600", name, n)
			}
			settled()
			for range 5 {
				_ = l.Check(slowAda, Turn)
				if a, err := l.Admit(t.Context(), slowAda, Turn); err == nil {
					a.Tokens(1_000_000)
					a.End()
				}
				settled()
				if n := admit(t, l, ada, Turn, 9); n != 0 {
					t.Errorf("%s: %d beyond the limit", name, n)
				}
			}
			one, two := begin(t, l, Subject{User: bob.User, Tenant: bob.Tenant}, Turn), begin(t, l, Subject{User: bob.User, Tenant: bob.Tenant, Class: "slow"}, Turn)
			if got := refused(t, l, bob, Turn); len(got) != 1 || got[0] != "user-streams" {
				t.Errorf("%s: a third stream of two: %v", name, got)
			}
			one.End()
			two.End()
		}
	})
}

// A look changes no level, whatever plan it looks by.
func TestALookChangesNoLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 9))
		l := New(Config{Spec: Spec{
			User: &Limit{Requests: rate(t, "600/d"), Reads: rate(t, "9/m"), Tokens: []access.Rate{rate(t, "1000/m"), rate(t, "90000/d")}}, Tenant: &Limit{Requests: rate(t, "900/h")},
			Classes: map[string]Limit{"slow": {Requests: rate(t, "1/h"), Reads: rate(t, "1/s")}, "fast": {Requests: rate(t, "60/s"), Tokens: []access.Rate{rate(t, "10/s")}}},
		}})
		levels := func() map[key][levels]int64 {
			all := map[key][levels]int64{{}: l.all.tats}
			for k, e := range l.table.entries {
				all[k] = e.tats
			}
			return all
		}
		someone := func() Subject {
			return Subject{User: "\x00" + strconv.Itoa(random.IntN(3)), Tenant: []string{"", "acme"}[random.IntN(2)], Class: []string{"", "slow", "fast", "gone"}[random.IntN(4)]}
		}
		kinds := []Kind{Request, Read, Turn, Watch, Running}
		for range 2000 {
			if a, err := l.Admit(t.Context(), someone(), kinds[random.IntN(5)]); err == nil && a != nil {
				a.Tokens(random.IntN(500))
				a.End()
			}
			time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
			before := levels()
			for range 3 {
				_ = l.Check(someone(), kinds[random.IntN(5)])
			}
			for k, is := range levels() {
				if is != before[k] {
					t.Fatalf("a look changed %v to %v", before[k], is)
				}
			}
		}
	})
}

// New rules cut a level to the most that can be charged by them, so a limit that grew holds at once.
func TestRulesCutLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: twoPlans(t)})
		admit(t, l, ada, Turn, 600)
		l.Use(Spec{User: &Limit{Requests: rate(t, "10/m")}, Classes: map[string]Limit{"slow": {Requests: rate(t, "900/d")}}}, nil)
		if n := admit(t, l, ada, Turn, 1); n != 0 {
			t.Error("what was charged is forgotten")
		}
		time.Sleep(time.Minute)
		if n := admit(t, l, ada, Turn, 20); n != 10 {
			t.Errorf("%d after the window of the new rules, want 10", n)
		}
	})
}

// held is a store of rates that holds its first answer, or panics in its place.
type held struct {
	store.Rates
	calls  atomic.Int32
	free   chan struct{}
	panics bool
}

func (h *held) ChargeRates(ctx context.Context, c store.Charge) (store.Charged, error) {
	answer, err := h.Rates.ChargeRates(ctx, c)
	if len(c.Levels) > 0 && h.calls.Add(1) == 1 {
		if h.panics {
			panic("the store has a bug")
		}
		<-h.free
	}
	return answer, err
}

// modelQuota is that of a model of which one call runs at a time.
func modelQuota(t *testing.T, tokens ...string) Spec {
	q := ModelQuota{Concurrent: 1}
	for _, text := range tokens {
		q.Tokens = append(q.Tokens, rate(t, text))
	}
	wait := 5 * time.Second
	return Spec{Models: map[string]ModelQuota{"m": q}, Wait: &wait}
}

// A reload while the store counts a call neither ends the call nor keeps its place for good.
func TestReloadWhileACallIsCounted(t *testing.T) {
	t.Parallel()
	for _, after := range [][]string{{"100000/m", "1000000/h"}, {"1000000/h"}, {}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			in := &held{Rates: w, free: make(chan struct{})}
			l := New(Config{Spec: modelQuota(t, "100000/m"), Sharing: Sharing{Store: in, Holder: store.Holder{Owner: "one", Epoch: 5}}})
			t.Cleanup(l.Close)
			entered := make(chan error)
			go func() {
				leave, err := l.Enter(t.Context(), "m")
				if err == nil {
					leave(10)
				}
				entered <- err
			}()
			time.Sleep(time.Second) // the store is asked
			l.Use(modelQuota(t, after...), nil)
			brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if leave, err := l.Enter(brief, "m"); err == nil {
				leave(0)
			}
			close(in.free)
			if err := <-entered; err != nil {
				t.Errorf("%v: the call: %v", after, err)
			}
			settled()
			if n := l.lanes["m"]; n.turns != 0 || n.elsewhere.asking != 0 {
				t.Errorf("%v: %d calls run, %d are asked for", after, n.turns, n.elsewhere.asking)
			}
			enter(t, l, t.Context())(0)
		})
	}
}

// A store that panics leaves neither a lock nor a place taken, in whichever question.
func TestPanicOfTheStoreKeepsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		try := func(name string, f func()) {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}
		spec := modelQuota(t, "100000/m")
		spec.User = &Limit{Streams: 1, Requests: rate(t, "9/h")}
		l := New(Config{Spec: spec, Sharing: Sharing{Store: &held{Rates: w, panics: true}, Holder: store.Holder{Owner: "one", Epoch: 5}}})
		t.Cleanup(l.Close)
		try("a call", func() { _, _ = l.Enter(t.Context(), "m") })
		enter(t, l, t.Context())(0)
		l.Store.(*held).calls.Store(0)
		try("a turn", func() { _, _ = l.Admit(t.Context(), ada, Turn) })
		begin(t, l, ada, Turn).End()
		alone := New(Config{Spec: Spec{User: &Limit{Tokens: []access.Rate{rate(t, "100/d")}}}, Sharing: Sharing{Store: &held{Rates: w, panics: true}, Alone: true}})
		t.Cleanup(alone.Close)
		try("tokens of before", func() { _, _ = alone.Admit(t.Context(), ada, Turn) })
		begin(t, alone, ada, Turn).End()
		if e := alone.table.findEntry(userSlot, &ada, ""); e.pins != 0 || e.turns != 0 {
			t.Errorf("%+v is held", e)
		}
	})
}

// An entry for which the store is asked is not forgotten meanwhile: its turn would be charged to
// nobody.
func TestEntryStaysWhileTheStoreIsAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		in := &held{Rates: w, free: make(chan struct{})}
		l := New(Config{Spec: Spec{User: &Limit{Tokens: []access.Rate{rate(t, "1000/d")}}}, Sharing: Sharing{Store: in, Alone: true}})
		t.Cleanup(l.Close)
		l.table = newTable(2)
		done := make(chan *Admission)
		go func() {
			a, err := l.Admit(t.Context(), ada, Turn)
			if err != nil {
				t.Error(err)
			}
			done <- a
		}()
		time.Sleep(time.Second) // the store is asked
		for i := range 5 {
			if a, err := l.Admit(t.Context(), user(i), Turn); err != nil {
				t.Error(err)
			} else {
				a.End()
			}
		}
		close(in.free)
		a := <-done
		a.Tokens(2000)
		a.End()
		if got := refused(t, l, ada, Turn); len(got) != 1 {
			t.Errorf("the quota is used up, and refused was %v", got)
		}
	})
}

// A turn of a class keeps the entry of its tokens, though another entry counts its streams.
func TestEntryOfAClassStaysWhileATurnRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: twoPlans(t)})
		l.table = newTable(3)
		a := begin(t, l, slowAda, Turn)
		for i := range 9 {
			time.Sleep(2 * time.Hour)
			admit(t, l, user(i), Turn, 1)
		}
		a.Tokens(9000)
		a.End()
		if got := refused(t, l, slowAda, Turn); len(got) == 0 {
			t.Error("the tokens of the turn are forgotten")
		}
	})
}
