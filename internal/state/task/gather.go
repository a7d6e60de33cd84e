// This file decides when the events of a turn are handed on: to the log, then to the client. Each
// time costs a command to the store and a write to the client, whatever it carries, and a fast
// model sends its answer in reads that are shorter than a millisecond apart. So deltas wait for
// others for a moment. The first delta and all other events do not. docs/performance.md has the
// figures.

package task

import (
	"sync"
	"time"

	"sluice/stream"
)

const (
	// pace is how long it takes at least from one time that pieces are handed on to the next,
	// and latest how long a piece waits at most. A turn that sends another event in between hands
	// it on by itself, which spares it a timer and the one that waits for its goroutine.
	pace, latest = 1500 * time.Microsecond, 2 * time.Millisecond
)

// gathering decides when the events of a turn are handed on. An event waits for latest at most, and
// only deltas wait beyond the flush that follows them. Its zero value is that of a turn that has
// sent nothing; to must be set.
type gathering struct {
	mu     sync.Mutex // guards the fields below and the fields that to uses, until flushAndStop
	to     handing
	handed time.Time // when something was handed on last
	waits  bool      // something was flushed, and not handed on
	urgent bool      // the pending events are handed on with the next flush
	spoken bool      // the first piece of the answer was sent
	rests  bool      // only the turn's own goroutine hands on from now on
	held   bool      // only the turn's next flush hands on; it ends this
	timer  *time.Timer
	armed  bool // the timer
}

// handing hands on the pending events.
type handing interface{ handOn() error }

// markUrgency records that the turn sends an event. The caller must hold mu. After the first
// message of a channel, no text can be retracted. So the turn holds that message until the flush
// that stores its end or its saved delivery.
func (g *gathering) markUrgency(ev stream.Event) {
	switch ev.(type) {
	case *stream.InnerDelta, *stream.Thinking:
		return
	case *stream.Delta:
		if g.spoken {
			return
		}
		g.spoken = true
	case *stream.ChannelMessage:
		g.held = true
	}
	g.urgent = true
}

// flush hands on the pending events. It may leave deltas to a later flush, for two milliseconds at
// most. A durable turn never waits: the next record of its run may rely on the events that it has
// sent.
func (g *gathering) flush(durable bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	since := time.Since(g.handed)
	if g.urgent || g.rests || durable || since >= pace {
		return g.to.handOn()
	}
	g.waits = true
	g.armTimer(latest - since)
	return nil
}

// handedOn records that nothing is pending. The caller must hold mu.
func (g *gathering) handedOn() { g.waits, g.urgent, g.held, g.handed = false, false, false, time.Now() }

// armTimer makes the timer hand on the pending events after wait. The caller must hold mu.
func (g *gathering) armTimer(wait time.Duration) {
	switch {
	case g.armed:
		return
	case g.timer == nil:
		// Timer (output that lags): appends to the log what waits of a stored turn, then writes it
		// to the client.
		// Ends: it has handed on what waits.
		// Waits: nobody: it works under `Turn.mu`, and finds nothing when the turn has ended.
		g.timer = time.AfterFunc(wait, g.handOnLate)
	default:
		g.timer.Reset(wait)
	}
	g.armed = true
}

// handOnLate hands on the pending events, in the goroutine of the timer. The turn learns what went
// wrong with its next flush: a client's writer that has failed once fails again.
func (g *gathering) handOnLate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed = false
	if g.rests || !g.waits || g.held {
		return
	}
	if wait := latest - time.Since(g.handed); wait > 0 {
		g.armTimer(wait) // it was handed on meanwhile, and more came
		return
	}
	_ = g.to.handOn()
}

// holdUntilFlush holds the emitted events until the turn's next flush.
func (g *gathering) holdUntilFlush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = true
}

// flushAndStop hands on the pending events. After it returns, no other goroutine hands events on.
func (g *gathering) flushAndStop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rests {
		return
	}
	g.rests = true
	if g.timer != nil {
		g.timer.Stop()
	}
	if g.waits {
		_ = g.to.handOn()
	}
}
