// Package conns bounds the connections of an http.Server. A connection that waits
// for bytes of a request makes room for a new one, so that nobody can hold all of
// them by sending nothing.
package conns

import (
	"net"
	"net/http"
	"sync"
)

// Limiter has room for Max connections. Beyond that a new one takes the place of the
// one that has waited longest for bytes of a request, which is closed. If none
// waits, the new one is surplus: it lives beside the others, as one of the last few.
//
// Open and State belong into the ConnContext and the ConnState of one http.Server for
// HTTP/1. Its methods may be called concurrently; each takes constant time.
type Limiter struct {
	max, maxSurplus int

	mu      sync.Mutex // guards the fields below, and all places
	places  map[net.Conn]*Place
	taken   int   // places that are no surplus
	waiting queue // of those, the ones that wait for bytes, the longest first
	surplus queue // the others, the oldest first
	evicted uint64
}

// NewLimiter returns a Limiter for max connections and a few more, surplus, of which
// there may be none. Both count file descriptors.
func NewLimiter(maxConns, surplus int) *Limiter {
	return &Limiter{max: maxConns, maxSurplus: surplus, places: map[net.Conn]*Place{}}
}

// Place is what a connection holds.
type Place struct {
	l       *Limiter
	conn    net.Conn
	surplus bool

	in         *queue // nil: in none
	prev, next *Place
}

// Open gives a new connection a place. It closes the one that must make room.
func (l *Limiter) Open(c net.Conn) *Place {
	p := &Place{l: l, conn: c}
	l.mu.Lock()
	l.places[c] = p
	victim := l.admit(p)
	l.mu.Unlock()
	victim.close()
	return p
}

// admit needs mu. It puts p among the places or, if there is no room, the surplus,
// and returns the place that was taken away for it, if any.
func (l *Limiter) admit(p *Place) (victim *Place) {
	if l.taken >= l.max && l.waiting.first != nil {
		victim = l.waiting.first
		l.remove(victim)
		l.evicted++
	}
	if p.surplus = l.taken >= l.max; !p.surplus {
		l.taken++
		l.waiting.push(p)
		return victim
	}
	if l.surplus.size >= l.maxSurplus && l.surplus.first != nil {
		victim = l.surplus.first
		l.remove(victim)
		l.evicted++
	}
	l.surplus.push(p)
	return victim
}

// close ends the connection of a place that was taken away. It is called without mu:
// it may wait for a goroutine that reads.
func (p *Place) close() {
	if p != nil {
		_ = p.conn.Close()
	}
}

// State follows what http.Server tells of a connection that was opened.
func (l *Limiter) State(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		return
	}
	var victim *Place
	l.mu.Lock()
	p := l.places[c]
	switch {
	case p == nil: // its place was taken away
	case state == http.StateClosed || state == http.StateHijacked:
		l.remove(p)
	case p.surplus && (state == http.StateIdle || l.taken >= l.max && l.waiting.first == nil):
	case p.surplus: // by now there is a place
		p.unlink()
		victim = l.admit(p)
	default: // http.Server itself may read a body, so it takes a handler to be busy
		l.waiting.push(p)
	}
	l.mu.Unlock()
	victim.close()
}

// remove needs mu.
func (l *Limiter) remove(p *Place) {
	p.unlink()
	delete(l.places, p.conn)
	if !p.surplus {
		l.taken--
	}
}

// Stats returns how many connections are open, and how many were closed for others so
// far.
func (l *Limiter) Stats() (open int, evicted uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.places), l.evicted
}

// Surplus reports that there is no room for the connection: all others are at work.
func (p *Place) Surplus() bool {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	return p.surplus
}

// Waiting tells that more bytes of the request are waited for: until Busy, the
// connection may be closed for another one.
func (p *Place) Waiting() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if !p.surplus && p.held() {
		p.l.waiting.push(p)
	}
}

// Busy tells that a handler works on the request, and waits for no more of it.
func (p *Place) Busy() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if !p.surplus {
		p.unlink()
	}
}

// held needs mu. It reports that the place was not taken away.
func (p *Place) held() bool { return p.l.places[p.conn] == p }

// queue is a list of places.
type queue struct {
	first, last *Place
	size        int
}

// push puts p at the end, from wherever it is.
func (q *queue) push(p *Place) {
	p.unlink()
	p.in, p.prev = q, q.last
	if q.last == nil {
		q.first = p
	} else {
		q.last.next = p
	}
	q.last = p
	q.size++
}

// unlink takes p out of the queue that it is in, if any.
func (p *Place) unlink() {
	q := p.in
	if q == nil {
		return
	}
	if p.prev == nil {
		q.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		q.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	q.size--
	p.in, p.prev, p.next = nil, nil, nil
}
