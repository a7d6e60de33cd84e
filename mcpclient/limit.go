package mcpclient

import (
	"bytes"
	"io"
)

// lineLimiter is a reader that ends with an error when a line grows above limit
// bytes: mcp-go, and any reader of lines, would collect it whole.
type lineLimiter struct {
	r     io.Reader
	limit int
	line  int // bytes of the line at hand
}

func (l *lineLimiter) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.over(p[:n]) {
		return 0, errTooLarge
	}
	return n, err
}

// over counts p and reports whether a line in it is too long.
func (l *lineLimiter) over(p []byte) bool {
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.line += len(p)
			return l.line > l.limit
		}
		if l.line+i > l.limit {
			return true
		}
		l.line = 0
		p = p[i+1:]
	}
}
