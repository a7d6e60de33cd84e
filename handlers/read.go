package handlers

import (
	"io"
	"math/bits"
	"sync"
)

// A body is read into buffers that double. Each buffer that grew too small is used again by the
// next body: as garbage they would be several times the size of the bodies.
const (
	firstBuffer  = 512 // holds most requests
	pooledBuffer = 4 << 10
	bufferSlack  = 512 // so that a body of a power of two is read to its end without another
)

// buffers are those of bodies, by size: pooledBuffer, twice that, and so on.
type buffers struct{ bySize [10]sync.Pool }

// readAll reads r to its end. The result belongs to the caller. With an error it is nil.
func (b *buffers) readAll(r io.Reader) ([]byte, error) {
	data := make([]byte, 0, firstBuffer)
	for {
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			b.put(data)
			return nil, err
		}
		if len(data) == cap(data) {
			larger := append(b.get(2*cap(data)), data...)
			b.put(data)
			data = larger
		}
	}
}

// sizeClass returns the number of the smallest size that holds n bytes.
func sizeClass(n int) int { return bits.Len(uint(max(n-bufferSlack, 1)-1) / pooledBuffer) }

// get returns an empty buffer with room for n bytes. It is given back with put,
// or left to the garbage collector.
func (b *buffers) get(n int) []byte {
	c := sizeClass(n)
	if c >= len(b.bySize) {
		return make([]byte, 0, n)
	}
	if p, ok := b.bySize[c].Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return make([]byte, 0, pooledBuffer<<c+bufferSlack)
}

// put keeps a buffer of exactly one of the pooled sizes: one that was grown
// since is dropped.
func (b *buffers) put(data []byte) {
	if c := sizeClass(cap(data)); c < len(b.bySize) && cap(data) == pooledBuffer<<c+bufferSlack {
		b.bySize[c].Put(&data)
	}
}
