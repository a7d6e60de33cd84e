//go:build unix

package wholetest

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// NewCountedBank starts a server whose tool counts how often it was called.
func NewCountedBank(t testing.TB, paid *atomic.Int64) (url string) {
	no, yes := false, true
	mcpServer := server.NewMCPServer("bank", "1")
	mcpServer.AddTool(mcp.NewTool("pay", mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no}),
		mcp.WithNumber("amount")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint("paid ", paid.Add(1))), nil
	})
	bank := httptest.NewServer(server.NewStreamableHTTPServer(mcpServer, server.WithStateLess(true)))
	t.Cleanup(bank.Close)
	return bank.URL
}

// HookedBank is NewCountedBank with something that happens in the call.
func HookedBank(t *testing.T, paid *atomic.Int64, hook func()) (url string) {
	no, yes := false, true
	mcpServer := server.NewMCPServer("bank", "1")
	mcpServer.AddTool(mcp.NewTool("pay", mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no}),
		mcp.WithNumber("amount")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := paid.Add(1)
		hook()
		return mcp.NewToolResultText(fmt.Sprint("paid ", n)), nil
	})
	bank := httptest.NewServer(server.NewStreamableHTTPServer(mcpServer, server.WithStateLess(true)))
	t.Cleanup(bank.Close)
	return bank.URL
}

// Paying is a file whose workflow asks a person and then pays.
const Paying = `
mcpServers: {bank: {url: %q}}
memory: {enabled: true}
agents: {a: {description: answers, prompt: "the first prompt"}}
workflows:
  pay:
    nodes:
      ask: {type: human, prompt: "Pay?"}
      pay: {type: tool, tool: bank/pay, arguments: {amount: "30"}}
      answer: {type: agent, agent: a, input: "Show my todos"}
    edges: [{from: ask, to: pay}, {from: pay, to: answer}]
`

// BeginsPay is the body of a request that begins it.
const BeginsPay = `{"input":"Buy it","workflow":"pay","user_id":"ann","conversation_id":"conv_1"}`
