package handlers

import (
	"cmp"
	"sync/atomic"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// count is how many events of a name there were.
type count struct {
	name string
	n    int
}

// observer counts and records the events that pass, for the log and the metrics. It works on plain
// fields, added up at the end of the turn: a delta touches no shared memory.
type observer struct {
	stream.Fold
	next stream.Sink
	// noRoom, if not nil, is true from when the store was full for the turn until the client is
	// warned.
	noRoom *atomic.Bool
	deltas int      // how many pieces of the answer there were
	counts []count  // of all other events, in the order of their first
	room   [6]count // for those of a turn without extensions
}

// Emit counts ev and passes it on. Before it the client learns that the store is full.
func (o *observer) Emit(ev stream.Event) error {
	if o.noRoom != nil {
		if err := o.warnIfFull(ev); err != nil {
			return err
		}
	}
	return o.countAndPass(ev)
}

// warnIfFull reports to the client that the store is full, if it is, unless ev is the first event or one
// of the last, which nothing may separate.
func (o *observer) warnIfFull(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Start:
		return nil
	case *stream.Approval, *stream.ToolRequired:
		defer func() { o.noRoom = nil }()
	case *stream.Error:
		if ev.Fatal {
			defer func() { o.noRoom = nil }()
		}
	}
	if !o.noRoom.CompareAndSwap(true, false) {
		return nil
	}
	return o.countAndPass(storeFull())
}

// storeFull returns the event for the client of a turn that cannot be resumed.
func storeFull() *stream.Error {
	return stream.NewError(&fault.Error{Type: fault.StoreUnavailable, Message: "The store is full: this turn is not kept", Service: "store"}, false)
}

// countAndPass counts ev and passes it on.
func (o *observer) countAndPass(ev stream.Event) error {
	if _, ok := ev.(*stream.Delta); ok { // the hot path (BenchmarkObserver), whose text nothing here needs
		o.deltas++
		return o.next.Emit(ev)
	}
	if name := stream.Name(ev); name != "" {
		o.countEvent(name)
	}
	o.Add(ev)
	return o.next.Emit(ev)
}

// Flush passes the call on.
func (o *observer) Flush() error { return o.next.Flush() }

// countEvent adds one to an event's name. A turn has a few names, so a search of the slice is
// cheaper than a map and allocates nothing.
func (o *observer) countEvent(name string) {
	for i := range o.counts {
		if o.counts[i].name == name {
			o.counts[i].n++
			return
		}
	}
	if o.counts == nil {
		o.counts = o.room[:0]
	}
	o.counts = append(o.counts, count{name, 1})
}

// eventCounts returns how many events of each name passed.
func (o *observer) eventCounts() []count {
	if o.deltas == 0 {
		return o.counts
	}
	return append(o.counts, count{stream.Name((*stream.Delta)(nil)), o.deltas})
}

// calledTools returns the names of the tools that were called, in order.
func (o *observer) calledTools() (names []string) {
	for _, c := range o.Calls {
		names = append(names, c.Tool)
	}
	return names
}

// finishReason returns why the turn ended. A turn without Done was left by its client.
func (o *observer) finishReason() stream.FinishReason { return cmp.Or(o.Reason(), stream.Cancelled) }

// totalEvents returns how many events passed.
func (o *observer) totalEvents() (n int) {
	for _, c := range o.eventCounts() {
		n += c.n
	}
	return n
}
