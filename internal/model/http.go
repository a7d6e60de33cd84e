package model

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/model/h2pool"
	"sluice/internal/turn/chat"
)

// keepBuffer is the largest buffer that is kept for the next answer.
const keepBuffer = 64 << 10

// Target is where the requests of a model go. The key is in its Header and nowhere else.
type Target struct {
	// URL is absolute, http or https.
	URL string
	// Header goes with each request, besides Content-Type, Accept and X-Request-ID.
	// It is not changed any more.
	Header http.Header
	// Transport carries the requests; nil means NewTransport(Proxy) with a pool for
	// HTTP/2, which Close then closes. Redirects are never followed, whatever it is.
	Transport http.RoundTripper
	// Proxy is that of http.Transport; nil: none.
	Proxy func(*http.Request) (*url.URL, error)
}

// HTTP sends requests and reads server-sent events. It is safe for concurrent use.
type HTTP struct {
	request   *http.Request // of each call, without what differs between them
	transport http.RoundTripper
	owned     *h2pool.Transport // transport, if it is ours to close
	codec     Codec
	policy    Policy
	readers   sync.Pool // of *Events
}

// NewHTTP returns an HTTP that has codec read the errors. An error is about t and does
// not hold the key.
func NewHTTP(t Target, policy Policy, codec Codec) (*HTTP, error) {
	request, err := newRequest(t)
	if err != nil {
		return nil, err
	}
	s := &HTTP{request: request, transport: t.Transport, codec: codec, policy: policy}
	if s.transport == nil {
		s.owned = h2pool.New(NewTransport(t.Proxy))
		s.transport = s.owned
	}
	s.readers.New = func() any {
		e := &Events{http: s}
		if p, ok := codec.(PassingOver); ok {
			e.events.in.passOver = p.PassOver
		}
		return e
	}
	return s, nil
}

// newRequest returns the request of each attempt but for its body and context. The
// error does not quote the URL: a query may hold a key.
func newRequest(t Target) (*http.Request, error) {
	req, err := http.NewRequest(http.MethodPost, t.URL, nil)
	if err != nil {
		return nil, errors.New("the URL of the service cannot be used") // err may quote it
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	maps.Copy(req.Header, t.Header)
	return req, nil
}

// UserAgent returns the User-Agent header of a version of the program.
func UserAgent(version string) string {
	if version == "" {
		return "sluice"
	}
	return "sluice/" + version
}

// NewTransport returns the transport for a Model that was given none. It does not limit
// connections, keeps many idle ones and does not ask for compression, because that would delay
// chunks. HTTP/2 pings find a dead connection before a call does. The Model's own puts h2pool above
// it, which shares the connections of HTTP/2.
func NewTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:                  proxy,
		DialContext:            dialConn((&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext),
		TLSHandshakeTimeout:    5 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		MaxIdleConnsPerHost:    1024,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		// An open stream holds these for as long as the model thinks. Larger data bypasses them, by
		// conn.
		ReadBufferSize:  2 << 10, // some five usual chunks
		WriteBufferSize: 1 << 10, // a request's head
	}
}

// Close lets go of idle connections.
func (s *HTTP) Close() {
	if s.owned != nil {
		s.owned.CloseIdleConnections()
	}
}

