package gemini

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"sluice/chat"
)

// keepBuffer is the largest buffer that is kept for the next answer.
const keepBuffer = 64 << 10

// rest is the source that speaks HTTP and server-sent events itself.
type rest struct {
	url       string
	key       string
	userAgent string
	transport http.RoundTripper
	owned     *http.Transport // transport, if it is ours to close
	answers   sync.Pool       // of *restAnswer
	decoders  sync.Pool       // of *decoder; an answer has one only while it decodes
}

func newREST(cfg *Config) *rest {
	s := &rest{
		url:       cfg.BaseURL + "/v1beta/models/" + url.PathEscape(cfg.Model) + ":streamGenerateContent?alt=sse",
		key:       cfg.APIKey,
		userAgent: "sluice",
		transport: cfg.Transport,
	}
	if cfg.Version != "" {
		s.userAgent += "/" + cfg.Version
	}
	if s.transport == nil {
		s.owned = NewTransport()
		s.transport = s.owned
	}
	s.answers.New = func() any {
		return &restAnswer{source: s}
	}
	s.decoders.New = func() any { return new(decoder) }
	return s
}

// NewTransport returns the transport that a Model uses unless it is given one: no
// proxy, no limit on connections and many idle ones kept, no compression, which
// would hold chunks back, and HTTP/2 with pings, so that a dead connection does
// not have to be found out by a call.
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
		WriteBufferSize:        1 << 10, // a request's head; its body goes past the buffer
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
func (s *rest) open(ctx context.Context, _ *chat.ModelRequest, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, &payload{body})
	if err != nil {
		return nil, &transportError{err}
	}
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return &payload{body}, nil }
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", s.userAgent)
	if s.key != "" {
		req.Header.Set("X-Goog-Api-Key", s.key)
	}
	if id := chat.RequestID(ctx); id != "" {
		req.Header.Set("X-Request-ID", id)
	}
	resp, err := s.transport.RoundTrip(req)
	body = nil // the transport keeps the request while the answer runs, and GetBody would keep this
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

// payload is a request's body. It lets go of what was sent, because the transport
// holds on to it while the answer runs.
type payload struct{ rest []byte }

func (p *payload) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		p.rest = nil
		return 0, io.EOF
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (*payload) Close() error { return nil }

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
