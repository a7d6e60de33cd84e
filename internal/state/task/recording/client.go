package recording

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"
)

// HTTP returns the request of the recording, as a server gets it. Its id is the one that the
// reply had.
func (r *Recording) HTTP(ctx context.Context) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, r.Request.Method, "http://localhost"+r.Request.Target, bytes.NewReader(r.Request.Body))
	if err != nil {
		return nil, err
	}
	if r.Request.Method == http.MethodGet {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.RequestURI, req.RemoteAddr = r.Request.Target, "127.0.0.1:1"
	for name, values := range r.Request.Header {
		req.Header[name] = values
	}
	for i := range r.Entries {
		if id := r.Entries[i].Header.Get("X-Request-Id"); r.Entries[i].Kind == kindReply && id != "" {
			req.Header.Set("X-Request-Id", id)
		}
	}
	return req, nil
}

// Client gets the reply of a turn that is run again, and hands it to its Player. It is an
// http.ResponseWriter; a stream may be written from several goroutines.
type Client struct {
	player *Player
	header http.Header

	mu   sync.Mutex // guards the field below
	body []byte
}

// Client returns the client that gets the reply.
func (p *Player) Client() *Client { return &Client{player: p, header: http.Header{}} }

// Serve has h answer a request, and returns when it has. A reply that is cut off on purpose
// ends there.
func (c *Client) Serve(h http.Handler, req *http.Request) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	h.ServeHTTP(c, req)
}

// Body returns the bytes that have come so far.
func (c *Client) Body() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.body)
}

// Header implements http.ResponseWriter.
func (c *Client) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter.
func (c *Client) WriteHeader(int) {}

// Write implements io.Writer.
func (c *Client) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.body = append(c.body, p...)
	c.mu.Unlock()
	c.player.countSent(p)
	return len(p), nil
}

// FlushError is for http.ResponseController, as are the deadlines: this client is never slow.
func (c *Client) FlushError() error { return nil }

// SetReadDeadline does nothing.
func (c *Client) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *Client) SetWriteDeadline(time.Time) error { return nil }

// EnableFullDuplex does nothing.
func (c *Client) EnableFullDuplex() error { return nil }
