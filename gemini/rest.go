package gemini

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"sluice/chat"
	"sluice/internal/h2pool"
)

// keepBuffer is the largest buffer that is kept for the next answer.
const keepBuffer = 64 << 10

// rest is the source that speaks HTTP and server-sent events itself.
type rest struct {
	request   *http.Request // of each call, without what differs between them
	err       error         // why there is no request
	transport http.RoundTripper
	owned     *h2pool.Transport // transport, if it is ours to close
	answers   sync.Pool         // of *restAnswer
	decoders  sync.Pool         // of *decoder; an answer has one only while it decodes
}

func newREST(cfg *Config) *rest {
	s := &rest{transport: cfg.Transport}
	s.request, s.err = newRequest(cfg)
	if s.transport == nil {
		s.owned = h2pool.New(NewTransport())
		s.transport = s.owned
	}
	s.answers.New = func() any { return &restAnswer{source: s} }
	s.decoders.New = func() any { return new(decoder) }
	return s
}

func newRequest(cfg *Config) (*http.Request, error) {
	target := cfg.BaseURL + "/v1beta/models/" + url.PathEscape(cfg.Model) + ":streamGenerateContent?alt=sse"
	req, err := http.NewRequest(http.MethodPost, target, nil)
	if err != nil {
		return nil, err
	}
	userAgent := "sluice"
	if cfg.Version != "" {
		userAgent += "/" + cfg.Version
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", userAgent)
	if cfg.APIKey != "" {
		req.Header.Set("X-Goog-Api-Key", cfg.APIKey)
	}
	return req, nil
}

// NewTransport returns the transport with which a Model opens its connections,
// unless it is given one: no proxy, no limit on connections and many idle ones
// kept, no compression, which would hold chunks back, and HTTP/2 with pings, so that
// a dead connection does not have to be found out by a call. The Model's own puts
// h2pool above it, which shares the connections of HTTP/2.
func NewTransport() *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    5 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		MaxIdleConnsPerHost:    1024,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		// An open stream holds these for as long as the model thinks.
		ReadBufferSize:  2 << 10, // some five usual chunks
		WriteBufferSize: 1 << 10, // a request's head; its body goes past the buffer
	}
}

func (s *rest) close() {
	if s.owned != nil {
		s.owned.CloseIdleConnections()
	}
}

// open goes to the transport, not through an http.Client: that would follow
// redirects and take the key, a header it knows nothing of, along to wherever they
// lead.
func (s *rest) open(ctx context.Context, _ *chat.ModelRequest, body *payload) (answer, error) {
	if s.err != nil {
		return nil, &transportError{s.err}
	}
	req := s.request.WithContext(ctx)
	req.Body, req.ContentLength = body.reader(), int64(len(body.data))
	req.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	req.Header = make(http.Header, len(s.request.Header)+1)
	maps.Copy(req.Header, s.request.Header) // the values are shared: nobody changes them
	if id := chat.RequestID(ctx); id != "" {
		req.Header.Set("X-Request-ID", id)
	}
	resp, err := s.transport.RoundTrip(req)
	body = nil // the transport keeps the request while the answer runs, and so GetBody
	if err != nil {
		return nil, &transportError{err}
	}
	if resp.StatusCode/100 != 2 {
		return nil, refusal(resp)
	}
	a := s.answers.Get().(*restAnswer)
	a.body = resp.Body
	a.events.reset(resp.Body)
	return a, nil
}

// refusal reads the error that a status other than 2xx stands for. Whatever the
// body says, the status counts.
func refusal(resp *http.Response) *apiError {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := findError(bytes.TrimSpace(body))
	if e == nil {
		e = new(apiError)
	}
	e.status = resp.StatusCode
	if e.retryAfter == 0 {
		e.retryAfter = retryAfterHeader(resp.Header)
	}
	return e
}

// restAnswer is one answer under way. It goes back to its pool when closed.
type restAnswer struct {
	source *rest
	body   io.ReadCloser
	events eventReader
}

func (a *restAnswer) next(c *rawChunk) error {
	data, err := a.events.next()
	if err != nil {
		return streamError(err)
	}
	d := a.source.decoders.Get().(*decoder)
	err = d.decode(data, c)
	if d.in = (bytes.Buffer{}); cap(d.text) <= keepBuffer {
		a.source.decoders.Put(d)
	}
	return err
}

func (a *restAnswer) buffered() bool { return a.events.buffered() }

func (a *restAnswer) close() {
	a.body.Close()
	a.body = nil
	a.events.reset(nil)
	if cap(a.events.data) <= keepBuffer {
		a.source.answers.Put(a)
	}
}
