package limit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/state/store"
)

// models returns the configuration of one that has a quota, and of waits that are long enough.
func models(q ModelQuota) Config {
	return Config{Spec: Spec{Models: map[string]ModelQuota{"fast": q}, Wait: new(30 * time.Second)}}
}

// enter begins a call, which must be possible.
func enter(t *testing.T, l *Limiter, ctx context.Context) func(int) {
	t.Helper()
	leave, err := l.Enter(ctx, "fast")
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// A provider's quota is kept by two gateways together, in whichever windows it counts, and used as
// far as it goes. Each call is one command, and those that wait cost few.
func TestSharedQuotaOfCalls(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Calls: rate(t, "10/s")})
		one, two := w.pair(cfg)
		w.commands()
		p := &provider{quota: 10, period: time.Second}
		p.isAskedWell(t, one, two)
		settled()
		if n := w.commands(); n < 100 || n > 220 {
			t.Errorf("%d commands for 100 calls", n)
		}
	})
}

// What runs at a time is counted by all, and what has ended elsewhere is found free.
func TestSharedCallsAtATime(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Concurrent: 3})
		gateways := []*Limiter{w.gateway("one", cfg), w.gateway("two", cfg)}
		var mu sync.Mutex
		var wg sync.WaitGroup
		running, most := 0, 0
		for i := range 60 {
			wg.Go(func() {
				leave := enter(t, gateways[i%2], t.Context())
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Duration(i%7) * 20 * time.Millisecond)
				mu.Lock()
				running--
				mu.Unlock()
				leave(0)
			})
		}
		wg.Wait()
		if most != 3 {
			t.Errorf("%d ran at once, of 3", most)
		}
		settled()
		enter(t, gateways[0], t.Context())
		enter(t, gateways[0], t.Context())
		enter(t, gateways[0], t.Context())
		began := time.Now()
		if err := w.ReleaseLease(t.Context(), gateways[0].Holder); err != nil { // as if it had died
			t.Fatal(err)
		}
		if enter(t, gateways[1], t.Context()); time.Since(began) > time.Second {
			t.Errorf("calls of a dead gateway count for %v", time.Since(began))
		}
	})
}

// The calls of a user are those at all gateways, whichever models they ask.
func TestSharedCallsOfAUser(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := Config{Spec: Spec{User: &Limit{ModelCalls: rate(t, "6/d")}}}
		one, two := w.pair(cfg)
		spend := func(l *Limiter, who Subject, n int) (made int) {
			ctx := turnOf(t, l, who)
			for i := range n {
				if leave, err := l.Enter(ctx, "model"+strconv.Itoa(i)); err == nil {
					leave(0)
					made++
				} else if f := limitedCall(t, err); f.RetryAfter < time.Hour {
					t.Errorf("to come back after %v", f.RetryAfter)
				}
			}
			return made
		}
		if a, b := spend(one, ada, 4), spend(two, ada, 4); a != 4 || b != 2 {
			t.Errorf("%d and %d of ada's, want 4 and 2", a, b)
		}
		if n := spend(two, cleo, 9); n != 6 {
			t.Errorf("%d of another tenant's user of the same name", n)
		}
		settled()
		w.commands()
		ctx := turnOf(t, two, ada)
		settled()
		w.commands()
		for range 50 {
			_, err := two.Enter(ctx, "any")
			limitedCall(t, err)
		}
		if n := w.commands(); n != 0 {
			t.Errorf("%d commands for what is known to be used up", n)
		}
	})
}

// What is known to be used up of a model asks nothing, and no more than one asks whether it is free.
func TestUsedUpModelAsksNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Calls: rate(t, "3/h")})
		one, two := w.pair(cfg)
		for range 3 {
			enter(t, one, t.Context())(0)
		}
		w.commands()
		for range 50 {
			for _, l := range []*Limiter{one, two} {
				_, err := l.Enter(t.Context(), "fast")
				if f := limitedCall(t, err); f.RetryAfter < time.Hour || f.RetryAfter > 66*time.Minute {
					t.Fatalf("to come back after %v", f.RetryAfter)
				}
			}
		}
		if n := w.commands(); n != 1 {
			t.Errorf("%d commands, want the one by which the second learned it", n)
		}
		time.Sleep(66 * time.Minute)
		for _, h := range []store.Holder{one.Holder, two.Holder} {
			if err := w.RenewLease(t.Context(), h, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			enter(t, two, t.Context())(0)
		}
		w.commands()
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				_, err := one.Enter(t.Context(), "fast")
				limitedCall(t, err)
			})
		}
		wg.Wait()
		if n := w.commands(); n != 1 {
			t.Errorf("%d commands of 40 calls at once", n)
		}
	})
}

