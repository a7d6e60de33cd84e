package model

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
)

// requests are those on their way, head and body.
var requests = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// conn is a connection that sends the head of a request and its body in one write.
//
// net/http sends the head by itself and the body at once after it, as it does not know that
// ours is in memory, and makes a buffer for each body. Like net/http it has one goroutine that
// writes.
type conn struct {
	net.Conn
	head *bytes.Buffer // waits for its body; nil: none
}

// dialConn returns dial with a conn for each connection.
func dialConn(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c}, nil
	}
}

// Write implements io.Writer. A head is kept until its body comes.
func (c *conn) Write(p []byte) (int, error) {
	if c.head != nil {
		n, err := c.ReadFrom(bytes.NewReader(p))
		return int(n), err
	}
	if !isHead(p) {
		return c.Conn.Write(p)
	}
	c.head = requests.Get().(*bytes.Buffer)
	return c.head.Write(p)
}

// ReadFrom implements io.ReaderFrom.
func (c *conn) ReadFrom(r io.Reader) (sent int64, err error) {
	b := c.head
	if c.head = nil; b == nil {
		b = requests.Get().(*bytes.Buffer)
	}
	for more := true; more && err == nil; b.Reset() {
		var n int64
		if n, err = b.ReadFrom(io.LimitReader(r, keepBuffer)); err == nil && b.Len() > 0 {
			_, err = c.Conn.Write(b.Bytes())
		}
		sent, more = sent+n, n == keepBuffer
	}
	requests.Put(b)
	return sent, err
}

// isHead reports whether p is a whole head that a body of known length follows.
func isHead(p []byte) bool {
	return bytes.HasPrefix(p, []byte("POST ")) && bytes.HasSuffix(p, []byte("\r\n\r\n")) &&
		bytes.Contains(p, []byte("\r\nContent-Length: ")) && !bytes.Contains(p, []byte("\r\nContent-Length: 0\r\n"))
}
