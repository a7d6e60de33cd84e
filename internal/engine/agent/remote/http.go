package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/turn/chat"
)

// Bounds of the replies of an agent.
const (
	maxReply = 4 << 20
	maxEvent = 1 << 20
)

// errTooLarge ends a reply, or a stream, that is longer than we read.
var errTooLarge = errors.New("the agent sent more than is read")

const eventStream = "text/event-stream"

// NewTransport returns the transport for an Agent's requests.
func NewTransport() *http.Transport { return transportOf(&net.Dialer{Timeout: dialTime}) }

// NewForeignTransport returns the transport for requests to an origin that the card has named: it
// connects to public addresses alone. It looks at the address that is dialled, so that no name can
// lead elsewhere.
func NewForeignTransport() *http.Transport {
	return transportOf(&net.Dialer{Timeout: dialTime, Control: func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !isPublic(at.Addr()) {
			return errNotPublic
		}
		return nil
	}})
}

func transportOf(dialer *net.Dialer) *http.Transport {
	return &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, MaxIdleConnsPerHost: 16, IdleConnTimeout: 60 * time.Second,
	}
}

// exchange carries the facts of a request and of its reply: the library between us and the wire
// hands on only the context. The facts of the reply are read after the exchange.
type exchange struct {
	hops   int         // how many gateways the turn has come through, this one among them
	sent   atomic.Bool // some of it may have arrived
	status int         // 0 without a reply
	// retryAfter is the wait that the reply asks for; 0 without one.
	retryAfter time.Duration
}

// wasRefused reports whether the agent, or a proxy in front of it, has refused the message.
func (x *exchange) wasRefused() bool {
	return x.status == http.StatusTooManyRequests || x.status == http.StatusServiceUnavailable
}

// exchangeKey is the key of an *exchange in a context.
type exchangeKey struct{}

// inContext returns a context whose requests are sent with x and noted in it.
func (x *exchange) inContext(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// inWatchedContext is inContext for a request that must be known as sent or not.
func (x *exchange) inWatchedContext(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(x.inContext(ctx), &httptrace.ClientTrace{WroteHeaders: func() { x.sent.Store(true) }})
}

// newClient returns a client that sends its requests with via, and follows no redirect.
func (a *Agent) newClient(via http.RoundTripper) *http.Client {
	return &http.Client{Transport: guard{a, via}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// guard sends the requests of an agent, and bounds the replies.
type guard struct {
	agent *Agent
	via   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if originOfURL(req.URL) == g.agent.origin {
		for name, values := range g.agent.cfg.Header {
			req.Header[name] = values
		}
	}
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if ok {
		req.Header.Set(chat.HopsHeader, strconv.Itoa(x.hops))
	}
	trace.Propagate(req.Context(), req.Header)
	resp, err := g.via.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if ok {
		x.recordReply(resp)
	}
	if err := boundBody(resp, req.Header.Get("Accept")); err != nil {
		return nil, err
	}
	return resp, nil
}

// recordReply notes how a request was replied to.
func (x *exchange) recordReply(resp *http.Response) {
	x.sent.Store(true)
	x.status = resp.StatusCode
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		x.retryAfter = min(time.Duration(s)*time.Second, time.Hour)
	}
}

// boundBody bounds the body of a response. If the body is not the stream of events that was asked
// for, it becomes one event.
func boundBody(resp *http.Response, accept string) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case kind == eventStream:
		resp.Body = &events{body: resp.Body}
	case accept == eventStream && resp.StatusCode == http.StatusOK:
		return asEvent(resp)
	default:
		resp.Body = &bounded{body: resp.Body, remaining: maxReply}
	}
	return nil
}

// asEvent makes one event of a reply that is not the stream it was asked for, but one value
// of JSON: an error, mostly.
func asEvent(resp *http.Response) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxEvent+1))
	if err == nil && len(text) > maxEvent {
		err = errTooLarge
	}
	if err != nil {
		return err
	}
	line := bytes.NewBufferString("data: ")
	if err := json.Compact(line, text); err != nil {
		return errors.New("the agent's reply is neither a stream nor JSON")
	}
	line.WriteString("\n\n")
	resp.Body = io.NopCloser(line)
	return nil
}

// bounded is a body of at most left bytes.
type bounded struct {
	body      io.ReadCloser
	remaining int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.remaining -= n; b.remaining < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Close implements io.Closer.
func (b *bounded) Close() error { return b.body.Close() }

// events is a stream with a bound for each event.
type events struct {
	body io.ReadCloser
	size int // of the event at hand
	// line says that there is something in the line at hand.
	line bool
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	n, err := e.body.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			e.size += len(rest)
			e.line = true
			break
		}
		if e.size += end + 1; !e.line && len(bytes.TrimRight(rest[:end], "\r")) == 0 {
			e.size = 0
		}
		e.line = false
		rest = rest[end+1:]
		if e.size > maxEvent {
			return 0, errTooLarge
		}
	}
	if e.size > maxEvent {
		return 0, errTooLarge
	}
	return n, err
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }
