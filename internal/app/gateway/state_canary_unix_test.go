//go:build unix

package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/otlp/otlptest"
	"sluice/internal/state/store/redis/redistest"
)

// canaryTurn is a turn with everything in it that somebody writes.
const canaryTurn = `thought CANARY-thought
text CANARY-text
call dim {"room":"CANARY-argument"}
usage 7 3 2
finish STOP
---
text CANARY-answer
finish STOP
---
`

// keeping starts a gateway that keeps its turns at a store, with memory and A2A, and reports
// them to a collector.
func keeping(t *testing.T, env map[string]string, collector string) *gatewaytest.Running {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte("memory: {enabled: true}\na2a: {enabled: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var file settings.File
	all := gatewaytest.With(gatewaytest.WithDefaults(t, env), "SLUICE_OTEL", "otlp", "SLUICE_CONFIG", path, "SLUICE_LOG_LEVEL", "debug")
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(all), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	config.Change(&cfg, func(o *config.OTel) {
		o.TracesURL, o.MetricsURL = collector+otlptest.TracesPath, collector+otlptest.MetricsPath
	})
	return wholetest.ListenAs(t, settings.Config{Config: cfg, File: file, Version: "test"}, new(gatewaytest.LogTail))
}

// Of a turn that is kept, remembered, listed, resumed, asked for over A2A and ChatKit,
// forgotten, and lost with its store, nothing that anyone wrote is in the log, in a span or in a
// metric; nor is a key, of the model or of the store. It is in the store, where it belongs.
func TestKeptTurnsStaySecret(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "", "--requirepass", "CANARY-password")
	collector, api := otlptest.Start(t), gatewaytest.Scripted(t, strings.Repeat(canaryTurn, 6)+"error 400")
	say := func(context.Context) string { return "CANARY-result" }
	tools := gatewaytest.MCPConfig(t, map[string]any{"home": map[string]any{
		"url":     gatewaytest.ServeHandler(t, gatewaytest.ToolServer(t, map[string]func(context.Context) string{"dim": say, "play": say})) + "/mcp",
		"headers": map[string]string{"Authorization": "Bearer CANARY-secret-of-a-server"},
	}})
	r := keeping(t, api.Env("MCP_CONFIG", tools, "GEMINI_API_KEY", "CANARY-key-0123456789", "SLUICE_STORE", "unix://:CANARY-password@"+server.Socket), collector.URL)
	r.Log.Await(t, "mcp_connected", r.Ended)
	ask := func(method, path, body string, headers ...string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.Base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := r.Client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(text))
	}
	const turn = `{"input":"CANARY-input","user_id":"ann","conversation_id":"conv_1","context":{"room":"CANARY-context"},"user_name":"CANARY-name"}`
	first := ask("POST", "/chat/stream", turn, "Idempotency-Key", "CANARY-idempotency")
	task, id := between(first, `"task_id":"`, `"`), between(first, `"turn_id":"`, `"`)
	if !strings.Contains(first, "CANARY-answer") || task == "" {
		t.Fatal(first)
	}
	for path, want := range map[string]string{
		"/tasks/" + task: "CANARY-answer", "/tasks/" + task + "/events": "CANARY-thought", "/tasks/" + task + "/trace": `"steps"`,
		"/tasks?conversation_id=conv_1&user_id=ann": task, "/tasks/none": "404", "/tasks?cursor=CANARY&conversation_id=conv_1": "422",
	} {
		if got := ask("GET", path, ""); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := ask("GET", "/chat/stream?input=CANARY", "", "Last-Event-ID", id+":2"); !strings.Contains(got, "CANARY-answer") {
		t.Errorf("resumed: %s", got)
	}
	ask("POST", "/chat/stream", turn, "Idempotency-Key", "CANARY-idempotency")
	ask("POST", "/chat/stream", strings.Replace(turn, "CANARY-input", "CANARY-other", 1), "Idempotency-Key", "CANARY-idempotency")
	ask("POST", "/chat/stream", turn) // which is shown what was said
	ask("POST", "/a2a", `{"jsonrpc":"2.0","id":"CANARY-id","method":"SendMessage","params":`+wholetest.MessageOf("CANARY-message", "CANARY-input", `,"contextId":"conv_2"`)+`}`)
	ask("POST", "/a2a", `{"jsonrpc":"2.0","id":"CANARY-id","method":"GetTask","params":{"id":"CANARY"}}`)
	ask("POST", "/chatkit", `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"CANARY-input"}],"attachments":[],"inference_options":{}}}}`)
	ask("DELETE", "/conversations/conv_1?user_id=ann", "")
	server.Kill()
	ask("POST", "/chat/stream", turn)
	ask("POST", "/chat/stream", turn, "Idempotency-Key", "CANARY-idempotency")
	got := ask("GET", "/metrics", "") + ask("GET", "/readyz", "")
	if code := r.Stop(); code != wholetest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	got += r.Log.String()
	for _, path := range []string{otlptest.TracesPath, otlptest.MetricsPath} {
		bodies := collector.Bodies(path)
		if len(bodies) == 0 {
			t.Errorf("the collector got nothing at %s", path)
		}
		for _, body := range bodies {
			got += string(body)
		}
	}
	if !strings.Contains(got, "store_unavailable") || !strings.Contains(got, "task_state_changed") {
		t.Error("the log does not tell of the tasks and of the store")
	}
	for at := strings.Index(got, "CANARY"); at >= 0; at = strings.Index(got, "CANARY") {
		t.Errorf("…%s…", got[max(0, at-300):min(len(got), at+60)])
		got = got[at+200:]
	}
}
