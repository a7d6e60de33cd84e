package handlers_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{})
	got := g.do(t, "GET", "/healthz", "")
	if got.status != 200 || got.body != `{"status":"ok"}` || got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, headers %v: %s", got.status, got.header, got.body)
	}
}

// reported is a part that reports itself.
type reported struct{ health.Status }

func (r reported) Check() health.Status { return r.Status }

func reports(all ...health.Status) *health.Registry {
	r := new(health.Registry)
	for _, s := range all {
		r.Add(reported{s})
	}
	return r
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	const model = "gemini-flash-latest"
	well := []health.Status{
		health.Breaker{Service: "gemini", State: "closed"}, health.Session{Server: "todo", Connected: true, Tools: 5},
		health.Breaker{Service: "mcp:todo", State: "closed", FailureCount: 2},
	}
	open := []health.Status{health.Breaker{Service: "gemini", State: "open", FailureCount: 3, RetryAfter: 1500 * time.Millisecond}, well[1]}
	halfOpen := []health.Status{health.Breaker{Service: "gemini", State: "half-open"}}
	cut := []health.Status{well[0], well[2], health.Session{Server: "todo"}}
	for _, tt := range []struct {
		name  string
		model string
		up    []health.Status
		drain bool
		want  string
	}{
		{"all well", model, well, false, `200 {"status":"ok","model":"gemini-flash-latest","breakers":[` +
			`{"service":"gemini","state":"closed","failure_count":0,"retry_after_ms":0,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0},{"service":"mcp:todo","state":"closed","failure_count":2,"retry_after_ms":0,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0}],` +
			`"mcp":[{"server":"todo","connected":true,"tools":5}],"streams":0}`},
		{"nothing behind", "m", nil, false, `200 {"status":"ok","model":"m","breakers":[],"mcp":[],"streams":0}`},
		{"breaker open", model, open, false, `200 {"status":"degraded","model":"gemini-flash-latest","breakers":[` +
			`{"service":"gemini","state":"open","failure_count":3,"retry_after_ms":1500,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0}],"mcp":[{"server":"todo","connected":true,"tools":5}],"streams":0}`},
		{"breaker half-open", "m", halfOpen, false, `200 {"status":"degraded","model":"m","breakers":[` +
			`{"service":"gemini","state":"half-open","failure_count":0,"retry_after_ms":0,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0}],"mcp":[],"streams":0}`},
		{"MCP server away", model, cut, false, `200 {"status":"degraded","model":"gemini-flash-latest","breakers":[` +
			`{"service":"gemini","state":"closed","failure_count":0,"retry_after_ms":0,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0},{"service":"mcp:todo","state":"closed","failure_count":2,"retry_after_ms":0,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0}],` +
			`"mcp":[{"server":"todo","connected":false,"tools":0}],"streams":0}`},
		{"an issuer's keys are not to be had", "m", []health.Status{health.Auth{Methods: []string{"jwt"}, Issuers: []health.Issuer{{Issuer: "i", State: health.KeysUnavailable}, {Issuer: "j", Keys: 2, AgeS: new(int64(7)), State: health.KeysFresh}}}}, false,
			`200 {"status":"degraded","model":"m","breakers":[],"mcp":[],"auth":{"methods":["jwt"],"keys":0,"issuers":[` +
				`{"issuer":"i","keys":0,"age_s":null,"state":"unavailable"},{"issuer":"j","keys":2,"age_s":7,"state":"ok"}]},"streams":0}`},
		{"draining", "m", nil, true, `503 {"status":"draining","model":"m","breakers":[],"mcp":[],"streams":0}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, handlers.Config{Model: tt.model, Health: reports(tt.up...)})
			if tt.drain {
				g.Drain()
			}
			got := g.do(t, "GET", "/readyz", "")
			if diff := cmp.Diff(tt.want, itoa(got.status)+" "+got.body); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The schema is the server's own, byte for byte but for white space, and an odd
// one does not hide the other tools.
func TestTools(t *testing.T) {
	t.Parallel()
	set := &tool.Set{Specs: []tool.Spec{
		{Name: "add", Server: "todo", Description: "Adds <one> & \"more\"", InputSchema: []byte(`{"type":"object","maximum":1.50,"x-é":"\u00e9"}`),
			OutputSchema: []byte(`{"type":"object"}`), Timeout: 2500 * time.Millisecond, Fallback: "put", More: []string{"push"},
			Annotations: tool.Annotations{Title: "Add", Destructive: true}},
		{Name: "odd", Server: "files", Description: "bad \xff", InputSchema: []byte(`{"type":"object","type":"object"}`),
			Annotations: tool.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}},
	}}
	g := serve(t, handlers.Config{Tools: func(ctx context.Context) *tool.Set {
		if chat.RequestID(ctx) != "r-1" {
			t.Errorf("the context has request id %q", chat.RequestID(ctx))
		}
		return set
	}})
	want := `{"tools":[` +
		`{"name":"add","server":"todo","description":"Adds <one> & \"more\"","input_schema":{"type":"object","maximum":1.50,"x-é":"\u00e9"},` +
		`"output_schema":{"type":"object"},"annotations":{"title":"Add","readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false},` +
		`"timeout_seconds":2.5,"fallback":"put","fallback_tools":["put","push"]},` +
		`{"name":"odd","server":"files","description":"bad ` + "\ufffd" + `","input_schema":{"type":"object","type":"object"},` +
		`"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}}]}`
	if diff := cmp.Diff(want, g.do(t, "GET", "/tools", "", "X-Request-ID: r-1").body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	g = serve(t, handlers.Config{})
	if got := g.do(t, "GET", "/tools", ""); got.body != `{"tools":[]}` {
		t.Errorf("without tools: %s", got.body)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Page: fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html>")}, "app.js": {Data: []byte("let x")}, "style.css": {Data: []byte("b{}")},
		"openapi.yaml": {Data: []byte("openapi: 3.1.0")}, "view/turn.js": {Data: []byte("let y")}, "vendor/inter.woff2": {Data: []byte("wOF2")},
	}})
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; frame-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
	hashes := regexp.MustCompile(` 'unsafe-hashes'(?: 'sha256-[A-Za-z0-9+/]{43}='){8}`) // of the styles of e-mails
	for path, want := range map[string][2]string{
		"/":             {"text/html; charset=utf-8", "<!doctype html>"},
		"/app.js":       {"text/javascript; charset=utf-8", "let x"},
		"/style.css":    {"text/css; charset=utf-8", "b{}"},
		"/openapi.yaml": {"application/yaml", "openapi: 3.1.0"},
		"/view/turn.js": {"text/javascript; charset=utf-8", "let y"},

		"/vendor/inter.woff2": {"font/woff2", "wOF2"},
	} {
		got := g.do(t, "GET", path, "")
		h := got.header
		allowed := hashes.ReplaceAllString(h.Get("Content-Security-Policy"), "")
		if got.status != 200 || got.body != want[1] || h.Get("Content-Type") != want[0] || allowed != policy ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: status %d, headers %v: %s", path, got.status, h, got.body)
		}
	}
	for _, path := range []string{"/index.html", "/view", "/view/", "/view/../turn.js", "/../app.js", "/app.js/"} {
		if got := g.do(t, "GET", path, ""); got.status != 404 {
			t.Errorf("%s: status %d, want 404", path, got.status)
		}
	}
	g = serve(t, handlers.Config{})
	for _, path := range []string{"/", "/openapi.yaml"} {
		if got := g.do(t, "GET", path, ""); got.status != 404 {
			t.Errorf("without a page, %s: status %d, want 404", path, got.status)
		}
	}
}

// HEAD is GET without the body, wherever GET has no effect.
func TestHead(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Page: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "app.js": {Data: []byte("let x")}, "openapi.yaml": {Data: []byte("openapi: 3.1.0")}}})
	for _, drained := range []bool{false, true} {
		if drained {
			g.Drain()
		}
		for _, path := range []string{"/", "/app.js", "/openapi.yaml", "/healthz", "/readyz", "/metrics", "/tools", "/nowhere"} {
			get, head := g.do(t, "GET", path, "", "X-Request-ID: r-1"), g.do(t, "HEAD", path, "", "X-Request-ID: r-1")
			get.header.Del("Date")
			head.header.Del("Date")
			if diff := cmp.Diff(get.header, head.header); diff != "" || head.status != get.status || head.body != "" || get.body == "" {
				t.Errorf("%s: status %d, want %d; body %q; headers (-GET +HEAD):\n%s", path, head.status, get.status, head.body, diff)
			}
		}
	}
	if got := g.do(t, "HEAD", "/", ""); got.header.Get("Content-Length") != "15" {
		t.Errorf("headers %v, want the length of the page", got.header)
	}
}

// Each series that is ours, after one turn with a bit of everything, one that
// broke, and a refusal.
func TestMetrics(t *testing.T) {
	t.Parallel()
	call := stream.Call{ID: "a", Tool: "add", Server: "todo"}
	first := true
	run := runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		if !first {
			panic("bug")
		}
		first = false
		_ = sends(&stream.Start{Model: "m"}, &stream.Thinking{Content: "hm"}, &stream.ToolStarted{Call: call}, &stream.ToolProgress{Call: call, Progress: 1},
			&stream.ToolFailed{Call: call, Duration: 2 * time.Second}, stream.NewError(&fault.Error{Type: fault.ToolFailed}, false))(ctx, req, sink)
		time.Sleep(3 * time.Second)
		return sends(&stream.Delta{Text: "a"}, &stream.Delta{Text: "b"}, &stream.Done{
			Reason: stream.Stop, Usage: chat.Usage{InputTokens: 7, OutputTokens: 8, ThinkingTokens: 9}, Model: []time.Duration{time.Second},
		})(ctx, req, sink)
	})
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: run})
		defer stop()
		judge(t, g.chat(t).body)
		judge(t, g.chat(t).body)
		g.do(t, "GET", "/nowhere", "")
		got := g.do(t, "GET", "/metrics", "")
		var series []string
		for s := range strings.Lines(got.body) {
			if strings.HasPrefix(s, "sluice_") && !strings.Contains(s, "_bucket") {
				series = append(series, strings.TrimPrefix(strings.TrimSpace(s), "sluice_"))
			}
		}
		want := []string{
			`dialect_turns_total{dialect="native"} 2`,
			`events_total{event="done"} 2`, `events_total{event="error"} 2`, `events_total{event="response_delta"} 2`, `events_total{event="start"} 2`,
			`events_total{event="thinking"} 1`, `events_total{event="tool_call"} 3`,
			`first_delta_seconds_sum 3`, `first_delta_seconds_count 1`, `first_event_seconds_sum 2e-09`, `first_event_seconds_count 2`,
			`history_chars_sum 0`, `history_chars_count 0`, `history_dropped_total 0`,
			`model_call_seconds_sum 1`, `model_call_seconds_count 1`,
			`rejections_total{error_type="not_found"} 1`, "sdk_retries_refused_total 0",
			`stream_errors_total{error_type="internal_error",fatal="true"} 1`, `stream_errors_total{error_type="tool_execution_failed",fatal="false"} 1`,
			`streams_active 0`, `streams_total{finish_reason="error"} 1`, `streams_total{finish_reason="stop"} 1`,
			`tokens_total{kind="input"} 7`, `tokens_total{kind="output"} 8`, `tokens_total{kind="thinking"} 9`,
			`tool_call_seconds_sum{server="todo"} 2`, `tool_call_seconds_count{server="todo"} 1`, `tool_calls_total{outcome="failed",server="todo"} 1`,
			`turn_seconds_sum 3`, `turn_seconds_count 2`, `write_blocked_seconds_total 0`, `write_stalls_total 0`,
		}
		if diff := cmp.Diff(want, series); diff != "" {
			t.Errorf("series (-want +got):\n%s", diff)
		}
		if ct := got.header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain; version=0.0.4") || !strings.Contains(got.body, "\ngo_goroutines ") {
			t.Errorf("Content-Type %q", ct)
		}
	})
}

