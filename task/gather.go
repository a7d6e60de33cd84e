// This file decides when the events of a turn are handed on. Each time costs a command to the
// store and a write to the client, whatever it carries, and a fast model sends its answer in
// reads that are shorter than a millisecond apart. So pieces of an answer wait for others for
// a moment; the first of them, and all else, do not. ADR 37 has the figures.

package task

import (
	"time"

	"sluice/stream"
)

const (
	// pace is how long it takes at least from one time that pieces are handed on to the next,
	// and latest how long a piece waits at most. A turn that sends another event in between hands
	// it on by itself, which spares it a timer and the one that waits for its goroutine.
	pace, latest = 1500 * time.Microsecond, 2 * time.Millisecond
)

// gathering is what a Turn knows of the events that wait. Its zero value is that of one that has sent
// nothing; Turn.mu guards it.
type gathering struct {
	handed time.Time // when something was handed on last
	waits  bool      // something was flushed, and not handed on
	urgent bool      // what waits is to be handed on with the next Flush
	spoken bool      // the first piece of the answer was sent
	rests  bool      // only the turn's own goroutine hands on from now on
	timer  *time.Timer
	armed  bool // the timer
}

// sent notes an event that the turn sends. It needs mu.
func (g *gathering) sent(ev stream.Event) {
	switch ev.(type) {
	case *stream.InnerDelta, *stream.Thinking:
		return
	case *stream.Delta:
		if g.spoken {
			return
		}
		g.spoken = true
	}
	g.urgent = true
}

// Flush hands on the events that wait to the log, or leaves pieces of an answer to a later
// one, for two milliseconds at most. Of a run nothing waits: what it writes of itself next
// may rely on what it has sent.
func (t *Turn) Flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := time.Since(t.handed)
	if t.urgent || t.rests || t.durable || since >= pace {
		return t.handOn()
	}
	t.waits = true
	t.arm(latest - since)
	return nil
}

// Spill is Flush for an output that has no room for more, and is called from its Write.
func (t *Turn) Spill() error { return t.handOn() }

// handedOn notes that nothing waits. It needs mu.
func (g *gathering) handedOn() { g.waits, g.urgent, g.handed = false, false, time.Now() }

// arm sees to it that what waits is handed on in so long. It needs mu.
func (t *Turn) arm(wait time.Duration) {
	switch {
	case t.armed:
		return
	case t.timer == nil:
		// Timer (output that lags): appends to the log what waits of a stored turn, then writes it
		// to the client.
		// Ends: it has handed on what waits.
		// Waits: nobody: it works under `Turn.mu`, and finds nothing when the turn has ended.
		t.timer = time.AfterFunc(wait, t.late)
	default:
		t.timer.Reset(wait)
	}
	t.armed = true
}

// late hands on what waits, in the goroutine of the timer. The turn learns what went wrong with
// its next Flush: a client's writer that has failed once fails again.
func (t *Turn) late() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = false
	if t.rests || !t.waits {
		return
	}
	if wait := latest - time.Since(t.handed); wait > 0 {
		t.arm(wait) // it was handed on meanwhile, and more came
		return
	}
	_ = t.handOn()
}

// Rest hands on what waits. Until it returns the client's output may be used by another
// goroutine, from then on it belongs to the caller's.
func (t *Turn) Rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rests {
		return
	}
	t.rests = true
	if t.timer != nil {
		t.timer.Stop()
	}
	if t.waits {
		_ = t.handOn()
	}
}
