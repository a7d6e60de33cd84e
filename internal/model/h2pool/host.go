package h2pool

import (
	"container/list"
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// host is what there is of one host: connections, and requests that wait for one.
type host struct {
	base    *http.Transport
	dialer  *http.Transport // makes the connections
	address string
	waiters atomic.Int64  // length of waiting
	woken   chan struct{} // asks the keeper to look again; has room for one

	mu      sync.Mutex // guards the fields below
	http1   bool       // it does not speak HTTP/2
	conns   []*conn    // the first that has room is used, so that the last ones fall idle
	waiting list.List  // of *waiter, oldest first
	dials   int        // under way
	// limit is how many streams a new connection is expected to have; 0: not known.
	limit      int
	untidy     bool               // a connection may be useless
	stop       context.CancelFunc // ends the keeper; nil if it does not run
	keeperDone chan struct{}      // closed when it has ended
}

// waiter is a request that waits.
type waiter struct {
	place   *list.Element
	granted chan grant // has room for one
}

// grant ends the wait of a request. It has a connection with a stream, or an error, or neither if
// the host speaks HTTP/1.1.
type grant struct {
	conn *conn
	err  error
}

// newHost returns a pool without connections.
func newHost(base *http.Transport, address string) *host {
	return &host{base: base, dialer: dialerFor(base, address), address: address, woken: make(chan struct{}, 1)}
}

// dialerFor returns the transport that makes connections to address, through the proxy of base if
// it has one. NewClientConn asks for the proxy of a URL without the port. That proxy can differ
// (net/http/clientconn.go).
func dialerFor(base *http.Transport, address string) *http.Transport {
	if base.Proxy == nil {
		return base
	}
	dialer := base.Clone()
	dialer.Proxy = func(*http.Request) (*url.URL, error) {
		return base.Proxy(&http.Request{URL: &url.URL{Scheme: "https", Host: address, Path: "/"}})
	}
	return dialer
}

// acquireStream returns a connection with a stream for the request, or nil if the host does not
// speak HTTP/2. The caller must call recordAnswer or recordFailure.
func (h *host) acquireStream(ctx context.Context) (*conn, error) {
	c, w := h.joinQueue()
	if w == nil {
		return c, nil
	}
	select {
	case g := <-w.granted:
		return g.conn, g.err
	case <-ctx.Done():
		h.quitQueue(ctx, w)
		return nil, context.Cause(ctx)
	}
}

// joinQueue returns a connection with a reserved stream, a place in the queue, or neither for
// HTTP/1.1.
func (h *host) joinQueue() (*conn, *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.http1 {
		return nil, nil
	}
	if h.waiting.Len() == 0 {
		if c := h.reserveStream(); c != nil {
			return c, nil
		}
	}
	w := &waiter{granted: make(chan grant, 1)}
	w.place = h.waiting.PushBack(w)
	h.waiters.Store(int64(h.waiting.Len()))
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop, h.keeperDone = stop, make(chan struct{})
		// Goroutine (keeper, when a request waits and none runs): grants streams to those who wait,
		// and dials for them.
		// Ends: no request waits and no dial runs, or its context ends.
		// Waits: `CloseIdleConnections`, unless requests still wait: it cancels it and waits.
		go h.runKeeper(ctx, h.keeperDone)
	}
	h.wakeKeeper()
	return nil, w
}

// quitQueue takes back the request of one that will not wait longer.
func (h *host) quitQueue(ctx context.Context, w *waiter) {
	h.mu.Lock()
	select {
	case g := <-w.granted: // just now
		h.mu.Unlock()
		if g.conn != nil {
			g.conn.cc.Release()
			h.recordFailure(g.conn, context.Cause(ctx), true)
		}
		return
	default:
	}
	h.waiting.Remove(w.place)
	h.waiters.Store(int64(h.waiting.Len()))
	h.mu.Unlock()
}

// wakeKeeper makes the keeper look at the waiting requests. It does not block.
func (h *host) wakeKeeper() {
	select {
	case h.woken <- struct{}{}:
	default:
	}
}

// recordAnswer says that a request on c has an answer.
func (h *host) recordAnswer(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.using--
	if !c.answered.Swap(true) {
		c.recalls = nil
		h.settleLimit(c)
	}
}

// recordFailure says that a request on c has failed, and what to do with it. Cancelled says that the
// request itself was given up.
func (h *host) recordFailure(c *conn, err error, cancelled bool) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.using--
	c.drained = c.drained || isDrained(err)
	h.untidy = true
	defer h.wakeKeeper()
	switch {
	case cancelled:
		return giveUp
	case err == errRecalled:
		return wait
	case isRefused(err):
		c.settled = true // a request that was sent before its SETTINGS came
		c.recallRequests()
		h.adoptLimit(c)
		return sendAgain
	case c.answered.Load() && isDrained(err):
		return sendAgain
	case !c.settled && h.limit == 0 && c.streamLimit() > 0:
		h.settleLimit(c) // an error of this one stream
	case !c.settled && h.limit == 0:
		h.failWaiting(err) // the requests that wait were to go over it too
	}
	return giveUp
}

// settleLimit records that the server's limit on c is known, if it allows any streams.
func (h *host) settleLimit(c *conn) {
	if c.streamLimit() == 0 {
		return
	}
	// If none is free they may be all that it allows, or c is drained by now.
	if h.limit == 0 || c.cc.Available() > 0 {
		h.adoptLimit(c)
	}
	c.settled, c.starvedSince = true, time.Time{}
	h.wakeKeeper()
}

// adoptLimit expects of new connections the limit that the server allows on c.
func (h *host) adoptLimit(c *conn) {
	if n := c.streamLimit(); n > 0 {
		h.limit = n
	}
}

// reserveStream returns a connection with a reserved stream, or nil.
func (h *host) reserveStream() *conn {
	for _, c := range h.conns {
		if c.reserveStream() {
			return c
		}
	}
	return nil
}

// grantNext gives g to the request that has waited longest.
func (h *host) grantNext(g grant) {
	h.waiting.Remove(h.waiting.Front()).(*waiter).granted <- g
	h.waiters.Store(int64(h.waiting.Len()))
}

// failWaiting gives err to the requests that no dial is left for.
func (h *host) failWaiting(err error) {
	left := h.dials * h.limit
	if h.limit == 0 && h.dials > 0 {
		return
	}
	for h.waiting.Len() > left {
		h.grantNext(grant{err: err})
	}
}

// roundTripHTTP1 leaves req to net/http, and finds out if the host has learned
// HTTP/2 in the meantime.
func (h *host) roundTripHTTP1(req *http.Request) (*http.Response, error) {
	resp, err := h.base.RoundTrip(req)
	if err == nil && resp.ProtoMajor == 2 {
		h.mu.Lock()
		h.http1 = false
		h.mu.Unlock()
	}
	return resp, err
}
