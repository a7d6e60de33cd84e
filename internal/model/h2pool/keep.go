package h2pool

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"
)

const (
	// recheck is the interval at which the keeper looks at connections without a report. net/http
	// leaves out a call of the hook if a connection is taken and becomes free again while an
	// earlier call runs (net/http/clientconn.go, shouldRunStateHook), and it reports neither of
	// GOAWAY nor of fewer streams.
	recheck = 100 * time.Millisecond

	// A server's SETTINGS frame should be here a round trip after the handshake; the
	// dial took two at least. If it reports the limit that net/http assumes anyway, its coming
	// cannot be seen, and some more time is left to it.
	minSettle, maxSettle = 250 * time.Millisecond, 2 * time.Second
	assumed              = 100 // http2initialMaxConcurrentStreams in net/http/h2_bundle.go
)

// runKeeper serves the waiting requests and dials for them. It ends when requests no longer wait
// and dials no longer run.
func (h *host) runKeeper(ctx context.Context, kept chan<- struct{}) {
	var dials sync.WaitGroup
	defer close(kept)
	defer h.wakeKeeper() // it may have taken the token of the next runKeeper
	defer dials.Wait()
	again := time.NewTicker(recheck)
	defer again.Stop()
	for h.runRound(ctx, &dials) {
		select {
		case <-ctx.Done():
		case <-h.woken:
		case <-again.C:
			h.recheckAll()
		}
	}
}

// runRound grants streams, drops useless connections and starts missing dials. It reports whether
// there will be more.
func (h *host) runRound(ctx context.Context, dials *sync.WaitGroup) bool {
	h.mu.Lock()
	if ctx.Err() != nil {
		h.mu.Unlock()
		return false
	}
	h.grantStreams()
	useless := h.dropUseless()
	for range h.missingDials() {
		h.dials++
		// Goroutine (dial): opens one connection.
		// Ends: the connection is there, failed, or no request waits for it.
		// Waits: the keeper.
		dials.Go(func() { h.dial(ctx) })
	}
	more := h.isBusy()
	if !more {
		h.stop()
		h.stop = nil
	}
	h.mu.Unlock()
	for _, c := range useless {
		c.cc.Close()
	}
	return more
}

// recheckAll has the next round ask all connections again.
func (h *host) recheckAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.untidy = true
	for _, c := range h.conns {
		c.full.Store(false)
		c.recallRequests()
	}
}

// isBusy reports whether something is waited for: a stream, a connection, or its first answer.
func (h *host) isBusy() bool {
	return h.waiting.Len() > 0 || h.dials > 0 ||
		slices.ContainsFunc(h.conns, func(c *conn) bool { return c.using > 0 && !c.answered.Load() })
}

// grantStreams grants streams to the requests that wait, as long as there are any.
func (h *host) grantStreams() {
	h.settleAll()
	for h.waiting.Len() > 0 {
		c := h.reserveStream()
		if c == nil {
			return
		}
		h.grantNext(grant{conn: c})
	}
}

// settleAll settles the connections whose limit has been seen, or is waited for no longer.
func (h *host) settleAll() {
	for _, c := range h.conns {
		if c.settled && c.starvedSince.IsZero() {
			continue
		}
		seen := c.cc.Available() > 0 && c.streamLimit() != assumed
		if seen || !time.Now().Before(c.settleAt) {
			h.settleLimit(c)
		}
	}
}

// dropUseless drops the useless connections, and returns them to be closed: that may take
// a while.
func (h *host) dropUseless() (useless []*conn) {
	if !h.untidy {
		return nil
	}
	h.untidy = false
	h.conns = slices.DeleteFunc(h.conns, func(c *conn) bool {
		drop := c.isUseless()
		if drop {
			useless = append(useless, c)
		}
		return drop
	})
	return useless
}

// missingDials returns how many dials are to be added for the requests that wait.
func (h *host) missingDials() int {
	n := h.waiting.Len()
	if n == 0 || slices.ContainsFunc(h.conns, (*conn).isStarved) {
		return 0
	}
	unsettled := 0
	for _, c := range h.conns {
		if !c.settled {
			unsettled++
			n -= c.allowance
		}
	}
	if h.limit == 0 { // the first connection says how many are needed
		return max(0, 1-h.dials-unsettled)
	}
	return max(0, (n+h.limit-1)/h.limit-h.dials)
}

// useHTTP1 leaves the requests that wait, and those to come, to net/http.
func (h *host) useHTTP1() {
	h.http1 = true
	for h.waiting.Len() > 0 {
		h.grantNext(grant{})
	}
}

// dial opens a connection.
func (h *host) dial(ctx context.Context) {
	began, protocol := time.Now(), ""
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// Through a proxy that speaks TLS itself there are two handshakes; the last
		// one is the host's.
		TLSHandshakeDone: func(s tls.ConnectionState, _ error) { protocol = s.NegotiatedProtocol },
	})
	cc, err := h.dialer.NewClientConn(ctx, "https", h.address)
	if err == nil && (protocol != "h2" || ctx.Err() != nil) {
		cc.Close() // if it speaks HTTP/1.1, net/http cannot take it over
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dials--
	h.untidy = true
	switch {
	case ctx.Err() != nil: // nobody waited for it
	case err != nil:
		h.failWaiting(err)
	case protocol != "h2":
		h.useHTTP1()
	default:
		h.addConn(cc, time.Since(began))
	}
	h.wakeKeeper()
}

// addConn adds a new connection; to open it took as long as took.
//
// One request gets it whatever limit it allows. If it is already drained, the error of that request
// reports it.
func (h *host) addConn(cc *http.ClientConn, elapsed time.Duration) {
	settle := min(max(elapsed, minSettle), maxSettle)
	c := &conn{host: h, cc: cc, allowance: max(h.limit, 1), settleAt: time.Now().Add(settle)}
	// Timer (first look at a new connection): wakes the keeper when the server's settings may be there.
	// Ends: it has fired, within 2 s.
	// Waits: nobody: it puts a token into a channel with room for one.
	time.AfterFunc(min(elapsed, settle), h.wakeKeeper)
	// Timer (second look at a new connection): wakes the keeper when the server's settings should be
	// there.
	// Ends: it has fired, within 2 s.
	// Waits: nobody: it puts a token into a channel with room for one.
	time.AfterFunc(settle, h.wakeKeeper)
	h.conns = append(h.conns, c)
	cc.SetStateHook(c.stateChanged)
	if h.waiting.Len() == 0 {
		return
	}
	if !c.reserveStream() {
		c.useStream()
	}
	h.grantNext(grant{conn: c})
}

// closeIdle closes the connections that nobody uses, and ends the dials that
// nobody waits for.
func (h *host) closeIdle() {
	h.mu.Lock()
	var idle []*conn
	h.conns = slices.DeleteFunc(h.conns, func(c *conn) bool {
		drop := c.using == 0 && c.cc.InFlight() == 0
		if drop {
			idle = append(idle, c)
		}
		return drop
	})
	var kept chan struct{}
	if h.stop != nil && h.waiting.Len() == 0 {
		h.stop()
		h.stop, kept = nil, h.keeperDone
	}
	h.mu.Unlock()
	for _, c := range idle {
		c.cc.Close()
	}
	if kept != nil {
		<-kept
	}
}
