package limit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
)

func rate(t testing.TB, text string) (r access.Rate) {
	t.Helper()
	if err := r.Quota.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

// The usual sets.
const (
	Turn  = Request | Running
	Watch = Read | Watching
)

var (
	ada     = Subject{User: "\x00ada", Tenant: "acme"}
	bob     = Subject{User: "\x00bob", Tenant: "acme"}
	cleo    = Subject{User: "\x00ada", Tenant: "blue"}
	unknown = Subject{Address: netip.MustParsePrefix("192.0.2.7/32")}
)

// admit asks n times, and returns how many were admitted and ended.
func admit(t testing.TB, l *Limiter, who Subject, kind Kind, n int) (admitted int) {
	t.Helper()
	for range n {
		checked := l.Check(who, kind)
		a, err := l.Admit(t.Context(), who, kind)
		if (checked == nil) != (err == nil) {
			t.Fatalf("checked: %v, admitted: %v", checked, err)
		}
		if err == nil {
			admitted++
			a.End()
		}
	}
	return admitted
}

// refused returns the names of the limits that a request is beyond.
func refused(t testing.TB, l *Limiter, who Subject, kind Kind) []string {
	t.Helper()
	a, err := l.Admit(t.Context(), who, kind)
	if err == nil {
		a.End()
		return nil
	}
	r, ok := errors.AsType[*Refusal](err)
	f, isFault := errors.AsType[*fault.Error](err)
	if !ok || !isFault || f.Type != fault.RateLimited || f.RetryAfter <= 0 || f.Message == "" {
		t.Fatalf("refused with %#v", err)
	}
	return r.Policies
}

func TestNothingIsLimited(t *testing.T) {
	var off *Limiter
	for name, l := range map[string]*Limiter{"nil": off, "empty": New(Config{}), "class for nobody": New(Config{Spec: Spec{Classes: map[string]Limit{"gold": {Streams: 1}}}})} {
		if n := testing.AllocsPerRun(100, func() {
			if err := l.Check(ada, Turn); err != nil {
				t.Error(err)
			}
			a, err := off.Admit(t.Context(), ada, Turn)
			if err != nil {
				t.Error(err)
			}
			a.Tokens(5)
			a.Headers(nil)
			a.End()
			off.Continue(ada).End()
			off.Use(Spec{}, nil)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if n := admit(t, l, ada, Turn, 100); n != 100 {
			t.Errorf("%s: %d of 100 admitted", name, n)
		}
	}
}

func TestRequestsAndReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{User: &Limit{Requests: rate(t, "6/m"), Reads: rate(t, "20/m")}}})
		if n := admit(t, l, ada, Turn, 9); n != 6 {
			t.Errorf("%d turns, want 6", n)
		}
		if n := admit(t, l, ada, Read, 15) + admit(t, l, ada, Watch, 15); n != 20 {
			t.Errorf("%d reads, want 20", n)
		}
		for _, other := range []Subject{bob, cleo} {
			if n := admit(t, l, other, Turn, 9); n != 6 {
				t.Errorf("%d turns of %v, want 6", n, other)
			}
		}
		time.Sleep(10*time.Second - 1)
		if n := admit(t, l, ada, Turn, 3); n != 0 {
			t.Errorf("%d turns before ten seconds", n)
		}
		time.Sleep(time.Nanosecond)
		if n := admit(t, l, ada, Turn, 3); n != 1 {
			t.Errorf("%d turns after ten seconds, want 1", n)
		}
		if n := admit(t, l, unknown, Turn, 100); n != 100 {
			t.Errorf("%d turns of nobody, whom no limit is for", n)
		}
	})
}

// A request that one limit refuses is charged to none.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{
			User: &Limit{Requests: rate(t, "4/m"), Streams: 3}, Tenant: &Limit{Requests: rate(t, "6/m")}, Global: &Limit{Requests: rate(t, "7/m")},
		}})
		if n := admit(t, l, ada, Turn, 20); n != 4 {
			t.Errorf("%d of ada's, want 4", n)
		}
		if n := admit(t, l, bob, Turn, 20); n != 2 {
			t.Errorf("%d of bob's, want 2: ada's refused ones were charged to the tenant", n)
		}
		if got := refused(t, l, bob, Turn); !cmp.Equal(got, []string{"tenant-requests"}) {
			t.Errorf("bob is refused by %v", got)
		}
		if n := admit(t, l, cleo, Turn, 20); n != 1 {
			t.Errorf("%d of cleo's, want 1", n)
		}
		if got := refused(t, l, ada, Turn); !cmp.Equal(got, []string{"user-requests", "tenant-requests", "global-requests"}) {
			t.Errorf("ada is refused by %v", got)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, e := range l.table.entries {
			if e.turns != 0 {
				t.Errorf("%d turns run", e.turns)
			}
		}
	})
}

