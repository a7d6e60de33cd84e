package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/turn/chat"
)

// replying is a server that answers each request alike, and saw the last one.
type replying struct {
	status int
	header http.Header
	body   io.Reader
	seen   *http.Request
	closed bool
}

func (r *replying) RoundTrip(req *http.Request) (*http.Response, error) {
	r.seen = req
	if r.header == nil {
		r.header = http.Header{}
	}
	return &http.Response{StatusCode: r.status, Header: r.header, Body: body{r.body, func() error { r.closed = true; return nil }}}, nil
}

// posted posts a message with the header of a session, if it has one.
func posted(t *testing.T, rt http.RoundTripper, x *Exchange, session string) (*http.Response, error) {
	req := httptest.NewRequestWithContext(WithExchange(t.Context(), x), http.MethodPost, "http://s/", strings.NewReader("{}"))
	if session != "" {
		req.Header.Set(transport.HeaderKeySessionID, session)
	}
	return rt.RoundTrip(req)
}

// What a status means depends on the session and on the body: only what the protocol says in
// JSON-RPC is a server's answer, the rest is a proxy's or a lost session.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const rpc = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`
	for name, tt := range map[string]struct {
		status  int
		session string
		sse     bool
		body    string
		want    string
		expired bool
	}{
		"404 within a session":         {status: 404, session: "s", expired: true},
		"404 within one, as JSON-RPC":  {status: 404, session: "s", body: rpc, expired: true},
		"404 of the older transport":   {status: 404, sse: true, expired: true},
		"404 without a session":        {status: 404, want: "the MCP server answered with HTTP status 404"},
		"an unknown method":            {status: 404, body: rpc, want: "JSON-RPC error -32601"},
		"400 that names the session":   {status: 400, session: "s", body: "Bad Request: No valid SESSION ID provided", expired: true},
		"400 of another reason":        {status: 400, session: "s", body: "bad", want: "the MCP server answered with HTTP status 400"},
		"400 that names none of ours":  {status: 400, body: "no session", want: "the MCP server answered with HTTP status 400"},
		"a redirect":                   {status: 302, want: "the MCP server answered with HTTP status 302"},
		"401 as JSON-RPC":              {status: 401, body: rpc, want: "the MCP server answered with HTTP status 401"},
		"403 as JSON-RPC":              {status: 403, body: rpc, want: "the MCP server answered with HTTP status 403"},
		"429 as JSON-RPC":              {status: 429, body: rpc, want: "the MCP server answered with HTTP status 429"},
		"499 as JSON-RPC":              {status: 499, body: rpc, want: "JSON-RPC error -32601"},
		"500 as JSON-RPC":              {status: 500, body: rpc, want: "the MCP server answered with HTTP status 500"},
		"JSON that is not JSON-RPC":    {status: 422, body: `{"error":"forbidden"}`, want: "the MCP server answered with HTTP status 422"},
		"an error without a code":      {status: 422, body: `{"jsonrpc":"2.0","error":{"message":"x"}}`, want: "the MCP server answered with HTTP status 422"},
		"an error of another protocol": {status: 422, body: `{"error":{"code":5}}`, want: "the MCP server answered with HTTP status 422"},
		"no error":                     {status: 422, body: `{"jsonrpc":"2.0","result":{}}`, want: "the MCP server answered with HTTP status 422"},
		"a code of 0":                  {status: 422, body: `{"jsonrpc":"2.0","error":{"code":0}}`, want: "JSON-RPC error 0"},
		"a body beyond the bound":      {status: 422, body: strings.Repeat(" ", maxErrorBody) + rpc, want: "the MCP server answered with HTTP status 422"},
	} {
		r := &replying{status: tt.status, body: strings.NewReader(tt.body)}
		x := NewCall()
		_, err := posted(t, Client{Next: r, SSE: tt.sse}.HTTP().Transport, x, tt.session)
		if errors.Is(err, ErrExpired) != tt.expired || !tt.expired && (err == nil || err.Error() != tt.want) {
			t.Errorf("%s: got %v, want %q, expired: %v", name, err, tt.want, tt.expired)
		}
		if !r.closed {
			t.Errorf("%s: the body was left open", name)
		}
		if x.Withdraw() {
			t.Errorf("%s: a request with a reply counts as not sent", name)
		}
	}
}

// The error of a server is in the words that it used; nothing of them is in ours.
func TestRefusalHasTheDetails(t *testing.T) {
	t.Parallel()
	r := &replying{status: 400, body: strings.NewReader(`{"jsonrpc":"2.0","error":{"code":-32602,"message":"s3cret","data":{"a":1}}}`)}
	_, err := posted(t, &roundTripper{next: r}, NewCall(), "")
	e, ok := errors.AsType[*responseError](err)
	if !ok || strings.Contains(err.Error(), "s3cret") {
		t.Fatalf("got %v", err)
	}
	want := &mcp.JSONRPCErrorDetails{Code: -32602, Message: "s3cret", Data: map[string]any{"a": 1.0}}
	if diff := cmp.Diff(want, e.response.Error); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Retry-After is seconds or a date, a day at most, and 0 if it is neither.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for value, want := range map[string]time.Duration{
			"":                              0,
			"5":                             5 * time.Second,
			" 5 ":                           5 * time.Second,
			"0":                             0,
			"-5":                            0,
			"86400":                         24 * time.Hour,
			"86401":                         24 * time.Hour,
			"99999999999999999999":          0,
			"1.5":                           0,
			"soon":                          0,
			"Sat, 01 Jan 2000 00:00:07 GMT": 7 * time.Second,
			"Fri, 31 Dec 1999 23:59:59 GMT": 0,
		} {
			r := &replying{status: 503, header: http.Header{"Retry-After": {value}}, body: strings.NewReader("")}
			_, err := posted(t, &roundTripper{next: r}, NewCall(), "")
			if e, ok := errors.AsType[*HTTPStatusError](err); !ok || e.Code != 503 || e.RetryAfter != want {
				t.Errorf("%q: got %#v, want %v", value, err, want)
			}
		}
	})
}

