package otlp_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/telemetry/otlp/otlptest"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/router"
	"sluice/internal/model/gemini"
	"sluice/stream"
)

const (
	givenTrace  = "0af7651916cd43dd8448eb211c80319c"
	givenParent = "b7ad6b7169203331"
)

// measured is start with spans and metrics sent to a collector at url.
func measured(t *testing.T, env map[string]string, url string) *gatewaytest.Running {
	t.Helper()
	return wholetest.ListenAs(t, settings.Config{Config: measuredConfig(t, env, url), Version: "test"}, new(gatewaytest.LogTail))
}

func measuredConfig(t *testing.T, env map[string]string, url string) config.Config {
	t.Helper()
	env = gatewaytest.With(gatewaytest.WithDefaults(t, env), "SLUICE_OTEL", "otlp")
	cfg, err := settings.Loader().Load(nil, gatewaytest.LookupIn(env), os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	config.Change(&cfg, func(o *config.OTel) {
		o.TracesURL, o.MetricsURL = url+otlptest.TracesPath, url+otlptest.MetricsPath
	})
	return cfg
}

// askTraced sends a turn with headers of its own and waits for its end.
func askTraced(t *testing.T, r *gatewaytest.Running, body string, headers ...string) []gatewaytest.Frame {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.Base+"/chat/stream", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	resp, err := r.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		reply, _ := io.ReadAll(resp.Body)
		t.Fatalf("%d: %s", resp.StatusCode, reply)
	}
	return gatewaytest.NewTurnStream(resp).All(t)
}

// parents notes, by tool, the traceparent that its calls came with.
type parents struct {
	next http.Handler

	mu     sync.Mutex // guards byTool
	byTool map[string]string
}

func (p *parents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	for _, tool := range []string{"dim", "play"} {
		if strings.Contains(string(body), `"tools/call"`) && strings.Contains(string(body), `"name":"`+tool+`"`) {
			p.mu.Lock()
			p.byTool[tool] = r.Header.Get("Traceparent")
			p.mu.Unlock()
		}
	}
	p.next.ServeHTTP(w, r)
}

// toolsOverHTTP serves the tools dim and play, and returns the environment that names
// their server.
func toolsOverHTTP(t *testing.T) (p *parents, file string) {
	t.Helper()
	say := func(context.Context) string { return "CANARY-result" }
	p = &parents{next: gatewaytest.ToolServer(t, map[string]func(context.Context) string{"dim": say, "play": say}), byTool: map[string]string{}}
	return p, gatewaytest.MCPConfig(t, map[string]any{"home": map[string]any{
		"url": gatewaytest.ServeHandler(t, p) + "/mcp", "headers": map[string]string{"Authorization": "Bearer CANARY-secret-of-a-server"},
	}})
}

const twoCalls = `thought CANARY-thought
text CANARY-text
call dim {"room":"CANARY-argument"}
call play {"title":"CANARY-argument"}
call CANARY-name {}
usage 7 3 2
finish STOP
---
text CANARY-answer
finish STOP`