func TestClasses(t *testing.T) {
	t.Parallel()
	spec := Spec{
		User: &Limit{Requests: rate(t, "2/m")}, Tenant: &Limit{Requests: rate(t, "50/m")}, Address: &Limit{Requests: rate(t, "3/m")},
		Classes: map[string]Limit{"gold": {Requests: rate(t, "9/m")}, "team": {Requests: rate(t, "5/m")}, "crowd": {Requests: rate(t, "4/m")}},
	}
	tenants := Tenants{"blue": {Users: "team"}, "small": {Limits: "crowd"}}
	with := func(s Subject, class string) Subject { s.Class = class; return s }
	for name, c := range map[string]struct {
		who  Subject
		want int
	}{
		"a user":                           {ada, 2},
		"a class of the credential":        {with(ada, "gold"), 9},
		"the tenant's class for its users": {cleo, 5},
		"a credential's class goes first":  {with(cleo, "gold"), 9},
		"a class that does not exist":      {with(ada, "silver"), 2},
		"the class of the whole tenant":    {Subject{User: "\x00u", Tenant: "small", Class: "gold"}, 4},
		"an address":                       {unknown, 3},
		"the anonymous, by address":        {with(unknown, "gold"), 3},
		"no address is known":              {Subject{}, 30},
		"a user with an address":           {Subject{User: "\x00u", Tenant: "blue", Address: unknown.Address}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if n := admit(t, New(Config{Spec: spec, Tenants: tenants}), c.who, Turn, 30); n != c.want {
					t.Errorf("%d admitted, want %d", n, c.want)
				}
			})
		})
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{Address: &Limit{Requests: rate(t, "2/m")}, Classes: map[string]Limit{"anybody": {Streams: 1}}}})
		of := func(text string) Subject { return Subject{Address: netip.MustParsePrefix(text)} }
		for _, each := range []string{"192.0.2.1/32", "192.0.2.2/32", "2001:db8::/64", "2001:db8:0:1::/64"} {
			if n := admit(t, l, of(each), Turn, 1) + admit(t, l, of(each), Turn, 5); n != 2 {
				t.Errorf("%d of %s, want 2", n, each)
			}
		}
		one, two := of("198.51.100.1/32"), of("198.51.100.2/32")
		one.Class, two.Class = "anybody", "anybody"
		a, err := l.Admit(t.Context(), one, Turn)
		if err != nil {
			t.Fatal(err)
		}
		if got := refused(t, l, one, Turn); !cmp.Equal(got, []string{"user-streams"}) {
			t.Errorf("a second stream of an address: %v", got)
		}
		if got := refused(t, l, two, Turn); got != nil {
			t.Errorf("a stream of another address: %v", got)
		}
		a.End()
	})
}

func TestStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{User: &Limit{Streams: 3}}, Places: 4})
		var running []*Admission
		for _, kind := range []Kind{Turn, Watch} {
			a, err := l.Admit(t.Context(), ada, kind)
			if err != nil {
				t.Fatal(err)
			}
			running = append(running, a)
		}
		running = append(running, l.Continue(ada))
		for _, kind := range []Kind{Turn, Watch} {
			if got := refused(t, l, ada, kind); !cmp.Equal(got, []string{"user-streams"}) {
				t.Errorf("a fourth stream: %v", got)
			}
		}
		_, err := l.Admit(t.Context(), ada, Turn)
		if f := fault.From(err); f.RetryAfter < time.Second || f.RetryAfter > 5*time.Second {
			t.Errorf("to come back after %v", f.RetryAfter)
		}
		if n := admit(t, l, ada, Read, 9) + admit(t, l, bob, Turn, 9); n != 18 {
			t.Errorf("%d others, want 18", n)
		}
		running[0].End()
		running[0].End()
		if n := admit(t, l, ada, Turn, 5); n != 5 {
			t.Errorf("%d of 5 with a place", n)
		}
		running[1].End()
		running[2].End()
		if all := l.table.findEntry(userSlot, &ada, ""); all.turns != 0 || all.watchers != 0 {
			t.Errorf("%d turns and %d watchers run", all.turns, all.watchers)
		}
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reserve := 200
		l := New(Config{Spec: Spec{User: &Limit{Tokens: []access.Rate{rate(t, "1000/m"), rate(t, "3000/h")}}, Reserve: &reserve}})
		var turns []*Admission
		for range 5 {
			a, err := l.Admit(t.Context(), ada, Turn)
			if err != nil {
				t.Fatal(err)
			}
			turns = append(turns, a)
		}
		if got := refused(t, l, ada, Turn); !cmp.Equal(got, []string{"user-tokens-m"}) {
			t.Errorf("a sixth turn, for which nothing is held: %v", got)
		}
		if n := admit(t, l, ada, Read, 5) + admit(t, l, ada, Watch, 5); n != 10 {
			t.Errorf("%d reads of 10", n)
		}
		for _, a := range turns[1:] {
			a.End()
		}
		turns[0].Tokens(900)
		turns[0].Tokens(900) // it ends well
		turns[0].End()
		_, err := l.Admit(t.Context(), ada, Turn)
		wait := fault.From(err).RetryAfter
		if least := 60 * time.Second; wait < least || wait > least*11/10+1 {
			t.Errorf("a debt of 800 and a reserve of 200 are %v", wait)
		}
		time.Sleep(60*time.Second - 1)
		if got := refused(t, l, ada, Turn); got == nil {
			t.Error("admitted before there is a reserve")
		}
		time.Sleep(time.Nanosecond)
		a, err := l.Admit(t.Context(), ada, Turn)
		if err != nil {
			t.Fatal(err)
		}
		a.End()
		a.Tokens(1 << 30) // after its end
		time.Sleep(time.Minute + 12*time.Second)
		if got := refused(t, l, ada, Turn); !cmp.Equal(got, []string{"user-tokens-h"}) {
			t.Errorf("after a debt of one minute: %v", got)
		}
		time.Sleep(time.Hour + 4*time.Minute)
		if n := admit(t, l, ada, Turn, 3); n != 3 {
			t.Errorf("%d turns after a debt of one hour", n)
		}
		if n := admit(t, l, bob, Turn, 3); n != 3 {
			t.Errorf("%d turns of another user", n)
		}
	})
}

