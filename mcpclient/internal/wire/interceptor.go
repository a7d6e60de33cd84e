package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/base/stack"
)

// interceptor sits between mcp-go's client and its transport. It keeps facts that the client would
// lose (exact bytes, whether a request was sent). It also checks ids and sizes, and returns as soon
// as a context ends, unlike some transports.
type interceptor struct {
	transport.Interface
	group *Group
	// closed ends when the session is shut down.
	closed <-chan struct{}
	// cut ends when the transport has lost its connection and does not itself return
	// to those who wait. It may be nil.
	cut <-chan struct{}
	// local is true for a server in this process, where sending is calling.
	local bool
	// modern is true for HTTP of protocol 2026-07-28 or later. It is set during the handshake,
	// before anything else uses the interceptor.
	modern bool
}

// httpInterceptor is an interceptor over HTTP. mcp-go takes any transport with this method for
// one that is cancelled by ending the request, without notifications/cancelled.
type httpInterceptor struct {
	*interceptor
	conn transport.HTTPConnection
}

// SetProtocolVersion implements transport.HTTPConnection. mcp-go calls it once the version
// is agreed on.
func (t httpInterceptor) SetProtocolVersion(v string) {
	t.modern = mcp.IsModernProtocol(v)
	t.conn.SetProtocolVersion(v)
}

// SetRequestHandler passes the client's handler on to transports over which a server can send
// requests.
func (t *interceptor) SetRequestHandler(h transport.RequestHandler) {
	if b, ok := t.Interface.(transport.BidirectionalInterface); ok {
		b.SetRequestHandler(h)
	}
}

// SendRequest sends one request and returns the answer.
func (t *interceptor) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	x, ctx := withExchange(ctx)
	x.RPC, x.NeedsInput, x.id, x.modern = nil, false, req.ID, t.modern
	if x.List != nil && req.Method == string(mcp.MethodToolsList) {
		req.Params = x.List.restoreCursor(req.Params)
	}
	resp, err := t.sendOnce(ctx, req)
	if e, ok := errors.AsType[*responseError](err); ok {
		resp, err = e.response, nil
		resp.ID = req.ID
	}
	if err != nil {
		return nil, err
	}
	if resp.Error == nil && resp.ID.String() != req.ID.String() {
		return nil, errWrongID
	}
	return t.recordAnswer(x, req.Method, resp)
}

// sendOnce sends req and returns the answer. Without an error the answer is not nil.
func (t *interceptor) sendOnce(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return awaitResult(ctx, t, func(ctx context.Context) (*transport.JSONRPCResponse, error) {
		if t.local && !exchangeOf(ctx).claim() {
			return nil, &NotSentError{ErrClosed}
		}
		resp, err := t.Interface.SendRequest(ctx, req)
		if err == nil && resp == nil {
			err = &cutError{errors.New("no answer")}
		}
		return resp, err
	})
}

// SendNotification sends a notification.
func (t *interceptor) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	_, err := awaitResult(ctx, t, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, t.Interface.SendNotification(ctx, n)
	})
	if err != nil {
		return transport.NewError(err) // as mcp-go does for requests: see Answered
	}
	return nil
}

// awaitResult runs f and returns its result. It returns earlier if ctx ends or the session is
// closed, whatever f does. f gets a context without a deadline: the one place for timeouts is the
// end of ctx.
func awaitResult[T any](ctx context.Context, t *interceptor, f func(context.Context) (T, error)) (none T, err error) {
	select {
	case <-t.closed:
		return none, &NotSentError{ErrClosed}
	case <-t.cut:
		return none, &NotSentError{errLost}
	default:
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan returned[T], 1)
	// Goroutine (awaitResult, one for each use of a session): runs mcp-go's call, so that its caller can
	// leave when its own context ends.
	// Ends: mcp-go returns; its context is cancelled when the caller leaves.
	// Waits: the group.
	if !t.group.Run(func() {
		stack.Reserve()
		ended <- callContained(inner, f)
	}) {
		return none, &NotSentError{ErrClosed}
	}
	select {
	case r := <-ended:
		return r.value, r.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-t.closed:
		err = ErrClosed
	case <-t.cut:
		err = &cutError{errLost}
	}
	select {
	case r := <-ended: // it came in the same moment: an answer is worth more
		return r.value, r.err
	default:
		return none, err
	}
}

