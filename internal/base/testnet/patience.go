package testnet

import (
	"testing"
	"time"
)

// Patience bounds every wait for something that must come. It is long: a test that
// waits so long is broken, and a machine with other work is slow.
const Patience = 3 * time.Minute

// pause lies between two looks at something whose changes are not reported.
const pause = 5 * time.Millisecond

// Eventually waits until cond returns true, and fails the test after Patience. It is for the work
// of another process, the kernel or the garbage collector. The work of the test's own goroutines
// belongs into a synctest bubble. It must be called on the test's goroutine, as t.FailNow must.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !cond(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("still waiting after %v: %s", Patience, what)
		}
	}
}

// delays is how often what Prompt and Settle are used for may be put off by a busy
// machine.
const delays = 50

// Prompt fails the test if what took longer than bound, in real time. The machine's own delay is
// allowed in addition. Right after a measurement that is too long, Prompt measures how late a
// goroutine wakes, and allows that delay fifty times.
func Prompt(t testing.TB, what string, elapsed, bound time.Duration) {
	t.Helper()
	if elapsed <= bound {
		return
	}
	if delay := wakeDelay(); elapsed > bound+delays*delay {
		t.Errorf("%s took %v, want at most %v on a machine that wakes a goroutine up to %v late", what, elapsed, bound, delay)
	}
}

// Silence waits until c has brought nothing for d and, on top, for what Settle adds.
// It fails the test after Patience. c needs room for one value, and its sender must
// not wait for more.
func Silence(t testing.TB, what string, c <-chan struct{}, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		select {
		case <-c:
		default:
		}
		SleepAtLeast(d)
		select {
		case <-c:
		default:
			return
		}
	}
	t.Fatalf("still not silent after %v: %s", Patience, what)
}

// SleepAtLeast sleeps for d plus fifty times the delay of a goroutine on this machine now. It is
// for events that nothing reports and that need at most d on an idle machine.
func SleepAtLeast(d time.Duration) { time.Sleep(d + delays*wakeDelay()) }

// wakeDelay returns the longest that the machine now lets a goroutine wait that ought
// to run.
func wakeDelay() time.Duration {
	var latest time.Duration
	for range 20 {
		began := time.Now()
		time.Sleep(pause)
		latest = max(latest, time.Since(began)-pause)
	}
	return latest
}