// Of many that come at once no more ask than the last answer has room for.
func TestManyAskForWhatIsFree(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		l := w.gateway("one", models(ModelQuota{Calls: rate(t, "10/h")}))
		var wg sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 40 {
			wg.Go(func() {
				if leave, err := l.Enter(t.Context(), "fast"); err == nil {
					mu.Lock()
					made++
					mu.Unlock()
					leave(0)
				}
			})
		}
		wg.Wait()
		if n := w.commands(); made != 10 || n > 10 {
			t.Errorf("%d calls of 10, with %d commands", made, n)
		}
	})
}

// Calls that come while an answer is on its way follow it at once, also where none may wait.
func TestCallsFollowAnAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Calls: rate(t, "10/h")})
		cfg.Spec.Wait = new(time.Duration(0))
		l := w.gateway("one", cfg)
		began := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				leave, err := l.Enter(t.Context(), "fast")
				if err != nil || time.Since(began) > 20*time.Millisecond {
					t.Errorf("%v after %v", err, time.Since(began))
					return
				}
				time.Sleep(time.Minute)
				leave(0)
			})
		}
		wg.Wait()
	})
}

// A call that the store has refused stays before those that came after it, and begins as soon as one of
// its own gateway has ended.
func TestRefusedCallIsTheNext(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Concurrent: 2})
		one, two := w.pair(cfg)
		own, other := enter(t, one, t.Context()), enter(t, two, t.Context())
		var wg sync.WaitGroup
		var order []int
		began := time.Now()
		var first time.Duration
		for i := range 3 {
			ctx := turnOf(t, one, user(i))
			wg.Go(func() {
				leave := enter(t, one, ctx)
				if order = append(order, i); i == 0 {
					first = time.Since(began)
				}
				time.Sleep(time.Second)
				leave(0)
			})
			synctest.Wait()
		}
		time.Sleep(3*pollEvery/2 + pollEvery/10)
		own(0)
		wg.Wait()
		if fmt.Sprint(order) != "[0 1 2]" || first > 3*pollEvery/2+pollEvery/5 {
			t.Errorf("in the order %v, the first after %v", order, first)
		}
		other(0)
	})
}

// Counts of calls are written again long before the store forgets them.
func TestCountsOfCallsAreKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Concurrent: 1})
		cfg.Spec.Wait = new(time.Second)
		one, two := w.pair(cfg)
		enter(t, one, t.Context())
		for range 12 {
			time.Sleep(10 * time.Minute)
			for _, h := range []store.Holder{one.Holder, two.Holder} {
				if err := w.RenewLease(t.Context(), h, time.Hour); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, err := two.Enter(t.Context(), "fast")
		limitedCall(t, err)
	})
}

// What a call has cost delays the next one, wherever it is; and a reserve is held for each that runs.
func TestSharedTokensOfAModel(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Tokens: []access.Rate{rate(t, "600/m")}})
		cfg.Spec.Reserve = new(250)
		one, two := w.pair(cfg)
		first, second := enter(t, one, t.Context()), enter(t, two, t.Context())
		began := time.Now()
		time.AfterFunc(5*time.Second, func() { second(0) })
		third := enter(t, one, t.Context())
		if waited := time.Since(began); waited < 5*time.Second || waited > 5*time.Second+3*pollEvery {
			t.Errorf("a third call of 250 of 600 began after %v", waited)
		}
		first(650)
		third(0)
		settled() // two seconds give back 20
		began = time.Now()
		enter(t, two, t.Context())(0)
		if waited := time.Since(began); waited < 27*time.Second || waited > 29*time.Second {
			t.Errorf("a debt of 30 and a reserve of 250 are %v", waited)
		}
		enter(t, one, t.Context())(700)
		settled()
		two.Use(Spec{Models: cfg.Spec.Models, Reserve: cfg.Spec.Reserve, Wait: new(time.Second)}, nil)
		_, err := two.Enter(t.Context(), "fast")
		limitedCall(t, err)
		w.breakWith(store.ErrUnavailable)
		time.Sleep(2 * time.Second)
		_, err = two.Enter(t.Context(), "fast")
		if f := limitedCall(t, err); f.RetryAfter < 20*time.Second {
			t.Errorf("what the store said is forgotten without it: to come back after %v", f.RetryAfter)
		}
	})
}

