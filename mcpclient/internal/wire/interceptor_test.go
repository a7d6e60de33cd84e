package wire

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// conn is a transport whose answers a test makes.
type conn struct {
	transport.Interface
	answer  func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)
	version string
	handler transport.RequestHandler
}

func (c *conn) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	return c.answer(ctx, req)
}

func (c *conn) SendNotification(ctx context.Context, _ mcp.JSONRPCNotification) error {
	_, err := c.answer(ctx, transport.JSONRPCRequest{})
	return err
}

func (c *conn) SetProtocolVersion(v string)                  { c.version = v }
func (c *conn) SetRequestHandler(h transport.RequestHandler) { c.handler = h }

// result is the answer with this result to any request.
func result(text string) *conn {
	return &conn{answer: func(_ context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage(text)), nil
	}}
}

// newInterceptor returns an interceptor over c, and what ends the session.
func newInterceptor(t *testing.T, c transport.Interface) (ic *interceptor, shut func()) {
	g, closed := &Group{}, make(chan struct{})
	t.Cleanup(func() {
		if !g.Stop(time.Minute) {
			t.Error("a goroutine is left over")
		}
	})
	return &interceptor{Interface: c, group: g, closed: closed}, func() { close(closed) }
}

// request sends a request of this method with id 7.
func request(ctx context.Context, ic *interceptor, x *Exchange, method mcp.MCPMethod) (*transport.JSONRPCResponse, error) {
	return ic.SendRequest(WithExchange(ctx, x), transport.JSONRPCRequest{ID: mcp.NewRequestId(int64(7)), Method: string(method)})
}

// mcp-go refuses a result with one odd content as a whole: it sees an empty one, and the
// exchange has every byte.
func TestResultIsStoredAsItWasSent(t *testing.T) {
	t.Parallel()
	const sent = `{"content":[{"type":"odd"}],  "n":1e400}`
	ic, _ := newInterceptor(t, result(sent))
	x := NewCall()
	resp, err := request(t.Context(), ic, x, mcp.MethodToolsCall)
	if err != nil || string(resp.Result) != `{"content":[]}` || string(x.Result) != sent || x.NeedsInput {
		t.Errorf("mcp-go sees %s, the exchange has %s, %v", resp.Result, x.Result, err)
	}
}

// A server that asks for a person's input starts a further round trip, which mcp-go makes.
func TestInputRequiredIsSeen(t *testing.T) {
	t.Parallel()
	const sent = `{"resultType":"input_required","inputRequests":{}}`
	ic, _ := newInterceptor(t, result(sent))
	x := NewCall()
	resp, err := request(t.Context(), ic, x, mcp.MethodToolsCall)
	if err != nil || string(resp.Result) != sent || x.Result != nil || !x.NeedsInput {
		t.Errorf("mcp-go sees %s, the exchange has %s, needs input: %v, %v", resp.Result, x.Result, x.NeedsInput, err)
	}
	ic.Interface = result(`{"content":[]}`)
	if _, err = request(t.Context(), ic, x, mcp.MethodToolsCall); err != nil || x.NeedsInput {
		t.Errorf("the answer to the input still needs input, %v", err)
	}
}

// What is neither a call nor a list goes to mcp-go as it is.
func TestOtherResultsPass(t *testing.T) {
	t.Parallel()
	const sent = `{"protocolVersion":"2025-06-18"}`
	ic, _ := newInterceptor(t, result(sent))
	x := NewCall()
	resp, err := request(t.Context(), ic, x, mcp.MethodInitialize)
	if err != nil || string(resp.Result) != sent || x.Result != nil {
		t.Errorf("mcp-go sees %s, the exchange has %s, %v", resp.Result, x.Result, err)
	}
}

// An error of the server is the exchange's, whether it came in a reply or with a status.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	details := &mcp.JSONRPCErrorDetails{Code: -32602, Message: "unknown tool"}
	for name, answer := range map[string]func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error){
		"in a reply": func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return &transport.JSONRPCResponse{Error: details}, nil // an error may have no id
		},
		"with a status": func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return nil, &cutError{&responseError{&transport.JSONRPCResponse{Error: details}}}
		},
	} {
		ic, _ := newInterceptor(t, &conn{answer: answer})
		x := NewCall()
		resp, err := request(t.Context(), ic, x, mcp.MethodToolsCall)
		if err != nil || resp.Error != details || x.RPC != details || x.Result != nil {
			t.Errorf("%s: got %+v, %v, and the exchange has %+v", name, resp, err, x.RPC)
		}
		ic.Interface = result(`{}`)
		if _, err = request(t.Context(), ic, x, mcp.MethodToolsCall); err != nil || x.RPC != nil {
			t.Errorf("%s: the next answer still has the error %v, %v", name, x.RPC, err)
		}
		x.RPC, x.NeedsInput = details, true
		ic.Interface = &conn{answer: func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return nil, ErrExpired
		}}
		if _, err = request(t.Context(), ic, x, mcp.MethodToolsCall); !errors.Is(err, ErrExpired) || x.RPC != nil || x.NeedsInput {
			t.Errorf("%s: a request without an answer still has the error %v, %v", name, x.RPC, err)
		}
	}
}

