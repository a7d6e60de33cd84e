package handlers

import (
	"net/http"
	"sync"
	"time"
)

// maxBodies bounds the memory of all bodies that are being read.
const maxBodies = 16 << 20

// bodies counts the bytes that are held of bodies that are being read, as they
// arrive. Beyond max the body that is being read for the longest time is given up,
// and the next one, until the rest fits.
type bodies struct {
	max int64

	mu     sync.Mutex // guards the fields below, and the share of each body
	held   int64
	oldest *share
	newest *share
}

// share is the part of one body. It is in the list from beginBody to endBody.
type share struct {
	size       int64
	reply      http.ResponseWriter // of the request; nil: not in the list
	givenUp    bool
	prev, next *share
}

// beginBody begins to count a body whose request is answered by w.
func (b *bodies) beginBody(s *share, w http.ResponseWriter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.reply, s.prev = w, b.newest
	if b.newest == nil {
		b.oldest = s
	} else {
		b.newest.next = s
	}
	b.newest = s
}

// countBytes counts n bytes that arrived.
func (b *bodies) countBytes(s *share, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.reply == nil { // given up, or read by code that does not keep it
		return
	}
	s.size += int64(n)
	b.held += int64(n)
	for b.held > b.max {
		b.giveUp(b.oldest)
	}
}

// giveUp stops counting a body. Its reader, perhaps waiting, learns of it by its deadline. The
// caller must hold mu.
func (b *bodies) giveUp(s *share) {
	s.givenUp = true
	_ = http.NewResponseController(s.reply).SetReadDeadline(time.Unix(1, 0))
	b.removeShare(s)
}

// endBody ends the counting. It reports whether the body was given up meanwhile: then
// the connection is of no use any more, even if the body is complete.
func (b *bodies) endBody(s *share) (givenUp bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.reply != nil {
		b.removeShare(s)
	}
	return s.givenUp
}

// removeShare takes a share off the list. The caller must hold mu.
func (b *bodies) removeShare(s *share) {
	if s.prev == nil {
		b.oldest = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		b.newest = s.prev
	} else {
		s.next.prev = s.prev
	}
	b.held -= s.size
	s.size, s.reply, s.prev, s.next = 0, nil, nil, nil
}
