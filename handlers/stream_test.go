package handlers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// slow is a runner that says nothing for d and then hello.
func slow(d time.Duration) runner {
	return func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		select {
		case <-time.After(d):
			return hello(ctx, req, sink)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// The parts of the stream of TestStream around what accumulated changes.
const streamHead = `retry: 86400000
id: r-1:1
event: start
data: {"request_id":"r-1","conversation_id":"conv_1","user_id":"ann","model":"m","protocol":"sluice/1"}

id: r-1:2
event: response_delta
data: {"request_id":"r-1","delta":"Hel"`
const streamTail = `id: r-1:4
event: done
data: {"request_id":"r-1","final_output":"Hello","tools_called":[],"success":true,"finish_reason":"stop","usage":{"input_tokens":1,"output_tokens":2,"thinking_tokens":3},` +
	`"timings":{"total_ms":2000,"first_event_ms":0,"first_delta_ms":1000,"model_ms":[2000],"tools":[],"write_blocked_ms":0}}

`

// A whole stream, byte for byte, by both methods.
func TestStream(t *testing.T) {
	t.Parallel()
	var asked []chat.Request
	run := func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		asked = append(asked, req)
		_ = sends(&stream.Start{Model: "m", ConversationID: req.ConversationID, UserID: req.UserID})(ctx, req, sink)
		time.Sleep(time.Second)
		_ = sends(&stream.Delta{Text: "Hel"})(ctx, req, sink)
		time.Sleep(time.Second)
		usage := chat.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3}
		return sends(&stream.Delta{Text: "lo"}, &stream.Done{Reason: stream.Stop, Usage: usage, Model: []time.Duration{2 * time.Second}})(ctx, req, sink)
	}
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: runner(run), Limits: handlers.Limits{Heartbeat: 15 * time.Second, WriteTimeout: 5 * time.Second}})
		defer stop()
		get := g.do(t, "GET", "/chat/stream?input=hi&conversation_id=conv_1&user_id=ann&idempotency_key=0123456789", "", "X-Request-ID: r-1")
		post := g.do(t, "POST", "/chat/stream", `{"input":"hi","conversation_id":"conv_1","user_id":"ann","accumulated":false,"new":1}`, jsonType, "X-Request-ID: r-1")
		whole := streamHead + `,"accumulated":"Hel"}

id: r-1:3
event: response_delta
data: {"request_id":"r-1","delta":"lo","accumulated":"Hello"}

` + streamTail
		if diff := cmp.Diff(whole, get.body); diff != "" {
			t.Errorf("GET (-want +got):\n%s", diff)
		}
		brief := streamHead + `}

id: r-1:3
event: response_delta
data: {"request_id":"r-1","delta":"lo"}

` + streamTail
		if diff := cmp.Diff(brief, post.body); diff != "" {
			t.Errorf("POST without accumulated (-want +got):\n%s", diff)
		}
		judge(t, get.body)
		want := http.Header{
			"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"}, "X-Accel-Buffering": {"no"},
			"X-Request-Id": {"r-1"}, "X-Content-Type-Options": {"nosniff"}, "Date": {"Sat, 01 Jan 2000 00:00:00 GMT"},
		}
		if diff := cmp.Diff(want, get.header); diff != "" || get.status != 200 {
			t.Errorf("status %d, headers (-want +got):\n%s", get.status, diff)
		}
	})
	req := chat.Request{Input: "hi", ConversationID: "conv_1", UserID: "ann", Facts: chat.Facts{CanRetract: true}}
	if diff := cmp.Diff([]chat.Request{req, req}, asked); diff != "" {
		t.Errorf("what the runner was asked (-want +got):\n%s", diff)
	}
}

// Silence is filled with comments.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: slow(50 * time.Second), Limits: handlers.Limits{Heartbeat: 15 * time.Second}})
		defer stop()
		body := g.chat(t).body
		if _, rest, _ := strings.Cut(body, "\n\n"); !strings.HasPrefix(rest, ": ping\n\n: ping\n\n: ping\n\nid: ") || strings.Count(body, "ping") != 3 {
			t.Errorf("want three comments after the first event:\n%s", body)
		}
		judge(t, body)
	})
}

// ended is a runner that begins as waits does and hands over what ended it, when.
func ended(causes chan<- error, when *time.Time) runner {
	return begins(func(ctx context.Context, _ chat.Request, _ stream.Sink) error {
		<-ctx.Done()
		*when = time.Now()
		causes <- fault.Cause(ctx)
		return context.Cause(ctx)
	})
}

