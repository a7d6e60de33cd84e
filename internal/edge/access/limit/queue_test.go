package limit

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

// provider is one that counts by windows of its own, and would refuse.
type provider struct {
	mu       sync.Mutex // guards the fields below
	quota    int
	period   time.Duration
	times    []time.Time
	refusals int
}

func (p *provider) call() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, n := time.Now(), 0
	for _, at := range p.times {
		if now.Sub(at) < p.period {
			n++
		}
	}
	if n >= p.quota {
		p.refusals++
	}
	p.times = append(p.times, now)
}

// isAskedWell makes a hundred calls at a time, of several users, at gateways by turns. None may be
// refused, and no time wasted.
func (p *provider) isAskedWell(t *testing.T, gateways ...*Limiter) {
	t.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	for i := range 100 {
		l := gateways[i%len(gateways)]
		ctx := turnOf(t, l, user(i%7))
		wg.Go(func() {
			leave, err := l.Enter(ctx, "fast")
			if err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(i%5) * 10 * time.Millisecond)
			p.call()
			leave(0)
		})
	}
	wg.Wait()
	if p.refusals > 0 || len(p.times) != 100 || time.Since(began) > 11*time.Second {
		t.Errorf("%d of %d were refused, in %v", p.refusals, len(p.times), time.Since(began))
	}
}

// turnOf returns the context of a turn that was admitted.
func turnOf(t *testing.T, l *Limiter, who Subject) context.Context {
	t.Helper()
	a, err := l.Admit(t.Context(), who, Turn)
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		return t.Context()
	}
	return chat.WithTurn(t.Context(), chat.Turn{Admission: a})
}

func user(i int) Subject {
	return Subject{User: "\x00" + strconv.Itoa(i), Tenant: "t" + strconv.Itoa(i)}
}

// A provider's quota is kept, in whichever windows it counts, and used as far as it goes.
func TestQuotaOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{Models: map[string]ModelQuota{"fast": {Calls: rate(t, "10/s")}}, Wait: new(30 * time.Second)}})
		p := &provider{quota: 10, period: time.Second}
		p.isAskedWell(t, l)
		if leave, err := l.Enter(t.Context(), "other"); err != nil {
			t.Error(err)
		} else {
			leave(7)
		}
	})
}

// Those that wait are served by turns: one with a hundred calls does not keep the others waiting.
func TestTurnsOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{Models: map[string]ModelQuota{"fast": {Concurrent: 1}}, Wait: new(30 * time.Second)}})
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		call := func(who Subject) {
			ctx := turnOf(t, l, who)
			wg.Go(func() {
				leave, err := l.Enter(ctx, "fast")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, who.Tenant+who.User[1:])
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				leave(0)
			})
			synctest.Wait()
		}
		big := Subject{User: "\x00x", Tenant: "big"}
		for range 6 {
			call(big)
		}
		call(Subject{User: "\x00y", Tenant: "big"})
		call(user(1))
		call(user(2))
		call(user(1))
		wg.Wait()
		want := []string{"bigx", "bigx", "t11", "t22", "bigx", "t11", "bigx", "bigx", "bigx", "bigy"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if n := l.lanes["fast"]; n.turns != 0 || len(n.parties) != 0 || n.timer != nil {
			t.Errorf("left: %+v", n)
		}
	})
}

// limitedCall fails the test unless a call is limited as if its provider had said so.
func limitedCall(t *testing.T, err error) *fault.Error {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Type != fault.ModelRateLimited || f.Service != "limits" || f.RetryAfter <= 0 {
		t.Fatalf("limited with %#v", err)
	}
	return f
}

func TestLongestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{Models: map[string]ModelQuota{"slow": {Calls: rate(t, "1/m")}, "full": {Concurrent: 1}}}})
		ctx := turnOf(t, l, ada)
		leave, err := l.Enter(ctx, "slow")
		if err != nil {
			t.Fatal(err)
		}
		leave(0)
		began := time.Now()
		_, err = l.Enter(ctx, "slow")
		if f := limitedCall(t, err); f.RetryAfter < 50*time.Second || time.Since(began) != 0 {
			t.Errorf("to come back after %v, refused after %v: waiting is of no use", f.RetryAfter, time.Since(began))
		}
		if leave, err = l.Enter(ctx, "full"); err != nil {
			t.Fatal(err)
		}
		_, err = l.Enter(ctx, "full")
		limitedCall(t, err)
		if time.Since(began) != 2*time.Second {
			t.Errorf("gave up after %v", time.Since(began))
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err = l.Enter(short, "full"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("a turn that ends: %v after %v", err, time.Since(began))
		}
		leave(0)
		if leave, err = l.Enter(ctx, "full"); err != nil {
			t.Errorf("what gave up has a place: %v", err)
		}
		leave(0)
	})
}

func TestCallsOfAUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{User: &Limit{ModelCalls: rate(t, "2/s")}, Classes: map[string]Limit{"gold": {ModelCalls: rate(t, "4/s")}}, Wait: new(30 * time.Second)}})
		spend := func(who Subject, n int) time.Duration {
			ctx, began := turnOf(t, l, who), time.Now()
			for range n {
				leave, err := l.Enter(ctx, "any")
				if err != nil {
					t.Fatal(err)
				}
				leave(0)
			}
			return time.Since(began)
		}
		if spent := spend(ada, 6); spent != 2*time.Second {
			t.Errorf("6 calls at 2/s: %v", spent)
		}
		gold := bob
		gold.Class = "gold"
		if spent := spend(gold, 6); spent != 500*time.Millisecond {
			t.Errorf("6 calls at 4/s: %v", spent)
		}
		if spent := spend(unknown, 6); spent != 0 {
			t.Errorf("calls of nobody: %v", spent)
		}
		ctx, other := turnOf(t, l, ada), turnOf(t, l, cleo)
		time.Sleep(10 * time.Second)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() { _, _ = l.Enter(ctx, "any") })
		}
		synctest.Wait()
		began := time.Now()
		if _, err := l.Enter(other, "any"); err != nil || time.Since(began) != 0 {
			t.Errorf("another's call waits for %v: %v", time.Since(began), err)
		}
		wg.Wait()
	})
}

func TestQuotaOfTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reserve := 100
		l := New(Config{Spec: Spec{
			User: &Limit{Tokens: []access.Rate{rate(t, "100000/d")}}, Models: map[string]ModelQuota{"fast": {Tokens: []access.Rate{rate(t, "600/m")}}}, Wait: new(30 * time.Second), Reserve: &reserve,
		}})
		ctx := turnOf(t, l, ada)
		leave, err := l.Enter(ctx, "fast")
		if err != nil {
			t.Fatal(err)
		}
		leave(650)
		began := time.Now()
		if leave, err = l.Enter(ctx, "fast"); err != nil || time.Since(began) != 15*time.Second {
			t.Errorf("a debt of 50 and a reserve of 100 are %v: %v", time.Since(began), err)
		}
		leave(1)
		used := l.table.findEntry(userSlot, &ada, "")
		g := newGCRA(rate(t, "100000/d"), true)
		if level, want := used.tats[tokens+3]-l.now(), g.cost(651)-int64(15*time.Second); level < want-10 || level > want+10 {
			t.Errorf("the user is charged %v, want %v", time.Duration(level), time.Duration(want))
		}
	})
}

// A quota of tokens holds a reserve for each call that runs.
func TestReserveOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reserve := 300
		l := New(Config{Spec: Spec{Models: map[string]ModelQuota{"fast": {Tokens: []access.Rate{rate(t, "600/m")}}}, Reserve: &reserve}})
		first, err := l.Enter(t.Context(), "fast")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = l.Enter(t.Context(), "fast"); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { first(0) })
		began := time.Now()
		if _, err := l.Enter(t.Context(), "fast"); err != nil || time.Since(began) != time.Second {
			t.Errorf("a third call of 300 of 600: %v after %v", err, time.Since(began))
		}
		_, err = l.Enter(t.Context(), "fast")
		limitedCall(t, err)
	})
}
