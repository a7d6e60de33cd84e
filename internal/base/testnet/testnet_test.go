package testnet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/testnet"
)

// Time in a bubble continues while a request waits for its reply.
func TestServeInFakeTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := testnet.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, "an hour later")
		}))
		began := time.Now()
		resp, err := (&http.Client{Transport: transport}).Get("http://anybody/")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); string(body) != "an hour later" || err != nil || time.Since(began) != time.Hour {
			t.Errorf("got %q, %v after %v", body, err, time.Since(began))
		}
	})
}

func TestDialWaitsForAccept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := testnet.Listen()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Dial(ctx, "", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial = %v where nobody accepts", err)
		}
		go func() { // twice, as http.Server does
			_ = l.Close()
			_ = l.Close()
		}()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept = %v after Close", err)
		}
		if _, err := l.Dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Dial = %v after Close", err)
		}
	})
}

func TestSoonest(t *testing.T) {
	t.Parallel()
	times := []time.Duration{5, 3, 4, 2, 6}
	rest := slices.Clone(times)
	got := testnet.Soonest(func() time.Duration {
		d := rest[0]
		rest = rest[1:]
		return d
	})
	if got != 2 || len(rest) != 0 {
		t.Errorf("Soonest = %v, %d left, want 2 of all", got, len(rest))
	}
}

// stub is a test whose end is looked at.
type stub struct {
	testing.TB
	errors int
}

func (*stub) Helper()                 {}
func (s *stub) Errorf(string, ...any) { s.errors++ }
func (s *stub) Fatalf(string, ...any) { s.errors++; runtime.Goexit() }

// In a bubble no goroutine wakes late, so that the bound is exact.
func TestPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for elapsed, want := range map[time.Duration]int{time.Second: 0, time.Second + 1: 1} {
			s := &stub{TB: t}
			testnet.Prompt(s, "it", elapsed, time.Second)
			if s.errors != want {
				t.Errorf("%v: %d errors, want %d", elapsed, s.errors, want)
			}
		}
	})
}

func TestEventually(t *testing.T) {
	for name, tt := range map[string]struct {
		after time.Duration // when the condition holds
		want  int
	}{"at once": {0, 0}, "soon": {time.Second, 0}, "too late": {time.Hour, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, began := &stub{TB: t}, time.Now()
				done := make(chan struct{})
				go func() {
					defer close(done)
					testnet.Eventually(s, "it", func() bool { return time.Since(began) >= tt.after })
				}()
				<-done
				if elapsed := time.Since(began); s.errors != tt.want || elapsed > testnet.Patience+time.Second {
					t.Errorf("%d errors after %v, want %d", s.errors, elapsed, tt.want)
				}
			})
		})
	}
}

// Silence lasts as long as something comes, and what is asked for beyond it.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		beats := make(chan struct{}, 1)
		go func() {
			for range 5 {
				time.Sleep(time.Second)
				beats <- struct{}{}
			}
		}()
		began := time.Now()
		testnet.Silence(t, "the beats end", beats, 2*time.Second)
		if elapsed := time.Since(began); elapsed < 7*time.Second || elapsed > 10*time.Second {
			t.Errorf("it took %v", elapsed)
		}
	})
}
