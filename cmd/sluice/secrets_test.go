package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/sim/geminisim"
)

// The canaries. None looks like a key, so that only who knows them can hide them.
const (
	keyCanary    = "canary.of.the.gemini.key"
	headerCanary = "canary.of.an.mcp.header"
	envCanary    = "canary.of.an.mcp.env"
)

// canaryEnv is a gateway's environment with all of them, and a log that holds as
// much as it ever does.
func canaryEnv(t *testing.T, geminiURL, mcpURL string) map[string]string {
	servers := map[string]any{"kid": gatewaytest.StdioChild(map[string]string{"TODO_API_TOKEN": envCanary})}
	if mcpURL != "" {
		servers["remote"] = map[string]any{"url": mcpURL, "headers": map[string]string{"Authorization": "Bearer " + headerCanary}}
	}
	return map[string]string{
		"GEMINI_API_KEY": keyCanary, "GEMINI_BASE_URL": geminiURL, "MCP_CONFIG": gatewaytest.MCPConfig(t, servers),
		"SLUICE_LOG_LEVEL": "debug", "SLUICE_LOG_PAYLOADS": "true",
	}
}

// wantNoCanary runs a turn, looks at all that the gateway ever says, and returns
// the events.
func wantNoCanary(t *testing.T, r *gatewaytest.Running) []gatewaytest.Frame {
	t.Helper()
	frames := r.Ask("hi")
	said := map[string]string{}
	for _, f := range frames {
		said["events"] += f.Raw + "\n"
	}
	for _, path := range []string{"/metrics", "/readyz", "/tools", "/debug/vars", "/debug/pprof/cmdline", "/"} {
		_, said[path] = r.Get(path)
	}
	r.Stop()
	said["log"], said["stderr"] = r.Log.String(), r.Stderr.String()
	for where, text := range said {
		for _, canary := range []string{keyCanary, headerCanary, envCanary} {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%s holds %q: …%s…", where, canary, text[max(0, i-300):min(len(text), i+100)])
			}
		}
	}
	if len(r.Log.All("request_completed")) != 1 {
		t.Errorf("there is no line of the turn in the log:\n%s", said["log"])
	}
	return frames
}

// echoes answers with the header that it must not see again.
func echoes(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error":"not with `+r.Header.Get("Authorization")+`"}`, status)
	})
}

func TestKeyIsNowhereWhenGeminiFails(t *testing.T) {
	t.Parallel()
	sink := gatewaytest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed, with the header %v", r.Header)
	}))
	for _, tt := range []struct{ name, script, errorType string }{
		{"bad request", "error 400 API key " + keyCanary + " is not valid.", "model_error"},
		{"forbidden", "error 403 " + keyCanary, "model_error"},
		{"rate limit", "error 429 retry=20s " + keyCanary, "model_rate_limited"},
		{"server error", "status 500\nbody <html>" + keyCanary + "</html>\n---\nloop", "model_unavailable"},
		{"redirect", "redirect 307 " + sink + "/" + keyCanary, "model_error"},
		{"redirect of a POST", "redirect 302 " + sink + "/" + keyCanary, "model_error"},
		{"not JSON", `raw "data: {` + keyCanary + `\r\n\r\n"`, "model_unavailable"},
		{"wrong type", `data {"candidates":"` + keyCanary + `"}`, "model_unavailable"},
		{"finish reason", "text Hi\nfinish " + keyCanary, "model_unavailable"},
		{"error in the stream", `data {"error":{"code":400,"message":"` + keyCanary + `","status":"` + keyCanary + `"}}`, "model_error"},
		{"blocked", `data {"promptFeedback":{"blockReason":"` + keyCanary + `"}}`, "model_blocked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := gatewaytest.Scripted(t, "expect-header X-Goog-Api-Key "+keyCanary+"\n"+tt.script)
			frames := wantNoCanary(t, start(t, canaryEnv(t, api.URL, "")))
			gatewaytest.WantFailure(t, frames, tt.errorType, "error")
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		frames := wantNoCanary(t, start(t, canaryEnv(t, "http://"+gatewaytest.UnusedAddr(t), "")))
		gatewaytest.WantFailure(t, frames, "model_unavailable", "error")
	})
}

func TestHeaderIsNowhereWhenAServerFails(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 429, 500, 503} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			api := gatewaytest.Scripted(t, "text Hi\nfinish STOP")
			frames := wantNoCanary(t, start(t, canaryEnv(t, api.URL, gatewaytest.ServeHandler(t, echoes(status)))))
			gatewaytest.WantSuccess(t, frames, "stop")
			if e := gatewaytest.Only(frames, "error"); len(e) == 0 || e[0].Str("error_type") != "mcp_unavailable" {
				t.Errorf("errors: %v", e)
			}
		})
	}
}

