//go:build unix

package redis_test

import (
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/state/store"
	"sluice/internal/state/store/redis/redistest"
)

// hourly is one of four an hour.
func hourly() store.Charge {
	return store.Charge{Levels: []store.Level{{Key: "r", Window: time.Hour, Debt: time.Hour, Cost: 15 * time.Minute, Need: 15 * time.Minute}}}
}

// charge charges, and returns whether that was allowed and what is left of the level.
func charge(t *testing.T, s store.Rates, c store.Charge) (bool, time.Duration) {
	t.Helper()
	r, err := s.ChargeRates(t.Context(), c)
	must(t, err)
	return r.OK, r.Levels[0]
}

// Whatever the server's clock does, nobody waits for longer than a window, and what was charged
// is not forgotten while the clock only goes on.
func TestRatesAndAClockThatMoves(t *testing.T) {
	t.Parallel()
	server, move := redistest.StartWithClock(t, "redis-server", required())
	s := open(t, server)
	for range 4 {
		if ok, _ := charge(t, s, hourly()); !ok {
			t.Fatal("one of four is refused")
		}
	}
	move(-48 * time.Hour)
	if ok, level := charge(t, s, hourly()); ok || level > 2*time.Hour {
		t.Errorf("back by two days: %v at a level of %v", ok, level)
	}
	move(-46 * time.Hour)
	if ok, level := charge(t, s, hourly()); !ok || level > 16*time.Minute {
		t.Errorf("two hours later: %v at a level of %v", ok, level)
	}
	move(30 * 24 * time.Hour)
	if ok, level := charge(t, s, hourly()); !ok || level > 15*time.Minute {
		t.Errorf("ahead by a month: %v at a level of %v", ok, level)
	}
	move(0)
	if ok, level := charge(t, s, hourly()); ok && level > time.Hour || level > 2*time.Hour {
		t.Errorf("right again: %v at a level of %v", ok, level)
	}
}

// The same of a window: what was charged counts for a period at most, whatever the clock does.
func TestWindowsAndAClockThatMoves(t *testing.T) {
	t.Parallel()
	server, move := redistest.StartWithClock(t, "redis-server", required())
	s := open(t, server)
	c := store.Charge{Windows: []store.Window{{Key: "w", Period: time.Hour, Most: 2, Cost: 1}}}
	ask := func(what string, ok bool, n int) {
		t.Helper()
		r, err := s.ChargeRates(t.Context(), c)
		must(t, err)
		if used := r.Windows[0]; r.OK != ok || used.N != n || used.Wait > 65*time.Minute || (used.Wait > 0) != (n == 2) {
			t.Errorf("%s: %v, %+v", what, r.OK, used)
		}
	}
	ask("first", true, 1)
	ask("second", true, 2)
	ask("third", false, 2)
	move(-48 * time.Hour)
	ask("back by two days", false, 2)
	move(-48*time.Hour + 30*time.Minute)
	ask("half an hour later", false, 2)
	move(-46 * time.Hour)
	ask("two hours later", true, 1)
	move(30 * 24 * time.Hour)
	ask("ahead by a month", true, 1)
	move(0)
	ask("right again", true, 2)
}

// A server that has forgotten its scripts is sent them again; one that takes no writes, hangs or
// is gone says so in time, and charges nothing but what had arrived.
func TestRatesOfAServerInTrouble(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", required(), "--appendonly", "yes", "--appendfsync", "always")
	patient, s, a := open(t, server), hasty(t, server), admin(t, server)
	hourly := func() store.Charge {
		c := hourly()
		c.Windows = []store.Window{{Key: "w", Period: time.Hour, Most: 4, Cost: 1}}
		return c
	}
	if ok, _ := charge(t, patient, hourly()); !ok {
		t.Fatal("the first is refused")
	}
	must(t, a.ScriptFlush(t.Context()).Err())
	if ok, level := charge(t, patient, hourly()); !ok || level < 29*time.Minute {
		t.Errorf("without its scripts: %v at a level of %v", ok, level)
	}
	must(t, a.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	if _, err := patient.ChargeRates(t.Context(), hourly()); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("read only: %v", err)
	}
	must(t, a.ReplicaOf(t.Context(), "no", "one").Err())
	must(t, a.ConfigSet(t.Context(), "maxmemory", "1").Err())
	if _, err := patient.ChargeRates(t.Context(), hourly()); !errors.Is(err, store.ErrFull) {
		t.Errorf("without memory: %v", err)
	}
	must(t, a.ConfigSet(t.Context(), "maxmemory", "0").Err())
	if ok, level := charge(t, patient, hourly()); !ok || level < 44*time.Minute || level > 45*time.Minute {
		t.Errorf("after two that were not charged: %v at a level of %v", ok, level)
	}
	server.Pause(t)
	_, err := s.ChargeRates(t.Context(), hourly())
	server.Resume(t)
	want(t, store.ErrUnavailable, err)
	server.Kill()
	if _, err := s.ChargeRates(t.Context(), hourly()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("killed: %v", err)
	}
	server.Start(t)
	r, err := patient.ChargeRates(t.Context(), store.Charge{Windows: []store.Window{{Key: "w", Period: time.Hour, Most: 4}}})
	must(t, err)
	if n := r.Windows[0].N; n != 3 && n != 4 { // the one that was under way while it hung may have arrived
		t.Errorf("after a restart from its file: %d in the window", n)
	}
	if _, level := charge(t, patient, store.Charge{Levels: []store.Level{{Key: "r", Window: time.Hour, Debt: time.Hour}}}); level < 44*time.Minute || level > time.Hour {
		t.Errorf("after a restart from its file: a level of %v", level)
	}
}