// broken is a part whose Check has a bug.
type broken struct{}

func (broken) Check() health.Status { panic("SECRET") }

func buggy() *health.Registry {
	r := new(health.Registry)
	r.Add(broken{})
	return r
}

// A bug behind the gauges is a failed scrape, and not the end of the process.
func TestPanicBehindReadinessAndMetrics(t *testing.T) {
	t.Parallel()
	cfg := handlers.Config{Health: buggy(), Metrics: metrics.New()}
	cfg.Metrics.GaugeFunc("broken", "Broken.", func() float64 { panic("SECRET") })
	g := serve(t, cfg)
	for _, path := range []string{"/metrics", "/readyz"} {
		got := g.do(t, "GET", path, "")
		if got.status != 500 || !strings.Contains(got.body, `"error_type":"internal_error"`) || strings.Contains(got.body, "SECRET") {
			t.Errorf("%s: status %d: %s", path, got.status, got.body)
		}
	}
	if n := strings.Count(g.log.String(), "SECRET"); n < 2 {
		t.Errorf("the log lacks the panics:\n%s", g.log.String())
	}
}

// Readiness is said to everybody, and its parts to those alone who may see them. Who may not is not
// refused, so the audit has nothing of a page that asks at intervals.
func TestReadinessByScope(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Door: byHeader{}})
	for scopes, whole := range map[string]bool{"": false, "chat": false, "ops": true} {
		var headers []string
		if scopes != "" {
			headers = []string{"Authorization: Bearer x", "X-Principal: ann", "X-Scopes: " + scopes}
		}
		got := g.do(t, "GET", "/readyz", "", headers...)
		if got.status != 200 || strings.Contains(got.body, `"breakers"`) != whole || !strings.Contains(got.body, `"status":"ok"`) {
			t.Errorf("%q: %d %s", scopes, got.status, got.body)
		}
	}
	if log := g.log.String(); strings.Contains(log, `"audit"`) {
		t.Errorf("the audit:\n%s", log)
	}
}
