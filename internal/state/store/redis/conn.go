package redis

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// countingDialer returns a dialer of connections that count their bytes.
func countingDialer(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		counted := &conn{Conn: c}
		if raw, ok := c.(syscall.Conn); ok {
			return rawConn{counted, raw}, nil
		}
		return counted, nil
	}
}

// conn counts the bytes of one command, and reports their number with the error of one that ran
// out of time. A subscription reads and writes at the same time.
type conn struct {
	net.Conn
	moved atomic.Int64
}

// rawConn is a conn that the client can ask whether the server has closed it.
type rawConn struct {
	*conn
	syscall.Conn
}

// SetWriteDeadline is called before a command is written.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.moved.Store(0)
	return c.Conn.SetWriteDeadline(t)
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.countMoved(n, err)
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.countMoved(n, err)
}

func (c *conn) countMoved(n int, err error) error {
	all := c.moved.Add(int64(n))
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return &timeout{e, int(all)}
	}
	return err
}

// netError is net.Error under a name that does not hide its method.
type netError = net.Error

// timeout is the error of a command that ran out of time.
type timeout struct {
	netError
	moved int
}

// Unwrap returns the connection's error.
func (t *timeout) Unwrap() error { return t.netError }

// movedBytes returns how many bytes a command has moved that ended with err because it ran out
// of time; else 0.
func movedBytes(err error) int {
	if t, ok := errors.AsType[*timeout](err); ok {
		return t.moved
	}
	return 0
}
