package conns

import (
	"net"
	"sync"
	"time"
)

// Listen returns ln with an Accept that gives each connection a place, and waits until
// there is one. Close ends the wait. Connections are returned as they come from ln.
func (l *Limiter) Listen(ln net.Listener) net.Listener {
	return &listener{Listener: ln, l: l, closed: make(chan struct{})}
}

// listener accepts what its Limiter has room for.
type listener struct {
	net.Listener
	l      *Limiter
	once   sync.Once
	closed chan struct{}
}

// Accept returns the next connection that has a place. It waits for the place within the
// bounds of Limiter, and closes the connection that has to go. After Close it returns
// net.ErrClosed.
func (ln *listener) Accept() (net.Conn, error) {
	c, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if !ln.l.openPlace(c, ln.closed) {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close closes the listener, and ends an Accept that waits for a place. It may be called
// again.
func (ln *listener) Close() error {
	ln.once.Do(func() { close(ln.closed) })
	return ln.Listener.Close()
}

// openPlace gives a new connection a place, and closes the one that must make room. It
// returns false if closed ends before there is a place.
func (l *Limiter) openPlace(c net.Conn, closed <-chan struct{}) bool {
	select {
	case l.accepting <- struct{}{}:
	case <-closed:
		return false
	}
	defer func() { <-l.accepting }()
	p := &Place{l: l, conn: c}
	began, blocked := time.Now(), time.Duration(0)
	for {
		victim, wait := l.placeConn(p, blocked)
		if wait <= 0 {
			victim.close()
			return true
		}
		if !l.awaitRoom(wait, closed) {
			return false
		}
		blocked = time.Since(began)
	}
}

// awaitRoom returns when a place may have become free, or after wait. It returns false if
// closed ends before.
func (l *Limiter) awaitRoom(wait time.Duration, closed <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-l.changed:
	case <-timer.C:
	case <-closed:
		return false
	}
	return true
}
