package h2pool

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// patience is how long a connection is kept while the server allows no streams on it.
const patience = 10 * time.Second

var errRecalled = errors.New("the server allows no stream yet")

// conn is a connection that speaks HTTP/2.
type conn struct {
	host *host
	cc   *http.ClientConn
	// full says that no stream was free when one was last asked for. The hook takes
	// it back.
	full atomic.Bool
	// answered says that a request on it had an answer.
	answered atomic.Bool

	// host.mu guards the fields below.

	using   int  // requests that have it and no answer yet
	drained bool // it was seen to take no request
	// Until its SETTINGS frame has come, net/http takes a connection's limit to be 100 streams, and
	// does not say that it only assumes so. The server refuses streams above its limit, so the
	// connection has an allowance until it is settled.
	settled   bool
	allowance int
	// settleAt is when its SETTINGS frame should have come in any case.
	settleAt time.Time
	// starvedSince is when it turned out that the server allows no streams at first.
	starvedSince time.Time
	recalls      map[*http.Request]context.CancelCauseFunc // of the requests under way that may have to wait for that
}

// stateChanged is the connection's hook. It must not lock: net/http calls it from within
// Reserve and the like as well.
func (c *conn) stateChanged(*http.ClientConn) {
	c.full.Store(false)
	if c.host.waiters.Load() > 0 {
		c.host.wakeKeeper()
	}
}

// roundTrip sends req, whose stream is reserved. The error is errRecalled if it was
// not sent and has to wait for a stream once more.
func (c *conn) roundTrip(req *http.Request) (*http.Response, error) {
	if c.answered.Load() {
		return c.cc.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context()) // ends with req's
	c.setRecall(req, cancel)
	resp, err := c.cc.RoundTrip(req.WithContext(ctx))
	if err != nil { // an answer frees them all
		c.setRecall(req, nil)
		defer cancel(nil)
	}
	if errors.Is(err, context.Canceled) && context.Cause(ctx) == errRecalled {
		return nil, errRecalled
	}
	return resp, err
}

// setRecall notes how a request is taken back; nil forgets it. A connection that never answers must
// not hold on to the contexts of requests that have failed.
func (c *conn) setRecall(req *http.Request, cancel context.CancelCauseFunc) {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	switch {
	case cancel == nil:
		delete(c.recalls, req)
	case c.answered.Load(): // by now
	case c.recalls == nil:
		c.recalls = map[*http.Request]context.CancelCauseFunc{req: cancel}
	default:
		c.recalls[req] = cancel
	}
}

// recallRequests takes back the requests on a connection while the server allows no streams.
// net/http would let them wait in the connection, one behind another, and not wake them when the
// server allows more (net/http/h2_bundle.go, awaitOpenSlotForStreamLocked and
// processSettingsNoWrite).
func (c *conn) recallRequests() {
	if c.answered.Load() || c.streamLimit() > 0 || c.cc.Err() != nil {
		return
	}
	if c.starvedSince.IsZero() {
		c.settled, c.starvedSince = true, time.Now()
	}
	for _, cancel := range c.recalls {
		cancel(errRecalled)
	}
	c.recalls = nil
}

// reserveStream takes a free stream, if there is one.
func (c *conn) reserveStream() bool {
	if c.full.Load() || !c.settled && c.allowance == 0 {
		return false
	}
	c.full.Store(true) // before it is known, as the hook may come in between
	if c.cc.Reserve() != nil {
		return false
	}
	c.full.Store(false)
	c.useStream()
	return true
}

// useStream counts a request on c without asking for a free stream.
func (c *conn) useStream() {
	c.using++
	if !c.settled && c.allowance > 0 {
		c.allowance--
	}
}

// streamLimit returns how many streams the server allows. It is 0 while the server allows
// none, and when the connection is closed or drained and nothing runs on it.
func (c *conn) streamLimit() int { return c.cc.Available() + c.cc.InFlight() }

// isStarved says that it is new and the server allows no streams on it yet.
func (c *conn) isStarved() bool {
	return !c.answered.Load() && !c.drained && c.cc.Err() == nil && c.streamLimit() == 0 &&
		(c.using > 0 || !c.starvedSince.IsZero() && time.Since(c.starvedSince) < patience)
}

// isUseless says that it carries nothing and will not. Once it was in use, a server
// that takes back all streams cannot be distinguished from one that drains the connection, so
// that another is needed to see.
func (c *conn) isUseless() bool {
	return c.cc.Err() != nil || c.using == 0 && c.streamLimit() == 0 && !c.isStarved()
}
