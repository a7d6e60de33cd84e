package h2pool

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// patience is how long a connection is kept on which the server allows no streams.
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

	// What follows is guarded by host.mu.

	using   int  // requests that have it and no answer yet
	drained bool // it was seen to take no request
	// Until its SETTINGS frame has come, net/http takes a connection's limit to be
	// 100 streams, and does not say that it only assumes so. A server refuses what is too much,
	// so that the connection has an allowance until it is settled.
	settled   bool
	allowance int
	// settleAt is when its SETTINGS frame should have come in any case.
	settleAt time.Time
	// starvedSince is when it turned out that the server allows no streams at first.
	starvedSince time.Time
	recalls      map[*http.Request]context.CancelCauseFunc // of the requests under way that may have to wait for that
}

// changed is the connection's hook. It must not lock: net/http calls it from within
// Reserve and the like as well.
func (c *conn) changed(*http.ClientConn) {
	c.full.Store(false)
	if c.host.waiters.Load() > 0 {
		c.host.wake()
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

// recall takes back the requests on a connection on which the server allows no
// streams yet. net/http would have them wait in the connection, one behind another,
// and not wake them when the server allows more (net/http/h2_bundle.go,
// awaitOpenSlotForStreamLocked and processSettingsNoWrite).
func (c *conn) recall() {
	if c.answered.Load() || c.limit() > 0 || c.cc.Err() != nil {
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

// reserve takes a free stream, if there is one.
func (c *conn) reserve() bool {
	if c.full.Load() || !c.settled && c.allowance == 0 {
		return false
	}
	c.full.Store(true) // before it is known, as the hook may come in between
	if c.cc.Reserve() != nil {
		return false
	}
	c.full.Store(false)
	c.use()
	return true
}

// use is reserve for a request that may find no stream.
func (c *conn) use() {
	c.using++
	if !c.settled && c.allowance > 0 {
		c.allowance--
	}
}

// limit returns how many streams the server allows. It is 0 while the server allows
// none, and when the connection is closed or drained and nothing runs on it.
func (c *conn) limit() int { return c.cc.Available() + c.cc.InFlight() }

// starved says that it is new and the server allows no streams on it yet.
func (c *conn) starved() bool {
	return !c.answered.Load() && !c.drained && c.cc.Err() == nil && c.limit() == 0 &&
		(c.using > 0 || !c.starvedSince.IsZero() && time.Since(c.starvedSince) < patience)
}

// useless says that it carries nothing and will not. Once it was in use, a server
// that takes back all streams cannot be distinguished from one that drains the connection, so
// that another is needed to see.
func (c *conn) useless() bool {
	return c.cc.Err() != nil || c.using == 0 && c.limit() == 0 && !c.starved()
}