// Keys of rates go when nothing is left of them, hold no name, and are few.
func TestKeysOfRates(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", required())
	s, a := open(t, server), admin(t, server)
	me := store.Holder{Owner: "g", Epoch: 1}
	must(t, s.RenewLease(t.Context(), me, time.Hour))
	c := store.Charge{
		Holder: me,
		Levels: []store.Level{{Key: store.RateKey("m", "user", "acme", "ada"), Window: time.Minute, Cost: time.Second, Need: time.Second}},
		Counts: []store.Count{{Key: store.RateKey("n", "user", "acme", "ada"), Turns: 1, Seq: 1}},
	}
	_, err := s.ChargeRates(t.Context(), c)
	must(t, err)
	ttl := func(key string) time.Duration { return a.PTTL(t.Context(), "p:"+key).Val() }
	if level, count := ttl(c.Levels[0].Key), ttl(c.Counts[0].Key); level <= 0 || level > 2*time.Second || count <= 59*time.Minute || count > time.Hour {
		t.Errorf("kept for %v and %v", level, count)
	}
	c.Counts[0] = store.Count{Key: c.Counts[0].Key, Seq: 2}
	_, err = s.ChargeRates(t.Context(), c)
	must(t, err)
	if count := ttl(c.Counts[0].Key); count <= 0 || count > 10*time.Second {
		t.Errorf("nothing runs, kept for %v", count)
	}
	if keys := a.Keys(t.Context(), "p:sluice:rate:*").Val(); len(keys) != 2 {
		t.Errorf("keys %v", keys)
	}
	if store.RateKey("m", "user", "a", "bc") == store.RateKey("m", "user", "ab", "c") {
		t.Error("two subjects share a key")
	}
}

// BenchmarkCharge is what a turn asks before its first byte: its user's, its tenant's and all
// together's requests, streams and tokens.
func BenchmarkCharge(b *testing.B) {
	server := redistest.Start(b, "redis-server", false)
	s := open(b, server)
	me := store.Holder{Owner: "g", Epoch: 1}
	must(b, s.RenewLease(b.Context(), me, time.Hour))
	c := store.Charge{Holder: me}
	for i, who := range []string{"user", "tenant", "global"} {
		for _, what := range []string{"requests", "tokens-m", "tokens-d"} {
			c.Levels = append(c.Levels, store.Level{Key: store.RateKey(what, who), Window: time.Hour, Cost: 1, Need: 1, Of: 0})
		}
		c.Counts = append(c.Counts, store.Count{Key: store.RateKey("running", who), Turns: 1, Seq: int64(i), Most: 100})
	}
	for b.Loop() {
		for i := range c.Counts {
			c.Counts[i].Seq++
		}
		if r, err := s.ChargeRates(b.Context(), c); err != nil || !r.OK {
			b.Fatal(r, err)
		}
	}
	a := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket})
	defer a.Close()
	b.ReportMetric(figure(a.Info(b.Context(), "commandstats").Val(), `cmdstat_evalsha:.*usec_per_call=([0-9.]+)`), "server-µs/op")
}

// BenchmarkPing is the way to the server and back.
func BenchmarkPing(b *testing.B) {
	server := redistest.Start(b, "redis-server", false)
	a := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket})
	defer a.Close()
	for b.Loop() {
		if err := a.Ping(b.Context()).Err(); err != nil {
			b.Fatal(err)
		}
	}
}
