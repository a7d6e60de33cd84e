package conns

// Stream is the part that one of several requests at a time has in a Place, as over HTTP/2.
// The connection waits for bytes when none of its requests is worked on. The methods of one
// Stream are called by the goroutine that serves its request.
type Stream struct {
	p    *Place
	busy bool // guarded by the Limiter's mu
}

// Stream returns the part of a new request. The caller must End it.
func (p *Place) Stream() *Stream { return &Stream{p: p} }

// Surplus is that of the connection.
func (s *Stream) Surplus() bool { return s.p.Surplus() }

// Busy reports that a handler works on the request, and waits for no more of it.
func (s *Stream) Busy() {
	s.p.l.mu.Lock()
	defer s.p.l.mu.Unlock()
	if !s.busy {
		s.busy = true
		s.p.busy++
	}
	s.p.markBusy()
}

// Waiting reports that the handler waits for more bytes of the request.
func (s *Stream) Waiting() {
	s.p.l.mu.Lock()
	defer s.p.l.mu.Unlock()
	if s.busy {
		s.busy = false
		s.p.busy--
	}
	if s.p.busy == 0 && s.p.hasPlace() {
		s.p.markWaiting()
	}
}

// End reports that the request has its reply.
func (s *Stream) End() { s.Waiting() }