// gossip is an MCP server that repeats the header in every place that it has.
func gossip(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
			return
		}
		secret := r.Header.Get("Authorization")
		if secret != "Bearer "+headerCanary {
			t.Errorf("the server got the header %q", secret)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(gossipReply(string(body)), "SECRET", secret))
	})
}

func gossipReply(request string) string {
	id := `"id":0`
	if _, after, ok := strings.Cut(request, `"id":`); ok {
		id = `"id":` + after[:strings.IndexAny(after, ",}")]
	}
	switch {
	case strings.Contains(request, `"initialize"`):
		return `{"jsonrpc":"2.0",` + id + `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"SECRET","version":"SECRET"},"instructions":"SECRET"}}`
	case strings.Contains(request, `"tools/list"`):
		return `{"jsonrpc":"2.0",` + id + `,"result":{"tools":[
			{"name":"tell","description":"The token is SECRET.","inputSchema":{"type":"object"},"annotations":{"title":"SECRET"}},
			{"name":"fail","inputSchema":{"type":"object","description":"SECRET"}},
			{"name":"refuse","inputSchema":{"type":"object"}},
			{"name":"SECRET","inputSchema":{"type":"object"}}]}}`
	case strings.Contains(request, `"tell"`):
		return `{"jsonrpc":"2.0",` + id + `,"result":{"content":[{"type":"text","text":"It is SECRET"}]}}`
	case strings.Contains(request, `"fail"`):
		return `{"jsonrpc":"2.0",` + id + `,"result":{"isError":true,"content":[{"type":"text","text":"not with SECRET"}]}}`
	}
	return `{"jsonrpc":"2.0",` + id + `,"error":{"code":-32000,"message":"not with SECRET"}}`
}

func TestHeaderIsNowhereWhenAServerGossips(t *testing.T) {
	t.Parallel()
	api := gatewaytest.Scripted(t, "call tell {}\ncall fail {}\ncall refuse {}\nfinish STOP\n---\ntext Well\nfinish STOP")
	r := start(t, canaryEnv(t, api.URL, gatewaytest.ServeHandler(t, gossip(t))))
	frames := wantNoCanary(t, r)
	gatewaytest.WantSuccess(t, frames, "stop")
	if diff := cmp.Diff([]any{"tell", "fail", "refuse"}, gatewaytest.Done(frames).Data["tools_called"]); diff != "" {
		t.Errorf("tools_called (-want +got):\n%s", diff)
	}
	for _, request := range api.Requests() {
		if strings.Contains(string(request.Body), headerCanary) {
			t.Errorf("Gemini was told: %s", request.Body)
		}
	}
}

// A child gets its own secrets and none of ours, and neither its tools nor its
// stderr can make us report them.
func TestChildReportsItsEnvironment(t *testing.T) {
	t.Parallel()
	api := gatewaytest.Scripted(t, "call env {}\ncall complain {}\nfinish STOP\n---\ntext Well\nfinish STOP")
	r := start(t, canaryEnv(t, api.URL, ""))
	r.Log.Await(t, "mcp_connected", nil)
	frames := wantNoCanary(t, r)
	gatewaytest.WantSuccess(t, frames, "stop")
	var dump string
	for _, f := range gatewaytest.Only(frames, "tool_call") {
		if f.Str("tool_name") == "env" && f.Str("status") == "completed" {
			dump = f.Str("result")
		}
	}
	if !strings.Contains(dump, "TODO_API_TOKEN=[redacted]") {
		t.Errorf("the child's environment is %q", dump)
	}
	for _, ours := range []string{"GEMINI_API_KEY", "MCP_CONFIG", "SLUICE_LOG_LEVEL"} {
		if strings.Contains(dump, ours+"=") {
			t.Errorf("the child has our %s:\n%s", ours, dump)
		}
	}
	if len(r.Log.All("mcp_stderr")) == 0 {
		t.Error("what the child complained of is not in the log")
	}
}

// What a canary test is worth: the key does go where it must, as a header.
func TestKeyReachesGemini(t *testing.T) {
	t.Parallel()
	api := geminisim.New(geminisim.Config{RequireKey: keyCanary})
	r := start(t, map[string]string{"GEMINI_API_KEY": keyCanary, "GEMINI_BASE_URL": gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.String(), keyCanary) {
			t.Errorf("the key is in the URL %s", r.URL)
		}
		api.ServeHTTP(w, r)
	}))})
	gatewaytest.WantSuccess(t, wantNoCanary(t, r), "stop")
}
