package recording

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// Lost values of exchanges that the gateway itself ended.
const (
	lostCancelled = "cancelled" // its context ended
	lostClosed    = "closed"    // it had read enough
)

// Around returns a transport that records the exchanges of turns. Others pass. If why is not
// empty, a turn with such an exchange cannot be run again for this reason.
func (r *Recorder) Around(next http.RoundTripper, why string) http.RoundTripper {
	return recorded{next, why}
}

type recorded struct {
	next http.RoundTripper
	why  string
}

// RoundTrip implements http.RoundTripper.
func (r recorded) RoundTrip(req *http.Request) (*http.Response, error) {
	t := From(req.Context())
	if t == nil {
		return r.next.RoundTrip(req)
	}
	t.Begin(r.why)
	n := t.nextNumber(&t.exchanges)
	t.addEntry(Entry{Kind: kindAsk, N: n, Method: req.Method, URL: upstreamTarget(req.URL), Data: copyRequestBody(req)})
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		t.addEntry(Entry{Kind: kindClose, N: n, Lost: failureReason(req.Context(), err)})
		return nil, err
	}
	t.addEntry(Entry{Kind: kindAnswer, N: n, Status: resp.StatusCode, Header: selectHeaders(resp.Header, "Content-Type", "Content-Encoding", "Retry-After", "Retry-After-Ms")})
	resp.Body = &recordedBody{ReadCloser: resp.Body, turn: t, n: n, ctx: req.Context()}
	return resp, nil
}

// CloseIdleConnections closes the idle connections of the transport, if it can.
func (r recorded) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// upstreamTarget returns path and query of a request. It leaves out the host, which may have a
// random port, and parameters that may be keys.
func upstreamTarget(u *url.URL) string {
	query := u.Query()
	for name := range query {
		if name != "alt" && name != "api-version" {
			query.Del(name)
		}
	}
	if len(query) == 0 {
		return u.Path
	}
	return u.Path + "?" + query.Encode()
}

// copyRequestBody returns a copy of a request's body.
func copyRequestBody(req *http.Request) *Text {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	var b bytes.Buffer
	_, _ = b.ReadFrom(body) // the transport reads the body by itself
	return copyText(b.Bytes())
}

// selectHeaders returns those headers that the gateway looks at. Others may hold a secret.
func selectHeaders(h http.Header, names ...string) http.Header {
	out := http.Header{}
	for _, name := range names {
		if values := h.Values(name); len(values) > 0 {
			out[http.CanonicalHeaderKey(name)] = values
		}
	}
	return out
}

// failureReason says how an exchange failed.
func failureReason(ctx context.Context, err error) string {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return lostCancelled
	}
	return err.Error()
}

// recordedBody is the body of a reply.
type recordedBody struct {
	io.ReadCloser
	turn      *Turn
	n         int
	ctx       context.Context // of the request
	closeOnce sync.Once
}

// Read implements io.Reader.
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.turn.addEntry(Entry{Kind: kindData, N: b.n, Data: copyText(p[:n])})
	}
	if err != nil {
		lost := ""
		if err != io.EOF {
			lost = failureReason(b.ctx, err)
		}
		b.recordClose(lost)
	}
	return n, err
}

// Close implements io.Closer.
func (b *recordedBody) Close() error {
	b.recordClose(lostClosed)
	return b.ReadCloser.Close()
}

func (b *recordedBody) recordClose(lost string) {
	b.closeOnce.Do(func() { b.turn.addEntry(Entry{Kind: kindClose, N: b.n, Lost: lost}) })
}
