package handlers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// Each refusal, byte for byte, and never with a turn behind it.
func TestProblems(t *testing.T) {
	t.Parallel()
	const tail = `,"request_id":"r-1"}`
	const head = `{"type":"about:blank","title":`
	invalid := func(detail, errs string) string {
		return head + `"Unprocessable Entity","status":422,"error_type":"validation_error","detail":"` + detail + `","errors":[` + errs + `]` + tail
	}
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		want                     string
	}{
		{"too long", "POST", "/chat/stream", `{"input":"` + strings.Repeat("x", 5001) + `"}`, []string{jsonType}, 422,
			invalid("The request has a fault: /input must have at most 5000 characters",
				`{"field":"/input","code":"too_long","message":"must have at most 5000 characters"}`)},
		{"several faults", "POST", "/chat/stream", `{"input":" ","user_id":7}`, []string{jsonType}, 422,
			invalid("The request has 2 faults: /user_id must be a string",
				`{"field":"/user_id","code":"wrong_type","message":"must be a string"},{"field":"/input","code":"blank","message":"must hold more than white space"}`)},
		{"no body", "POST", "/chat/stream", "", []string{jsonType}, 422,
			invalid("The request has a fault: the body ends before the JSON object does", `{"field":"","code":"invalid_json","message":"the body ends before the JSON object does"}`)},
		{"bad key beside a bad field", "POST", "/chat/stream", `{}`, []string{jsonType, "Idempotency-Key: short"}, 422,
			invalid("The request has 2 faults: /input is required",
				`{"field":"/input","code":"required","message":"is required"},{"field":"/idempotency_key","code":"invalid_format","message":"must be one value of 8 to 128 of A-Z a-z 0-9 . _ -"}`)},
		{"query", "GET", "/chat/stream?input=a&input=b", "", nil, 422,
			invalid("The request has a fault: /input is given more than once", `{"field":"/input","code":"duplicate_key","message":"is given more than once"}`)},
		{"no such path", "GET", "/nowhere?input=hi", "", nil, 404,
			head + `"Not Found","status":404,"error_type":"not_found","detail":"There is nothing at this path"` + tail},
		{"method", "PUT", "/chat/stream", "", nil, 405,
			head + `"Method Not Allowed","status":405,"error_type":"method_not_allowed","detail":"This path does not take this method; the Allow header names those it takes"` + tail},
		{"media type", "POST", "/chat/stream", `{"input":"hi"}`, []string{"Content-Type: text/plain"}, 415,
			head + `"Unsupported Media Type","status":415,"error_type":"unsupported_media_type","detail":"Send the request as Content-Type: application/json"` + tail},
		{"size", "POST", "/chat/stream", strings.Repeat(" ", 131073), []string{jsonType}, 413,
			head + `"Request Entity Too Large","status":413,"error_type":"payload_too_large","detail":"The request's body may have at most 128 KiB, or 1 MiB with a history"` + tail},
		{"origin", "POST", "/chat/stream", `{"input":"hi"}`, []string{jsonType, "Origin: https://evil.example"}, 403,
			head + `"Forbidden","status":403,"error_type":"origin_refused","detail":"Pages of this origin may not use the gateway; its operator can allow them with SLUICE_CORS_ORIGINS"` + tail},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, handlers.Config{})
			got := g.do(t, tt.method, tt.path, tt.body, append(tt.headers, "X-Request-ID: r-1")...)
			if got.status != tt.status {
				t.Errorf("status %d, want %d", got.status, tt.status)
			}
			if diff := cmp.Diff(tt.want, got.body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if ct := got.header.Get("Content-Type"); ct != "application/problem+json" || got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", got.header)
			}
			if n := g.runs.Load(); n != 0 {
				t.Errorf("%d turns were run", n)
			}
		})
	}
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	for ct, want := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON": 200,
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415,
		"application/json5": 415, "application/problem+json": 415, "application/json;;": 415, "text/plain, application/json": 415,
	} {
		if got := g.do(t, "POST", "/chat/stream", `{"input":"hi"}`, "Content-Type: "+ct); got.status != want {
			t.Errorf("Content-Type %q: status %d, want %d", ct, got.status, want)
		}
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	for path, allow := range map[string]string{
		"/chat/stream": "OPTIONS, GET, POST", "/diag/sse": "OPTIONS, GET", "/tools": "OPTIONS, GET, HEAD", "/healthz": "OPTIONS, GET, HEAD",
		"/readyz": "OPTIONS, GET, HEAD", "/metrics": "OPTIONS, GET, HEAD",
	} {
		methods := []string{"PUT", "DELETE", "TRACE", "PATCH", "BREW"}
		if !strings.Contains(allow, "HEAD") {
			methods = append(methods, "HEAD")
		}
		for _, method := range methods {
			got := g.do(t, method, path, "", "X-Request-ID: r-1")
			if got.status != 405 || got.header.Get("Allow") != allow || got.header.Get("X-Request-ID") != "r-1" {
				t.Errorf("%s %s: status %d, headers %v; want 405 and Allow: %s", method, path, got.status, got.header, allow)
			}
		}
		if got := g.do(t, "OPTIONS", path, ""); got.status != 204 || got.header.Get("Allow") != allow {
			t.Errorf("OPTIONS %s: status %d, headers %v; want 204 and Allow: %s", path, got.status, got.header, allow)
		}
	}
	if g.runs.Load() != 0 {
		t.Error("a turn was run")
	}
}

