package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/store"
)

// approvalKey is a key that gateways of a test share.
var approvalKey = base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// bank is what tests of questions share: a server that pays, and clients that answer.
type bank struct {
	t      *testing.T
	store  store.Store         // nil: none
	mcps   []*server.MCPServer // of each gateway
	schema string              // of the tool
	paid   atomic.Int64
}

func newBank(t *testing.T) *bank {
	b := &bank{t: t}
	b.offer(`{"type":"object","properties":{"amount":{"type":"integer","minimum":1}},"required":["amount"],"additionalProperties":false}`)
	return b
}

// offer makes the tool one that takes other arguments.
func (b *bank) offer(schema string) {
	b.schema = schema
	for _, m := range b.mcps {
		b.serve(m)
	}
}

func (b *bank) serve(m *server.MCPServer) {
	m.AddTool(mcp.NewToolWithRawSchema("pay", "Pays.", json.RawMessage(b.schema)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b.paid.Add(1)
		return mcp.NewToolResultText("paid"), nil
	})
}

// askedFor is what a client learns of one.
type askedFor struct {
	ID      string `json:"approval_id"`
	Token   string `json:"token"`
	Task    string `json:"task_id"`
	Expires string `json:"expires_at"`
	Calls   []struct {
		ID     string `json:"call_id"`
		Reason string `json:"reason"`
	} `json:"calls"`
}

// ask begins a turn that pauses.
func (b *bank) ask(p peer, members string) askedFor {
	b.t.Helper()
	status, body := b.post(p, "/chat/stream", `{"input":"Pay"`+members+`}`)
	return b.asked(status, body)
}

func (b *bank) asked(status int, body string) (q askedFor) {
	b.t.Helper()
	_, rest, ok := strings.Cut(body, "event: approval\ndata: ")
	data, _, _ := strings.Cut(rest, "\n")
	if status != http.StatusOK || !ok || json.Unmarshal([]byte(data), &q) != nil || !strings.Contains(body, `"finish_reason":"approval_required"`) {
		b.t.Fatalf("no question: %d %s", status, body)
	}
	return q
}

func (b *bank) post(p peer, path, body string, headers ...string) (int, string) {
	b.t.Helper()
	resp := p.send(b.t, b.t.Context(), http.MethodPost, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Errorf("the reply broke off: %v", err)
	}
	return resp.StatusCode, string(text)
}

func (b *bank) answer(p peer, token, members string) (int, string) {
	b.t.Helper()
	return b.post(p, "/chat/stream", fmt.Sprintf(`{"approval":{"token":%q,%s}}`, token, members))
}
