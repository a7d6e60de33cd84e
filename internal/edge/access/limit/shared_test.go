package limit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/access"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// counted is a store that counts what it is asked, and can be unavailable.
type counted struct {
	store.Store
	mu     sync.Mutex // guards the fields below
	asked  int
	broken error
}

func (c *counted) ChargeRates(ctx context.Context, charge store.Charge) (store.Charged, error) {
	c.mu.Lock()
	c.asked++
	broken := c.broken
	c.mu.Unlock()
	time.Sleep(time.Millisecond) // on its way
	if broken != nil {
		return store.Charged{}, broken
	}
	return c.Store.ChargeRates(ctx, charge)
}

// commands returns how many there were since it was asked last.
func (c *counted) commands() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { c.asked = 0 }()
	return c.asked
}

func (c *counted) breakWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = err
}

// world has a store that gateways share.
type world struct {
	*counted
	t *testing.T
}

func newWorld(t *testing.T) world { return world{&counted{Store: memory.New(memory.Config{})}, t} }

// gateway returns the Limiter of one that lives.
func (w world) gateway(name string, cfg Config) *Limiter {
	w.t.Helper()
	cfg.Sharing = Sharing{Store: w.counted, Holder: store.Holder{Owner: name, Epoch: 5}, Alone: cfg.Alone}
	if err := w.RenewLease(w.t.Context(), cfg.Holder, time.Hour); err != nil {
		w.t.Fatal(err)
	}
	l := New(cfg)
	w.t.Cleanup(l.Close)
	return l
}

// pair returns those of two gateways.
func (w world) pair(cfg Config) (one, two *Limiter) {
	w.t.Helper()
	return w.gateway("one", cfg), w.gateway("two", cfg)
}

// inWorld runs a test with a store of its own, in a bubble.
func inWorld(t *testing.T, test func(t *testing.T, w world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t)) })
}

// begin admits a stream, which must be possible.
func begin(t *testing.T, l *Limiter, who Subject, kind Kind) *Admission {
	t.Helper()
	a, err := l.Admit(t.Context(), who, kind)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// settled waits until what has ended was written.
func settled() {
	time.Sleep(2 * publishEvery)
	synctest.Wait()
}

// asked returns how many of n requests were admitted; they have ended.
func asked(t *testing.T, l *Limiter, who Subject, n int) (admitted int) {
	t.Helper()
	for range n {
		if a, err := l.Admit(t.Context(), who, Turn); err == nil {
			admitted++
			a.End()
		}
	}
	return admitted
}

func TestSharedRequests(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := Config{Spec: Spec{User: &Limit{Requests: rate(t, "6/d")}, Tenant: &Limit{Requests: rate(t, "9/d")}}}
		one, two := w.pair(cfg)
		if a, b := asked(t, one, ada, 4), asked(t, two, ada, 4); a != 4 || b != 2 {
			t.Errorf("%d and %d of ada's, want 4 and 2", a, b)
		}
		if a, b := asked(t, two, bob, 2), asked(t, one, bob, 4); a != 2 || b != 1 {
			t.Errorf("%d and %d of bob's, want 2 and 1", a, b)
		}
		if n := asked(t, two, cleo, 3); n != 3 {
			t.Errorf("%d of another tenant's user of the same name", n)
		}
		settled()
		w.commands()
		if err := two.Check(ada, Turn); err == nil {
			t.Error("what a store has refused is not known")
		}
		if n := asked(t, two, ada, 20); n != 0 || w.commands() != 0 {
			t.Errorf("what is known to be used up asks the store")
		}
	})
}

// A turn is one command before its first byte, and one after it; a refusal changes nothing.
func TestCommandsOfATurn(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		limit := &Limit{Requests: rate(t, "100/m"), Streams: 2, Tokens: []access.Rate{rate(t, "100000/m"), rate(t, "1000000/d")}}
		cfg := Config{Spec: Spec{User: limit, Tenant: limit, Global: limit}}
		one, two := w.pair(cfg)
		a := begin(t, one, ada, Turn)
		a.Tokens(100)
		if n := w.commands(); n != 1 {
			t.Errorf("%d commands before it has ended", n)
		}
		a.End()
		settled()
		if n := w.commands(); n != 1 {
			t.Errorf("%d commands after it", n)
		}
		settled()
		begin(t, one, ada, Turn)
		b := begin(t, one, bob, Turn)
		if got := refused(t, two, cleo, Turn); !cmp.Equal(got, []string{"global-streams"}) {
			t.Errorf("refused by %v", got)
		}
		b.End()
		settled()
		w.commands()
		if got := refused(t, two, cleo, Turn); got != nil {
			t.Errorf("refused by %v: a refusal was counted", got)
		}
		if n := w.commands(); n != 1 {
			t.Errorf("%d commands", n)
		}
		settled()
		w.commands()
		settled()
		if n := w.commands(); n != 0 {
			t.Errorf("%d commands while nothing happens", n)
		}
	})
}