// Send makes a request and returns the events of the reply.
//
// It goes to the transport, not through an http.Client. A client would follow redirects and send
// the key along, since it does not know the header.
func (s *HTTP) Send(ctx context.Context, body *Body) (*Events, error) {
	req := s.request.WithContext(ctx)
	req.Body, req.ContentLength = body.newReader(), int64(len(body.data))
	req.GetBody = func() (io.ReadCloser, error) { return body.newReader(), nil }
	req.Header = make(http.Header, len(s.request.Header)+1)
	maps.Copy(req.Header, s.request.Header) // the values are shared: nobody changes them
	if id := chat.RequestID(ctx); id != "" {
		req.Header.Set("X-Request-ID", id)
	}
	trace.Propagate(ctx, req.Header)
	resp, err := s.transport.RoundTrip(req)
	body = nil // the transport keeps the request while the answer runs, and so GetBody
	if err != nil {
		return nil, &transportError{err}
	}
	if resp.StatusCode/100 != 2 {
		return nil, s.readRefusal(resp)
	}
	if s.policy != PolicyGemini && isEncoded(resp.Header) {
		resp.Body.Close()
		return nil, errEncoded
	}
	e := s.readers.Get().(*Events)
	e.body, e.first = resp.Body, true
	e.document = s.policy != PolicyGemini && isDocument(resp.Header)
	e.events.reset(resp.Body, s.policy != PolicyGemini)
	return e, nil
}

// readRefusal reads the error of a reply whose status is not 2xx. The status of the reply wins over
// one in the body.
func (s *HTTP) readRefusal(resp *http.Response) *Refusal {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	r := s.codec.Refuse(resp.StatusCode, resp.Header, body)
	r.Status = resp.StatusCode
	if s.policy == PolicyGemini {
		if r.RetryAfter == 0 {
			r.RetryAfter = retryAfter(resp.Header)
		}
		return r
	}
	r.RetryAfter = max(r.RetryAfter, retryAfter(resp.Header), retryAfterMS(resp.Header))
	r.NoRetry = r.NoRetry || resp.Header.Get("X-Should-Retry") == "false"
	return r
}

// isEncoded reports whether a reply is compressed. We never ask for compression.
func isEncoded(h http.Header) bool {
	e := h.Get("Content-Encoding")
	return e != "" && !strings.EqualFold(e, "identity")
}

// isDocument reports whether a reply is one JSON document, which some services send for
// an error with status 200.
func isDocument(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == "application/json"
}

// Events are those of one reply. They go back to their pool when closed.
type Events struct {
	// http takes the Events back on Close.
	http     *HTTP
	body     io.ReadCloser
	events   eventReader
	first    bool // nothing was read yet
	document bool // the reply calls itself a JSON document
}

// Next waits for the next event and returns its name, or "", and its data. The data is valid until
// the next call. It returns io.EOF when the service ended the stream cleanly; else a *Refusal (a
// bare error in place of an event), an error that wraps ErrUnreadable or ErrTooLarge, or a failure
// of the connection.
func (e *Events) Next() (name string, data []byte, err error) {
	name, data, err = e.events.nextEvent()
	first := e.first
	e.first = false
	switch {
	case err == nil:
		return name, data, nil
	case err == errBare && first && e.document:
		data, err = e.events.readBare(maxAnswer)
		if err == nil {
			err = errDocument
		}
		return "", data, streamError(err)
	case err == errBare:
		return "", nil, streamError(e.bareError())
	}
	return "", nil, streamError(err)
}

// bareError reads the remaining stream and returns the provider's error in it.
func (e *Events) bareError() error {
	body, err := e.events.readBare(maxErrorBody)
	if err != nil && err != ErrTooLarge { // of an error, the beginning will do
		return err
	}
	if r := e.http.findRefusal(body); r != nil {
		return r
	}
	return ErrUnreadable
}

// Decoded returns err, the error of decoding the latest event. It returns ErrCut if the event is
// unreadable because the stream ended within it.
func (e *Events) Decoded(err error) error {
	if err != nil && e.events.torn && errors.Is(err, ErrUnreadable) {
		return ErrCut
	}
	return err
}

// Listen has p called for comments in the stream.
func (e *Events) Listen(p Pinged) { e.events.pinged = p }

// Buffered reports whether Next is sure to return without waiting.
func (e *Events) Buffered() bool { return e.events.hasBuffered() }

// Close ends the reply; it must be called once.
func (e *Events) Close() {
	e.body.Close()
	e.body = nil
	e.events.reset(nil, false)
	if cap(e.events.data) <= keepBuffer {
		e.http.readers.Put(e)
	}
}
