package conns

import "time"

// queue is a list of places, those that have waited longest first.
type queue struct {
	first, last *Place
}

// push puts p at the end, from wherever it is.
func (q *queue) push(p *Place) {
	p.unlink()
	p.since = p.l.sinceStart()
	p.in, p.prev = q, q.last
	if q.last == nil {
		q.first = p
	} else {
		q.last.next = p
	}
	q.last = p
}

// timeUntil returns the time until the first place has waited for age: 0 or less if it has, and
// never for an empty queue.
func (q *queue) timeUntil(age, now time.Duration) time.Duration {
	if q.first == nil {
		return never
	}
	return age - (now - q.first.since)
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
	p.in, p.prev, p.next = nil, nil, nil
}
