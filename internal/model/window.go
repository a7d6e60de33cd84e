package model

import (
	"bytes"
	"io"
	"sync"
)

// Sizes of a window. A model thinks longer than it talks, and it talks in chunks of a few hundred
// bytes: a stream waits with the small buffer. A stream that brings more at once uses a large
// buffer, so that one read and one flush suffice.
const (
	smallWindow = 512
	largeWindow = 8 << 10
)

var largeWindows = sync.Pool{New: func() any { return new([largeWindow]byte) }}

// window is a buffered reader of lines whose buffer is as large as it needs to be.
type window struct {
	src   io.Reader
	small [smallWindow]byte
	large *[largeWindow]byte // nil unless buf is of it
	buf   []byte             // small, large, or one for a line that fits into neither
	r, w  int                // buf[r:w] was read and not yet taken
	busy  bool               // the last read brought more than a small buffer holds
	err   error              // of src
	// passOver removes the unread parts of an incomplete line, in place, and returns the remaining
	// length; nil keeps every byte.
	passOver func(line []byte) int
}

// longLine is how much of a line is read before passOver looks at it, and at least before it
// does so again.
const longLine = 64 << 10

// reset makes b read src afresh, and lets go of all but the small buffer.
func (b *window) reset(src io.Reader) {
	b.releaseLarge()
	b.src, b.buf, b.r, b.w, b.busy, b.err = src, b.small[:], 0, 0, false, nil
}

// releaseLarge gives the large buffer back. A stream is read byte by byte while the
// model writes slowly, and so hardly ever has one.
func (b *window) releaseLarge() {
	if b.large != nil {
		largeWindows.Put(b.large)
		b.large = nil
	}
}

// buffered returns the bytes that were read and not yet taken.
func (b *window) buffered() []byte { return b.buf[b.r:b.w] }

// nextLine takes the next line, of at most limit bytes and its end. It is valid until the next
// call. Bytes behind the last line's end come with the error.
func (b *window) nextLine(limit int) ([]byte, error) {
	seen, next := 0, longLine
	for {
		if b.w-b.r >= next && b.passOver != nil {
			left := b.shortenLine()
			b.w, seen, next = b.r+left, 0, left+max(left, longLine)
		}
		i := bytes.IndexByte(b.buf[b.r+seen:b.w], '\n')
		if i >= 0 && seen+i <= limit {
			return b.nextBytes(seen + i + 1), nil
		}
		seen = b.w - b.r
		if i >= 0 || seen > limit {
			return nil, ErrTooLarge
		}
		if b.err != nil {
			return b.nextBytes(seen), b.err
		}
		b.fillBuffer()
	}
}

// shortenLine removes the unread parts of the current line, and returns how many bytes are buffered
// afterwards. Bytes behind the line's end stay.
func (b *window) shortenLine() int {
	line := b.buffered()
	end := len(line)
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		end = i
	}
	n := b.passOver(line[:end])
	if n == end {
		return len(line)
	}
	return n + copy(line[n:], line[end:])
}

// nextBytes returns the next n bytes. They are valid until the next read.
func (b *window) nextBytes(n int) []byte {
	b.r += n
	return b.buf[b.r-n : b.r]
}

// skipBlank takes an empty line if the next buffered bytes are one. It reads nothing, so that the
// line before it stays valid.
func (b *window) skipBlank() bool {
	rest := b.buffered()
	switch {
	case len(rest) > 0 && rest[0] == '\n':
		b.r++
	case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
		b.r += 2
	default:
		return false
	}
	return true
}

// Read makes window an io.Reader of the remaining bytes.
func (b *window) Read(p []byte) (int, error) {
	if b.r < b.w {
		return copy(p, b.nextBytes(min(len(p), b.w-b.r))), nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.src.Read(p)
}

// fillBuffer reads once, at least one byte or the error.
func (b *window) fillBuffer() {
	b.makeRoom()
	room := len(b.buf) - b.w
	var n int
	for tries := 0; n == 0 && b.err == nil; tries++ {
		if n, b.err = b.src.Read(b.buf[b.w:]); n == 0 && b.err == nil && tries == 100 {
			b.err = io.ErrNoProgress
		}
	}
	b.w += n
	b.busy = n == room || n >= smallWindow
}

// makeRoom makes room behind the buffered bytes, in a buffer that suits the stream.
func (b *window) makeRoom() {
	rest := b.buffered()
	switch {
	case len(rest) == 0 && !b.busy:
		b.releaseLarge()
		b.buf = b.small[:]
	case len(rest) < largeWindow && (b.busy || len(rest) == smallWindow) && b.large == nil:
		b.large = largeWindows.Get().(*[largeWindow]byte)
		copy(b.large[:], rest)
		b.buf = b.large[:]
	case len(rest) == len(b.buf):
		b.buf = make([]byte, 2*len(rest))
		copy(b.buf, rest)
		b.releaseLarge()
	default:
		copy(b.buf, rest)
	}
	b.r, b.w = 0, len(rest)
}
