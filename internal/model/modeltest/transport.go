package modeltest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// ErrBroken is how a connection of the suite breaks.
var ErrBroken = errors.New("connection reset by peer")

// Reply is a service's reply to one request.
type Reply struct {
	// Refused is the error in place of an answer, as if nobody listened.
	Refused error
	Status  int // 0: 200
	Header  map[string]string
	Pieces  []string
	// Pause is the time before each piece.
	Pause time.Duration
	// End comes after the pieces: nil is a clean end, ErrHang waits.
	End error
}

// ErrHang is the End of a reply that continues without a further byte.
var ErrHang = errors.New("hang")

// Request is a request that the service received.
type Request struct {
	URL    string
	Header http.Header
	Body   string
	At     time.Time
}

// Service is a transport that answers the nth request with the nth of its replies, or the last. It
// works without a network, so that it runs in the time of testing/synctest.
type Service struct {
	Replies []Reply

	mu       sync.Mutex // guards the fields below
	requests []Request
	open     int
	read     int
}

// RoundTrip implements http.RoundTripper.
func (s *Service) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := s.Replies[min(len(s.requests), len(s.Replies)-1)]
	s.requests = append(s.requests, Request{r.URL.String(), r.Header.Clone(), string(body), time.Now()})
	if reply.Refused != nil {
		return nil, reply.Refused
	}
	header := http.Header{"Content-Type": {"text/event-stream"}}
	for name, value := range reply.Header {
		header.Set(name, value)
	}
	status := reply.Status
	if status == 0 {
		status = http.StatusOK
	}
	s.open++
	return &http.Response{
		StatusCode: status, Header: header, ContentLength: -1, Request: r,
		Body: &script{ctx: r.Context(), service: s, reply: reply, closed: make(chan struct{})},
	}, nil
}

// Requests returns the requests so far.
func (s *Service) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Open returns how many replies are not closed.
func (s *Service) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Read returns how many bytes of all replies were read.
func (s *Service) Read() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

// script is the body of a reply.
type script struct {
	ctx     context.Context
	service *Service
	reply   Reply
	next    int
	piece   strings.Reader
	once    sync.Once
	closed  chan struct{}
}

// Read returns one piece at a time, with the reply's pause before each, and counts the bytes.
func (b *script) Read(p []byte) (int, error) {
	for b.piece.Len() == 0 {
		if b.next == len(b.reply.Pieces) {
			return 0, b.finalError()
		}
		if err := b.waitFor(b.reply.Pause); err != nil {
			return 0, err
		}
		b.piece.Reset(b.reply.Pieces[b.next])
		b.next++
	}
	n, err := b.piece.Read(p)
	b.service.mu.Lock()
	b.service.read += n
	b.service.mu.Unlock()
	return n, err
}

// finalError returns the error behind the last piece. ErrHang waits, in fake time, for longer than
// any timeout.
func (b *script) finalError() error {
	switch b.reply.End {
	case nil:
		return io.EOF
	case ErrHang:
		return b.waitFor(1000 * time.Hour)
	}
	return b.reply.End
}

// waitFor passes time unless the request is given up or its body closed first.
func (b *script) waitFor(d time.Duration) error {
	if d == 0 {
		return b.ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-b.ctx.Done():
		return b.ctx.Err()
	case <-b.closed:
		return http.ErrBodyReadAfterClose
	}
}

// Close counts once, however often it is called: the suite compares how many bodies
// stay open.
func (b *script) Close() error {
	b.once.Do(func() {
		close(b.closed)
		b.service.mu.Lock()
		b.service.open--
		b.service.mu.Unlock()
	})
	return nil
}
