package wire

import (
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Group owns goroutines: it starts them, contains their panics, and waits for
// them. Its methods are safe for concurrent use.
type Group struct {
	log zerolog.Logger // gets the panics
	// forced is closed when children get no more time to end by themselves; nil turns this off.
	forced chan struct{}
	force  sync.Once

	mu     sync.Mutex // guards closed, and wg.Add against wg.Wait
	closed bool
	wg     sync.WaitGroup
}

// NewGroup returns a group without goroutines.
func NewGroup(log zerolog.Logger) *Group {
	return &Group{log: log, forced: make(chan struct{})}
}

// Force has children killed at once that are being stopped, now or later.
func (g *Group) Force() { g.force.Do(func() { close(g.forced) }) }

// Forced is closed by Force.
func (g *Group) Forced() <-chan struct{} { return g.forced }

// Run starts f, unless the group has stopped. It reports whether f was started.
func (g *Group) Run(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.wg.Add(1)
	// Goroutine (each of a group): runs a function of the rows here, and logs its panic.
	// Ends: the function returns.
	// Waits: `Group.Stop`, up to a limit.
	go func() {
		defer g.wg.Done()
		defer func() {
			if p := recover(); p != nil {
				g.log.Error().Dict("details", zerolog.Dict().
					Interface("panic", p).Bytes("stack", debug.Stack())).Msg("panic_recovered")
			}
		}()
		f()
	}()
	return true
}

// Stop refuses new goroutines and waits for those that run, but no longer
// than limit. It reports whether all have ended.
func (g *Group) Stop(limit time.Duration) bool {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	ended := make(chan struct{})
	// Goroutine (end of a group): waits for all of the group, so that `Group.Stop` can have a
	// limit.
	// Ends: all have ended.
	// Waits: `Group.Stop`, up to a limit.
	go func() {
		g.wg.Wait()
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