// The upstream work of a client that leaves ends with it, and nothing is sent or
// counted as a failure.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for name, send := range map[string][]string{
		"GET":             {"GET", "/chat/stream?input=hi", ""},
		"POST":            {"POST", "/chat/stream", `{"input":"hi"}`},
		"GET with a body": {"GET", "/chat/stream?input=hi", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				causes, when := make(chan error, 1), time.Time{}
				g, _, stop := serveInBubble(handlers.Config{Runner: ended(causes, &when)})
				defer stop()
				ctx, leave := context.WithCancel(t.Context())
				resp, err := g.send(ctx, send[0], send[1], strings.NewReader(send[2]), jsonType)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				left := time.Now()
				leave()
				_ = resp.Body.Close()
				synctest.Wait()
				if err := <-causes; !errors.Is(err, fault.ErrClientGone) || when != left {
					t.Errorf("the runner's context ended %v after the client left, by %v", when.Sub(left), err)
				}
				log := g.log.String()
				if strings.Contains(log, "error_occurred") || !strings.Contains(log, `"success":false,"finish_reason":"cancelled"`) {
					t.Errorf("log:\n%s", log)
				}
				metrics := g.do(t, "GET", "/metrics", "").body
				if strings.Contains(metrics, "sluice_stream_errors_total{") || !strings.Contains(metrics, `sluice_streams_total{finish_reason="cancelled"} 1`) {
					t.Error("the metrics count an error, or no stream that was cancelled")
				}
			})
		})
	}
}

// A client that does not read is cut after the write timeout.
func TestSlowReaderIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		causes, when := make(chan error, 1), time.Time{}
		flood := begins(func(ctx context.Context, _ chat.Request, sink stream.Sink) error {
			for ctx.Err() == nil {
				if err := sends(&stream.Delta{Text: strings.Repeat("x", 4096)})(ctx, chat.Request{}, sink); err != nil && !errors.Is(err, fault.ErrClientGone) {
					t.Errorf("Emit: %v, want ErrClientGone", err)
				}
			}
			when = time.Now()
			causes <- fault.Cause(ctx)
			return context.Cause(ctx)
		})
		g, l, stop := serveInBubble(handlers.Config{Runner: flood, Limits: handlers.Limits{WriteTimeout: 5 * time.Second}})
		defer stop()
		conn, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		write(conn, "GET /chat/stream?input=hi HTTP/1.1\r\nHost: gateway\r\n\r\n", nil)
		began := time.Now()
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil { // and no more
			t.Fatal(err)
		}
		err = <-causes
		elapsed := when.Sub(began) // over HTTP/1 up to a sixteenth more
		if !errors.Is(err, fault.ErrClientGone) || elapsed < 5*time.Second || elapsed > 5*time.Second*17/16 {
			t.Errorf("cut after %v by %v, want 5s and ErrClientGone", elapsed, err)
		}
		synctest.Wait() // the handler counts after its runner has ended
		if metrics := g.do(t, "GET", "/metrics", "").body; !strings.Contains(metrics, "sluice_write_stalls_total 1\n") {
			t.Error("the metrics count no stall")
		}
	})
}

// deaf is a ResponseWriter whose client leaves after the first write, though no one
// has noticed yet.
type deaf struct {
	http.ResponseWriter
	writes *int
}

func (d deaf) Write(p []byte) (int, error) {
	if *d.writes++; *d.writes == 1 {
		return d.ResponseWriter.Write(p)
	}
	return 0, errors.New("broken pipe")
}

// A write that fails ends the runner's context, whatever the server knows.
func TestFailedWriteEndsTheRunner(t *testing.T) {
	t.Parallel()
	var cause error
	srv := handlers.NewServer(handlers.Config{Dialects: withOwn(nil), Runner: runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		err := hello(ctx, req, sink)
		cause = context.Cause(ctx)
		return err
	})})
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the reply is not aborted: %v", p)
			}
		}()
		srv.ServeHTTP(deaf{httptest.NewRecorder(), new(int)}, httptest.NewRequest("GET", "/chat/stream?input=hi", nil))
	}()
	if !errors.Is(cause, fault.ErrClientGone) || !strings.Contains(cause.Error(), "broken pipe") {
		t.Errorf("the runner's context has the cause %v, want ErrClientGone with the reason", cause)
	}
}

// Draining refuses new streams and spares those that run; Abort ends them in order.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: waits})
		defer stop()
		var running [20]*http.Response
		for i := range running {
			resp, err := g.send(t.Context(), "GET", "/chat/stream?input=hi", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			running[i] = resp
		}
		if got := g.do(t, "GET", "/readyz", ""); got.status != 200 || !strings.Contains(got.body, `"streams":20`) {
			t.Errorf("before: status %d: %s", got.status, got.body)
		}
		g.Drain()
		g.Drain() // again does no harm
		if got := g.do(t, "GET", "/readyz", ""); got.status != 503 || !strings.Contains(got.body, `"status":"draining"`) || !strings.Contains(got.body, `"streams":20`) {
			t.Errorf("draining: status %d: %s", got.status, got.body)
		}
		for _, got := range []reply{g.chat(t), g.do(t, "GET", "/chat/stream?input=hi", "")} {
			checkRetryAfter(t, got, "shutting_down")
		}
		if got := g.do(t, "GET", "/healthz", ""); got.status != 200 {
			t.Errorf("healthz: status %d", got.status)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Wait(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait with streams that run: %v", err)
		}

		g.Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down"})
		waits := map[string]int{} // after which clients are to come back
		for _, resp := range running {
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Errorf("the end of a stream that was aborted: %v", err)
			}
			fatal(t, string(body), "shutting_down", "shutdown")
			waits[regexp.MustCompile(`"retry_after_ms":[1-5]000\b`).FindString(string(body))]++
		}
		if waits[""] > 0 || len(waits) < 2 { // all alike by chance: once in 10¹³ runs
			t.Errorf("the clients are to come back after %v", waits)
		}
		if err := g.Wait(t.Context()); err != nil {
			t.Errorf("Wait: %v", err)
		}
		if g.runs.Load() != 20 {
			t.Errorf("%d turns were run, want 20", g.runs.Load())
		}
	})
}

