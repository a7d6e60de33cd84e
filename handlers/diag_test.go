package handlers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/stream/sse"
)

// The ticks of one probe, byte for byte and on time.
func TestTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Limits: handlers.Limits{Heartbeat: 15 * time.Second, WriteTimeout: 5 * time.Second}})
		defer stop()
		began := time.Now()
		got := g.do(t, "GET", "/diag/sse?ticks=3&padding=4", "", "X-Request-ID: r-1")
		if elapsed := time.Since(began); elapsed != 400*time.Millisecond {
			t.Errorf("it took %v, want 400ms", elapsed)
		}
		want := `retry: 86400000
id: r-1:1
event: tick
data: {"request_id":"r-1","n":1,"elapsed_ms":0,"time":"2000-01-01T00:00:00.000Z","protocol":"HTTP/1.1","padding":4,"filler":"xxxx"}

id: r-1:2
event: tick
data: {"request_id":"r-1","n":2,"elapsed_ms":200,"time":"2000-01-01T00:00:00.200Z","protocol":"HTTP/1.1","padding":4,"filler":"xxxx"}

id: r-1:3
event: tick
data: {"request_id":"r-1","n":3,"elapsed_ms":400,"time":"2000-01-01T00:00:00.400Z","protocol":"HTTP/1.1","padding":4,"filler":"xxxx"}

id: r-1:4
event: done
data: {"request_id":"r-1","ticks":3}

`
		if diff := cmp.Diff(want, got.body); diff != "" || got.status != 200 || got.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("status %d, headers %v (-want +got):\n%s", got.status, got.header, diff)
		}
		if strings.Contains(g.do(t, "GET", "/diag/sse?ticks=2", "").body, "padding") {
			t.Error("without padding the ticks mention it")
		}
		if n := g.runs.Load(); n != 0 {
			t.Errorf("the runner was called %d times", n)
		}
	})
}

// Each tick is on its way before the next one is due, and silence between them is
// filled unless it was asked for.
func TestTicksComeOneByOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Limits: handlers.Limits{Heartbeat: 15 * time.Second}})
		defer stop()
		resp, err := g.send(t.Context(), "GET", "/diag/sse", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		began := time.Now()
		events := sse.NewReader(resp.Body, 1<<10)
		for n := range 10 {
			ev, err := events.Next()
			if due := time.Duration(n) * 200 * time.Millisecond; err != nil || ev.Type != "tick" || time.Since(began) != due {
				t.Errorf("after %v: %+v, %v; want a tick at %v", time.Since(began), ev, err, due)
			}
		}
		if ev, err := events.Next(); err != nil || ev.Type != "done" || !strings.Contains(ev.Data, `"ticks":10`) {
			t.Errorf("the end: %+v, %v", ev, err)
		}
		for query, pings := range map[string]int{"": 3, "&heartbeat=true": 3, "&heartbeat=false": 0} {
			body := g.do(t, "GET", "/diag/sse?ticks=2&interval_ms=50000"+query, "").body
			if got := strings.Count(body, ": ping\n\n"); got != pings || strings.Count(body, "event: tick") != 2 {
				t.Errorf("%s: %d comments, want %d:\n%s", query, got, pings, body)
			}
		}
	})
}

func TestTicksAreBounded(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	for query, field := range map[string]string{
		"ticks=0": "ticks", "ticks=51": "ticks", "ticks=": "ticks", "ticks=1e1": "ticks", "ticks=-1": "ticks",
		"interval_ms=19": "interval_ms", "interval_ms=300001": "interval_ms", "padding=-1": "padding", "padding=16385": "padding",
		"heartbeat=no": "heartbeat", "heartbeat=": "heartbeat", "ticks=3&interval_ms=200000": "ticks",
	} {
		got := g.do(t, "GET", "/diag/sse?"+query, "")
		if got.status != 422 || !strings.Contains(got.body, `"errors":[{"field":"/`+field+`"`) || strings.Count(got.body, `"field"`) != 1 {
			t.Errorf("%s: status %d: %s", query, got.status, got.body)
		}
	}
	if got := g.do(t, "GET", "/diag/sse?ticks=x&padding=x", ""); strings.Count(got.body, `"field"`) != 2 {
		t.Errorf("two faults: %s", got.body)
	}
	if got := g.do(t, "GET", "/diag/sse?ticks=1&new="+strings.Repeat("x", 1000), ""); got.status != 200 {
		t.Errorf("an unknown name: status %d: %s", got.status, got.body)
	}
	for _, method := range []string{"POST", "HEAD"} {
		if got := g.do(t, method, "/diag/sse", ""); got.status != 405 {
			t.Errorf("%s: status %d, want 405", method, got.status)
		}
	}
}

