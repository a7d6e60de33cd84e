package recording

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Handler returns next with the turns recorded that its requests run. stored says that the
// gateway has a store.
func (r *Recorder) Handler(next http.Handler, stored bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		t := &Turn{recorder: r, began: time.Now()}
		t.head = Head{Format: format, Version: r.cfg.Version, At: t.began.UTC(), Stored: stored, Request: Request{
			Method: req.Method, Target: clientTarget(req.URL),
			Header: selectHeaders(req.Header, "Content-Type", "Accept", "Accept-Language", "X-Request-Id", "A2a-Version", "A2a-Extensions"),
		}}
		req = req.WithContext(context.WithValue(req.Context(), turnKey{}, t))
		if req.Body != nil && req.Body != http.NoBody {
			req.Body = &requestBody{req.Body, t}
		}
		out := &reply{ResponseWriter: w, turn: t}
		defer func() {
			p := recover()
			if p != nil {
				t.addEntry(Entry{Kind: kindAbort})
			}
			t.sealTurn()
			if p != nil {
				panic(p) // http.ErrAbortHandler, mostly
			}
		}()
		next.ServeHTTP(out, req)
	})
}

// clientTarget returns path and query of a client's request, without a parameter that may be a key.
func clientTarget(u *url.URL) string {
	query := u.Query()
	query.Del("ticket")
	if len(query) == 0 {
		return u.EscapedPath()
	}
	return u.EscapedPath() + "?" + query.Encode()
}

// requestBody records the bytes that were read of a request.
type requestBody struct {
	io.ReadCloser
	turn *Turn
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.turn.addBody(p[:n])
	}
	return n, err
}

// addBody adds to the request's body.
func (t *Turn) addBody(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun {
		return // nothing of a turn is read behind its begin
	}
	if t.body = append(t.body, p...); len(t.body) > maxPending {
		t.lost.Store(true)
		t.body = nil
	}
}

// reply records the client's reply.
type reply struct {
	http.ResponseWriter
	turn  *Turn
	begun bool // its head is out
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (r *reply) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *reply) WriteHeader(status int) {
	if !r.begun && status >= 200 {
		r.begun = true
		r.turn.addEntry(Entry{Kind: kindReply, Status: status, Header: selectHeaders(r.Header(), "Content-Type", "X-Request-Id")})
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (r *reply) Write(p []byte) (int, error) {
	if !r.begun {
		r.WriteHeader(http.StatusOK)
	}
	n, err := r.ResponseWriter.Write(p)
	if n > 0 {
		r.turn.addEntry(Entry{Kind: kindOut, Data: copyText(p[:n])})
	}
	return n, err
}
