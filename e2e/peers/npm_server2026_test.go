package peers

import (
	"slices"
	"strings"
	"testing"
)

// @modelcontextprotocol/server serves two eras of the protocol on one endpoint.
// Which one is spoken is for protocolVersion to say.
func TestServer2026(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server  nodeServer
		version string
		era     string
	}{
		"HTTP, not said":     {server2026("http"), "", "legacy"},
		"HTTP, auto":         {server2026("http"), "auto", "modern"},
		"HTTP, pinned":       {server2026("http"), "2026-07-28", "modern"},
		"HTTP, strict, auto": {server2026("http", "strict"), "auto", "modern"},
		"stdio, auto":        {server2026(), "auto", "modern"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry, _ := entryOf(t, tt.server)
			if tt.version != "" {
				protocol(entry, tt.version)
			}
			tries := append(frameworkTries("server2026"),
				try{`era {}`, completed, ""},
				try{`ask {}`, failed, "capabilit"}) // it wants an answer of the user's, whom we cannot ask
			c := callAll(t, entry, tries)
			wantFrameworkTurn(t, c)
			wantEra(t, c, tt.era)
		})
	}
}

// wantEra checks which era was spoken: on both sides.
func wantEra(t *testing.T, c conversation, want string) {
	t.Helper()
	made := c.gateway.awaitLog(t, "mcp_connected")
	era := "legacy"
	if made.detail("protocol") == "2026-07-28" {
		era = "modern"
	}
	if !strings.Contains(c.reported[8], era) {
		t.Errorf("the gateway speaks %s, and the server %s", era, c.reported[8])
	}
	if elapsed, _ := made.Details["duration_ms"].(float64); era != want && elapsed >= 5000 {
		t.Skipf("the server took %.0f ms to start, and mcp-go waits 5 s for one that speaks 2026-07-28", elapsed)
	}
	if era != want {
		t.Errorf("the era is %s, want %s", era, want)
	}
}

// A server that speaks nothing older than 2026-07-28 is no server for a gateway
// that does not know so; the turn continues without it.
func TestStrictServer2026(t *testing.T) {
	t.Parallel()
	l := server2026("http", "strict").listen(t)
	model := scripted(t, "text Nothing to call.\nfinish STOP")
	g := startGateway(t, with(model.env(), "MCP_CONFIG", mcpConfig(t, map[string]any{"peer": l.entry()})["MCP_CONFIG"]))
	g.awaitLog(t, "mcp_connect_failed", "server", "peer")
	if tu := g.ask(t, "go on"); !tu.done().Success {
		t.Errorf("%v", tu)
	}
}

// What a server offers changes while the gateway runs: since 2026-07-28 it notifies those who
// listen.
func TestToolsChanged(t *testing.T) {
	t.Parallel()
	entry, _ := entryOf(t, server2026("http"))
	g := callAll(t, protocol(entry, "auto"), []try{{`grow {}`, completed, "grown"}}).gateway
	g.awaitLog(t, "mcp_tools_changed", "server", "peer")
	if names := g.names(t, "peer"); !slices.Contains(names, "late") {
		t.Errorf("the tools are %s", strings.Join(names, ", "))
	}
}