// A bug before the reply has begun is a 500 without its cause.
func TestP9PanicBeforeTheReply(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Tools: func(context.Context) *tool.Set { panic("SECRET") }})
	got := g.do(t, "GET", "/tools", "", "X-Request-ID: r-1")
	want := `{"type":"about:blank","title":"Internal Server Error","status":500,"error_type":"internal_error","detail":"Something went wrong on our side","request_id":"r-1"}`
	if diff := cmp.Diff(want, got.body); diff != "" || got.status != 500 || got.header.Get("X-Request-ID") != "r-1" {
		t.Errorf("status %d, body (-want +got):\n%s", got.status, diff)
	}
	ln := g.log.lines(t)[0]
	if ln.Event != "error_occurred" || ln.Level != "error" || !strings.Contains(ln.Details["error_message"].(string), "SECRET") {
		t.Errorf("the log must hold the panic, got %+v", ln)
	}
	if got := g.do(t, "GET", "/healthz", ""); got.status != 200 {
		t.Errorf("the next request: status %d", got.status)
	}
}

type misbehaviour struct {
	name      string
	run       runner
	kinds     string // of the events
	errorType string // of the fatal one; empty: none
	reason    string
	logged    string // in the log; empty: no fault
}

// Whatever a runner does, a client gets one well-formed end, and the operator the
// reason.
func TestRunnerMisbehaves(t *testing.T) {
	t.Parallel()
	called := stream.Call{ID: "a", Tool: "add", Server: "todo"}
	drain := &fault.Error{Type: fault.ShuttingDown, Message: "bye"}
	for _, tt := range []misbehaviour{
		{"returns at once", sends(), "start error done", "internal_error", "error", "returned before its answer was complete"},
		{"returns before done", sends(&stream.Start{}, &stream.Delta{Text: "a"}), "start response_delta error done", "internal_error", "error", "returned before its answer was complete"},
		{"fails", func(context.Context, chat.Request, stream.Sink) error { return errors.New("SECRET") }, "start error done", "internal_error", "error", "SECRET"},
		{"fails with a fault", begins(func(context.Context, chat.Request, stream.Sink) error { return drain }), "start error done", "shutting_down", "shutdown", "bye"},
		{"says that the client is gone", begins(func(context.Context, chat.Request, stream.Sink) error { return fault.ErrClientGone }),
			"start error done", "internal_error", "error", "client gone"},
		{"never flushes", func(_ context.Context, _ chat.Request, s stream.Sink) error {
			_ = s.Emit(&stream.Start{})
			return s.Emit(&stream.Done{Reason: stream.Stop})
		}, "start done", "", "stop", ""},
		{"emits garbage", func(_ context.Context, _ chat.Request, s stream.Sink) error {
			for _, ev := range []stream.Event{
				nil, &stream.Delta{}, nil, &stream.ToolCompleted{Call: called}, &stream.Done{}, &stream.Delta{Text: "a"},
			} {
				_ = s.Emit(ev)
			}
			return nil
		}, "start response_delta error done", "internal_error", "error", "returned before its answer was complete"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

// A bug after the reply has begun is an error of that stream, which is whole all the same.
func TestP10PanicInAStream(t *testing.T) {
	t.Parallel()
	called := stream.Call{ID: "a", Tool: "add", Server: "todo"}
	drain := &fault.Error{Type: fault.ShuttingDown, Message: "bye"}
	for _, tt := range []misbehaviour{
		{"panics at once", func(context.Context, chat.Request, stream.Sink) error { panic("SECRET") }, "start error done", "internal_error", "error", "panic: SECRET"},
		{"panics later", begins(func(context.Context, chat.Request, stream.Sink) error { panic("SECRET") }), "start error done", "internal_error", "error", "problem_test.go"},
		{"panics in a call", begins(func(_ context.Context, _ chat.Request, s stream.Sink) error {
			_ = s.Emit(&stream.ToolStarted{Call: called})
			panic("SECRET")
		}), "start tool_call tool_call error done", "internal_error", "error", "SECRET"},
		{"panics after a fatal error", begins(func(_ context.Context, _ chat.Request, s stream.Sink) error {
			_ = s.Emit(stream.NewError(drain, true))
			panic("SECRET")
		}), "start error done", "shutting_down", "error", "SECRET"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

func (tt misbehaviour) check(t *testing.T) {
	t.Helper()
	g := serve(t, handlers.Config{Runner: tt.run})
	got := g.chat(t)
	if tt.errorType != "" {
		fatal(t, got.body, tt.errorType, tt.reason)
	}
	var kinds []string
	for _, ev := range judge(t, got.body) {
		kinds = append(kinds, ev.kind)
	}
	if diff := cmp.Diff(tt.kinds, strings.Join(kinds, " ")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if strings.Contains(got.body, "SECRET") {
		t.Errorf("the reply holds the cause:\n%s", got.body)
	}
	if log := g.log.String(); strings.Contains(log, `"error_occurred"`) != (tt.logged != "") || !strings.Contains(log, tt.logged) {
		t.Errorf("the log must hold a fault with %q:\n%s", tt.logged, log)
	}
	if got := g.do(t, "GET", "/readyz", ""); !strings.Contains(got.body, `"streams":0`) {
		t.Errorf("the stream still counts as running: %s", got.body)
	}
}

// No reply that leaves a long body unread keeps its connection: net/http would wait
// for the rest.
func TestUnreadBodyClosesTheConnection(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	long := `{"input":"hi"}` + strings.Repeat(" ", 4096)
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		closes                   bool
	}{
		{"read", "POST", "/chat/stream", `{"input":"hi"}`, []string{jsonType}, 200, false},
		{"read and invalid", "POST", "/chat/stream", `{`, []string{jsonType}, 422, false},
		{"empty", "POST", "/chat/stream", ``, nil, 415, false},
		{"media type", "POST", "/chat/stream", long, nil, 415, true},
		{"origin", "POST", "/chat/stream", long, []string{jsonType, "Origin: null"}, 403, true},
		{"lost", "POST", "/chat/stream", long, []string{jsonType, "Last-Event-ID: r:1"}, 204, true},
		{"not found", "POST", "/nowhere", long, nil, 404, true},
		{"method", "PUT", "/chat/stream", long, nil, 405, true},
		{"health", "GET", "/healthz", long, nil, 200, true},
		{"metrics", "GET", "/metrics", long, nil, 200, true},
		{"no body", "GET", "/healthz", ``, nil, 200, false},
		{"stream by GET", "GET", "/chat/stream?input=hi", `x`, nil, 200, false},
	} {
		got := g.do(t, tt.method, tt.path, tt.body, tt.headers...)
		if got.status != tt.status || got.closes != tt.closes {
			t.Errorf("%s: status %d, closes %v; want %d, %v", tt.name, got.status, got.closes, tt.status, tt.closes)
		}
	}
}

// Over HTTP/2 the connection is shared: a refusal of one stream leaves it alone.
func TestUnreadBodyOverHTTP2(t *testing.T) {
	t.Parallel()
	g, conns := serveHTTP2(t, handlers.Config{})
	for range 3 {
		if got := g.do(t, "POST", "/nowhere", "x"); got.status != 404 {
			t.Errorf("status %d, want 404", got.status)
		}
		if got := g.do(t, "GET", "/nowhere", ""); got.status != 404 {
			t.Errorf("status %d, want 404", got.status)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("six requests took %d connections, want 1", n)
	}
}
