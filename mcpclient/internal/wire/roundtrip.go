package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/turn/chat"
)

const (
	// maxErrorBody is how much of a refusal's body is read.
	maxErrorBody = 64 << 10
	// farewellTimeout bounds the DELETE that ends a session.
	farewellTimeout = 2 * time.Second
	// resumePause is the wait behind an attempt to resume a stream that failed.
	resumePause = 500 * time.Millisecond
)

// Client describes the client of one HTTP server.
type Client struct {
	// Next carries the requests.
	Next http.RoundTripper
	// Headers and UserAgent go with each request.
	Headers   map[string]string
	UserAgent string
	// SSE is true if a 404 means a lost session, although no header names the session.
	SSE bool
}

// HTTP returns the client. It follows no redirects, which would carry the headers along. It has no
// timeout, which would cut streams, because contexts limit all requests.
func (c Client) HTTP() *http.Client {
	return &http.Client{
		Transport:     &roundTripper{next: c.Next, headers: c.Headers, userAgent: c.UserAgent, sse: c.SSE},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// roundTripper sends one server's requests and makes the replies fit for mcp-go. mcp-go itself
// reads without a limit. It closes a connection if the answer comes before the stream's end, and
// accepts an error status with a JSON body as an answer.
type roundTripper struct {
	next      http.RoundTripper
	headers   map[string]string
	userAgent string
	sse       bool
}

// RoundTrip implements http.RoundTripper.
func (rt *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range rt.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", rt.userAgent)
	if id := chat.RequestID(req.Context()); id != "" {
		req.Header.Set("X-Request-ID", id)
	}
	trace.Propagate(req.Context(), req.Header)
	switch {
	case req.Method == http.MethodDelete:
		return rt.sendDelete(req)
	case req.Method != http.MethodPost, req.Header.Get(mcp.HeaderMethod) == string(mcp.MethodSubscriptionsListen):
		return rt.sendStream(req)
	}
	return rt.sendPost(req)
}

// sendStream sends a request whose reply is a stream without an end.
func (rt *roundTripper) sendStream(req *http.Request) (*http.Response, error) {
	cursor := req.Header.Get("Last-Event-ID")
	resp, err := rt.next.RoundTrip(req)
	if cursor != "" && isPassing(resp, err) {
		return rt.nothingYet(req, resp)
	}
	if err != nil {
		return nil, err
	}
	if rt.sse && resp.StatusCode >= 300 { // mcp-go's error would not say which status
		discardBody(resp.Body)
		return nil, &HTTPStatusError{Code: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	}
	bounded := &limiter{r: resp.Body, limit: MaxListReply}
	if req.Method != http.MethodGet {
		resp.Body = body{bounded, resp.Body.Close}
		return resp, nil
	}
	r := &reply{src: bounded, resumes: cursor != "", cursor: []byte(cursor)}
	if r.resumes {
		r.id = exchangeOf(req.Context()).id
	}
	resp.Body = body{newSieve(r), resp.Body.Close}
	return resp, nil
}

// isPassing reports whether a stream could not be resumed for a reason that may pass.
func isPassing(resp *http.Response, err error) bool {
	return err != nil || resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
}

// nothingYet returns an empty stream in place of one that could not be resumed, so that mcp-go
// tries again until the call's time is over. It pauses first.
func (rt *roundTripper) nothingYet(req *http.Request, resp *http.Response) (*http.Response, error) {
	if resp != nil {
		discardBody(resp.Body)
	}
	pause := time.NewTimer(resumePause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: http.NoBody, Request: req,
	}, nil
}

// sendDelete sends a request whose reply is not used.
func (rt *roundTripper) sendDelete(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), farewellTimeout)
	defer cancel()
	resp, err := rt.next.RoundTrip(req.WithContext(ctx))
	if err == nil {
		discardBody(resp.Body)
		resp.Body = http.NoBody
	}
	return resp, err
}

// sendPost sends one JSON-RPC message and reads its whole reply.
func (rt *roundTripper) sendPost(req *http.Request) (*http.Response, error) {
	x := exchangeOf(req.Context())
	for name, value := range x.Header {
		if req.Header.Del(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	// net/http takes a POST with one of these for one that it may send again by itself.
	req.Header.Del("Idempotency-Key")
	req.Header.Del("X-Idempotency-Key")
	ctx, cancel := context.WithCancel(req.Context())
	if !x.claim() {
		cancel()
		return nil, &NotSentError{ErrClosed}
	}
	resp, err := rt.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, traceOf(x))))
	if err != nil {
		cancel()
		if dialFailed(err) {
			x.giveBack()
		}
		if x.state.Load() != claimed {
			return nil, &NotSentError{err}
		}
		return nil, &cutError{err}
	}
	if resp.StatusCode >= 300 {
		defer cancel()
		return nil, rt.readRefusal(req, resp, x, cancel)
	}
	whole, err := wholeReply(resp, x, cancel)
	if err != nil {
		return nil, err
	}
	resp.Body = whole
	return resp, nil
}

