package home

import (
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Payments is a payment service that is made up: no money moves. It counts its refunds,
// so that one that came twice can be seen.
const Payments = "fake-payments"

// maxRefund is the largest refund.
const maxRefund = 10_000

type payments struct {
	mu      sync.Mutex // guards refunds
	refunds []refund
}

type refund struct {
	ID     string  `json:"refund_id"`
	Amount float64 `json:"amount"`
	Reason string  `json:"reason,omitempty"`
}

func (p *payments) declaredTools() []server.ServerTool {
	no, yes := false, true
	pay := mcp.NewTool("refund",
		mcp.WithToolAnnotation(mcp.ToolAnnotation{Title: "Refund", ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no, OpenWorldHint: &no}),
		mcp.WithDescription("Pay money back to the customer. Calling it twice pays twice."),
		mcp.WithNumber("amount", mcp.Required(), mcp.Min(0.01), mcp.Max(maxRefund), mcp.Description("In EUR.")),
		mcp.WithString("reason", mcp.MaxLength(200)))
	list := mcp.NewTool("list_refunds", readOnlyHints("Refunds"), mcp.WithDescription("Show all refunds that were paid."))
	return []server.ServerTool{serveTool(pay, p.payRefund), serveTool(list, p.listRefunds)}
}

func (p *payments) payRefund(a struct {
	Amount float64 `json:"amount"`
	Reason string  `json:"reason"`
}) (any, error) {
	if err := checkBounds("amount", a.Amount, 0.01, maxRefund); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := refund{fmt.Sprintf("refund_%d", len(p.refunds)+1), a.Amount, a.Reason}
	p.refunds = append(p.refunds, r)
	return r, nil
}

func (p *payments) listRefunds(struct{}) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return struct {
		Count   int      `json:"count"`
		Refunds []refund `json:"refunds"`
	}{len(p.refunds), append([]refund{}, p.refunds...)}, nil
}
