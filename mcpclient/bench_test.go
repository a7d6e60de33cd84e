package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/rs/zerolog"

	"sluice/internal/turn/tool"
)

func benchClient(b *testing.B) *Client {
	b.Helper()
	c, err := New(within(goServer()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	c.Tools(context.Background())
	return c
}

// BenchmarkTools is what each turn pays for the set of tools.
func BenchmarkTools(b *testing.B) {
	c := benchClient(b)
	b.ReportAllocs()
	for b.Loop() {
		c.Tools(context.Background())
	}
}

// BenchmarkCall is one call of an in-process tool: lookup, arguments, breaker,
// mcp-go's client and server, result.
func BenchmarkCall(b *testing.B) {
	c := benchClient(b)
	call := tool.Call{Name: "greet", Arguments: jsontext.Value(`{"name":"Ada"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(context.Background(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMCPGo is the same call without us.
func BenchmarkMCPGo(b *testing.B) {
	ctx := context.Background()
	c, err := client.NewInProcessClient(goServer())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		b.Fatal(err)
	}
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = pinnedProtocol
	if _, err := c.Initialize(ctx, init); err != nil {
		b.Fatal(err)
	}
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = "greet", map[string]any{"name": "Ada"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.CallTool(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCatalogue is what connecting costs for 50 usual tools.
func BenchmarkCatalogue(b *testing.B) {
	const schema = `{"type":"object","additionalProperties":false,"required":["title"],"properties":{
		"title":{"type":"string","minLength":1,"maxLength":5},"due_date":{"type":"string","format":"date-time"},
		"priority":{"enum":["low","high"]},"kind":{"const":"todo"},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"tags":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$"},"maxItems":2},
		"when":{"oneOf":[{"type":"object","required":["at"]},{"type":"object","required":["in"]}]},
		"n":{"type":"integer","minimum":1,"maximum":9.5},"a/b":{"type":"number"}}}`
	var tools []json.RawMessage
	for i := range 50 {
		tools = append(tools, json.RawMessage(fmt.Sprintf(`{"name":"t%d","description":"Does it.","inputSchema":%s}`, i, schema)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if c := newCatalogue(Server{Name: "s"}, tools, nil, zerolog.Nop()); len(c.offers) != len(tools) {
			b.Fatal("a tool was dropped")
		}
	}
}
