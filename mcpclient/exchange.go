package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// maxResult is how much of a tool's answer is read, as JSON.
	maxResult = 1 << 20
	// maxReply adds room for what JSON-RPC and SSE wrap around it.
	maxReply = maxResult + 64<<10
)

// exchange is what we keep of one use of a session, beside what mcp-go makes of
// it. It travels in the context: mcp-go hands that through to the transport.
type exchange struct {
	// limit is the most bytes that one reply may have.
	limit int
	// onMessage, unless it is nil, is given each message that comes before the answer
	// as soon as it is there.
	onMessage func(message []byte)
	// state says whether the request may have reached the server.
	state atomic.Int32

	// What the server answered last. Only the caller's goroutine writes these.
	result     json.RawMessage
	rpc        *mcp.JSONRPCErrorDetails
	needsInput bool
	// id is that of the last request.
	id mcp.RequestId
	// list is what was listed so far; nil unless tools are listed.
	list *listing
}

// States of an exchange.
const (
	waiting   int32 = iota // not sent yet
	taken                  // on its way, or there
	withdrawn              // not sent, and not to be sent: its caller has left
)

// take marks the request as on its way. It returns false if it was withdrawn.
func (x *exchange) take() bool {
	return x.state.CompareAndSwap(waiting, taken) || x.state.Load() == taken
}

// giveBack undoes take: nothing was written after all.
func (x *exchange) giveBack() { x.state.CompareAndSwap(taken, waiting) }

// withdraw keeps the request from being sent. It returns false if it may have
// been sent already.
func (x *exchange) withdraw() bool {
	return x.state.CompareAndSwap(waiting, withdrawn) || x.state.Load() == withdrawn
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeOf returns the exchange of ctx; one that nobody looks at if there is
// none, as in a handshake.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{limit: maxListReply}
}

// HTTPStatusError is a reply that refuses a request with an HTTP status.
type HTTPStatusError struct {
	Code int
	// RetryAfter is what the server asked for; 0 means that it did not.
	RetryAfter time.Duration
}

func (e *HTTPStatusError) Error() string {
	return "the MCP server answered with HTTP status " + strconv.Itoa(e.Code)
}

// notSentError proves that a request did not reach the server.
type notSentError struct{ err error }

func (e *notSentError) Error() string { return "not sent: " + e.err.Error() }
func (e *notSentError) Unwrap() error { return e.err }

// cutError is a reply that broke off.
type cutError struct{ err error }

func (e *cutError) Error() string { return "the reply broke off: " + e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

// rpcError is a JSON-RPC error that came with an HTTP error status.
type rpcError struct{ details *mcp.JSONRPCErrorDetails }

func (e *rpcError) Error() string {
	return fmt.Sprintf("JSON-RPC error %d", e.details.Code)
}

var (
	// errExpired: the server does not know our session (any more), so it did not
	// run the tool either.
	errExpired = errors.New("the MCP session has expired")
	// errTooLarge: the reply was larger than the exchange's limit.
	errTooLarge = errors.New("the reply is too large")
	// errWrongID: the reply belongs to another request.
	errWrongID = errors.New("the reply has the id of another request")
	// errManyTools: the list of tools does not end, and there are none in it.
	errManyTools = errors.New("the list of tools is too long")
	// errClosed: the session was closed by us.
	errClosed = errors.New("the MCP session is closed")
	// errLost: the transport's connection is gone.
	errLost = errors.New("the connection is lost")
	// errToolTimeout is the cause of a context whose tool call took too long.
	errToolTimeout = errors.New("the tool took too long")
)
