package model

import (
	"io"
	"sync"
	"sync/atomic"
)

// bodies are those of requests, some 5 KB each, that are used again.
var bodies = sync.Pool{New: func() any { return new(Body) }}

// Body is the body of one call's requests. Each attempt reads it again. The zero value is
// empty.
type Body struct {
	data    []byte
	readers atomic.Int32 // how many were made
	sent    atomic.Bool  // one of them has read all
}

// free gives the body up. Its memory is used again if nobody can be reading it: a
// transport may continue reading the body of a request that has failed.
func (b *Body) free() {
	if b.readers.Load() == 1 && b.sent.Load() && cap(b.data) <= keepBuffer {
		b.data = b.data[:0]
		b.readers.Store(0)
		b.sent.Store(false)
		bodies.Put(b)
	}
}

// newReader returns the body of a request.
func (b *Body) newReader() io.ReadCloser {
	b.readers.Add(1)
	return &bodyReader{b, b.data}
}

// bodyReader drops the bytes that it has read, because the transport keeps the reader for as long
// as the answer runs.
type bodyReader struct {
	body   *Body
	unread []byte
}

// Read notes when all was read: only then can the service have seen a whole request,
// and an error be one of its own.
func (r *bodyReader) Read(b []byte) (int, error) {
	n := copy(b, r.unread)
	r.unread = r.unread[n:]
	if len(r.unread) > 0 {
		return n, nil
	}
	r.unread = nil
	if r.body != nil {
		r.body.sent.Store(true)
		r.body = nil
	}
	return n, io.EOF
}

// Close does nothing: a transport may close early and read on, and the bytes belong
// to the Body.
func (*bodyReader) Close() error { return nil }
