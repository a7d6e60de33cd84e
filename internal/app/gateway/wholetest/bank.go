package wholetest

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

	"sluice/internal/state/store"
)

// ApprovalKey is a key that gateways of a test share.
var ApprovalKey = base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// Bank is what tests of questions share: a server that pays, and clients that answer.
type Bank struct {
	t      *testing.T
	Store  store.Store                // nil: none
	Pays   func(*mcp.CallToolRequest) // sees each payment; nil: nothing does
	mcps   []*server.MCPServer        // of each gateway
	schema string                     // of the tool
	Paid   atomic.Int64
}

// NewBank returns a bank whose tool takes a positive amount.
func NewBank(t *testing.T) *Bank {
	b := &Bank{t: t}
	b.Offer(`{"type":"object","properties":{"amount":{"type":"integer","minimum":1}},"required":["amount"],"additionalProperties":false}`)
	return b
}

// Offer makes the tool one that takes other arguments.
func (b *Bank) Offer(schema string) {
	b.schema = schema
	for _, m := range b.mcps {
		b.addTool(m)
	}
}

// Withdraw removes the tool from all servers.
func (b *Bank) Withdraw() {
	for _, m := range b.mcps {
		m.DeleteTools("pay")
	}
}

// Serve offers the tool on a server, whose tool Offer changes.
func (b *Bank) Serve(m *server.MCPServer) {
	b.mcps = append(b.mcps, m)
	b.addTool(m)
}

func (b *Bank) addTool(m *server.MCPServer) {
	m.AddTool(mcp.NewToolWithRawSchema("pay", "Pays.", json.RawMessage(b.schema)), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b.Paid.Add(1)
		if b.Pays != nil {
			b.Pays(&req)
		}
		return mcp.NewToolResultText("paid"), nil
	})
}

// Question is a client's view of a question.
type Question struct {
	ID      string `json:"approval_id"`
	Token   string `json:"token"`
	Task    string `json:"task_id"`
	Expires string `json:"expires_at"`
	Calls   []struct {
		ID     string `json:"call_id"`
		Reason string `json:"reason"`
	} `json:"calls"`
}

// Ask begins a turn that pauses.
func (b *Bank) Ask(p Peer, members string) Question {
	b.t.Helper()
	status, body := b.Post(p, "/chat/stream", `{"input":"Pay"`+members+`}`)
	return b.QuestionOf(status, body)
}

// QuestionOf returns the question that a reply ends with.
func (b *Bank) QuestionOf(status int, body string) (q Question) {
	b.t.Helper()
	_, rest, ok := strings.Cut(body, "event: approval\ndata: ")
	data, _, _ := strings.Cut(rest, "\n")
	if status != http.StatusOK || !ok || json.Unmarshal([]byte(data), &q) != nil || !strings.Contains(body, `"finish_reason":"approval_required"`) {
		b.t.Fatalf("no question: %d %s", status, body)
	}
	return q
}

// Post sends a request, and returns the whole reply; the headers are pairs.
func (b *Bank) Post(p Peer, path, body string, headers ...string) (int, string) {
	b.t.Helper()
	resp := p.Send(b.t, b.t.Context(), http.MethodPost, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Errorf("the reply broke off: %v", err)
	}
	return resp.StatusCode, string(text)
}

// Answer answers a question; members are those of the answer.
func (b *Bank) Answer(p Peer, token, members string) (int, string) {
	b.t.Helper()
	return b.Post(p, "/chat/stream", fmt.Sprintf(`{"approval":{"token":%q,%s}}`, token, members))
}
