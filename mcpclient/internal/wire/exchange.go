package wire

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// MaxResult is how much of a tool's answer is read, as JSON.
	MaxResult = 1 << 20
	// MaxReply adds room for what JSON-RPC and SSE wrap around it.
	MaxReply = MaxResult + 64<<10
)

// Exchange is what we keep of one use of a session, besides what mcp-go makes of it. It travels in
// the context: mcp-go hands that through to the transport. It is made by NewCall or NewList and
// used once. Its exported fields are for the goroutine that makes the call, after the call has
// returned.
type Exchange struct {
	// OnMessage, unless it is nil, is given each message that comes before the answer
	// as soon as it is there. It is set before the call, is called from any
	// goroutine, and must neither block nor keep message.
	OnMessage func(message []byte)
	// Header is set before the call, too. It holds headers of this request over HTTP, besides those
	// of each request. An empty value removes a header.
	Header map[string]string

	// The last answer of the server.

	// Result is the result as it was sent; nil without one.
	Result json.RawMessage
	// RPC is the server's JSON-RPC error; nil without one.
	RPC *mcp.JSONRPCErrorDetails
	// NeedsInput is true if the server asked for the input of a person (SEP-2322).
	NeedsInput bool
	// List is the list of tools so far; nil unless tools are listed.
	List *List

	// limit is the most bytes that one reply may have.
	limit int
	// state shows whether the request may have reached the server.
	state atomic.Int32
	// id is that of the last request. modern is true if the request went over HTTP of protocol
	// 2026-07-28 or later.
	id     mcp.RequestId
	modern bool
}

// NewCall returns the exchange of one tool call.
func NewCall() *Exchange { return &Exchange{limit: MaxReply} }

// NewList returns the exchange that reads a list of tools, with all its pages.
func NewList() *Exchange { return &Exchange{limit: MaxListReply, List: &List{}} }

// States of an exchange.
const (
	waiting   int32 = iota // not sent yet
	claimed                // on its way, or there
	withdrawn              // not sent, and not to be sent: its caller has left
)

// claim marks the request as on its way. It returns false if it was withdrawn.
func (x *Exchange) claim() bool {
	return x.state.CompareAndSwap(waiting, claimed) || x.state.Load() == claimed
}

// giveBack undoes claim: nothing was written after all.
func (x *Exchange) giveBack() { x.state.CompareAndSwap(claimed, waiting) }

// Withdraw keeps the request from being sent. It returns false if it may have
// been sent already. Any goroutine may call it.
func (x *Exchange) Withdraw() bool {
	return x.state.CompareAndSwap(waiting, withdrawn) || x.state.Load() == withdrawn
}

// exchangeKey is the key of an Exchange in a context.
type exchangeKey struct{}

// WithExchange returns a context whose calls x is kept of.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeOf returns the exchange of ctx. Without one, as in a handshake, it returns a new one that
// nobody reads.
func exchangeOf(ctx context.Context) *Exchange {
	x, _ := withExchange(ctx)
	return x
}

// withExchange returns the exchange of ctx, and a context that has it.
func withExchange(ctx context.Context) (*Exchange, context.Context) {
	if x, ok := ctx.Value(exchangeKey{}).(*Exchange); ok {
		return x, ctx
	}
	x := &Exchange{limit: MaxListReply}
	return x, WithExchange(ctx, x)
}
