// This file lends buffers to turns. A turn waits for a model most of the time, and
// thousands that wait must not each hold a buffer: one is lent with the first event and
// given back with its flush.

package task

import "sync"

const (
	// firstBuffer is room for a few deltas, and keepBuffer is the largest buffer that is used
	// again. A turn with a larger one was an exception.
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