// A reserve that is more than the quota is the quota; without one, what is used up refuses.
func TestReserve(t *testing.T) {
	t.Parallel()
	for reserve, want := range map[int]int{0: 3, 5: 2, 4000: 1} {
		synctest.Test(t, func(t *testing.T) {
			l := New(Config{Spec: Spec{User: &Limit{Tokens: []access.Rate{rate(t, "10/m")}}, Reserve: &reserve}})
			n := 0
			for range 3 {
				if _, err := l.Admit(t.Context(), ada, Turn); err == nil {
					n++
				}
			}
			if n != want {
				t.Errorf("reserve %d: %d turns at once, want %d", reserve, n, want)
			}
			l.Continue(ada).Tokens(10)
			if got := refused(t, l, ada, Turn); !cmp.Equal(got, []string{"user-tokens-m"}) {
				t.Errorf("reserve %d, used up: %v", reserve, got)
			}
		})
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	l := New(Config{Spec: Spec{Share: 0.3}, Places: 10})
	for range 3 {
		if _, err := l.Admit(t.Context(), ada, Turn); err != nil {
			t.Fatal(err)
		}
	}
	if got := refused(t, l, bob, Turn); !cmp.Equal(got, []string{"share"}) {
		t.Errorf("a fourth turn of the tenant: %v", got)
	}
	if n := admit(t, l, bob, Watch, 5) + admit(t, l, cleo, Turn, 5) + admit(t, l, unknown, Turn, 5); n != 15 {
		t.Errorf("%d of 15 others", n)
	}
	alone := Subject{User: "\x00ada"}
	small := New(Config{Spec: Spec{Share: 0.01}, Places: 10})
	if _, err := small.Admit(t.Context(), alone, Turn); err != nil {
		t.Errorf("one place is everybody's: %v", err)
	}
	if got := refused(t, small, alone, Turn); !cmp.Equal(got, []string{"share"}) {
		t.Errorf("a second turn of a user without a tenant: %v", got)
	}
}

func TestUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{User: &Limit{Requests: rate(t, "2/m")}}})
		admit(t, l, ada, Turn, 5)
		l.Use(Spec{}, nil)
		if n := admit(t, l, ada, Turn, 5); n != 5 {
			t.Errorf("%d of 5 without limits", n)
		}
		l.Use(Spec{User: &Limit{Requests: rate(t, "60/m")}}, nil)
		if n := admit(t, l, ada, Turn, 80); n != 0 {
			t.Errorf("%d admitted: a new limit has forgotten what was charged", n)
		}
		l.Use(Spec{User: &Limit{Requests: rate(t, "10/s")}}, nil)
		n := admit(t, l, ada, Turn, 1)
		time.Sleep(100 * time.Millisecond)
		if n += admit(t, l, ada, Turn, 5); n != 1 {
			t.Errorf("%d admitted: what was charged counts for longer than the new limit's window", n)
		}
	})
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{
			User:   &Limit{Requests: rate(t, "60/m"), Reads: rate(t, "100/m"), Streams: 8, Tokens: []access.Rate{rate(t, "100000/m"), rate(t, "2000000/d")}},
			Tenant: &Limit{Requests: rate(t, "100/m"), Streams: 3},
		}})
		check := func(h http.Header, policy, state string) {
			t.Helper()
			if diff := cmp.Diff([2]string{policy, state}, [2]string{h.Get("RateLimit-Policy"), h.Get("RateLimit")}); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		}
		admit(t, l, ada, Turn, 17)
		a, err := l.Admit(t.Context(), ada, Turn)
		if err != nil {
			t.Fatal(err)
		}
		a.Tokens(50_000)
		h := http.Header{}
		a.Headers(h)
		check(h, `"user-requests";q=60;w=60, "tenant-streams";q=3;qu="concurrent-requests", "user-tokens-m";q=100000;qu="tokens";w=60`,
			`"user-requests";r=42;t=18, "tenant-streams";r=2, "user-tokens-m";r=50000;t=30`)
		read, err := l.Admit(t.Context(), ada, Read)
		if err != nil {
			t.Fatal(err)
		}
		h = http.Header{}
		read.Headers(h)
		check(h, `"user-reads";q=100;w=60`, `"user-reads";r=99;t=1`)
		admit(t, l, ada, Turn, 100)
		err = l.Check(ada, Turn)
		r, ok := errors.AsType[*Refusal](err)
		if !ok {
			t.Fatal(err)
		}
		h = http.Header{}
		r.SetHeader(h)
		check(h, `"user-requests";q=60;w=60, "tenant-streams";q=3;qu="concurrent-requests", "user-tokens-m";q=100000;qu="tokens";w=60`,
			fmt.Sprintf(`"user-requests";r=0;t=%d, "tenant-streams";r=2, "user-tokens-m";r=50000;t=30`, ceilSeconds(r.Fault.RetryAfter)))
		none := http.Header{}
		b, err := New(Config{Spec: Spec{Address: &Limit{Streams: 1}}}).Admit(t.Context(), ada, Turn)
		if err != nil {
			t.Fatal(err)
		}
		if b.Headers(none); len(none) > 0 {
			t.Errorf("headers of what nothing limits: %v", none)
		}
	})
}

