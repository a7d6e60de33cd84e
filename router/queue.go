package router

import (
	"sync"

	"sluice/stream"
)

// maxQueued is how many bytes of events may wait for the client. Beyond it the agents
// wait as well.
const maxQueued = 2 << 20

// item is an event or a text of a member or the end of an attempt.
type item struct {
	m    *member
	text string // of a delta, whose event belongs to its sender
	ev   stream.Event
	over *ending // of the attempt; the items before it are many, and small
}

// ending is how an attempt ended.
type ending struct {
	result stream.Result
	err    error
}

// queue hands events from the goroutines of the agents to that of the turn.
type queue struct {
	mu     sync.Mutex // guards the fields below
	items  []item
	size   int
	err    error      // nobody takes events any more
	room   *sync.Cond // there is room again
	filled *sync.Cond // there is something to take
	spare  []item     // of the batch before, to be used again
}

// newQueue returns an empty queue. It needs no end: what is left in it is
// garbage once both sides are gone.
func newQueue() *queue {
	q := new(queue)
	q.room, q.filled = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	return q
}

// put adds an event or a text, and waits while there is no room.
func (q *queue) put(it item) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size >= maxQueued && q.err == nil && it.m.ctx.Err() == nil {
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

// end adds the end of an attempt, for which there is always room.
func (q *queue) end(m *member, result stream.Result, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, item{m: m, over: &ending{result, err}})
	q.filled.Signal()
}

// take waits for something and returns all there is, valid until the next call.
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

// posting is the sink of a member that has a goroutine of its own.
type posting struct {
	q *queue
	m *member
}

// Emit keeps a copy: the event belongs to its sender.
func (p *posting) Emit(ev stream.Event) error {
	if d, ok := ev.(*stream.Delta); ok && d.Text != "" {
		return p.q.put(item{m: p.m, text: d.Text})
	}
	return p.q.put(item{m: p.m, ev: stream.Attributed(ev, stream.Attribution{AgentID: p.m.agent.ID})})
}

// Flush does nothing: what is queued is emitted as soon as the client takes it.
func (p *posting) Flush() error { return nil }