// What does not answer the request is an error, and says what the server may have done.
func TestAnswersOfNoUse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer   func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error)
		want     error
		brokeOff bool
	}{
		"another id": {func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return transport.NewJSONRPCResultResponse(mcp.NewRequestId(int64(8)), json.RawMessage(`{}`)), nil
		}, errWrongID, false},
		"none": {func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) { return nil, nil }, nil, true},
		"expired": {func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			return nil, ErrExpired
		}, ErrExpired, false},
		"too large": {result(`"` + strings.Repeat("x", MaxReply) + `"`).answer, ErrTooLarge, false},
		"a panic": {func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			panic("boom")
		}, nil, false},
	} {
		ic, _ := newInterceptor(t, &conn{answer: tt.answer})
		x := NewCall()
		resp, err := request(t.Context(), ic, x, mcp.MethodToolsCall)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) || BrokeOff(err) != tt.brokeOff || NotSent(err) || x.Result != nil {
			t.Errorf("%s: got %v, %v, and the exchange has %.20s", name, resp, err, x.Result)
		}
	}
}

// A result at the limit is one; what one byte more does is above.
func TestResultAtTheLimit(t *testing.T) {
	t.Parallel()
	ic, _ := newInterceptor(t, result(`"`+strings.Repeat("x", MaxReply-2)+`"`))
	x := NewCall()
	if _, err := request(t.Context(), ic, x, mcp.MethodToolsCall); err != nil || len(x.Result) != MaxReply {
		t.Errorf("got %d bytes, %v", len(x.Result), err)
	}
}

// Whatever the transport does, a caller waits no longer than its context, its session and the
// connection live; an answer of the same moment counts more than the end.
func TestNobodyWaitsForATransport(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(shut, lose, cancel func())
		want error
		cut  bool
	}{
		"its context": {func(_, _, cancel func()) { cancel() }, context.Canceled, false},
		"the session": {func(shut, _, _ func()) { shut() }, ErrClosed, false},
		"the stream":  {func(_, lose, _ func()) { lose() }, errLost, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				stopped := make(chan error, 1)
				ic, shut := newInterceptor(t, &conn{answer: func(ctx context.Context, _ transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
					if _, ok := ctx.Deadline(); ok {
						t.Error("the transport has a deadline of its own")
					}
					<-ctx.Done()
					stopped <- ctx.Err()
					time.Sleep(time.Hour) // and it does not return
					return nil, ctx.Err()
				}})
				lost := make(chan struct{})
				ic.cut = lost
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				began := time.Now()
				time.AfterFunc(time.Second, func() { tt.end(shut, func() { close(lost) }, cancel) })
				_, err := request(ctx, ic, NewCall(), mcp.MethodToolsCall)
				if !errors.Is(err, tt.want) || BrokeOff(err) != tt.cut || NotSent(err) || time.Since(began) != time.Second {
					t.Errorf("got %v after %v", err, time.Since(began))
				}
				if err := <-stopped; err == nil {
					t.Error("the transport was not asked to stop")
				}
				time.Sleep(2 * time.Hour) // past the group's patience
			})
		})
	}
}

// Nothing is sent once the session or its connection is gone.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(ic *interceptor, shut func())
		want error
	}{
		"shut":    {func(_ *interceptor, shut func()) { shut() }, ErrClosed},
		"lost":    {func(ic *interceptor, _ func()) { lost := make(chan struct{}); close(lost); ic.cut = lost }, errLost},
		"stopped": {func(ic *interceptor, _ func()) { ic.group.Stop(0) }, ErrClosed},
	} {
		ic, shut := newInterceptor(t, &conn{answer: func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
			t.Errorf("%s: something was sent", name)
			return nil, nil
		}})
		tt.end(ic, shut)
		if _, err := request(t.Context(), ic, NewCall(), mcp.MethodToolsCall); !NotSent(err) || !errors.Is(err, tt.want) {
			t.Errorf("%s: a request: %v", name, err)
		}
		if err := ic.SendNotification(t.Context(), mcp.JSONRPCNotification{}); !NotSent(err) || !errors.Is(err, tt.want) {
			t.Errorf("%s: a notification: %v", name, err)
		}
	}
}

