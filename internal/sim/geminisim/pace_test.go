package geminisim

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/testnet"
	"sluice/internal/sim/geminisim/simtest"
)

// inBubble serves cfg in memory and returns a client for it. To be called in a
// bubble of fake time.
func inBubble(t *testing.T, cfg Config) *http.Client {
	t.Helper()
	return &http.Client{Transport: testnet.Serve(t, New(cfg))}
}

// arrivals returns when each event of a stream arrived, counted from the request.
func arrivals(t *testing.T, client *http.Client, text string) []time.Duration {
	t.Helper()
	start := time.Now()
	resp, err := client.Post("http://sim"+streamPath, "application/json", strings.NewReader(simtest.UserSays(text)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var at []time.Duration
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "data: ") {
			at = append(at, time.Since(start))
		}
	}
	if err := sc.Err(); err != nil {
		t.Error(err)
	}
	return at
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := inBubble(t, Config{Model: parrot{}, FirstDelay: 150 * time.Millisecond, Pace: 35 * time.Millisecond})
		at := arrivals(t, client, "one two three four five six")
		if len(at) < 2 {
			t.Fatalf("%d events", len(at))
		}
		for i, d := range at {
			if want := 150*time.Millisecond + time.Duration(i)*35*time.Millisecond; d != want {
				t.Errorf("event %d after %v, want %v", i, d, want)
			}
		}
	})
}

func TestDelayDirective(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := inBubble(t, Config{Script: script(t, "delay 1s\ntext a\ndelay 20ms\nrepeat 2 delay 5ms\ntext b\nfinish STOP")})
		at := arrivals(t, client, "hi")
		want := []time.Duration{time.Second, 1030 * time.Millisecond, 1030 * time.Millisecond}
		if len(at) != len(want) {
			t.Fatalf("%v", at)
		}
		for i := range want {
			if at[i] != want[i] {
				t.Errorf("event %d after %v, want %v", i, at[i], want[i])
			}
		}
	})
}

// Whatever the server waits for, it stops when the client leaves: the bubble ends
// only when no goroutine is left.
func TestNothingOutlivesTheClient(t *testing.T) {
	for _, text := range []string{"text a\nstall", "text a\ndelay 24h\ntext b", "text a\nsplit 1\nrepeat 1000000 text x", "text a\nhang"} {
		synctest.Test(t, func(t *testing.T) {
			client := inBubble(t, Config{Script: script(t, text)})
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sim"+streamPath, strings.NewReader(simtest.UserSays("hi")))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
				t.Errorf("%q, %v", line, err)
			}
			start := time.Now()
			cancel()
			if _, err := io.Copy(io.Discard, resp.Body); err == nil {
				t.Error("the stream ended well")
			}
			resp.Body.Close()
			synctest.Wait()
			if d := time.Since(start); d != 0 {
				t.Errorf("%s: %v passed", text, d)
			}
		})
	}
}

// A model, too, stops in the middle of its words.
func TestModelStopsWhenTheClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := inBubble(t, Config{Model: parrot{}, FirstDelay: time.Hour, Pace: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://sim"+streamPath, strings.NewReader(simtest.UserSays("one two three four five six")))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err == nil || strings.Count(string(b), "data: ") != 1 {
			t.Errorf("%q, %v", b, err)
		}
	})
}