// A flood of addresses forgets neither who is known nor, as long as there is anything else to
// forget, what is still counted; and all of it has its bound.
func TestManyAddresses(t *testing.T) { // it measures the heap, alone
	synctest.Test(t, func(t *testing.T) {
		before := heap()
		l := New(Config{Spec: Spec{User: &Limit{Requests: rate(t, "3/d")}, Address: &Limit{Requests: rate(t, "2/m")}}})
		admit(t, l, ada, Turn, 3)
		running, err := l.Admit(t.Context(), bob, Turn)
		if err != nil {
			t.Fatal(err)
		}
		of := func(i int) Subject {
			return Subject{Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)}
		}
		busy := of(1 << 23)
		for i := range 150_000 {
			if i%3_000 == 0 {
				time.Sleep(time.Second)
				admit(t, l, busy, Turn, 5)
			}
			a, err := l.Admit(t.Context(), of(i), Turn)
			if err != nil {
				t.Fatalf("address %d is refused its first: %v", i, err)
			}
			a.End()
		}
		size := heap() - before
		if n := len(l.table.entries); n > maxEntries || n != len(l.table.queues[0])+len(l.table.queues[1]) {
			t.Errorf("%d entries", n)
		}
		if size > 32<<20 {
			t.Errorf("%d MiB for 150,000 addresses", size>>20)
		}
		t.Logf("%d KiB", size>>10)
		if n := admit(t, l, ada, Turn, 3); n != 0 {
			t.Errorf("%d of a user whose day is used up", n)
		}
		if n := admit(t, l, busy, Turn, 2); n > 1 {
			t.Errorf("%d of an address that asks all the time", n)
		}
		if e := l.table.findEntry(userSlot, &bob, ""); e == nil || e.turns != 1 {
			t.Errorf("the entry of a user with a stream is %v", e)
		}
		running.End()
		runtime.KeepAlive(l)
	})
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What is forgotten first is what loses nothing.
func TestForgottenFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{User: &Limit{Requests: rate(t, "2/m"), Tokens: []access.Rate{rate(t, "100/d")}}, Reserve: new(int)}})
		l.table = newTable(20)
		user := func(i int) Subject { return Subject{User: "\x00" + strconv.Itoa(i)} }
		for i := range 10 { // are in use for half a day
			a := l.Continue(user(i))
			a.Tokens(50)
			a.End()
		}
		for i := 100; i < 200; i++ { // at most ten of them are, for half a minute each
			if n := admit(t, l, user(i), Turn, 3); n != 2 {
				t.Fatalf("user %d: %d admitted", i, n)
			}
			time.Sleep(6 * time.Second)
		}
		if len(l.table.entries) != 20 {
			t.Errorf("%d entries", len(l.table.entries))
		}
		for i := range 10 {
			if e := l.table.findEntry(userSlot, &Subject{User: "\x00" + strconv.Itoa(i)}, ""); e == nil {
				t.Errorf("user %d was forgotten", i)
			}
		}
	})
}

// What runs is not forgotten, and what is at rest goes before any address that is not.
func TestNeverForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{Spec: Spec{User: &Limit{Requests: rate(t, "60/m"), Streams: 5}, Address: &Limit{Requests: rate(t, "1/h")}}})
		l.table = newTable(4)
		runs := begin(t, l, ada, Turn)
		admit(t, l, bob, Turn, 1)
		for i := range 2 {
			admit(t, l, Subject{Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32)}, Turn, 1)
		}
		time.Sleep(time.Minute)
		admit(t, l, cleo, Turn, 1)
		if l.table.findEntry(userSlot, &bob, "") != nil || len(l.table.queues[0]) != 2 {
			t.Errorf("an address was forgotten before a user at rest")
		}
		for i := range 20 {
			time.Sleep(time.Minute)
			admit(t, l, user(i), Turn, 1)
		}
		if e := l.table.findEntry(userSlot, &ada, ""); e == nil || e.turns != 1 || len(l.table.entries) != 4 {
			t.Errorf("%d entries, the one with a stream is %+v", len(l.table.entries), e)
		}
		runs.End()
	})
}

// busyLimits are limits of every sort, none of which is reached.
func busyLimits(t testing.TB) Spec {
	l := &Limit{Requests: rate(t, "1000000000/s"), Reads: rate(t, "1000000000/s"), Streams: 1000, Tokens: []access.Rate{rate(t, "100000000/m"), rate(t, "1000000000/d")}}
	return Spec{User: l, Tenant: l, Global: l, Share: 0.5}
}

func TestCheckAllocatesNothing(t *testing.T) {
	l := New(Config{Spec: busyLimits(t), Places: 1000})
	admit(t, l, ada, Turn, 1)
	if n := testing.AllocsPerRun(100, func() {
		if err := l.Check(ada, Turn); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCheck(b *testing.B) {
	l := New(Config{Spec: busyLimits(b), Places: 1000})
	admit(b, l, ada, Turn, 1)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Check(ada, Turn); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	l := New(Config{Spec: busyLimits(b), Places: 1000})
	b.ReportAllocs()
	for b.Loop() {
		a, err := l.Admit(b.Context(), ada, Turn)
		if err != nil {
			b.Fatal(err)
		}
		a.Tokens(1)
		a.End()
	}
}

func BenchmarkRefusal(b *testing.B) {
	l := New(Config{Spec: Spec{User: &Limit{Requests: rate(b, "1/d"), Streams: 5}}})
	admit(b, l, ada, Turn, 1)
	b.ReportAllocs()
	for b.Loop() {
		err := l.Check(ada, Turn)
		r, ok := errors.AsType[*Refusal](err)
		if !ok {
			b.Fatal(err)
		}
		r.SetHeader(http.Header{})
	}
}
