package h2pool

import (
	"net/http"
	"sync/atomic"
	"time"
)

// conn is a connection that speaks HTTP/2.
type conn struct {
	host *host
	cc   *http.ClientConn
	// full says that no stream was free when one was last asked for. The hook takes
	// it back.
	full atomic.Bool

	// What follows is guarded by host.mu.

	// using counts the requests that have it and no answer yet.
	using    int
	answered bool // once at least
	// Until its SETTINGS frame has come, net/http takes a connection's limit to be
	// 100 streams, and does not tell that it only assumes so. A server refuses what
	// is too much, so that the connection has an allowance until it is settled.
	settled   bool
	allowance int
	// settleAt is when its SETTINGS frame should have come; zero: not to be guessed.
	settleAt time.Time
}

// changed is the connection's hook. It must not lock: net/http calls it from within
// Reserve and the like as well.
func (c *conn) changed(*http.ClientConn) {
	c.full.Store(false)
	if c.host.waiters.Load() > 0 {
		c.host.wake()
	}
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

func (c *conn) use() {
	c.using++
	if !c.settled && c.allowance > 0 {
		c.allowance--
	}
}

// limit returns how many streams the server allows. It is 0 while the server allows
// none, and when the connection is closed or drained and nothing runs on it.
func (c *conn) limit() int { return c.cc.Available() + c.cc.InFlight() }

// stalled says that its first requests wait for the server to allow streams.
func (c *conn) stalled() bool {
	return !c.answered && c.using > 0 && c.limit() == 0 && c.cc.Err() == nil
}

// useless says that it carries nothing and never will. A server that has taken
// back all streams for a while is told from one that drains the connection by
// asking it for a new connection.
func (c *conn) useless() bool {
	return c.cc.Err() != nil || c.using == 0 && c.limit() == 0
}