// Without limits on calls of models nothing is asked for them.
func TestPlainCallsAskNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		l := w.gateway("one", Config{Spec: Spec{User: &Limit{Requests: rate(t, "100/m"), Tokens: []access.Rate{rate(t, "100000/d")}}}})
		ctx := turnOf(t, l, ada)
		w.commands()
		enter(t, l, ctx)(0)
		if n := w.commands(); n != 0 {
			t.Errorf("%d commands", n)
		}
		l.Use(Spec{User: &Limit{ModelCalls: rate(t, "100/m")}}, nil)
		enter(t, l, t.Context())(0) // of nobody
		settled()
		if n := w.commands(); n != 0 {
			t.Errorf("%d commands for a call of nobody", n)
		}
	})
}

// Without its store a gateway keeps to the part of the quota that the others did not use. What it
// has used meanwhile is counted when the store is back.
func TestCallsWithoutStore(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Calls: rate(t, "10/h")})
		cfg.Spec.Wait = new(time.Second)
		one, two := w.pair(cfg)
		spend := func(l *Limiter, n int) (made int) {
			for range n {
				if leave, err := l.Enter(t.Context(), "fast"); err == nil {
					leave(0)
					made++
				}
			}
			return made
		}
		if a, b := spend(one, 4), spend(two, 2); a != 4 || b != 2 {
			t.Fatalf("%d and %d calls", a, b)
		}
		w.breakWith(fmt.Errorf("%w: it hangs", store.ErrUnavailable))
		w.commands()
		began := time.Now()
		if n := spend(two, 9); n != 4 {
			t.Errorf("%d calls without the store, want the 4 of 10 that neither had made", n)
		}
		if n := w.commands(); n != 1 || time.Since(began) > 100*time.Millisecond {
			t.Errorf("%d commands and %v for a store that is unavailable", n, time.Since(began))
		}
		time.Sleep(5 * time.Second)
		w.breakWith(nil)
		if n := spend(two, 9) + spend(one, 9); n != 0 {
			t.Errorf("%d calls when the store is back, of a quota that is used up", n)
		}
		time.Sleep(66 * time.Minute)
		if n := spend(one, 20) + spend(two, 20); n != 10 {
			t.Errorf("%d calls of 10 when all is free", n)
		}
	})
}

// losing is a store whose answers are lost.
type losing struct {
	store.Store
	mu   sync.Mutex // guards lose
	lose bool
}

func (s *losing) ChargeRates(ctx context.Context, c store.Charge) (store.Charged, error) {
	r, err := s.Store.ChargeRates(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lose && !c.Owed {
		return store.Charged{}, fmt.Errorf("%w: the answer is lost", store.ErrUnavailable)
	}
	return r, err
}

func (s *losing) set(lose bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = lose
}

// A stream and a call whose answers were lost do not count for longer than they run.
func TestLostAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		s := &losing{Store: w.Store}
		w.counted.Store = s
		cfg := models(ModelQuota{Concurrent: 1})
		cfg.Spec.User = &Limit{Streams: 1}
		one, two := w.pair(cfg)
		s.set(true)
		a := begin(t, one, ada, Turn)
		leave := enter(t, one, t.Context())
		s.set(false)
		settled()
		if got := refused(t, two, ada, Turn); got == nil {
			t.Error("a stream whose answer was lost does not count")
		}
		a.End()
		leave(0)
		settled()
		begin(t, two, ada, Turn).End()
		enter(t, two, t.Context())(0)
		settled()
		s.set(true)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := one.Admit(gone, ada, Turn); !errors.Is(err, fault.ErrClientGone) {
			t.Errorf("of a client that has left: %v", err)
		}
		if _, err := one.Enter(gone, "fast"); !errors.Is(err, fault.ErrClientGone) {
			t.Errorf("a call of a client that has left: %v", err)
		}
		s.set(false)
		settled()
		begin(t, two, ada, Turn)
		began := time.Now()
		if enter(t, two, t.Context()); time.Since(began) > time.Second {
			t.Errorf("a call that was not made counts for %v", time.Since(began))
		}
	})
}

// One process with a file keeps the tokens of its models over a restart.
func TestModelTokensOverARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := models(ModelQuota{Calls: rate(t, "100/m"), Tokens: []access.Rate{rate(t, "1000/d")}, Concurrent: 2})
		cfg.Alone, cfg.Spec.Reserve = true, new(100)
		first := w.gateway("g", cfg)
		enter(t, first, t.Context())(700)
		enter(t, first, t.Context())(250)
		first.Close()
		if n := w.commands(); n > 3 {
			t.Errorf("%d commands", n)
		}
		again := New(Config{Spec: cfg.Spec, Sharing: first.Sharing})
		defer again.Close()
		_, err := again.Enter(t.Context(), "fast")
		if f := limitedCall(t, err); f.RetryAfter < time.Hour || f.RetryAfter > 73*time.Minute {
			t.Errorf("after a restart a call may come back after %v", f.RetryAfter)
		}
	})
}
