package wholetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/sim/modelsim"
)

// Protocol is one of the protocols that a model can be reached by.
type Protocol struct {
	Name    string
	Fields  string // of the model in the configuration, but for its endpoint
	Path    string // of the simulator's endpoint; empty: it speaks Gemini's protocol
	Output  int    // tokens of output in these tests: Messages counts thoughts among them
	Called  string // the log's event of a call
	Answers string // name of the model in answers
}

// Protocols returns the four protocols.
func Protocols() []Protocol {
	return []Protocol{
		{"gemini", "provider: gemini, model: gemini-3-test", "", 11, "gemini_api", "gemini-3-test"},
		{"chat", "provider: openai, api: chat, model: m-chat", "/v1/chat/completions", 11, "model", "modelsim"},
		{"responses", "provider: openai, api: responses, model: m-responses", "/v1/responses", 11, "model", "modelsim"},
		{"messages", "provider: anthropic, model: m-messages", "/v1/messages", 14, "model", "modelsim"},
	}
}

// Spec is a model of the configuration file. more are further fields, "a: b, c: d".
func (w Protocol) Spec(key, url, more string) string {
	return fmt.Sprintf("  %s: {%s, endpoint: %q, api_key: \"${TEST_KEY}\"%s}\n", key, w.Fields, url+w.Path, Prefixed(", ", more))
}

// Prefixed returns a text behind a prefix, or an empty text.
func Prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// Simulate serves a script over loopback HTTP, in the protocol of w, and returns the URL in front
// of its endpoint's path. A request that the provider would refuse fails the test.
func (w Protocol) Simulate(t *testing.T, script string) (url string) {
	t.Helper()
	url, _ = w.Serve(t, script)
	return url
}

// Serve is Simulate, and also returns a function that lists the bodies of the requests so far.
func (w Protocol) Serve(t *testing.T, script string) (url string, bodies func() []string) {
	t.Helper()
	if w.Path == "" {
		g := gatewaytest.Scripted(t, script)
		return g.URL, func() (list []string) {
			for _, r := range g.Requests() {
				list = append(list, string(r.Body))
			}
			return list
		}
	}
	parsed, err := modelsim.ParseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	s := modelsim.New(modelsim.Config{Script: parsed})
	t.Cleanup(func() {
		for _, f := range s.Failures() {
			t.Errorf("%s: %s", w.Name, f)
		}
	})
	return gatewaytest.ServeHandler(t, s), func() (list []string) {
		for _, r := range s.Requests() {
			list = append(list, string(r.Body))
		}
		return list
	}
}

const testKey = "sk-test-0123456789"

// StartFile starts a gateway with a configuration file.
func StartFile(t *testing.T, content string, env ...string) *gatewaytest.Running {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	all := gatewaytest.With(map[string]string{"TEST_KEY": testKey}, env...)
	if all["MCP_CONFIG"] == "" {
		all["MCP_CONFIG"] = TwoTools(t, new(atomic.Int64))
	}
	r := Listen(t, all, "--config", path)
	r.Log.Await(t, "mcp_connected", r.Ended)
	return r
}

// TwoTools serves the tools add and take, which count in ran, and returns the path of their
// configuration.
func TwoTools(t *testing.T, ran *atomic.Int64) string {
	t.Helper()
	says := func(text string) func(context.Context) string {
		return func(context.Context) string { ran.Add(1); return text }
	}
	url := gatewaytest.ServeHandler(t, gatewaytest.ToolServer(t, map[string]func(context.Context) string{"add": says("added"), "take": says("taken")}))
	return gatewaytest.MCPConfig(t, map[string]any{"tools": map[string]any{"url": url}})
}

// MetricLines returns the lines of /metrics that begin with one of the prefixes.
func MetricLines(r *gatewaytest.Running, prefixes ...string) (list []string) {
	_, text := r.Get("/metrics")
	for line := range strings.Lines(text) {
		for _, p := range prefixes {
			if strings.HasPrefix(line, p) {
				list = append(list, strings.TrimSpace(line))
			}
		}
	}
	return list
}
