// Package conns bounds the connections of an http.Server. A connection that waits for bytes of a
// request makes room for a new one. So a client cannot hold all of them by sending nothing.
//
// The limit is on connections, not on requests: a request that runs is never cut for a new client.
// It learns from net/http's states and from reads which connection waits for bytes of a request.
package conns

import (
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// grace is the least wait of a connection before it is closed for another one. The request of a
	// connection that came a moment ago may be on its way, or not be read yet. It is also how long
	// Accept waits at most.
	grace = 250 * time.Millisecond
	// shortGrace is the grace for hurry after Accept has waited without success: connections
	// come that send nothing. With grace alone a new one would wait for all of them that
	// came before it, as many as there are places each time.
	shortGrace = grace / 10
	hurry      = time.Second

	never time.Duration = math.MaxInt64
)

// Limiter has room for a number of connections. Beyond that a new connection replaces the one that
// has waited longest for bytes of a request, which is closed. If none has waited for long, the new
// one is surplus: it lives next to the others, as one of the last few. If there are enough of these
// too, Accept waits until a place is free or a connection has waited for long enough, for a quarter
// of a second at most.
//
// Listen, Place and State belong into the Serve, the ConnContext and the ConnState of one
// http.Server. Over HTTP/2, where a connection has several requests at a time, each has a
// Stream of the Place. All methods may be called concurrently; apart from Accept each
// takes constant time.
type Limiter struct {
	max, maxSurplus int
	start           time.Time // what now counts from: one clock is read, and not the wall clock too

	accepting chan struct{} // holds one while a new connection gets its place
	changed   chan struct{} // gets a value when places changed while Accept waits

	mu       sync.Mutex // guards the fields below, and all places
	places   map[net.Conn]*Place
	inUse    int           // places that are not surplus
	waiting  queue         // of those, the ones that wait for bytes
	surplus  queue         // of the others, the ones that wait for bytes
	replying queue         // the others, since their handler began
	blocked  bool          // Accept waits
	hurried  time.Duration // until then shortGrace is enough
	evicted  uint64
}

// NewLimiter returns a Limiter for maxConns connections and a few more, surplus. One surplus place
// is for the connection that waits in Accept, and at least one other place exists. Both numbers
// count file descriptors.
func NewLimiter(maxConns, surplus int) *Limiter {
	return &Limiter{
		max: maxConns, maxSurplus: max(1, surplus-1), start: time.Now(),
		accepting: make(chan struct{}, 1), changed: make(chan struct{}, 1), places: map[net.Conn]*Place{},
	}
}

// Place is the state of a connection in its Limiter.
type Place struct {
	l       *Limiter
	conn    net.Conn
	surplus bool
	busy    int // of its Streams, how many are

	in         *queue // nil: in none
	since      time.Duration
	prev, next *Place
}

// placeConn puts p among the places or, if they are full, the surplus. It returns the place that
// was evicted for p, if any. If p got no place, it returns how long to wait before the next try.
// blocked is how long p has waited already.
func (l *Limiter) placeConn(p *Place, blocked time.Duration) (victim *Place, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	victim, wait = l.findRoom(blocked)
	if l.blocked = wait > 0; l.blocked {
		return nil, wait
	}
	if victim != nil && blocked > 0 {
		l.hurried = l.sinceStart() + hurry
	}
	l.places[p.conn] = p
	if p.surplus = l.inUse >= l.max; !p.surplus {
		l.inUse++
	}
	p.markWaiting()
	return victim, 0
}

// findRoom finds a place, and returns the place that it evicted, if any; else it returns the
// longest time until there is one. The caller must hold l.mu.
func (l *Limiter) findRoom(blocked time.Duration) (victim *Place, wait time.Duration) {
	now := l.sinceStart()
	age, replyAge := l.requiredWait(now), grace
	if blocked >= grace {
		age, replyAge = 0, 0
	}
	room := l.waiting.timeUntil(age, now)
	switch surplus := len(l.places) - l.inUse; {
	case l.inUse < l.max:
		return nil, 0
	case room <= 0:
		return l.evictFirst(&l.waiting), 0
	case age == shortGrace && room < never: // turns run there only, and it will not take long
		return nil, room
	case surplus < l.maxSurplus:
		return nil, 0
	case l.surplus.timeUntil(age, now) <= 0:
		return l.evictFirst(&l.surplus), 0
	case l.replying.timeUntil(replyAge, now) <= 0:
		return l.evictFirst(&l.replying), 0
	}
	return nil, min(grace-blocked, room, l.surplus.timeUntil(age, now), l.replying.timeUntil(replyAge, now))
}