// readRefusal returns the meaning of a reply with an error status. A response to the request is the
// answer, whatever the status. But a 404 or 400 that mentions the session means that the session is
// lost.
func (rt *roundTripper) readRefusal(req *http.Request, resp *http.Response, x *Exchange, stop context.CancelFunc) error {
	r := newReply(resp, x, stop)
	r.src, r.limit, r.resumes, r.onMessage = io.LimitReader(resp.Body, maxErrorBody), maxErrorBody, false, nil
	state, _ := r.readReply()
	resp.Body.Close()
	answer := state == answered && !x.id.IsNil()
	session := req.Header.Get(transport.HeaderKeySessionID) != "" || rt.sse
	// Many servers say 400 "No valid session ID provided" where the specification wants
	// 404: the examples of the TypeScript SDK and older Python SDKs.
	named := bytes.Contains(bytes.ToLower(r.buf), []byte("session"))
	switch {
	case session && resp.StatusCode == http.StatusNotFound && (named || !answer),
		session && resp.StatusCode == http.StatusBadRequest && named:
		return ErrExpired
	case answer:
		return &responseError{r.answer.toResponse()}
	}
	if details := rpcDetails(r.buf); details != nil && plainRefusal(resp.StatusCode) {
		return &responseError{&transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, Error: details}}
	}
	return &HTTPStatusError{Code: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
}

// plainRefusal reports whether a status only repeats, for HTTP, the JSON-RPC error in the body. The
// protocol does so since 2026-07-28 (404 for an unknown method, 400 for an unsupported version).
func plainRefusal(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// rpcDetails returns the JSON-RPC error in body, or nil. Other JSON with a member
// named error does not count: {"error":"forbidden"}.
func rpcDetails(body []byte) *mcp.JSONRPCErrorDetails {
	var m struct {
		JSONRPC string `json:"jsonrpc"`
		Error   *struct {
			Code    *int   `json:"code"`
			Message string `json:"message"`
			Data    any    `json:"data"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &m) != nil || m.JSONRPC != mcp.JSONRPC_VERSION || m.Error == nil || m.Error.Code == nil {
		return nil
	}
	return &mcp.JSONRPCErrorDetails{Code: *m.Error.Code, Message: m.Error.Message, Data: m.Error.Data}
}

// retryAfter reads a Retry-After header: seconds or a date (RFC 9110, 10.2.3).
func retryAfter(v string) time.Duration {
	if s, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
		return time.Duration(min(max(s, 0), 24*60*60)) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

// traceOf records in x whether the request has a connection to be written to. net/http asks for
// another one only if the first one was dead before anything was written: a POST is not replayed.
func traceOf(x *Exchange) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { x.giveBack() },
		GotConn: func(httptrace.GotConnInfo) { x.claim() },
	}
}

// dialFailed reports whether err shows that the connection was never made, so that nothing was
// sent.
func dialFailed(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// discardBody reads a small rest of a body, so that its connection can be used again, and
// closes it.
func discardBody(b io.ReadCloser) {
	_, _ = io.Copy(io.Discard, io.LimitReader(b, maxErrorBody))
	b.Close()
}

// body is a response body made of parts.
type body struct {
	io.Reader
	close func() error
}

// Close implements io.Closer.
func (b body) Close() error { return b.close() }