// A drain without streams is over at once, and one with streams when the last ends.
func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: slow(20 * time.Second)})
		defer stop()
		began := time.Now()
		var asked sync.WaitGroup // its client reads to the end before the server stops
		asked.Go(func() { g.chat(t) })
		defer asked.Wait()
		synctest.Wait()
		g.Drain()
		if err := g.Wait(t.Context()); err != nil || time.Since(began) != 20*time.Second {
			t.Errorf("Wait: %v after %v, want nil after 20s", err, time.Since(began))
		}
		idle := handlers.NewServer(handlers.Config{Dialects: withOwn(nil)})
		idle.Drain()
		if err := idle.Wait(t.Context()); err != nil {
			t.Errorf("Wait without streams: %v", err)
		}
	})
}

func checkRetryAfter(t *testing.T, got reply, errorType string) {
	t.Helper()
	after := got.header.Get("Retry-After")
	if got.status != 503 || !strings.Contains(got.body, `"error_type":"`+errorType+`"`) || len(after) != 1 || after < "1" || after > "5" {
		t.Errorf("status %d, Retry-After %q (want 1 to 5): %s", got.status, after, got.body)
	}
}

func TestOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: waits, Limits: handlers.Limits{MaxStreams: 2}})
		defer stop()
		var leave context.CancelFunc
		for range 2 {
			var ctx context.Context
			ctx, leave = context.WithCancel(t.Context())
			defer leave()
			resp, err := g.send(ctx, "GET", "/chat/stream?input=hi", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
		}
		seen := map[string]bool{}
		for range 100 {
			got := g.chat(t, "Idempotency-Key: 0123456789")
			checkRetryAfter(t, got, "overloaded")
			seen[got.header.Get("Retry-After")] = true
		}
		if len(seen) < 2 {
			t.Errorf("Retry-After has no jitter: %v", seen)
		}
		leave()
		synctest.Wait()
		resp, err := g.send(t.Context(), "POST", "/chat/stream", strings.NewReader(`{"input":"hi"}`), jsonType, "Idempotency-Key: 0123456789")
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("after one left: %v, %v; a refusal must not use up the key", resp, err)
		}
		_ = resp.Body.Close()
	})
}

// An HTTP/1.0 client gets the same stream, ended by the end of the connection.
func TestHTTP10(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, l, stop := serveInBubble(handlers.Config{})
		defer stop()
		conn, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		write(conn, "GET /chat/stream?input=hi HTTP/1.0\r\n\r\n", nil)
		all, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(string(all), "\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.0 200 OK\r\n") || strings.Contains(head, "chunked") {
			t.Errorf("head:\n%s", head)
		}
		judge(t, body)
	})
}

// Over HTTP/2 a write deadline that stays armed resets a stream that is silent.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pause = 30 * time.Second
		slowly := begins(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
			for range 3 {
				time.Sleep(pause)
				if err := sends(&stream.Delta{Text: "a"})(ctx, req, sink); err != nil {
					return err
				}
			}
			return sends(&stream.Done{Reason: stream.Stop})(ctx, req, sink)
		})
		g, _ := serveHTTP2(t, handlers.Config{Runner: slowly, Limits: handlers.Limits{WriteTimeout: pause * 2 / 3, Heartbeat: time.Hour}})
		resp, err := g.send(t.Context(), "POST", "/chat/stream", strings.NewReader(`{"input":"hi"}`), jsonType)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.ProtoMajor != 2 {
			t.Fatalf("%s: %v", resp.Proto, err)
		}
		if n := len(judge(t, string(body))); n != 5 {
			t.Errorf("%d events, want 5", n)
		}
	})
}

// Streams that run at the same time do not mix.
func TestStreamsAtTheSameTime(t *testing.T) {
	t.Parallel()
	echo := runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		return sends(&stream.Start{Model: "m"}, &stream.Delta{Text: req.Input}, &stream.Delta{Text: "!"}, &stream.Done{Reason: stream.Stop})(ctx, req, sink)
	})
	g := serve(t, handlers.Config{Runner: echo})
	t.Run("group", func(t *testing.T) {
		for i := range 20 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				events := judge(t, g.do(t, "GET", fmt.Sprintf("/chat/stream?input=n%d", i), "").body)
				if out := events[len(events)-1].data["final_output"]; out != fmt.Sprintf("n%d!", i) {
					t.Errorf("final_output %v", out)
				}
			})
		}
	})
}
