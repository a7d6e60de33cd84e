// Package tally protects a log from a flood of events. Some events of each kind get lines of their
// own, and the others are counted.
package tally

import (
	"sync"
	"time"
)

// Config describes a Tally.
type Config[K comparable] struct {
	// Lines is how many of one kind have lines of their own in a Period.
	Lines  int
	Period time.Duration
	// Kind returns the kind of an event; nil means that only equal events are of one kind.
	Kind func(K) K
	// Apart bounds how many kinds are known in a Period; 0: they are few. An event of a further
	// kind is counted as Others returns it.
	Apart  int
	Others func(K) K
	// Write writes the counts of events without a line, at the end of the Period and by Flush.
	Write func(counts map[K]int)
}

// Tally counts. It is safe for concurrent use.
type Tally[K comparable] struct {
	cfg Config[K]

	mu    sync.Mutex // guards the fields below
	began time.Time  // of the period
	lines map[K]int  // by kind
	held  map[K]int
	timed bool // a timer will write
}

// New returns a Tally. Flush must be called last.
func New[K comparable](cfg Config[K]) *Tally[K] {
	if cfg.Kind == nil {
		cfg.Kind = func(of K) K { return of }
	}
	return &Tally[K]{cfg: cfg, lines: map[K]int{}, held: map[K]int{}}
}

// Line reports whether an event gets a line of its own; if not, it is counted.
func (t *Tally[K]) Line(of K) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if !t.timed && now.Sub(t.began) >= t.cfg.Period {
		t.began = now
		clear(t.lines)
	}
	kind := t.cfg.Kind(of)
	if _, ok := t.lines[kind]; !ok && t.cfg.Apart > 0 && len(t.lines) >= t.cfg.Apart {
		of = t.cfg.Others(of)
		kind = t.cfg.Kind(of)
	}
	if t.lines[kind] < t.cfg.Lines {
		t.lines[kind]++
		return true
	}
	t.held[of]++
	if !t.timed {
		t.timed = true
		// Timer (counts of lines): writes the counts of a period's events without a line.
		// Ends: it has fired.
		// Waits: nobody: `Flush` is called last, and leaves nothing for a later timer.
		time.AfterFunc(t.cfg.Period-now.Sub(t.began), t.Flush)
	}
	return false
}

// Flush writes the counts, unless they are empty.
func (t *Tally[K]) Flush() {
	t.mu.Lock()
	held := t.held
	t.held, t.began, t.timed = map[K]int{}, time.Now(), false
	clear(t.lines)
	t.mu.Unlock()
	if len(held) > 0 {
		t.cfg.Write(held)
	}
}
