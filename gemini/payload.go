package gemini

import (
	"io"
	"sync"
	"sync/atomic"
)

// payloads are the bodies of requests, some 5 KB each, that are used again.
var payloads = sync.Pool{New: func() any { return new(payload) }}

// payload is the body of one call's requests. Each attempt reads it again.
type payload struct {
	data    []byte
	readers atomic.Int32 // how many were made
	sent    atomic.Bool  // one of them has read all
}

// free gives the payload up. Its memory is used again if nobody can be reading it: a
// transport may go on reading the body of a request that has failed.
func (p *payload) free() {
	if p.readers.Load() == 1 && p.sent.Load() && cap(p.data) <= keepBuffer {
		p.data = p.data[:0]
		p.readers.Store(0)
		p.sent.Store(false)
		payloads.Put(p)
	}
}

// reader returns the body of a request.
func (p *payload) reader() io.ReadCloser {
	p.readers.Add(1)
	return &payloadReader{p, p.data}
}

// payloadReader lets go of what it has read, because the transport holds on to it
// for as long as the answer runs.
type payloadReader struct {
	payload *payload
	rest    []byte
}

func (r *payloadReader) Read(b []byte) (int, error) {
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	if len(r.rest) > 0 {
		return n, nil
	}
	r.rest = nil
	if r.payload != nil {
		r.payload.sent.Store(true)
		r.payload = nil
	}
	return n, io.EOF
}

func (*payloadReader) Close() error { return nil }
