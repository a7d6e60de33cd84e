package mcpclient

import (
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// group owns goroutines: it starts them, contains their panics, and waits for
// them.
type group struct {
	log zerolog.Logger
	// hurry is closed when children get no time any more to end by themselves; nil
	// means that it never is.
	force chan struct{}

	mu     sync.Mutex // guards closed, and wg.Add against wg.Wait
	closed bool
	wg     sync.WaitGroup
}

// run starts f, unless the group has stopped.
func (c *group) run(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		defer func() {
			if p := recover(); p != nil {
				c.log.Error().Dict("details", zerolog.Dict().
					Interface("panic", p).Bytes("stack", debug.Stack())).Msg("panic_recovered")
			}
		}()
		f()
	}()
	return true
}

// stop refuses new goroutines and waits for those that run, but no longer
// than limit. It reports whether all have ended.
func (c *group) stop(limit time.Duration) bool {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(ended)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}
