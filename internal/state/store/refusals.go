package store

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/base/telemetry/health"
)

// refusedFor is how long a store counts as one that refuses writes without a further write, and how
// often that is logged meanwhile.
const refusedFor = time.Minute

// refusals are writes that a store refuses while it answers: it is full, or read-only now. Reads do
// not show that, so they change nothing here. Its zero value is without refusals.
type refusals struct {
	some atomic.Bool // state is set: most writes look no further

	mu       sync.Mutex // guards the fields below
	state    health.StoreState
	smallest int // size of the smallest write that was refused
	last     time.Time
	logged   time.Time
}

// isRefusal reports whether err is that of such a write.
func isRefusal(err error) bool { return errors.Is(err, ErrFull) || errors.Is(err, ErrReadOnly) }

// Wrote notes how a write of so many bytes has ended. A store that refused one refuses
// writes until one of that size succeeds, or none was refused for a minute.
func (c *Calls) Wrote(op string, size int, err error) {
	r := &c.refused
	switch {
	case isRefusal(err):
		c.errors.Inc(op)
	case err != nil || !r.some.Load():
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		if r.state != "" && (size >= r.smallest || now.Sub(r.last) >= refusedFor) {
			r.state = ""
			r.some.Store(false)
			c.logBack(op)
		}
		return
	}
	if r.state == "" {
		r.smallest = size
		r.some.Store(true)
	}
	r.state, r.smallest, r.last = health.Full, min(r.smallest, size), now
	if errors.Is(err, ErrReadOnly) {
		r.state = health.Unavailable
	}
	if now.Sub(r.logged) >= refusedFor {
		r.logged = now
		c.logUnavailable(op, err)
	}
}

// State reports whether the store can be used: by the last command, and by the last writes.
func (c *Calls) State() health.StoreState {
	if c.failing.Load() {
		return health.Unavailable
	}
	c.refused.mu.Lock()
	defer c.refused.mu.Unlock()
	if c.refused.state != "" {
		return c.refused.state
	}
	return health.Available
}
