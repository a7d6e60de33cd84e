// This file lends buffers to turns. A turn waits for a model most of the time, and
// thousands that wait must not each hold a buffer: one is lent with the first event and
// given back with its flush.

package task

import "sync"

const (
	// firstBuffer is room for what a few deltas take, and keepBuffer the largest buffer
	// that is used again: the turn that needed more was an exception.
	firstBuffer, keepBuffer = 2 << 10, 64 << 10
)

// buffers hold what logs do not have yet, and answers. A turn has one for its log from an
// event to its flush alone: most of the time it waits for a model. The zero value is ready,
// and safe for concurrent use.
type buffers struct{ pool sync.Pool }

// get returns an empty buffer.
func (b *buffers) get() *[]byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return buf
	}
	buf := make([]byte, 0, firstBuffer)
	return &buf
}

// put takes a buffer back; the caller must not use it afterwards. It works on nil.
func (b *buffers) put(buf *[]byte) {
	if buf != nil && cap(*buf) <= keepBuffer {
		*buf = (*buf)[:0]
		b.pool.Put(buf)
	}
}

// room returns pending, which has a buffer from now on.
//
// The caller appends to the result and puts it back into pending.
func (t *Turn) room() []byte {
	if t.pending == nil {
		t.lent = t.service.buffers.get()
		t.pending = *t.lent
	}
	return t.pending
}

// drop releases pending. The store keeps nothing of it: it has it, or never will.
func (t *Turn) drop() {
	t.lines.Cut()
	if t.lent != nil {
		*t.lent = t.pending // which may have grown
		t.service.buffers.put(t.lent)
	}
	t.lent, t.pending, t.marks = nil, nil, t.marks[:0]
}

// borrow gives the answer of a turn that begins a buffer, and giveBack takes it when the turn
// is over and the store has all of it.
//
// The text of an answer is held for the whole turn, unlike the log's buffer.
func (t *Turn) borrow() {
	t.gathered = t.service.buffers.get()
	t.said.text = *t.gathered
}

func (t *Turn) giveBack() {
	if t.gathered != nil {
		*t.gathered = t.said.text
		t.service.buffers.put(t.gathered)
		t.gathered, t.said.text, t.said.spans = nil, nil, nil
	}
}
