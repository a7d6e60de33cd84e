package approval_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// balanced is a model that asks for a balance, then wants to pay, and then reports both.
func balanced(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	part := `{"functionCall":{"id":"call_1","name":"balance","args":{}},"thoughtSignature":"c2ln"}`
	switch results := bytes.Count(body, []byte(`"functionResponse"`)); {
	case results == 1:
		part = `{"functionCall":{"id":"call_2","name":"pay","args":{"amount":10}},"thoughtSignature":"c2ln"}`
	case results > 1:
		part = `{"text":"You had 4711, and I paid 10."}`
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}`+"\r\n\r\n", part)
}

// balanceGateway starts a gateway whose answers are checked, with a tool that may run and
// one that a person is asked about.
func balanceGateway(t *testing.T, yaml string, kept store.Store) wholetest.Peer {
	t.Helper()
	m := server.NewMCPServer("bank", "1", server.WithToolCapabilities(true))
	says := func(text string) server.ToolHandlerFunc {
		return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(text), nil
		}
	}
	m.AddTool(mcp.NewTool("balance", mcp.WithReadOnlyHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false)), says(`{"balance":4711}`))
	m.AddTool(mcp.NewTool("pay", mcp.WithNumber("amount"), mcp.WithDestructiveHintAnnotation(true)), says("paid"))
	return asking(t, nil, yaml, gateway.Seams{Store: kept, Gemini: testnet.Serve(t, http.HandlerFunc(balanced)), Servers: within("bank", m)})
}

// What a tool reported before a person was asked is evidence for what is said afterwards: the
// answer of a turn is one, however often it waits.
func TestEvidenceOutlivesAQuestion(t *testing.T) {
	t.Parallel()
	const rules = "quality: {mode: enforce, plan: none, criteria: [{id: numbers, description: Every number comes from a tool., check: numbers_backed}, {id: facts, description: The balance is told., check: required_facts, args: {facts: [{tool: balance, pointer: /balance}]}}]}\n"
	for name, yaml := range map[string]string{
		"alone": rules,
		"team":  rules + "mcpServers: {bank: {type: http, url: \"http://bank/mcp\"}}\nagents:\n  clerk: {name: Clerk, description: Looks after accounts and pays., prompt: You look after accounts., tools: [bank]}\n",
	} {
		for _, with := range []string{"token", "store"} {
			t.Run(name+", "+with, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := wholetest.NewBank(t)
					if with == "store" {
						b.Store = memory.New(memory.Config{})
					}
					p := balanceGateway(t, yaml, b.Store)
					asked := b.Ask(p, "")
					_, body := b.Answer(p, asked.Token, `"action":"approve"`)
					if !strings.Contains(body, `"outcome":"passed"`) || !strings.Contains(body, "You had 4711") {
						t.Errorf("an answer that tells what a tool said before the question: %s", body)
					}
				})
			})
		}
	}
}