// What runs is counted by all gateways, and goes with a gateway that dies.
func TestSharedStreams(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := Config{Spec: Spec{User: &Limit{Streams: 3}}}
		one, two := w.pair(cfg)
		first, second := begin(t, one, ada, Turn), begin(t, one, ada, Watch)
		third := begin(t, two, ada, Turn)
		if got := refused(t, two, ada, Turn); !cmp.Equal(got, []string{"user-streams"}) {
			t.Errorf("a fourth one: %v", got)
		}
		second.End()
		settled()
		fourth := begin(t, two, ada, Turn)
		if got := refused(t, one, ada, Watch); got == nil {
			t.Error("a fourth one is admitted")
		}
		third.End()
		fourth.End()
		two.Continue(ada).End()
		settled()
		begin(t, one, ada, Turn)
		begin(t, one, ada, Turn)
		if got := refused(t, two, ada, Turn); got == nil {
			t.Error("a fourth one is admitted")
		}
		if err := w.ReleaseLease(t.Context(), one.Holder); err != nil { // as if it had died
			t.Fatal(err)
		}
		if got := refused(t, two, ada, Turn); got != nil {
			t.Errorf("of a dead gateway: %v", got)
		}
		first.End()
	})
}

// Many that come and go at once leave the true number.
func TestSharedStreamsOfMany(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := Config{Spec: Spec{User: &Limit{Streams: 7}}}
		gateways := []*Limiter{w.gateway("one", cfg), w.gateway("two", cfg)}
		var wg sync.WaitGroup
		var mu sync.Mutex
		running, most := 0, 0
		for i := range 40 {
			wg.Go(func() {
				for j := range 20 {
					a, err := gateways[i%2].Admit(t.Context(), ada, Turn)
					if err != nil {
						time.Sleep(time.Duration(i+j) * 100 * time.Microsecond)
						continue
					}
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					time.Sleep(time.Duration(i*j%7) * time.Millisecond)
					mu.Lock()
					running--
					mu.Unlock()
					a.End()
				}
			})
		}
		wg.Wait()
		if most > 7 || most < 3 {
			t.Errorf("%d ran at once, of 7", most)
		}
		settled()
		for range 7 {
			begin(t, gateways[0], ada, Turn)
		}
		if got := refused(t, gateways[1], ada, Turn); got == nil {
			t.Error("an eighth one is admitted")
		}
	})
}

// What is given back is given back to all.
func TestCancel(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := Config{Spec: Spec{User: &Limit{Requests: rate(t, "3/d"), Streams: 2}}}
		for name, pair := range map[string][2]*Limiter{"alone": {New(cfg), nil}, "shared": {w.gateway("one", cfg), w.gateway("two", cfg)}} {
			one, two := pair[0], pair[1]
			if two == nil {
				two = one
			}
			for range 10 {
				a := begin(t, one, ada, Turn)
				a.Cancel()
				a.Cancel()
				settled()
			}
			if n := asked(t, two, ada, 5); n != 3 {
				t.Errorf("%s: %d of 3 after ten that were given back", name, n)
			}
		}
		var off *Admission
		off.Cancel()
	})
}

func TestSharedTokens(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		reserve := 300
		cfg := Config{Spec: Spec{User: &Limit{Tokens: []access.Rate{rate(t, "1000/d")}}, Reserve: &reserve}}
		one, two := w.pair(cfg)
		a, b, c := begin(t, one, ada, Turn), begin(t, two, ada, Turn), begin(t, one, ada, Turn)
		if got := refused(t, two, ada, Turn); !cmp.Equal(got, []string{"user-tokens-d"}) {
			t.Errorf("a fourth turn, for which nothing is held: %v", got)
		}
		b.End()
		c.End()
		a.Tokens(300)
		settled() // of a turn that goes on
		begin(t, two, ada, Turn).End()
		a.Tokens(600)
		a.End()
		settled()
		if got := refused(t, two, ada, Turn); !cmp.Equal(got, []string{"user-tokens-d"}) {
			t.Errorf("used up elsewhere: %v", got)
		}
		if err := one.Check(ada, Turn); err == nil {
			t.Error("used up here, and not known")
		}
		d := begin(t, one, bob, Turn)
		for range 2 {
			d.Tokens(195)
			settled() // each is charged once
		}
		d.End()
		settled()
		begin(t, two, bob, Turn)
		begin(t, two, bob, Turn)
	})
}

func TestStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, refuse := range []bool{false, true} {
		t.Run(fmt.Sprint(refuse), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var log bytes.Buffer
				m := metrics.New()
				cfg := Config{
					Spec: Spec{User: &Limit{Requests: rate(t, "6/d"), Streams: 3}, Refuse: refuse}, Log: zerolog.New(&log), Metrics: m,
				}
				one := w.gateway("one", cfg)
				if n := asked(t, one, ada, 2); n != 2 || gauge(t, m) != 1 {
					t.Fatalf("%d of 2, shared %v", n, gauge(t, m))
				}
				running := begin(t, one, bob, Turn)
				settled()
				w.breakWith(fmt.Errorf("%w: it hangs", store.ErrUnavailable))
				want := 4
				if refuse {
					want = 0
				}
				if n := asked(t, one, ada, 3) + asked(t, one, bob, 9); n != 3*want/4+5*want/4 {
					t.Errorf("%d of ada's and bob's without a store", n)
				}
				if _, err := one.Admit(t.Context(), cleo, Turn); (err != nil) != refuse || refuse && fault.From(err).Type != fault.StoreUnavailable {
					t.Errorf("refused with %v", err)
				}
				running.End()
				settled()
				if gauge(t, m) != 0 || strings.Count(log.String(), `"limits_local"`) != 1 {
					t.Errorf("shared %v, logged %s", gauge(t, m), &log)
				}
				w.breakWith(nil)
				settled()
				asked(t, one, cleo, 1)
				settled()
				if gauge(t, m) != 1 {
					t.Error("not shared again")
				}
				if n := asked(t, one, ada, 9); n != 4-3*want/4 {
					t.Errorf("%d of ada's when the store is back: what was charged without it is forgotten", n)
				}
				two := w.gateway("two", Config{Spec: Spec{User: &Limit{Streams: 3}}})
				for range 3 {
					begin(t, two, bob, Turn) // that of one has ended meanwhile
				}
				left, cancel := context.WithCancel(t.Context())
				cancel()
				w.breakWith(context.Canceled)
				if _, err := one.Admit(left, cleo, Turn); !errors.Is(err, fault.ErrClientGone) {
					t.Errorf("of a client that has left: %v", err)
				}
				w.breakWith(nil)
			})
		})
	}
}

// gauge is limits_shared.
func gauge(t *testing.T, m *metrics.Registry) float64 {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "sluice_limits_shared" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no figure")
	return 0
}

// One process with a file keeps tokens, and nothing else, over a restart.
func TestTokensOverARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := Config{Spec: Spec{User: &Limit{Requests: rate(t, "2/d"), Streams: 1, Tokens: []access.Rate{rate(t, "1000/d"), rate(t, "5000/m")}}}, Sharing: Sharing{Alone: true}}
		first := w.gateway("g", cfg)
		a := begin(t, first, ada, Turn)
		if n := w.commands(); n != 1 {
			t.Errorf("%d commands to remember a user", n)
		}
		a.Tokens(400)
		a.Tokens(300)
		a.End()
		begin(t, first, bob, Read).End()
		begin(t, first, bob, Turn)
		first.Close()
		if n := w.commands(); n > 3 {
			t.Errorf("%d commands", n)
		}
		again := New(Config{Spec: cfg.Spec, Sharing: first.Sharing})
		defer again.Close()
		if got := refused(t, again, ada, Turn); !cmp.Equal(got, []string{"user-tokens-d"}) {
			t.Errorf("after a restart: %v", got)
		}
		begin(t, again, bob, Turn)
		w.breakWith(store.ErrUnavailable)
		begin(t, again, cleo, Turn).End()
		w.breakWith(nil)
	})
}

// Counts are written again long before the store forgets them.
func TestCountsAreKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cfg := Config{Spec: Spec{User: &Limit{Streams: 1}}}
		one, two := w.pair(cfg)
		begin(t, one, ada, Turn)
		for range 30 {
			time.Sleep(10 * time.Minute)
			for _, h := range []store.Holder{one.Holder, two.Holder} {
				if err := w.RenewLease(t.Context(), h, time.Hour); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := refused(t, two, ada, Turn); got == nil {
			t.Error("a stream of five hours is forgotten")
		}
	})
}
