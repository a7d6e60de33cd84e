// This file is the channel between the workers of a run and its own goroutine. It is not a
// Go channel for two reasons: its bound is in bytes, as a result of a tool can be a
// megabyte and a delta ten bytes, and its reader takes all that is there at once, so that a
// slow client gets few and large writes.
//
// A slow client stops the nodes' events at maxQueued, but never their ends: a node that is
// done gives its place free.

package workflow

import (
	"sync"

	"sluice/stream"
)

// maxQueued is how many bytes of events may wait for the client. Beyond it the nodes wait
// as well.
const maxQueued = 2 << 20

// item is an event or a text of a node, or its end.
//
// Exactly one of ev, text and over is set.
type item struct {
	k     *worker
	ev    stream.Event
	text  string // of a delta, whose event belongs to its sender
	draft int    // the text is that of a draft; 0: it is said
	over  *ending
}

// ending is how an execution of a node ended.
type ending struct {
	out *outcome
	err error
}

// queue hands events from the goroutines of the nodes to that of the run.
//
// Many goroutines put, one takes. Nothing closes it at the end of a run; it is garbage
// then.
type queue struct {
	mu     sync.Mutex // guards the fields below
	items  []item
	size   int
	err    error      // nobody takes events any more
	room   *sync.Cond // there is room again
	filled *sync.Cond // there is something to take
	spare  []item     // of the batch before, to be used again
}

func newQueue() *queue {
	q := new(queue)
	q.room, q.filled = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	return q
}

// put adds an event or a text, and waits while there is no room.
//
// It returns nil if the worker's context has ended while it waited: the worker notices that
// itself, and the item is added beyond the bound. An error is the one of close.
func (q *queue) put(it item) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size >= maxQueued && q.err == nil && it.k.ctx.Err() == nil {
		q.room.Wait()
	}
	if q.err != nil {
		return q.err
	}
	q.size += it.size()
	q.items = append(q.items, it)
	q.filled.Signal()
	return nil
}

// end adds the end of a node, for which there is always room.
func (q *queue) end(k *worker, over *ending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, item{k: k, over: over})
	q.filled.Signal()
}

// take waits for something and returns all there is, valid until the next call.
//
// The two lists change places with each call, so that a long run allocates them a few times
// only.
func (q *queue) take() []item {
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

// wake lets those who wait for room look whether their context has ended.
func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.room.Broadcast()
}

// close makes every put fail with err.
func (q *queue) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = err
	q.room.Broadcast()
}

// size is about what an item costs while it waits.
func (it *item) size() int {
	const itself = 128
	switch ev := it.ev.(type) {
	case nil:
		return itself + len(it.text)
	case *stream.Thinking:
		return itself + len(ev.Content)
	case *stream.ToolStarted:
		return itself + len(ev.Arguments)
	case *stream.ToolCompleted:
		return itself + len(ev.Arguments) + len(ev.Result)
	}
	return itself
}