// requiredWait returns how long a connection must have waited to be closed. The caller must hold
// l.mu.
func (l *Limiter) requiredWait(now time.Duration) time.Duration {
	if now < l.hurried {
		return shortGrace
	}
	return grace
}

// evictFirst removes the first place of q. The caller must hold l.mu, and close the connection
// after it.
func (l *Limiter) evictFirst(q *queue) *Place {
	p := q.first
	l.removePlace(p)
	l.evicted++
	return p
}

// removePlace removes p from its queue and from the places. The caller must hold l.mu.
func (l *Limiter) removePlace(p *Place) {
	p.unlink()
	delete(l.places, p.conn)
	if !p.surplus {
		l.inUse--
	}
}

// close ends the connection of an evicted place; p may be nil. The caller must not hold l.mu,
// because close may wait for a goroutine that reads.
func (p *Place) close() {
	if p != nil {
		_ = p.conn.Close()
	}
}

// wakeAccept wakes Accept after places have changed. The caller must hold l.mu.
func (l *Limiter) wakeAccept() {
	if !l.blocked {
		return
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Place returns that of a connection that Accept returned.
func (l *Limiter) Place(c net.Conn) *Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.places[c]; p != nil {
		return p
	}
	return &Place{l: l, conn: c} // it was evicted already
}

// State follows what http.Server reports of a connection.
func (l *Limiter) State(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		return
	}
	l.mu.Lock()
	victim := l.followState(c, state)
	l.wakeAccept()
	l.mu.Unlock()
	victim.close()
}

// followState follows a state of a connection, and returns the place that was evicted for it, if
// any. The caller must hold l.mu.
func (l *Limiter) followState(c net.Conn, state http.ConnState) (victim *Place) {
	p := l.places[c]
	switch {
	case p == nil: // its place was evicted
	case state == http.StateClosed || state == http.StateHijacked:
		l.removePlace(p)
	case p.surplus && state == http.StateActive:
		return l.promoteSurplus(p)
	default: // http.Server itself may read a body, so it takes a handler to be busy
		p.markWaiting()
	}
	return nil
}

// promoteSurplus makes a surplus p a regular one if by now there is room. It returns the place that
// was evicted for that, if any. The caller must hold l.mu.
func (l *Limiter) promoteSurplus(p *Place) (victim *Place) {
	if l.inUse >= l.max {
		now := l.sinceStart()
		if l.waiting.timeUntil(l.requiredWait(now), now) > 0 {
			return nil
		}
		victim = l.evictFirst(&l.waiting)
	}
	p.surplus = false
	l.inUse++
	l.waiting.push(p)
	return victim
}

// sinceStart is the time since start, on the monotonic clock.
func (l *Limiter) sinceStart() time.Duration { return time.Since(l.start) }

// Stats returns how many connections are open, and how many were closed for others so
// far.
func (l *Limiter) Stats() (open int, evicted uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.places), l.evicted
}

// Surplus reports whether the connection is beyond the limit, because no other one had waited for
// long.
func (p *Place) Surplus() bool {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	return p.surplus
}

// Waiting reports that the handler waits for more bytes of the request: until Busy, the connection
// may be closed for another one.
func (p *Place) Waiting() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if p.hasPlace() {
		p.markWaiting()
	}
}

// Busy reports that a handler works on the request, and waits for no more of it.
func (p *Place) Busy() {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.markBusy()
}

// markBusy records that a handler works for p, which waits for no bytes. The caller must hold l.mu.
func (p *Place) markBusy() {
	switch {
	case !p.hasPlace():
	case p.surplus:
		p.l.replying.push(p)
	default:
		p.unlink()
	}
	p.l.wakeAccept()
}

// markWaiting adds p to the places that wait for bytes. The caller must hold l.mu.
func (p *Place) markWaiting() {
	if p.surplus {
		p.l.surplus.push(p)
	} else {
		p.l.waiting.push(p)
	}
}

// hasPlace reports whether p still has its place and was not evicted. The caller must hold l.mu.
func (p *Place) hasPlace() bool { return p.l.places[p.conn] == p }
