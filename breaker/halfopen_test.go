package breaker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/breaker"
	"sluice/internal/base/telemetry/health"
)

// halfOpen returns a breaker that has opened and whose recovery time is over.
func halfOpen(t *testing.T) *breaker.Breaker {
	t.Helper()
	b := breaker.New(config())
	calls(t, b, "fff")
	time.Sleep(30*time.Second + 1)
	return b
}

func TestHalfOpen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		calls string
		want  breaker.State
		count uint32
	}{
		{"s", breaker.HalfOpen, 0}, {"ss", breaker.HalfOpen, 0}, {"sss", breaker.Closed, 0}, {"f", breaker.Open, 4}, {"sf", breaker.Open, 1}, {"ssf", breaker.Open, 1},
		{"n", breaker.HalfOpen, 3}, {"nnnnnnn", breaker.HalfOpen, 3}, {"snsns", breaker.Closed, 0}, {"nf", breaker.Open, 4}, {"sssff", breaker.Closed, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := halfOpen(t)
			calls(t, b, tt.calls)
			want := health.Breaker{Service: "gemini", State: tt.want, FailureCount: tt.count}
			if tt.want == breaker.Open {
				want.RetryAfter = 30 * time.Second
			}
			if diff := cmp.Diff(want, timeless(b.Snapshot())); diff != "" {
				t.Errorf("after the probes %q (-want +got):\n%s", tt.calls, diff)
			}
		})
	}
}

// At most three probes run at once. One that hangs blocks its own place alone,
// and a neutral end frees it.
func TestProbesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := halfOpen(t)
		hung, second, third := allow(t, b), allow(t, b), allow(t, b)
		if got := refused(t, b); got != time.Second {
			t.Errorf("RetryAfter with all places taken is %v, want 1 s", got)
		}
		second(breaker.Neutral, nil)
		fourth := allow(t, b)
		refused(t, b)
		third(breaker.Success, nil)
		fourth(breaker.Success, nil)
		state(t, b, breaker.HalfOpen)
		hung(breaker.Neutral, context.Canceled)
		calls(t, b, "s")
		state(t, b, breaker.Closed)
	})
}

// A verdict counts in the state in which its call was let through, and in no other.
func TestLateVerdicts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(config())
		early := []done{allow(t, b), allow(t, b), allow(t, b), allow(t, b)}
		calls(t, b, "fff")
		early[0](breaker.Success, nil) // while open
		early[1](breaker.Failure, errDown)
		want := health.Breaker{Service: "gemini", State: breaker.Open, FailureCount: 3, RetryAfter: 30 * time.Second}
		if diff := cmp.Diff(want, timeless(b.Snapshot())); diff != "" {
			t.Errorf("late verdicts changed an open breaker (-want +got):\n%s", diff)
		}
		time.Sleep(30*time.Second + 1)
		probes := []done{allow(t, b), allow(t, b), allow(t, b)}
		early[2](breaker.Failure, errDown) // while half-open
		state(t, b, breaker.HalfOpen)
		refused(t, b) // nor did it free a place
		probes[0](breaker.Failure, errDown)
		state(t, b, breaker.Open)
		probes[1](breaker.Failure, errDown) // of the half-open time before
		if got := b.Snapshot().FailureCount; got != 4 {
			t.Errorf("failure count %d, want 4", got)
		}
		time.Sleep(30*time.Second + 1)
		calls(t, b, "ss")
		probes[2](breaker.Success, nil)
		state(t, b, breaker.HalfOpen)
		calls(t, b, "s")
		early[3](breaker.Failure, errDown) // while closed again
		if got := b.Snapshot(); got.State != breaker.Closed || got.FailureCount != 0 {
			t.Errorf("a verdict from before counts: %+v", got)
		}
	})
}

// timeless returns a snapshot without its times and successes, which TestRecoveryTime looks at.
func timeless(s health.Breaker) health.Breaker {
	s.LastFailure, s.LastChange, s.Successes = time.Time{}, time.Time{}, 0
	return s
}
