package handlers_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A client that had a stream and lost it is answered to stop, whatever id it names.
func TestLastEventID(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	for _, id := range []string{"req_0123456789ab:3", "", "0", "foreign", strings.Repeat("x", 5000), "{}", "é"} {
		header := "Last-Event-ID: " + id
		get := g.do(t, "GET", "/chat/stream?input=hi", "", header)
		post := g.chat(t, header)
		invalid := g.do(t, "GET", "/chat/stream", "", header)
		for _, got := range []reply{get, post, invalid} {
			if got.status != 204 || got.body != "" || got.header.Get("X-Request-ID") == "" {
				t.Errorf("%q: status %d, body %q", id, got.status, got.body)
			}
		}
	}
	if got := g.do(t, "GET", "/chat/stream?input=hi", "", "Last-Event-ID: a:1", "Origin: null"); got.status != 403 {
		t.Errorf("a foreign page's reconnect: status %d, want 403", got.status)
	}
	g.Drain()
	if got := g.do(t, "GET", "/chat/stream?input=hi", "", "Last-Event-ID: a:1"); got.status != 204 {
		t.Errorf("a reconnect while draining: status %d, want 204", got.status)
	}
	if g.runs.Load() != 0 {
		t.Errorf("%d turns were run", g.runs.Load())
	}
}

func FuzzLastEventID(f *testing.F) {
	for _, s := range []string{"req_0123456789ab:3", "", "\x00", "a\r\nb", "é", strings.Repeat("9", 100)} {
		f.Add(s)
	}
	run := runner(func(context.Context, chat.Request, stream.Sink) error { panic("a turn is run again") })
	srv := handlers.NewServer(handlers.Config{Dialects: withOwn(nil), Runner: run})
	f.Fuzz(func(t *testing.T, id string) {
		r := httptest.NewRequest("GET", "/chat/stream?input=hi", nil)
		r.Header["Last-Event-Id"] = []string{id}
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		if w.Code != 204 || w.Body.Len() > 0 {
			t.Errorf("Last-Event-ID %q: status %d, body %q", id, w.Code, w.Body)
		}
	})
}

// ask sends a turn of a user with a key, by both methods the same way.
func (g *gateway) ask(t *testing.T, method, user, key string) reply {
	t.Helper()
	if method == "GET" {
		return g.do(t, "GET", "/chat/stream?input=hi&user_id="+user+"&idempotency_key="+key, "")
	}
	return g.do(t, "POST", "/chat/stream", `{"input":"hi","user_id":"`+user+`"}`, jsonType, "Idempotency-Key: "+key)
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	const key, other = "01234567-a.B_", "01234567-other"
	const duplicate = `"status":409,"error_type":"duplicate_request","detail":"A turn with this idempotency key runs or has run; it is not run again"`
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: slow(20 * time.Second)})
		defer stop()
		refused := func(when string) {
			t.Helper()
			n := g.runs.Load()
			post, get := g.ask(t, "POST", "ann", key), g.ask(t, "GET", "ann", key)
			if post.status != 409 || !strings.Contains(post.body, duplicate) {
				t.Errorf("%s: POST: status %d: %s", when, post.status, post.body)
			}
			if get.status != 204 || get.body != "" {
				t.Errorf("%s: GET: status %d: %s", when, get.status, get.body)
			}
			if g.runs.Load() != n {
				t.Errorf("%s: a turn was run again", when)
			}
		}
		runs := func(when, method, user, key string) {
			t.Helper()
			if got := g.ask(t, method, user, key); got.status != 200 {
				t.Errorf("%s: status %d: %s", when, got.status, got.body)
			}
		}
		first := make(chan reply, 1)
		go func() { first <- g.ask(t, "POST", "ann", key) }()
		synctest.Wait()
		refused("while it runs")
		<-first
		end := time.Now()
		refused("after its end")
		runs("another user", "POST", "bob", key)
		runs("no user", "GET", "", key)
		runs("another key", "GET", "ann", other)
		time.Sleep(time.Until(end.Add(10*time.Minute - 1)))
		refused("10 minutes after, less 1 ns")
		time.Sleep(2 * time.Nanosecond)
		runs("10 minutes and 1 ns after", "GET", "ann", key)
		refused("after the second run")
	})
}

// Tools may have run before a panic: the key stays taken, and as long as any other.
func TestKeyOfABrokenTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: runner(func(context.Context, chat.Request, stream.Sink) error { panic("bug") })})
		defer stop()
		fatal(t, g.ask(t, "POST", "ann", "0123456789").body, "internal_error", "error")
		if got := g.ask(t, "POST", "ann", "0123456789"); got.status != 409 {
			t.Errorf("status %d, want 409", got.status)
		}
		time.Sleep(10 * time.Minute)
		fatal(t, g.ask(t, "POST", "ann", "0123456789").body, "internal_error", "error")
	})
}

func TestKeyForm(t *testing.T) {
	t.Parallel()
	const fault = `{"field":"/idempotency_key","code":"invalid_format","message":"must be one value of 8 to 128 of A-Z a-z 0-9 . _ -"}`
	for _, tt := range []struct {
		name string
		keys []string
		ok   bool
	}{
		{"none", nil, true},
		{"8", []string{"12345678"}, true},
		{"128", []string{strings.Repeat("k", 128)}, true},
		{"7", []string{"1234567"}, false},
		{"129", []string{strings.Repeat("k", 129)}, false},
		{"empty", []string{""}, false},
		{"space", []string{"1234 5678"}, false},
		{"not ASCII", []string{"12345678é"}, false},
		{"two", []string{"12345678", "12345679"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, handlers.Config{})
			query, headers := "/chat/stream?input=hi", []string{}
			for _, k := range tt.keys {
				query += "&idempotency_key=" + strings.NewReplacer(" ", "%20", "é", "%C3%A9").Replace(k)
				headers = append(headers, "Idempotency-Key: "+k)
			}
			get := g.do(t, "GET", query, "")
			g = serve(t, handlers.Config{})
			post := g.chat(t, headers...)
			for _, got := range []reply{get, post} {
				if tt.ok && got.status != 200 || !tt.ok && (got.status != 422 || !strings.Contains(got.body, `"errors":[`+fault+`]`)) {
					t.Errorf("status %d: %s", got.status, got.body)
				}
			}
		})
	}
}

// A refusal does not use up the key: nothing was run.
func TestRefusalKeepsTheKey(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	if got := g.do(t, "POST", "/chat/stream", `{"input":""}`, jsonType, "Idempotency-Key: 0123456789"); got.status != 422 {
		t.Fatalf("status %d", got.status)
	}
	got := g.chat(t, "Idempotency-Key: 0123456789")
	if diff := cmp.Diff(200, got.status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
