// This file paces the garbage collector of a gateway. It trades a bounded amount of memory for CPU
// time. With little live memory Go collects very often, and with much it doubles the heap
// (docs/performance.md).

package process

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Bounds of the garbage before a collection: a third of the live memory, but 16 MB at least. Go's
// own rule is as much as is live. A gateway with few streams has some 10 MB of live memory: a
// collection every hundred turns then costs a twentieth of all CPU time. With many streams the heap
// has twice the size that it needs (docs/performance.md).
const (
	leastGarbage   = 16 << 20
	garbagePercent = 35
	// growingPercent is in force after a cycle that found a quarter more live memory than the one
	// before it. While thousands of streams open, a cycle each third of the heap finds hardly any
	// garbage, and looks at all their stacks.
	growingPercent = 70
)

// smallestHeap is what Go takes a heap for that is smaller (GOGC at 100 collects no
// heap below 4 MB).
const smallestHeap = 4 << 20

// gcPercent returns the value for debug.SetGCPercent for so much live memory. kept of it is a
// store, and adds half of its size to the garbage. A cycle looks at every record, and at 32 MB of
// garbage next to a full store that is a tenth of all CPU time.
//
// live and kept are in bytes, live as of the last cycle. The result is at least garbagePercent.
func gcPercent(live, kept uint64) int {
	live = max(live, smallestHeap)
	return max(garbagePercent, int((leastGarbage+min(kept, live)/2)*100/live))
}

// isGrowing reports whether live memory grows beyond its usual changes. A first cycle says nothing.
func isGrowing(last, live uint64) bool { return last > 0 && live > last+last/4 }

// gcPace adjusts the percentage. The collector itself calls it after each cycle, through a
// finalizer, so that it works without a goroutine and a timer.
type gcPace struct {
	mu         sync.Mutex // guards the fields below
	live       []metrics.Sample
	last       uint64 // live memory after the cycle before
	storeBytes func() uint64
	before     int // the percentage that was found
	now        int
	stopped    bool
}

// PaceGC sets the pace of the process's garbage collector until the function it
// returns is called. Somebody who sets GOGC knows better: with a value of it nothing
// is changed. A memory limit (GOMEMLIMIT) stays in force as well.
//
// kept returns how many bytes of live memory are a store. It is called after each cycle, by a
// goroutine of the runtime's.
//
// It is the setting of a whole process; two at a time would fight.
func PaceGC(gogc string, kept func() uint64) (stop func()) {
	if gogc != "" {
		return func() {}
	}
	g := &gcPace{storeBytes: kept, live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}}
	g.before = debug.SetGCPercent(gcPercent(0, 0))
	g.now = gcPercent(0, 0)
	g.arm()
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.stopped = true
		debug.SetGCPercent(g.before)
	}
}

// collected is an object that nobody refers to: each cycle collects one. It holds a
// pointer, as objects without one may share their memory with others that live longer.
type collected struct{ pace *gcPace }

// arm has adjust called after the next garbage collection, by an object that is
// garbage at once.
//
// A finalizer and no cleanup (runtime.AddCleanup): cleanups wait until all memory is
// swept, and in a burst of turns that takes until the next cycle. The percentage that fits
// a small heap then held for a large one too, which grew to twice its size.
func (g *gcPace) arm() {
	runtime.SetFinalizer(&collected{g}, func(c *collected) { c.pace.adjust() })
}

// adjust runs after a cycle.
func (g *gcPace) adjust() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return
	}
	metrics.Read(g.live)
	live := g.live[0].Value.Uint64()
	n := gcPercent(live, g.storeBytes())
	if isGrowing(g.last, live) {
		n = max(n, growingPercent)
	}
	g.last = live
	if n != g.now { // setting it stops the world
		g.now = n
		debug.SetGCPercent(n)
	}
	g.arm()
}
