package testnet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/testnet"
)

// Time in a bubble goes on while a request waits for its reply.
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
