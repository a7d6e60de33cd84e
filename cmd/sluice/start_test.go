package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"

	"github.com/google/go-cmp/cmp"
)

// With nothing configured the program works, and says that its model is none.
func TestStartWithNothingConfigured(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	banner := r.Stderr.String()
	for _, want := range []string{"SIMULATOR", "offline-demo", "GEMINI_API_KEY", r.Base + "/\n"} {
		if !strings.Contains(banner, want) {
			t.Errorf("the banner does not hold %q:\n%s", want, banner)
		}
	}

	frames := pasteCurl(t, r, banner).All(t)
	begin := frames[0]
	if diff := cmp.Diff([]string{"model", "protocol", "request_id"}, slices.Sorted(maps.Keys(begin.Data))); diff != "" {
		t.Errorf("members of start (-want +got):\n%s", diff)
	}
	if begin.Str("model") != "offline-demo" || begin.Str("protocol") != "sluice/1" {
		t.Errorf("start is %s", begin.Raw)
	}
	gatewaytest.WantSuccess(t, frames, "stop")
	if diff := cmp.Diff([]any{"create_todo"}, gatewaytest.Done(frames).Data["tools_called"]); diff != "" {
		t.Errorf("tools_called (-want +got):\n%s", diff)
	}

	listed := r.Ask("Show my todos")
	gatewaytest.WantSuccess(t, listed, "stop")
	if !strings.Contains(gatewaytest.Done(listed).Str("final_output"), "eggs") {
		t.Errorf("the list does not hold what was created: %s", gatewaytest.Done(listed).Raw)
	}
}

var curlLine = regexp.MustCompile(`curl -N (\S+) -H 'Content-Type: application/json' -d '([^']*)'`)

// pasteCurl does what the curl line of the banner would do.
func pasteCurl(t *testing.T, r *gatewaytest.Running, banner string) *gatewaytest.TurnStream {
	t.Helper()
	m := curlLine.FindStringSubmatch(banner)
	if m == nil {
		t.Fatalf("no curl line in the banner:\n%s", banner)
	}
	resp, err := r.Client.Post(m[1], "application/json", strings.NewReader(m[2]))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Content-Type":      "text/event-stream",
		"Cache-Control":     "no-cache, no-transform",
		"X-Accel-Buffering": "no",
	} {
		if got := resp.Header.Get(name); resp.StatusCode != http.StatusOK || got != want {
			t.Errorf("status %d, %s is %q, want %q", resp.StatusCode, name, got, want)
		}
	}
	return gatewaytest.NewTurnStream(resp)
}

// Todos are kept when the program is not.
func TestTodosOutliveTheProgram(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SLUICE_TODO_DB": t.TempDir() + "/new/folder/todo.db"}
	first := start(t, env)
	gatewaytest.WantSuccess(t, first.Ask("Remind me to water the ficus tomorrow at 9am"), "stop")
	if code := first.Stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if got := gatewaytest.Done(start(t, env).Ask("Show my todos")).Str("final_output"); !strings.Contains(got, "ficus") {
		t.Errorf("after a restart the list is %q", got)
	}
}

