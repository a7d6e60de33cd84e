package process

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
)

const (
	// A connection is read at readRate bytes a second beyond its first freeBytes.
	readRate  = 1 << 20
	freeBytes = 4 << 20
	// framePrice is what a frame counts that costs us work and the client 9 bytes, and
	// brokenPrice what a request counts that was reset, by the client or for an error of its:
	// work was begun for it that nobody wants. docs/reliability.md has the figures.
	framePrice  = 256
	brokenPrice = 4 << 10
	// Writing so many bytes gives one back: a client that receives much sends window updates.
	writtenForOne = 16
)

// paced is a connection over HTTP/2 that is read no faster than a client needs who has
// something to say. A flood of frames would otherwise cost a core. Bodies do not count once
// they are read, as that is bounded elsewhere.
type paced struct {
	encrypted
	budget atomic.Int64  // bytes that may be read at once; below 0: none
	done   chan struct{} // closed when the connection has ended
	once   sync.Once

	// What follows belongs to the goroutine that reads.
	filled time.Time // when budget was filled up last
	header [frameHeader]byte
	have   int // bytes of header
	skip   int // bytes until the next header
}

// encrypted is a *tls.Conn, or a test's.
type encrypted interface {
	net.Conn
	ConnectionState() tls.ConnectionState
}

// frameHeader is the length of a frame's header (RFC 9113, 4.1).
const frameHeader = 9

func newPaced(c encrypted) *paced {
	p := &paced{encrypted: c, done: make(chan struct{}), filled: time.Now(), skip: len(http2.ClientPreface)}
	p.budget.Store(freeBytes)
	return p
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	if p.budget.Load() < 0 && !p.wait() {
		return 0, net.ErrClosed
	}
	n, err := p.encrypted.Read(b)
	p.budget.Add(-int64(n + p.frames(b[:n])))
	return n, err
}

// Write implements io.Writer.
func (p *paced) Write(b []byte) (int, error) {
	n, err := p.encrypted.Write(b)
	p.budget.Add(int64(n / writtenForOne))
	return n, err
}

// wait returns when something may be read again; false: the connection has ended.
func (p *paced) wait() bool {
	for {
		now := time.Now()
		p.budget.Add(min(freeBytes, int64(now.Sub(p.filled).Seconds()*readRate)))
		p.filled = now
		missing := -p.budget.Load()
		if missing <= 0 {
			return true
		}
		timer := time.NewTimer(time.Duration(missing)*time.Second/readRate + 1)
		select {
		case <-timer.C:
		case <-p.done:
			timer.Stop()
			return false
		}
	}
}

// frames returns what the frames that begin in b count besides their bytes.
func (p *paced) frames(b []byte) (price int) {
	for len(b) > 0 {
		if p.skip > 0 {
			n := min(p.skip, len(b))
			p.skip -= n
			b = b[n:]
			continue
		}
		n := copy(p.header[p.have:], b)
		p.have += n
		b = b[n:]
		if p.have == frameHeader {
			p.have = 0
			p.skip = int(binary.BigEndian.Uint32(p.header[:]) >> 8)
			price += priceOf(http2.FrameType(p.header[3]), p.skip)
		}
	}
	return price
}

// priceOf returns what a frame counts besides its bytes. One that brings a request or a part
// of its body counts nothing.
func priceOf(kind http2.FrameType, length int) int {
	if kind == http2.FrameHeaders || kind == http2.FrameData && length > 0 {
		return 0
	}
	return framePrice
}

// ended counts a request whose handler returns, if it was broken off.
func (p *paced) ended(request context.Context) {
	if request.Err() != nil {
		p.budget.Add(-brokenPrice)
	}
}

// Close implements net.Conn.
func (p *paced) Close() error {
	p.stop()
	return p.encrypted.Close()
}

// stop ends a wait to read.
func (p *paced) stop() { p.once.Do(func() { close(p.done) }) }

// NetConn returns the connection that is read.
func (p *paced) NetConn() net.Conn { return p.encrypted }
