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

// A connection is read at readRate bytes a second beyond its first freeBytes. Expensive frames
// count for more than their bytes; docs/reliability.md has the figures.
const (
	readRate  = 1 << 20
	freeBytes = 4 << 20
	// readSlice is the number of bytes to read after a wait: to wake up for each frame would cost
	// more than the frame.
	readSlice = 64 << 10
	// framePrice is the least price of a frame that neither begins nor ends a request. Beyond
	// shortHead, each byte of a request's head counts twice, as it may be packed.
	framePrice = 128
	shortHead  = 1 << 10
	// resetPrice is the price of a reset that we send, and brokenPrice of a request that either
	// side has reset: its work is wasted.
	resetPrice  = 256
	brokenPrice = 4 << 10
	// updateEvery is a number of written bytes: for so many, a client may send an update of its
	// windows without a surcharge. Go's client sends two for 4 KiB.
	updateEvery = 2 << 10
)

// paced is a connection over HTTP/2 that is read only as fast as an honest client needs. A flood of
// frames would otherwise cost a core. Bodies do not count once they are read, as that is bounded
// elsewhere.
type paced struct {
	encrypted
	budget  atomic.Int64  // bytes that may be read at once; below 0: none
	written atomic.Int64  // bytes without an update of their window so far
	done    chan struct{} // closed when the connection has ended
	once    sync.Once

	// Reads have one goroutine at a time, and writes too.
	filled  time.Time // when budget was filled up last
	in, out frameScan
}

// encrypted is a *tls.Conn, or a test's.
type encrypted interface {
	net.Conn
	ConnectionState() tls.ConnectionState
}

func newPaced(c encrypted) *paced {
	p := &paced{encrypted: c, done: make(chan struct{}), filled: time.Now(), in: frameScan{skip: len(http2.ClientPreface)}}
	p.budget.Store(freeBytes)
	return p
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	if p.budget.Load() < 0 && !p.awaitBudget() {
		return 0, net.ErrClosed
	}
	n, err := p.encrypted.Read(b)
	price := n
	for rest := b[:n]; len(rest) > 0; {
		var f frameStart
		if f, rest = p.in.scanFrame(rest); f.found {
			price += p.priceOf(f)
		}
	}
	p.budget.Add(-int64(price))
	return n, err
}

// Write implements io.Writer.
func (p *paced) Write(b []byte) (int, error) {
	n, err := p.encrypted.Write(b)
	p.written.Add(int64(n))
	for rest := b[:n]; len(rest) > 0; {
		var f frameStart
		if f, rest = p.out.scanFrame(rest); f.found && f.kind == http2.FrameRSTStream {
			p.budget.Add(-resetPrice)
		}
	}
	return n, err
}

// awaitBudget waits until bytes may be read again. It returns false if the connection has ended.
func (p *paced) awaitBudget() bool {
	for {
		now := time.Now()
		p.budget.Add(min(freeBytes, int64(now.Sub(p.filled).Seconds()*readRate)))
		p.filled = now
		missing := readSlice - p.budget.Load()
		if missing <= 0 {
			return true
		}
		missing = min(missing, freeBytes) // no more is added at once, and a larger product overflows
		timer := time.NewTimer(time.Duration(missing)*time.Second/readRate + 1)
		select {
		case <-timer.C:
		case <-p.done:
			timer.Stop()
			return false
		}
	}
}

// priceOf returns the price of a frame in addition to its bytes.
func (p *paced) priceOf(f frameStart) int {
	least := max(0, framePrice-frameHeader-f.length)
	switch f.kind {
	case http2.FrameHeaders:
		return max(0, f.length-shortHead)
	case http2.FrameContinuation:
		return max(least, f.length-shortHead)
	case http2.FrameData:
		if f.flags.Has(http2.FlagDataEndStream) {
			return 0
		}
	case http2.FrameWindowUpdate:
		if p.written.Load() >= updateEvery {
			p.written.Add(-updateEvery)
			return 0
		}
	}
	return least
}

// chargeBroken counts a request whose handler returns, if it was broken off.
func (p *paced) chargeBroken(request context.Context) {
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

// frameHeader is the length of a frame's header (RFC 9113, 4.1).
const frameHeader = 9

// frameScan finds the frames in one direction of a connection, however it is cut.
type frameScan struct {
	header [frameHeader]byte
	have   int // bytes of header
	skip   int // bytes until the next header
}

// frameStart has the fields of a frame's header.
type frameStart struct {
	found  bool
	kind   http2.FrameType
	flags  http2.Flags
	length int // without the header
}

// scanFrame reads on in b, up to behind the next header or to its end. b must not be empty.
func (s *frameScan) scanFrame(b []byte) (f frameStart, rest []byte) {
	n := min(s.skip, len(b))
	s.skip -= n
	b = b[n:]
	n = copy(s.header[s.have:], b)
	s.have += n
	if s.have < frameHeader {
		return f, b[n:]
	}
	s.have = 0
	s.skip = int(binary.BigEndian.Uint32(s.header[:]) >> 8)
	return frameStart{true, http2.FrameType(s.header[3]), http2.Flags(s.header[4]), s.skip}, b[n:]
}