// EventSource clients get the same stream from a GET, and stop for good when they
// come back.
func TestGetStreams(t *testing.T) {
	t.Parallel()
	r := start(t, gatewaytest.Scripted(t, "text Hello\nfinish STOP").Env())
	resp, err := r.Client.Get(r.Base + "/chat/stream?input=hi&user_id=u&idempotency_key=key-0001")
	if err != nil {
		t.Fatal(err)
	}
	frames := gatewaytest.NewTurnStream(resp).All(t)
	if frames[0].Str("user_id") != "u" || gatewaytest.Done(frames).Str("final_output") != "Hello" {
		t.Errorf("got %v", frames)
	}
	for _, again := range []struct{ path, header string }{
		{"/chat/stream?input=hi", "req_1:3"},
		{"/chat/stream?input=hi&user_id=u&idempotency_key=key-0001", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.Base+again.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again.header != "" {
			req.Header.Set("Last-Event-ID", again.header)
		}
		resp, err := r.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNoContent || len(body) > 0 {
			t.Errorf("%v: status %d, body %q, want 204", again, resp.StatusCode, body)
		}
	}
}

// Silence is filled, also before the model's first byte.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	s := start(t, gatewaytest.Scripted(t, "delay 300ms\ntext Hi\nfinish STOP").Env("SLUICE_HEARTBEAT", "20ms")).StartTurn("hi")
	gatewaytest.WantSuccess(t, s.All(t), "stop")
	if s.Pings < 2 {
		t.Errorf("%d heartbeats in 300 ms, one after 20 ms each", s.Pings)
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	gatewaytest.WantSuccess(t, r.Ask("Add milk to my todos"), "stop")

	if resp, body := r.Get("/healthz"); resp.StatusCode != http.StatusOK || body != `{"status":"ok"}` {
		t.Errorf("/healthz: %d %s", resp.StatusCode, body)
	}
	status, rep := r.Ready()
	if status != http.StatusOK || rep.Status != "ok" || rep.Model != "offline-demo" || rep.Streams != 0 {
		t.Errorf("/readyz: %d %+v", status, rep)
	}
	if len(rep.Breakers) != 2 || rep.Breakers[0].Service != "gemini" || rep.Breakers[1].Service != "mcp:todo" || rep.Breakers[0].State != "closed" {
		t.Errorf("/readyz: breakers %+v", rep.Breakers)
	}
	if len(rep.MCP) != 1 || rep.MCP[0].Server != "todo" || !rep.MCP[0].Connected || rep.MCP[0].Tools != 4 {
		t.Errorf("/readyz: mcp %+v", rep.MCP)
	}
	for _, tt := range []struct{ path, contentType, holds string }{
		{"/", "text/html; charset=utf-8", "<!doctype html>"},
		{"/openapi.yaml", "application/yaml", "openapi: 3.1"},
		{"/metrics", "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "\nsluice_streams_total{finish_reason=\"stop\"} 1\n"},
		{"/metrics", "", "\nsluice_tool_calls_total{outcome=\"completed\",server=\"todo\"} 1\n"},
		{"/metrics", "", "\nsluice_model_attempts_total{outcome=\"ok\"} 2\n"},
		{"/metrics", "", "\nsluice_streams_active 0\n"},
	} {
		resp, body := r.Get(tt.path)
		if resp.StatusCode != http.StatusOK || !strings.Contains(strings.ToLower(body), tt.holds) {
			t.Errorf("%s: %d, without %q:\n%s", tt.path, resp.StatusCode, tt.holds, body)
		}
		if got := resp.Header.Get("Content-Type"); tt.contentType != "" && got != tt.contentType {
			t.Errorf("%s: Content-Type %q, want %q", tt.path, got, tt.contentType)
		}
	}
}

func TestToolsAreListed(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	resp, body := r.Get("/tools")
	var list struct {
		Tools []map[string]any
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("/tools: %d %v: %s", resp.StatusCode, err, body)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool["name"].(string))
		if diff := cmp.Diff([]string{"annotations", "description", "input_schema", "name", "output_schema", "server", "timeout_seconds"}, slices.Sorted(maps.Keys(tool))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tool["name"], diff)
		}
		schema, _ := tool["input_schema"].(map[string]any)
		if tool["server"] != "todo" || tool["description"] == "" || schema["type"] != "object" {
			t.Errorf("got %v", tool)
		}
	}
	if diff := cmp.Diff([]string{"create_todo", "delete_todo", "list_todos", "update_todo"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// What is refused before a stream begins is a problem reply; nothing else is served.
func TestProblemReplies(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for _, tt := range []struct {
		method, path, contentType, body string
		status                          int
		errorType                       string
	}{
		{"GET", "/debug/pprof/", "", "", 404, "not_found"},
		{"GET", "/debug/vars", "", "", 404, "not_found"},
		{"DELETE", "/chat/stream", "", "", 405, "method_not_allowed"},
		{"POST", "/readyz", "", "", 405, "method_not_allowed"},
		{"POST", "/chat/stream", "text/plain", gatewaytest.Input("hi"), 415, "unsupported_media_type"},
		{"POST", "/chat/stream", "application/json", strings.Repeat(" ", 128<<10+1), 413, "payload_too_large"},
		{"POST", "/chat/stream", "application/json", `{"input":""}`, 422, "validation_error"},
		{"GET", "/chat/stream", "", "", 422, "validation_error"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, r.Base+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.contentType != "" {
			req.Header.Set("Content-Type", tt.contentType)
		}
		gatewaytest.WantProblem(t, r, req, tt.status, tt.errorType)
	}
}

// Who reads the banner knows that ChatKit's threads end with the process.
func TestBannerReportsThreadsInMemory(t *testing.T) {
	t.Parallel()
	r := start(t, map[string]string{"SLUICE_CHATKIT_HISTORY": "memory"})
	if text := r.Stderr.String(); !strings.Contains(text, r.Base+"/chatkit, threads kept in this process's memory") {
		t.Errorf("the banner is\n%s", text)
	}
}
