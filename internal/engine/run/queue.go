package run

import (
	"context"
	"sync"

	"sluice/stream"
)

// maxQueued is how many bytes of events may wait for the client. Beyond it the runs wait as
// well.
const maxQueued = 2 << 20

// Item is an event or a text of a run, or its end. Exactly one of Event, Text and Over is
// set.
type Item[O any] struct {
	Of    O // whose it is
	Event stream.Event
	Text  string // of a delta, whose event belongs to its sender
	Inner bool   // the text is not of the answer
	End   func() // takes the end of the run into the turn, on the turn's goroutine
}

// Queue hands the items of runs from their goroutines to that of the turn. It is not a Go channel
// for two reasons: its bound is in bytes, as a result of a tool can be a megabyte and a delta ten
// bytes. And its reader gets all items at once, so that a slow client gets few and large writes.
//
// A slow client stops the events of the runs, but never their ends: a run that has ended frees its
// slot.
//
// Many goroutines put, one receives. A queue is not closed at the end of a turn; it is garbage
// then.
type Queue[O any] struct {
	mu     sync.Mutex // guards the fields below
	items  []Item[O]
	size   int
	err    error      // nobody receives any more
	room   *sync.Cond // there is room again
	filled *sync.Cond // there is something to receive
	spare  []Item[O]  // of the batch before, to be used again
}

// NewQueue returns an empty queue.
func NewQueue[O any]() *Queue[O] {
	q := new(Queue[O])
	q.room, q.filled = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	return q
}

// Put adds an event or a text, and waits while the queue is full.
//
// If ctx, the context of the run, ends during the wait, it returns nil: the run notices the end
// itself, and the item is added beyond the bound. An error is the one of Close. The code that
// cancels ctx calls Wake.
func (q *Queue[O]) Put(ctx context.Context, it Item[O]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size >= maxQueued && q.err == nil && ctx.Err() == nil {
		q.room.Wait()
	}
	if q.err != nil {
		return q.err
	}
	q.size += it.itemSize()
	q.items = append(q.items, it)
	q.filled.Signal()
	return nil
}

// End adds the end of a run, for which there is always room.
func (q *Queue[O]) End(over func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, Item[O]{End: over})
	q.filled.Signal()
}

// Receive waits for something and returns all there is, valid until the next call.
//
// The two lists change places with each call, so that a long turn allocates them a few times
// only.
func (q *Queue[O]) Receive() []Item[O] {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 {
		q.filled.Wait()
	}
	batch := q.items
	clear(q.spare)
	q.items, q.spare = q.spare[:0], batch
	q.size = 0
	q.room.Broadcast()
	return batch
}

// Wake lets those who wait for room look whether their context has ended.
func (q *Queue[O]) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.room.Broadcast()
}

// Close makes every Put fail with err.
func (q *Queue[O]) Close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	q.room.Broadcast()
}

// itemSize returns about how many bytes an item takes while it waits.
func (it *Item[O]) itemSize() int {
	const itself = 128
	switch ev := it.Event.(type) {
	case nil:
		return itself + len(it.Text)
	case *stream.Thinking:
		return itself + len(ev.Content)
	case *stream.ToolStarted:
		return itself + len(ev.Arguments)
	case *stream.ToolCompleted:
		return itself + len(ev.Arguments) + len(ev.Result)
	}
	return itself
}
