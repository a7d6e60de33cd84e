package handlers_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/openai"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

const (
	sdkBody   = `{"model":"sluice","stream":true,"messages":[{"role":"user","content":"pay"}]}`
	sdkWhole  = `{"model":"sluice","messages":[{"role":"user","content":"pay"}]}`
	sdkRepeat = "X-Stainless-Retry-Count: 1"
)

// complete sends a request as an SDK does.
func (g *gateway) complete(t *testing.T, body string, headers ...string) reply {
	t.Helper()
	return g.do(t, "POST", "/v1/chat/completions", body, append(headers, jsonType)...)
}

// sdkGateways calls test for a gateway without a store and for one with one. again serves a
// second gateway of the same store, or returns the first.
func sdkGateways(t *testing.T, run stream.Runner, test func(t *testing.T, g, other *gateway)) {
	t.Helper()
	cfg := func(tasks *task.Service) handlers.Config {
		return handlers.Config{Runner: run, Keeping: handlers.Keeping{Tasks: tasks}, Dialects: []dialect.Dialect{openai.New(openai.Config{})}}
	}
	t.Run("without a store", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g, _, stop := serveInBubble(cfg(nil))
			defer stop()
			test(t, g, g)
		})
	})
	t.Run("with a store", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			kept := memory.New(memory.Config{Tasks: 100})
			first, second := task.New(task.Config{Store: kept}), task.New(task.Config{Store: kept})
			defer first.Close()
			defer second.Close()
			g, _, stop := serveInBubble(cfg(first))
			defer stop()
			other, _, stopOther := serveInBubble(cfg(second))
			defer stopOther()
			test(t, g, other)
		})
	})
}

// An SDK that lost its connection sends the request again by itself: its turn runs once.
func TestSDKRepetitionRunsNoTurn(t *testing.T) {
	t.Parallel()
	sdkGateways(t, slow(time.Minute), func(t *testing.T, g, other *gateway) {
		ctx, cut := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cut()
		}()
		if resp, err := g.send(ctx, "POST", "/v1/chat/completions", strings.NewReader(sdkBody), jsonType); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // until it is cut
			_ = resp.Body.Close()
		}
		time.Sleep(time.Second)
		for n := range 20 {
			at := []*gateway{g, other}[n%2]
			r := at.complete(t, sdkBody, sdkRepeat)
			if r.status != http.StatusConflict || r.header.Get("X-Should-Retry") != "false" || !strings.Contains(r.body, `"code":"duplicate_request"`) {
				t.Fatalf("repetition %d: %d %v %s", n, r.status, r.header, r.body)
			}
			time.Sleep(time.Second)
		}
		if n := g.runs.Load(); n != 1 {
			t.Errorf("the turn ran %d times", n)
		}
		refused := 0
		for _, ln := range append(g.log.lines(t), other.log.lines(t)...) {
			if ln.Event == "retry_refused" && ln.Details["retry_count"] == 1.0 {
				refused++
			}
		}
		if refused < 20 {
			t.Errorf("%d lines say that a repetition was refused", refused)
		}
		if r := g.do(t, "GET", "/metrics", ""); !strings.Contains(r.body, "sluice_sdk_retries_refused_total") {
			t.Error("no metric counts them")
		}
	})
}

// What is not the same request, or is a person's own, runs; so does a repetition of what is long
// over.
func TestWhatIsNoRepetition(t *testing.T) {
	t.Parallel()
	sdkGateways(t, hello, func(t *testing.T, g, other *gateway) {
		ask := func(at *gateway, want int, body string, headers ...string) {
			t.Helper()
			if r := at.complete(t, body, headers...); r.status != want {
				t.Errorf("%v %s: %d %s, want %d", headers, body, r.status, r.body, want)
			}
		}
		ask(g, 200, sdkBody, sdkRepeat) // its first try never came
		ask(other, 409, sdkBody, sdkRepeat)
		ask(g, 200, sdkBody) // a person's
		ask(g, 200, sdkBody, "X-Stainless-Retry-Count: 0")
		ask(g, 200, sdkWhole, sdkRepeat)
		ask(g, 200, sdkBody, sdkRepeat, "Authorization: Bearer other")
		ask(g, 409, sdkBody, sdkRepeat, "Authorization: Bearer other")
		ask(g, 200, sdkBody, sdkRepeat, "Idempotency-Key: 0123456789")
		time.Sleep(10*time.Minute - time.Second)
		ask(other, 409, sdkBody, sdkRepeat)
		time.Sleep(2 * time.Second)
		ask(other, 200, sdkBody, sdkRepeat)
	})
}

