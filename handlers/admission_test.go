package handlers_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/handlers"
)

// slowMachine is a Config.Delay.
type slowMachine struct{ delay atomic.Int64 }

func (m *slowMachine) since() time.Duration { return time.Duration(m.delay.Load()) }

// statuses asks for so many turns, one every 10 ms, and counts the replies.
// Streams that began run until ctx ends.
func (g *gateway) statuses(ctx context.Context, t *testing.T, turns int) map[int]int {
	t.Helper()
	count := map[int]int{}
	for range turns {
		resp, err := g.send(ctx, "GET", "/chat/stream?input=hi", nil)
		if err != nil {
			t.Fatal(err)
		}
		count[resp.StatusCode]++
		if resp.StatusCode == 503 && (resp.Header.Get("Retry-After") == "" || resp.Close) {
			t.Errorf("a refusal without Retry-After, or that closes the connection: %v", resp.Header)
		}
		if resp.StatusCode != 200 {
			_ = resp.Body.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	return count
}

// When work waits too long for the CPU, streams beyond a floor are refused, but for
// a few; when it does not any more, they are admitted again.
func TestAdmissionByDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m slowMachine
		g, _, stop := serveInBubble(handlers.Config{Runner: waits, Limits: handlers.Limits{Delay: m.since}})
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		cores := runtime.GOMAXPROCS(0)
		floor := 32 * cores
		if got := g.statuses(ctx, t, floor+20); got[200] != floor+20 {
			t.Fatalf("without a delay: %v", got)
		}
		m.delay.Store(int64(time.Second))
		g.statuses(ctx, t, 30) // it takes two looks
		got := g.statuses(ctx, t, 100)
		if got[200] == 0 || got[200] > 10*(cores+1) || got[200]+got[503] != 100 {
			t.Errorf("with a delay: %v, want some %d admitted in a second", got, 10*cores)
		}
		m.delay.Store(0)
		g.statuses(ctx, t, 100)
		if got := g.statuses(ctx, t, 100); got[200] != 100 {
			t.Errorf("after the delay: %v", got)
		}
	})
}

// Without Delay, the number of streams alone decides.
func TestAdmissionByCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: waits, Limits: handlers.Limits{MaxStreams: 90}})
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if got := g.statuses(ctx, t, 100); got[200] != 90 || got[503] != 10 {
			t.Errorf("%v, want 90 admitted and 10 refused", got)
		}
	})
}
