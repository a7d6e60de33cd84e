package breaker_test

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/breaker"
)

// A hundred callers at a service that goes up and down: what the log shows is one
// chain of changes that may follow each other.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Recovery = time.Second
		var log lines // has no lock: the breaker writes one line at a time
		cfg.Log = log.logger()
		b := breaker.New(cfg)
		var down atomic.Bool
		var passed, rejected atomic.Int64
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for range 100 {
					report, err := b.Allow(context.Background())
					if err != nil {
						rejected.Add(1)
						time.Sleep(100 * time.Millisecond)
						continue
					}
					passed.Add(1)
					time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
					switch {
					case r.IntN(10) == 0:
						report(breaker.Neutral, context.Canceled)
					case down.Load():
						report(breaker.Failure, errDown)
					default:
						report(breaker.Success, nil)
					}
					_ = b.Snapshot()
				}
			})
		}
		wg.Go(func() {
			for i := range 4 {
				down.Store(i%2 == 0)
				time.Sleep(2500 * time.Millisecond)
			}
		})
		wg.Wait()
		if passed.Load() == 0 || rejected.Load() == 0 {
			t.Errorf("%d calls passed and %d did not: the test proves nothing", passed.Load(), rejected.Load())
		}
		time.Sleep(time.Minute)
		calls(t, b, "sss")
		state(t, b, breaker.Closed)
		checkChain(t, only(log.drain(t), "circuit_breaker_state_change"))
	})
}

var changes = regexp.MustCompile(`"old_state":"([a-z-]+)","new_state":"([a-z-]+)"`)

func checkChain(t *testing.T, log []string) {
	t.Helper()
	at := "closed"
	seen := map[string]int{}
	for _, line := range log {
		m := changes.FindStringSubmatch(line)
		if m == nil || m[1] != at {
			t.Fatalf("the breaker was %s, then came %s", at, line)
		}
		at = m[2]
		seen[m[1]+" "+m[2]]++
	}
	for _, change := range []string{"closed open", "open half-open", "half-open open", "half-open closed"} {
		if seen[change] == 0 {
			t.Errorf("never from %s: the test proves little", change)
		}
		delete(seen, change)
	}
	if len(seen) > 0 || at != "closed" {
		t.Errorf("impossible changes %v, at the end %s", seen, at)
	}
}

func only(list []string, part string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return !strings.Contains(s, part) })
}

// All at once: of a hundred callers three become probes.
func TestProbesAmongManyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := halfOpen(t)
		var probes atomic.Int64
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				report, err := b.Allow(context.Background())
				if err != nil {
					return
				}
				probes.Add(1)
				time.Sleep(time.Second)
				report(breaker.Success, nil)
			})
		}
		wg.Wait()
		if probes.Load() != 3 {
			t.Errorf("%d probes ran at once, want 3", probes.Load())
		}
		state(t, b, breaker.Closed)
	})
}

func BenchmarkAllowDone(b *testing.B) {
	br := breaker.New(config())
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		report, err := br.Allow(ctx)
		if err != nil {
			b.Fatal(err)
		}
		report(breaker.Success, nil)
	}
}

func BenchmarkAllowDoneParallel(b *testing.B) {
	br := breaker.New(config())
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if report, err := br.Allow(ctx); err == nil {
				report(breaker.Success, nil)
			}
		}
	})
}

func BenchmarkRefused(b *testing.B) {
	br := breaker.New(config())
	ctx := context.Background()
	for range 3 {
		if report, err := br.Allow(ctx); err == nil {
			report(breaker.Failure, errDown)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := br.Allow(ctx); err == nil {
			b.Fatal("let through")
		}
	}
}
