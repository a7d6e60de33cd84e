// Package testnet is a network in memory for tests. Inside a synctest bubble
// nothing else will do: a wait on a real socket stops the bubble's time.
package testnet

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Listener is a net.Listener in memory. Each connection is a net.Pipe, which is without a buffer: a
// write waits until the other end reads. A Listener belongs to the bubble that made it.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

// Listen returns a Listener. The caller must close it.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept returns the server's end of the next connection, or net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Dial. The connections stay.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address that leads nowhere.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

// Dial returns the client's end of a new connection when the server has accepted
// it. It ignores the address, so that it can be the DialContext of a transport. After
// Close it returns net.ErrClosed.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Serve serves h until the test ends and returns a transport that leads to it,
// whatever host is asked for.
func Serve(t testing.TB, h http.Handler) *http.Transport {
	t.Helper()
	l := Listen()
	srv := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(l)
	}()
	tr := &http.Transport{DialContext: l.Dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = srv.Close()
		<-ended
	})
	return tr
}

// Soonest returns the shortest of five measurements in real time: slow code is slow each time, but
// a busy machine delays only some.
func Soonest(measure func() time.Duration) time.Duration {
	least := measure()
	for range 4 {
		least = min(least, measure())
	}
	return least
}
