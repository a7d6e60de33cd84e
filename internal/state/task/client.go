package task

import (
	"errors"
	"sync/atomic"

	"sluice/stream"
)

// ErrBroken says that the client's stream ends here, without Done. The client comes back for the
// remaining events, and gets them from the log.
var ErrBroken = errors.New("the turn is another process's")

// receiver is the client of a turn. It gets an event once the log has it, nothing more once
// its stream is broken off, and is written to no more once a write to it has failed.
type receiver struct {
	next     stream.Output
	discard  func() // drops the held events of next; see Turn.OnBreak
	detached bool   // the turn continues without it
	broken   bool   // it gets no further event, not even a Done
	hasLeft  bool   // a write has failed, of a turn that is detached
	presence atomic.Int32
	alone    *atomic.Int64 // counts the turns that continue without their client
}

// Values of receiver.presence.
const (
	present  = iota
	absent   // and the turn is counted as one that continues alone
	turnOver // the turn has ended
)

// write writes an event.
func (c *receiver) write(s stream.Stamp, ev stream.Event) error {
	if c.hasLeft {
		return nil
	}
	return c.recordLeave(c.next.Write(s, ev))
}

// flush sends the written events.
func (c *receiver) flush() error {
	if c.hasLeft {
		return nil
	}
	return c.recordLeave(c.next.Flush())
}

// recordLeave records that the client has left. If the turn continues without its client,
// recordLeave returns nil.
func (c *receiver) recordLeave(err error) error {
	if err == nil || !c.detached {
		return err
	}
	c.hasLeft = true
	c.countDetached()
	return nil
}

// countDetached counts a turn that continues without its client, once. Any goroutine may call it.
func (c *receiver) countDetached() {
	if c.detached && c.presence.CompareAndSwap(present, absent) {
		c.alone.Add(1)
	}
}

// endDetached ends the count: the turn is over.
func (c *receiver) endDetached() {
	if c.presence.Swap(turnOver) == absent {
		c.alone.Add(-1)
	}
}

// breakOff ends the client's stream.
func (c *receiver) breakOff() error {
	if !c.broken && c.discard != nil {
		c.discard()
	}
	c.broken = true
	return ErrBroken
}

// leaveOff ends the client's stream with the written events, if all of them may be sent.
func (c *receiver) leaveOff(all bool) error {
	if all && !c.hasLeft {
		_ = c.next.Flush()
	}
	return c.breakOff()
}
