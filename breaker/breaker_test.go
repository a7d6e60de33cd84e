package breaker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/breaker"
	"sluice/internal/base/telemetry/health"
)

var errDown = errors.New("503")

// config is that of most tests: opens at 3 failures, for 30 s, 3 probes.
func config() breaker.Config {
	return breaker.Config{Service: "gemini", Failures: 3, Recovery: 30 * time.Second, HalfOpenCalls: 3}
}

type done = func(breaker.Verdict, error)

// allow asks for a call, which must be let through.
func allow(t *testing.T, b *breaker.Breaker) done {
	t.Helper()
	report, err := b.Allow(context.Background())
	if err != nil {
		t.Fatalf("Allow: %v, want it let through", err)
	}
	return report
}

// refused asks for a call, which must not be let through, and returns RetryAfter.
func refused(t *testing.T, b *breaker.Breaker) time.Duration {
	t.Helper()
	report, err := b.Allow(context.Background())
	open, ok := errors.AsType[*breaker.OpenError](err)
	if !ok || report != nil {
		t.Fatalf("Allow: %v, want an *OpenError", err)
	}
	if open.Service != "gemini" || open.Error() != "circuit breaker of gemini is open" {
		t.Errorf("refused by %q: %v", open.Service, open)
	}
	return open.RetryAfter
}

// calls makes one call after the other: s succeeds, f fails, n is neutral.
func calls(t *testing.T, b *breaker.Breaker, verdicts string) {
	t.Helper()
	for _, v := range verdicts {
		report := allow(t, b)
		switch v {
		case 's':
			report(breaker.Success, nil)
		case 'f':
			report(breaker.Failure, errDown)
		case 'n':
			report(breaker.Neutral, context.Canceled)
		}
	}
}

func state(t *testing.T, b *breaker.Breaker, want breaker.State) {
	t.Helper()
	if got := b.Snapshot().State; got != want {
		t.Fatalf("the breaker is %s, want %s", got, want)
	}
}

// Only failures one after the other open it; what is neutral neither counts nor
// restarts the count.
func TestOpensAfterConsecutiveFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		calls string
		want  breaker.State
		count uint32
	}{
		{"", breaker.Closed, 0}, {"ff", breaker.Closed, 2}, {"fff", breaker.Open, 3}, {"ffsff", breaker.Closed, 2}, {"ffsfff", breaker.Open, 3},
		{"ffnnnn", breaker.Closed, 2}, {"fnfnf", breaker.Open, 3}, {"nnnnnn", breaker.Closed, 0}, {"ffs", breaker.Closed, 0},
	} {
		b := breaker.New(config())
		calls(t, b, tt.calls)
		if got := b.Snapshot(); got.State != tt.want || got.FailureCount != tt.count {
			t.Errorf("after %q: %+v, want %s and %d", tt.calls, got, tt.want, tt.count)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Config{Service: "gemini"})
		calls(t, b, "ffff")
		state(t, b, breaker.Closed)
		calls(t, b, "f")
		if got := refused(t, b); got != 30*time.Second {
			t.Errorf("RetryAfter %v, want 30 s", got)
		}
		time.Sleep(30*time.Second + 1)
		for range 3 {
			allow(t, b)
		}
		refused(t, b)
	})
}

// It lets a probe through strictly after the recovery time, and says until then
// how long that takes.
func TestRecoveryTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(config())
		calls(t, b, "fff")
		began := time.Now()
		for _, tt := range []struct{ at, snapshot, wait time.Duration }{
			{0, 30 * time.Second, 30 * time.Second},
			{10 * time.Second, 20 * time.Second, 20 * time.Second},
			{30*time.Second - 1, 1, time.Millisecond}, // never 0, which would mean: not known
			{30 * time.Second, 0, time.Millisecond},
		} {
			time.Sleep(tt.at - time.Since(began))
			want := health.Breaker{Service: "gemini", State: breaker.Open, FailureCount: 3, RetryAfter: tt.snapshot, LastFailure: began, LastChange: began}
			if diff := cmp.Diff(want, b.Snapshot()); diff != "" {
				t.Errorf("snapshot after %v (-want +got):\n%s", tt.at, diff)
			}
			if got := refused(t, b); got != tt.wait {
				t.Errorf("RetryAfter after %v is %v, want %v", tt.at, got, tt.wait)
			}
		}
		time.Sleep(time.Nanosecond)
		allow(t, b)
		probing := time.Now()
		if diff := cmp.Diff(health.Breaker{Service: "gemini", State: breaker.HalfOpen, FailureCount: 3, LastFailure: began, LastChange: probing}, b.Snapshot()); diff != "" {
			t.Errorf("snapshot with a probe (-want +got):\n%s", diff)
		}
		calls(t, b, "s")
		if got := b.Snapshot(); got.Successes != 1 || !got.LastFailure.Equal(began) {
			t.Errorf("snapshot after a success: %+v", got)
		}
	})
}

// Looking must not change anything, however long one looks.
func TestSnapshotChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		cfg := config()
		cfg.Log = log.logger()
		b := breaker.New(cfg)
		calls(t, b, "fff")
		said := len(log.drain(t))
		for range 100 {
			time.Sleep(time.Hour)
			state(t, b, breaker.Open)
		}
		if got := log.drain(t); len(got) > 0 || said == 0 {
			t.Errorf("a snapshot was logged: %v", got)
		}
	})
}

func TestDoneCountsOnce(t *testing.T) {
	t.Parallel()
	b := breaker.New(config())
	report := allow(t, b)
	for range 5 {
		report(breaker.Failure, errDown)
	}
	report(breaker.Success, nil)
	if got := b.Snapshot(); got.State != breaker.Closed || got.FailureCount != 1 {
		t.Errorf("after one failure reported six times: %+v", got)
	}
}