// A request has the server's headers, ours, and those of its exchange, which may remove one of
// the others. What mcp-go holds stays as it was.
func TestHeadersOfARequest(t *testing.T) {
	t.Parallel()
	r := &replying{status: 202, body: strings.NewReader("")}
	client := Client{Next: r, Headers: map[string]string{"X-Server": "a", "X-Off": "b"}, UserAgent: "sluice"}.HTTP()
	x := NewCall()
	x.Header = map[string]string{"X-Off": "", "X-Call": "c", "X-Server": "d"}
	ctx := chat.WithRequestID(WithExchange(t.Context(), x), "req_1")
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://s/", strings.NewReader("{}"))
	req.Header.Set("User-Agent", "mcp-go")
	resp, err := client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	want := http.Header{"X-Server": {"d"}, "X-Call": {"c"}, "User-Agent": {"sluice"}, "X-Request-Id": {"req_1"}}
	if diff := cmp.Diff(want, r.seen.Header); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(http.Header{"User-Agent": {"mcp-go"}}, req.Header); diff != "" {
		t.Errorf("the caller's request has changed (-want +got):\n%s", diff)
	}
	// A handshake is nobody's request.
	if _, err := posted(t, client.Transport, NewCall(), ""); err != nil || r.seen.Header.Values("X-Request-Id") != nil {
		t.Errorf("%v, request id %q", err, r.seen.Header.Values("X-Request-Id"))
	}
}

// A redirect would carry the headers, which hold secrets, to another host.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	sent := 0
	client := Client{Next: roundTripFunc(func(req *http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: 307, Header: http.Header{"Location": {"http://other/"}}, Body: http.NoBody, Request: req}, nil
	})}.HTTP()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://s/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != 307 || sent != 1 || client.Timeout != 0 {
		t.Errorf("got status %d after %d requests, timeout %v", resp.StatusCode, sent, client.Timeout)
	}
}

// A request that was withdrawn is not sent.
func TestWithdrawnRequestIsNotSent(t *testing.T) {
	t.Parallel()
	rt := &roundTripper{next: roundTripFunc(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, io.EOF
	})}
	x := NewCall()
	x.Withdraw()
	if _, err := posted(t, rt, x, ""); !NotSent(err) || !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A transport that waits for a connection has sent nothing; one that has found it may have.
func TestConnectionIsTheProof(t *testing.T) {
	t.Parallel()
	for found, want := range map[bool]bool{false: true, true: false} {
		x := NewCall()
		rt := &roundTripper{next: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(req.Context())
			trace.GetConn("s:80")
			if found {
				trace.GotConn(httptrace.GotConnInfo{})
			}
			return nil, io.ErrUnexpectedEOF
		})}
		if _, err := posted(t, rt, x, ""); NotSent(err) != want || BrokeOff(err) == want || !errors.Is(err, io.ErrUnexpectedEOF) || x.Withdraw() != want {
			t.Errorf("with a connection: %v: got %v", found, err)
		}
	}
}

// The farewell of a session is bounded, and of its reply nothing is used.
func TestFarewell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rest := strings.NewReader("bye")
		r := &replying{status: 404, body: rest}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "http://s/", nil)
		resp, err := (&roundTripper{next: r}).RoundTrip(req)
		if err != nil || resp.StatusCode != 404 || resp.Body != http.NoBody || !r.closed || rest.Len() != 0 {
			t.Errorf("got %v, %v; closed: %v, %d bytes are left", resp, err, r.closed, rest.Len())
		}
		began := time.Now()
		_, err = (&roundTripper{next: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})}).RoundTrip(req)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != farewellTimeout {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// A stream without an end is not read before it is asked for, and no event of it grows without
// a bound.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ method, mcpMethod string }{
		"a GET":          {http.MethodGet, ""},
		"a subscription": {http.MethodPost, string(mcp.MethodSubscriptionsListen)},
	} {
		for size, want := range map[int]error{MaxListReply: nil, MaxListReply + 1: ErrTooLarge} {
			events := ": ping\n\n" + strings.Repeat("x", size) + "\n\n"
			r := &replying{status: 200, body: strings.NewReader(events)}
			req := httptest.NewRequestWithContext(t.Context(), tt.method, "http://s/", nil)
			req.Header.Set(mcp.HeaderMethod, tt.mcpMethod)
			resp, err := (&roundTripper{next: r}).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = io.ReadAll(resp.Body); !errors.Is(err, want) {
				t.Errorf("%s of %d bytes: %v, want %v", name, size, err, want)
			}
			if resp.Body.Close(); !r.closed {
				t.Errorf("%s: the stream was left open", name)
			}
		}
	}
}

// A call whose connection is idle for as long as servers keep one would meet its close on the
// way, with an unknown outcome.
func TestTransportClosesFirst(t *testing.T) {
	t.Parallel()
	if tr := NewTransport(); tr.IdleConnTimeout <= 0 || tr.IdleConnTimeout >= 5*time.Second || tr.MaxResponseHeaderBytes <= 0 || tr.TLSHandshakeTimeout <= 0 {
		t.Errorf("got %v, %d, %v", tr.IdleConnTimeout, tr.MaxResponseHeaderBytes, tr.TLSHandshakeTimeout)
	}
}
