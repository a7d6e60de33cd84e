package gatewaytest

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/sim/geminisim"
)

// FakeGemini is a scripted Gemini API.
type FakeGemini struct {
	*geminisim.Server
	URL string
}

// Scripted serves a script over loopback HTTP. A request that the script did not
// expect fails the test.
func Scripted(t *testing.T, script string) *FakeGemini {
	t.Helper()
	parsed, err := geminisim.ParseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	g := &FakeGemini{Server: geminisim.New(geminisim.Config{Script: parsed})}
	g.URL = ServeHandler(t, g.Server)
	t.Cleanup(func() {
		for _, f := range g.Failures() {
			t.Errorf("Gemini: %s", f)
		}
	})
	return g
}

// Env points a gateway at the fake.
func (g *FakeGemini) Env(more ...string) map[string]string {
	return With(map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": g.URL}, more...)
}

// With returns env with names and values added.
func With(env map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, env)
	for pair := range slices.Chunk(more, 2) {
		all[pair[0]] = pair[1]
	}
	return all
}

// ServeHandler serves h until the test ends and returns its base URL.
func ServeHandler(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// UnusedAddr returns an address of this machine without a listener. The port is one that the kernel
// gives to nobody else as long as this one listens on another address of the loopback network.
func UnusedAddr(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("needs a second loopback address: %v", err)
	}
	t.Cleanup(func() { ln.Close() })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return "127.0.0.3:" + port
}

// ToolServer serves tools over MCP's streamable HTTP. Each answers with what its
// function returns, and is not safe to repeat.
func ToolServer(t *testing.T, tools map[string]func(context.Context) string) http.Handler {
	t.Helper()
	m := server.NewMCPServer("tools", "1")
	for name, f := range tools {
		tool := mcp.NewToolWithRawSchema(name, "The tool "+name+".", []byte(`{"type":"object"}`))
		m.AddTool(tool, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(f(ctx)), nil
		})
	}
	return server.NewStreamableHTTPServer(m)
}

// MCPConfig writes an mcpServers file and returns its path.
func MCPConfig(t *testing.T, servers map[string]any) string {
	t.Helper()
	content, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ShownTo returns the conversation that request n to Gemini holds, "role: text".
func ShownTo(t *testing.T, api *FakeGemini, n int) (list []string) {
	t.Helper()
	requests := api.Requests()
	if n >= len(requests) {
		t.Fatalf("%d requests, want one more", len(requests))
	}
	var body struct {
		Contents []struct {
			Role  string
			Parts []struct{ Text string }
		}
	}
	if err := json.Unmarshal(requests[n].Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, c := range body.Contents {
		list = append(list, c.Role+": "+timeLine.ReplaceAllString(c.Parts[0].Text, ""))
	}
	return list
}

// timeLine matches the line of the time in front of the user's text.
var timeLine = regexp.MustCompile(`(?m)^Now it is .+ in the time zone .+\)\.\n\n`)