// returned holds the results of a function. It passes through a channel with room for one, so that
// the function can end after its caller has left.
type returned[T any] struct {
	value T
	err   error
}

// callContained calls f unless ctx has ended, and makes an error of a panic.
func callContained[T any](ctx context.Context, f func(context.Context) (T, error)) (r returned[T]) {
	defer func() {
		if p := recover(); p != nil {
			r.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if r.err = ctx.Err(); r.err == nil {
		r.value, r.err = f(ctx)
	}
	return r
}

// recordAnswer records the answer in x and returns the part that mcp-go may see.
func (t *interceptor) recordAnswer(x *Exchange, method string, resp *transport.JSONRPCResponse) (*transport.JSONRPCResponse, error) {
	x.RPC = resp.Error
	if resp.Error != nil {
		return resp, nil
	}
	if len(resp.Result) > x.limit { // in this process, where nothing was read from a wire
		return t.keepCut(x, resp)
	}
	switch method {
	case string(mcp.MethodToolsCall):
		return keepResult(x, resp), nil
	case string(mcp.MethodToolsList):
		return t.keepPage(x, resp)
	}
	return resp, nil
}

// keepResult keeps a tool's result for our own reader. mcp-go would refuse a result with one odd
// content as a whole, so it gets an empty one. It gets the result itself only for input_required,
// which starts a further round trip (SEP-2322).
func keepResult(x *Exchange, resp *transport.JSONRPCResponse) *transport.JSONRPCResponse {
	var probe struct {
		ResultType mcp.ResultType `json:"resultType"`
	}
	x.NeedsInput = json.Unmarshal(resp.Result, &probe) == nil && probe.ResultType == mcp.ResultTypeInputRequired
	if x.NeedsInput {
		return resp
	}
	x.Result = resp.Result
	shown := *resp
	shown.Result = json.RawMessage(`{"content":[]}`)
	return &shown
}

// keepPage keeps the tools of a page as they are. mcp-go would lose parts of their schemas, and
// refuse a page with one odd tool as a whole.
func (t *interceptor) keepPage(x *Exchange, resp *transport.JSONRPCResponse) (*transport.JSONRPCResponse, error) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor json.RawMessage   `json:"nextCursor"`
	}
	if err := json.Unmarshal(resp.Result, &page); err != nil {
		return nil, fmt.Errorf("%w: %w", errOddList, err)
	}
	if x.List == nil { // mcp-go asks for itself
		x.List = &List{}
	}
	var seen struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor,omitempty"`
	}
	var err error
	seen.NextCursor, err = x.List.addPage(page.Tools, len(resp.Result), x.List.nextCursor(page.NextCursor, t.modern))
	if err != nil {
		return nil, err
	}
	seen.Tools = []json.RawMessage{}
	if t.modern {
		seen.Tools = append(seen.Tools, mirroredTools(page.Tools)...)
	}
	shown := *resp
	shown.Result, err = json.Marshal(seen)
	return &shown, err
}

// keepCut keeps what fits of an answer that is too large: the first tools of a list.
func (t *interceptor) keepCut(x *Exchange, resp *transport.JSONRPCResponse) (*transport.JSONRPCResponse, error) {
	head := append([]byte(`{"result":`), resp.Result[:x.limit]...)
	whole := *resp
	if json.Unmarshal(x.salvageTools(head), &whole) != nil {
		return nil, ErrTooLarge
	}
	return t.keepPage(x, &whole)
}

// mirroredTools returns the tools that mcp-go must know: since 2026-07-28 it copies
// arguments into HTTP headers where a tool's schema asks for it (SEP-2243). Tools
// that it cannot read, or would only warn of in slog.Default, stay unknown to it.
func mirroredTools(tools []json.RawMessage) []json.RawMessage {
	var known []json.RawMessage
	for _, raw := range tools {
		var t mcp.Tool
		if json.Unmarshal(raw, &t) == nil && mcp.ValidateParamHeaderAnnotations(&t) == nil {
			known = append(known, raw)
		}
	}
	return known
}