// Where the reply said that the request may come again, it may.
func TestRepetitionThatWasAskedFor(t *testing.T) {
	t.Parallel()
	fails := func(acts bool) runner {
		return func(_ context.Context, _ chat.Request, sink stream.Sink) error {
			if acts {
				call := stream.Call{ID: "c", Tool: "pay", Server: "s", Arguments: []byte("{}")}
				_ = sink.Emit(&stream.ToolStarted{Call: call})
				_ = sink.Emit(&stream.ToolCompleted{Call: call})
			}
			return &fault.Error{Type: fault.ModelUnavailable, Message: "no"}
		}
	}
	sdkGateways(t, fails(false), func(t *testing.T, g, other *gateway) {
		for range 3 {
			for _, at := range []*gateway{g, other} {
				if r := at.complete(t, sdkWhole, sdkRepeat); r.status != 503 || r.header.Get("X-Should-Retry") != "true" {
					t.Fatalf("%d %v %s", r.status, r.header, r.body)
				}
			}
		}
	})
	sdkGateways(t, fails(true), func(t *testing.T, g, other *gateway) {
		if r := g.complete(t, sdkWhole); r.status != 503 || r.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%d %v %s", r.status, r.header, r.body)
		}
		if r := other.complete(t, sdkWhole, sdkRepeat); r.status != 409 {
			t.Errorf("a turn that has acted is run again: %d %s", r.status, r.body)
		}
	})
}

// A request that is refused before its turn begins leaves no note.
func TestRefusalLeavesNoNote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: slow(20 * time.Second), Limits: handlers.Limits{MaxStreams: 1}, Dialects: []dialect.Dialect{openai.New(openai.Config{})}})
		defer stop()
		go func() { _ = g.complete(t, strings.Replace(sdkBody, "pay", "other", 1)) }()
		time.Sleep(time.Second)
		r := g.complete(t, sdkBody)
		if ms := r.header.Get("Retry-After-Ms"); r.status != 503 || r.header.Get("X-Should-Retry") != "true" || ms != r.header.Get("Retry-After")+"000" {
			t.Errorf("%d %v %s", r.status, r.header, r.body)
		}
		time.Sleep(time.Minute)
		if r := g.complete(t, sdkBody, sdkRepeat); r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

// A document that a repeated key gets is the first one, byte for byte: its id and its time are
// those of the turn, not of the request that asks again.
func TestRepeatedKeyGetsTheSameDocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := task.New(task.Config{Store: memory.New(memory.Config{Tasks: 100})})
		defer tasks.Close()
		g, _, stop := serveInBubble(handlers.Config{Runner: hello, Keeping: handlers.Keeping{Tasks: tasks}, Dialects: []dialect.Dialect{openai.New(openai.Config{})}})
		defer stop()
		const key = "Idempotency-Key: 0123456789"
		first := g.complete(t, sdkWhole, key, "X-Request-ID: req_first")
		time.Sleep(time.Minute)
		second := g.complete(t, sdkWhole, key, "X-Request-ID: req_second")
		if first.status != 200 || second.header.Get("X-Sluice-Replayed") != "true" || !strings.Contains(first.body, `"id":"chatcmpl-req_first"`) {
			t.Errorf("%d %s, then %v", first.status, first.body, second.header)
		}
		if diff := cmp.Diff(first.body, second.body); diff != "" {
			t.Errorf("the second is not the first (-first +second):\n%s", diff)
		}
	})
}
