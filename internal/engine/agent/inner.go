package agent

import (
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Inner is for a tool that is an agent itself: it emits the events within a call, in the stream of
// the caller's turn. The call's own goroutine uses it.
type Inner struct {
	// CallID is the id that events of the call carry.
	CallID string
	// Continued has the state and the decisions of a call that was Suspended; nil for a new call.
	Continued *Continued
	// Request is that of the caller's turn. It is not to be changed.
	Request *chat.Request

	events chan<- stream.Event
	done   <-chan struct{} // nobody reads events any more
	usage  chat.Usage
}

// maxInner is how many events of calls may wait for the client. Beyond it those who report them
// wait as well.
const maxInner = 64

// Emit passes an event to the goroutine of the turn, and that emits it. The event may be retained.
func (i *Inner) Emit(ev stream.Event) {
	select {
	case i.events <- ev:
	case <-i.done:
	}
}

// Spend adds the models' usage within the call to that of the turn.
func (i *Inner) Spend(u chat.Usage) { i.usage.Add(u) }