// Probes have places of their own: they and turns do not take each other's.
func TestTicksHavePlacesOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Limits: handlers.Limits{MaxStreams: 1}, Runner: waits})
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var probes [32]*http.Response
		for n := range probes {
			resp, err := g.send(ctx, "GET", "/diag/sse?ticks=2&interval_ms=100000", nil)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("probe %d: %v, %v", n, resp, err)
			}
			defer resp.Body.Close()
			probes[n] = resp
		}
		if got := g.do(t, "GET", "/diag/sse", ""); got.status != 503 || !strings.Contains(got.body, "overloaded") || got.header.Get("Retry-After") == "" {
			t.Errorf("one more: status %d, headers %v: %s", got.status, got.header, got.body)
		}
		turn, err := g.send(ctx, "GET", "/chat/stream?input=hi", nil)
		if err != nil || turn.StatusCode != 200 {
			t.Fatalf("a turn beside them: %v, %v", turn, err)
		}
		defer turn.Body.Close()
		if got := g.do(t, "GET", "/readyz", ""); !strings.Contains(got.body, `"streams":1`) {
			t.Errorf("streams, without probes: %s", got.body)
		}
		for _, resp := range probes {
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Fatal(err)
			}
		}
		if got := g.do(t, "GET", "/diag/sse?ticks=1", ""); got.status != 200 {
			t.Errorf("a probe beside as many turns as may run: status %d: %s", got.status, got.body)
		}
	})
}

// A drain ends probes at once, in order, and does not wait for one that is not read.
func TestTicksDoNotHoldUpADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Limits: handlers.Limits{WriteTimeout: time.Hour}})
		defer stop()
		resp, err := g.send(t.Context(), "GET", "/diag/sse?ticks=2&interval_ms=100000", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		unread, err := g.send(t.Context(), "GET", "/diag/sse?ticks=50&interval_ms=20&padding=16384", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer unread.Body.Close()
		synctest.Wait()
		began := time.Now()
		g.Drain()
		if err := g.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.HasSuffix(string(body), "\"ticks\":1}\n\n") || strings.Count(string(body), "event: done") != 1 {
			t.Errorf("ended by a drain: %v:\n%s", err, body)
		}
		if elapsed := time.Since(began); elapsed != 0 {
			t.Errorf("the drain took %v", elapsed)
		}
		if got := g.do(t, "GET", "/diag/sse", ""); got.status != 503 || !strings.Contains(got.body, "shutting_down") {
			t.Errorf("while draining: status %d: %s", got.status, got.body)
		}
		g.Drain() // again, which changes nothing
	})
}

// A client that leaves, or that does not read, gives its place back.
func TestTicksEndWithTheirClient(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(io.Closer, context.CancelFunc){
		"leaves":        func(body io.Closer, _ context.CancelFunc) { _ = body.Close() },
		"cancels":       func(_ io.Closer, cancel context.CancelFunc) { cancel() },
		"does not read": func(io.Closer, context.CancelFunc) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g, _, stop := serveInBubble(handlers.Config{Limits: handlers.Limits{WriteTimeout: 5 * time.Second}})
				defer stop()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resp, err := g.send(ctx, "GET", fmt.Sprintf("/diag/sse?ticks=50&interval_ms=6000&padding=%d", 16<<10), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				leave(resp.Body, cancel)
				for range 31 { // all places but its own
					resp, err := g.send(t.Context(), "GET", "/diag/sse?ticks=2&interval_ms=300000", nil)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
				}
				time.Sleep(time.Minute)
				if got := g.do(t, "GET", "/diag/sse?ticks=1", ""); got.status != 200 {
					t.Errorf("its place is not free: %s", got.body)
				}
			})
		})
	}
}