// In this process sending is calling: a call that was withdrawn does not run, and one that
// runs can no longer be withdrawn.
func TestCallInThisProcessIsClaimed(t *testing.T) {
	t.Parallel()
	runs := 0
	c := result(`{}`)
	answer := c.answer
	c.answer = func(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
		runs++
		return answer(ctx, req)
	}
	ic, _ := newInterceptor(t, c)
	ic.local = true
	x := NewCall()
	x.Withdraw()
	if _, err := request(t.Context(), ic, x, mcp.MethodToolsCall); !NotSent(err) || runs != 0 {
		t.Errorf("a call that was withdrawn: %v, and it ran %d times", err, runs)
	}
	x = NewCall()
	if _, err := request(t.Context(), ic, x, mcp.MethodToolsCall); err != nil || runs != 1 || x.Withdraw() {
		t.Errorf("a call: %v, and it ran %d times", err, runs)
	}
}

// The definitions are stored as they were sent. mcp-go sees none of them; of protocol
// 2026-07-28 on, those that it can read, because it copies arguments into headers.
func TestPageOfTools(t *testing.T) {
	t.Parallel()
	tools := []string{
		`{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`,
		`{"name":5}`,
		`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}`,
	}
	sent := `{"tools":[` + strings.Join(tools, ",") + `],"nextCursor":"2"}`
	for version, want := range map[string]string{
		"2025-11-25": `{"tools":[],"nextCursor":"2"}`,
		"2026-07-28": `{"tools":[` + tools[0] + `],"nextCursor":"2"}`,
	} {
		c := result(sent)
		ic, _ := newInterceptor(t, c)
		httpInterceptor{ic, c}.SetProtocolVersion(version)
		x := NewList()
		resp, err := request(t.Context(), ic, x, mcp.MethodToolsList)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(resp.Result)); diff != "" || c.version != version {
			t.Errorf("%s: mcp-go sees (-want +got):\n%s", version, diff)
		}
		var got []string
		for _, raw := range x.List.Tools {
			got = append(got, string(raw))
		}
		if diff := cmp.Diff(tools, got); diff != "" || x.List.Missing() != "" {
			t.Errorf("%s: %q (-want +got):\n%s", version, x.List.Missing(), diff)
		}
	}
}

// A list that mcp-go asks for itself, within a tool call, has a list of its own.
func TestPageThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	ic, _ := newInterceptor(t, result(`{"tools":[{"name":"a"}]}`))
	x := NewCall()
	if _, err := request(t.Context(), ic, x, mcp.MethodToolsList); err != nil || len(x.List.Tools) != 1 {
		t.Errorf("got %v, %+v", err, x.List)
	}
	ic.Interface = result(`{"tools":5}`)
	if _, err := request(t.Context(), ic, x, mcp.MethodToolsList); err == nil || !strings.HasPrefix(err.Error(), "unreadable list of tools: ") {
		t.Errorf("an unreadable page: %v", err)
	}
}

// Of a list in this process that is too large the first tools are offered, and nothing is
// asked for after them.
func TestLargeListInThisProcess(t *testing.T) {
	t.Parallel()
	tool := `{"name":"t","description":"` + strings.Repeat("x", 1<<20) + `"}`
	ic, _ := newInterceptor(t, result(`{"tools":[`+strings.Join(slices.Repeat([]string{tool}, 6), ",")+`],"nextCursor":"2"}`))
	x := NewList()
	resp, err := request(t.Context(), ic, x, mcp.MethodToolsList)
	if err != nil || string(resp.Result) != `{"tools":[]}` || len(x.List.Tools) != 3 {
		t.Fatalf("mcp-go sees %v, %v, and %d tools are there", resp, err, len(x.List.Tools))
	}
	if want := "the list of tools is too long: only the first 3 are read"; x.List.Missing() != want {
		t.Errorf("missing: %q", x.List.Missing())
	}
}

// A server may ask us over transports that go both ways, and only over those.
func TestRequestHandlerIsPassedOn(t *testing.T) {
	t.Parallel()
	c := result(`{}`)
	ic, _ := newInterceptor(t, c)
	handler := func(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) { return nil, nil }
	ic.SetRequestHandler(handler)
	if c.handler == nil {
		t.Error("the transport has no handler")
	}
	ic.Interface = struct{ transport.Interface }{c}
	ic.SetRequestHandler(handler) // and does not panic
}

// A session sees over HTTP that it is one: mcp-go cancels there by ending the request.
func TestInterceptedShowsHTTP(t *testing.T) {
	t.Parallel()
	if _, ok := (Session{}).withInterceptor(&interceptor{Interface: result(`{}`)}).(transport.HTTPConnection); !ok {
		t.Error("an HTTP transport does not look like one")
	}
	if _, ok := (Session{}).withInterceptor(&interceptor{Interface: struct{ transport.Interface }{}}).(transport.HTTPConnection); ok {
		t.Error("another transport looks like HTTP")
	}
}
