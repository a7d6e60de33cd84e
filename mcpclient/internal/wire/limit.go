package wire

import (
	"bytes"
	"io"
)

// limiter is a reader of server-sent events that ends with an error when an event exceeds limit
// bytes. The reader of events would collect all of it.
type limiter struct {
	r     io.Reader
	limit int

	size int // bytes of the event at hand
	line int // of them, bytes of the line at hand, but for CR
}

// Read implements io.Reader. It returns ErrTooLarge, and none of the bytes, when an event
// has grown above the limit.
func (l *limiter) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.isOverLimit(p[:n]) {
		return 0, ErrTooLarge
	}
	return n, err
}

// isOverLimit counts p and reports whether an event in it is too large.
func (l *limiter) isOverLimit(p []byte) bool {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.countBytes(p)
			return l.size > l.limit
		}
		l.countBytes(p[:i])
		if l.size > l.limit {
			return true
		}
		if l.line == 0 { // an empty line ends an event
			l.size = 0
		}
		l.line = 0
		p = p[i+1:]
	}
}

// countBytes adds p, a text without LF, to the event and the line at hand.
func (l *limiter) countBytes(p []byte) {
	l.size += len(p)
	l.line += len(p) - bytes.Count(p, []byte("\r"))
}
