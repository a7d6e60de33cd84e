package wire

import (
	"bytes"
	"io"
	"slices"
)

// sieve is a stream of server-sent events, filtered while it goes on, so that mcp-go can read each
// response. It rewrites responses in an odd form, and leaves out messages that answer nothing.
type sieve struct {
	*reply
	// buf[at:ready] may be read.
	at, ready int
	err       error // behind it
}

// newSieve returns the stream of r, of which nothing was read.
func newSieve(r *reply) *sieve {
	r.events = true
	return &sieve{reply: r}
}

// streamRest returns the whole stream of a reply that turned into a conversation: the bytes that were
// read, and the events of src behind them.
func (r *reply) streamRest(src io.Reader) io.Reader {
	head, tail := r.buf[:r.seen], r.buf[r.seen:]
	behind := *r
	behind.src, behind.buf, behind.seen, behind.event = io.MultiReader(bytes.NewReader(tail), src), nil, 0, 0
	return io.MultiReader(bytes.NewReader(head), newSieve(&behind))
}

// Read implements io.Reader. Bytes of an event are returned once the event is complete. A stream
// that breaks off and can be resumed ends with io.EOF: mcp-go resumes only a stream that ended.
func (s *sieve) Read(p []byte) (int, error) {
	for s.at == s.ready {
		if s.err != nil {
			return 0, s.err
		}
		s.readMore()
	}
	n := copy(p, s.buf[s.at:s.ready])
	s.at += n
	return n, nil
}

// readMore reads once, and looks at the events that are complete then.
func (s *sieve) readMore() {
	s.buf = append(s.buf[:0], s.buf[s.ready:]...)
	s.seen, s.event, s.at, s.ready = s.seen-s.ready, s.event-s.ready, 0, 0
	s.buf = slices.Grow(s.buf, minRead)
	n, err := s.src.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	for s.scanEvents() != nothing {
		s.event = s.seen
	}
	s.ready = s.event
	if err == nil {
		return
	}
	if s.err = err; err == io.EOF {
		_, _ = s.readEnd()
		s.ready = len(s.buf)
	} else if s.isResumable(err) {
		s.err = io.EOF
	}
}