// A turn with two tools is one tree, which begins where the caller's ends and continues at the
// model and at the MCP server; and it reports nothing that anyone wrote.
func TestSpansOfATurn(t *testing.T) {
	t.Parallel()
	collector, api := otlptest.Start(t), gatewaytest.Scripted(t, twoCalls)
	servers, file := toolsOverHTTP(t)
	r := measured(t, api.Env("MCP_CONFIG", file, "GEMINI_API_KEY", "CANARY-key-0123456789", "GEMINI_MODEL", "gemini-2.5-flash"), collector.URL)
	frames := askTraced(t, r, `{"input":"CANARY-input","user_id":"CANARY-user","conversation_id":"conv_CANARY"}`,
		"Traceparent", "00-"+givenTrace+"-"+givenParent+"-01", "Tracestate", "x=CANARY-state", "Baggage", "x=CANARY-baggage", "X-Request-ID", "req-1")
	gatewaytest.WantSuccess(t, frames, "stop")
	if code := r.Stop(); code != wholetest.ExitOK {
		t.Errorf("exit code %d", code)
	}

	spans := collector.Spans(t)
	want := `POST /chat/stream server
  chat gemini-2.5-flash client
  chat gemini-2.5-flash client
  execute_tool error: tool_execution_failed
  execute_tool dim internal
  execute_tool play internal
`
	want = strings.Replace(want, "execute_tool error", "execute_tool internal error", 1)
	if diff := cmp.Diff(want, otlptest.Tree(spans)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	byID, byName := map[string]otlptest.Span{}, map[string]otlptest.Span{}
	for _, s := range spans {
		byID[s.ID], byName[s.Name] = s, s
		if s.Trace != givenTrace {
			t.Errorf("%s is of trace %s, want the caller's", s.Name, s.Trace)
		}
	}
	if root := byName["POST /chat/stream"]; root.Parent != givenParent || root.Resource["service.name"] != "sluice" || root.Resource["service.version"] != "test" {
		t.Errorf("the root is %+v", root)
	}
	for i, req := range api.Requests() {
		if s := byID[parentIn(t, req.Header.Get("Traceparent"))]; s.Name != "chat gemini-2.5-flash" {
			t.Errorf("model call %d was sent from span %+v", i+1, s)
		}
		for _, name := range []string{"Tracestate", "Baggage"} {
			if v := req.Header.Get(name); v != "" {
				t.Errorf("the model got %s: %s", name, v)
			}
		}
	}
	for tool, parent := range servers.byTool {
		if s := byID[parentIn(t, parent)]; s.Name != "execute_tool "+tool {
			t.Errorf("%s was called from span %+v", tool, s)
		}
	}
	if n := len(servers.byTool); n != 2 {
		t.Errorf("%d tools were called", n)
	}
	wantAttributes(t, byName)
	wantNoCanary(t, collector, r.Log.String())
}

func parentIn(t *testing.T, header string) string {
	t.Helper()
	parts := strings.Split(header, "-")
	if len(parts) != 4 || parts[1] != givenTrace {
		t.Fatalf("traceparent: %q", header)
	}
	return parts[2]
}

func wantAttributes(t *testing.T, byName map[string]otlptest.Span) {
	t.Helper()
	got := map[string]map[string]string{}
	for name, s := range byName {
		got[name] = maps.Clone(s.Attributes)
	}
	usage := got["chat gemini-2.5-flash"] // of either call
	for _, name := range []string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"} {
		if usage[name] == "" || usage[name] == "0" {
			t.Errorf("%s is %q", name, usage[name])
		}
		delete(usage, name)
	}
	want := map[string]map[string]string{
		"POST /chat/stream":     {"http.request.method": "POST", "http.route": "/chat/stream", "sluice.request_id": "req-1", "sluice.finish_reason": "stop"},
		"chat gemini-2.5-flash": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gemini-2.5-flash", "sluice.attempts": "1"},
		"execute_tool":          {"gen_ai.operation.name": "execute_tool", "error.type": "tool_execution_failed"},
		"execute_tool dim":      {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "dim"},
		"execute_tool play":     {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "play"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// wantNoCanary looks for what users, models and tools wrote, and for secrets.
func wantNoCanary(t *testing.T, c *otlptest.Collector, log string) {
	t.Helper()
	for _, path := range []string{otlptest.TracesPath, otlptest.MetricsPath} {
		if len(c.Bodies(path)) == 0 {
			t.Errorf("nothing came to %s", path)
		}
		for _, body := range c.Bodies(path) {
			if i := strings.Index(string(body), "CANARY"); i >= 0 {
				t.Errorf("%s holds %q", path, body[i:min(i+40, len(body))])
			}
		}
	}
	for _, secret := range []string{"CANARY-key", "CANARY-secret"} {
		if strings.Contains(log, secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

// The metrics that are sent are those that GET /metrics reports.
func TestMetricsAreBridged(t *testing.T) {
	t.Parallel()
	collector := otlptest.Start(t)
	r := measured(t, gatewaytest.Scripted(t, "text Hello.\nfinish STOP").Env(), collector.URL)
	gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	_, got := r.Get("/metrics")
	r.Stop()
	sent := collector.Metrics(t)
	for line := range strings.Lines(got) {
		name, ok := strings.CutPrefix(line, "# TYPE ")
		if name, _, _ := strings.Cut(name, " "); ok && sent[name] == nil {
			t.Errorf("%s was not sent", name)
		}
	}
	streams := sent["sluice_streams_total"].GetSum().GetDataPoints()
	if len(streams) != 1 || streams[0].GetAsDouble() != 1 || streams[0].Attributes[0].Value.GetStringValue() != "stop" {
		t.Errorf("sluice_streams_total is %v", streams)
	}
	turns := sent["sluice_turn_seconds"].GetHistogram().GetDataPoints()
	if len(turns) != 1 || turns[0].Count != 1 || len(turns[0].BucketCounts) != 17 {
		t.Errorf("sluice_turn_seconds is %v", turns)
	}
}

// chooses is a model that always decides the same.
type chooses string

func (c chooses) Ask(context.Context, *router.Question) (router.Reply, error) {
	return router.Reply{JSON: []byte(c), Attempts: 1, Model: "default"}, nil
}

// A team's turn shows the decision, each agent with its model calls, and the joining.
func TestSpansOfATeam(t *testing.T) {
	t.Parallel()
	collector, api := otlptest.Start(t), gatewaytest.Scripted(t, "lenient\nloop\ntext CANARY-answer\nusage 7 3 2\nfinish STOP")
	cfg := measuredConfig(t, api.Env(), collector.URL)
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg}, zerolog.Nop(), gateway.Seams{Runner: func(a *agent.Agent) stream.Runner {
		team := router.Defaults()
		team.Asker = chooses(`{"agentId":"lights","confidence":0.9,"reasoning":"CANARY-reasoning","additionalAgents":["music"]}`)
		for _, id := range []string{"lights", "music", "climate"} {
			team.Agents = append(team.Agents, router.Agent{ID: id, Description: "CANARY-description", Runner: a})
		}
		return router.New(team)
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(g)
	resp, err := s.Client().Post(s.URL+"/chat/stream", "application/json", strings.NewReader(gatewaytest.Input("CANARY-input")))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(reply), `"success":true`) {
		t.Fatalf("%v: %s", err, reply)
	}
	s.Close()
	g.Close()

	spans := collector.Spans(t)
	want := fmt.Sprintf(`POST /chat/stream server
  RouterExecutor.Route internal
  aggregate internal
  invoke_agent lights internal
    chat %[1]s client
  invoke_agent music internal
    chat %[1]s client
`, config.Of[gemini.Config](&cfg).Model)
	if diff := cmp.Diff(want, otlptest.Tree(spans)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	attributes := map[string]map[string]string{}
	for _, s := range spans {
		attributes[s.Name] = s.Attributes
	}
	for name, want := range map[string]map[string]string{
		"RouterExecutor.Route": {
			"messaging.operation": "route", "messaging.message.type": "ChatMessage", "agent.available_count": "3", "agent.selected": "lights",
			"agent.confidence": "0.9", "agent.additional_count": "1", "sluice.route.decision": "route", "sluice.route.method": "model",
		},
		"aggregate": {"agent.count": "2", "agent.failed_count": "0"},
		"invoke_agent music": {
			"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.id": "music", "sluice.agent.role": "additional", "sluice.attempts": "1",
			"gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "5",
		},
	} {
		if diff := cmp.Diff(want, attributes[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	wantNoCanary(t, collector, "")
}

// A collector that is not there, and one that never answers, cost a turn nothing, are
// in the log once, and do not keep the process from ending.
func TestCollectorIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"nobody listens": "http://" + gatewaytest.UnusedAddr(t),
		"no answer": gatewaytest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})),
		"an error": gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no", http.StatusForbidden)
		})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := measured(t, gatewaytest.Scripted(t, "lenient\nloop\ntext Hello.\nfinish STOP").Env("SLUICE_DRAIN_TIMEOUT", "1s"), url)
			for range 20 {
				gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
			}
			began := time.Now()
			if code := r.Stop(); code != wholetest.ExitOK {
				t.Errorf("exit code %d", code)
			}
			if elapsed := time.Since(began); elapsed > 20*time.Second {
				t.Errorf("the end took %v", elapsed)
			}
			if lines := r.Log.All("telemetry_unavailable"); len(lines) != 1 {
				t.Errorf("%d lines, want 1: %v", len(lines), lines)
			}
		})
	}
}

// Unless spans are asked for, the caller's traceparent goes no further.
func TestTelemetryIsOff(t *testing.T) {
	t.Parallel()
	api := gatewaytest.Scripted(t, twoCalls)
	servers, file := toolsOverHTTP(t)
	r := wholetest.Listen(t, api.Env("MCP_CONFIG", file))
	askTraced(t, r, gatewaytest.Input("hi"), "Traceparent", "00-"+givenTrace+"-"+givenParent+"-01")
	for _, req := range api.Requests() {
		if v := req.Header.Get("Traceparent"); v != "" {
			t.Errorf("the model got traceparent %q", v)
		}
	}
	for tool, v := range servers.byTool {
		if v != "" {
			t.Errorf("%s got traceparent %q", tool, v)
		}
	}
}
