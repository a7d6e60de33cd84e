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

// A connection is read at readRate bytes a second beyond its first freeBytes. What costs us
// more than its bytes counts for more; docs/reliability.md has the figures.
const (
	readRate  = 1 << 20
	freeBytes = 4 << 20
	// readSlice is what may be read after a wait: to wake up for each frame would cost more than
	// the frame.
	readSlice = 64 << 10
	// framePrice is what a frame counts at least that brings neither a request nor its end, and
	// shortHead how long a request's head may be before each byte counts twice: it can be packed.
	framePrice = 128
	shortHead  = 1 << 10
	// resetPrice is what a reset counts that we send, and brokenPrice a request that was reset,
	// by either side: work was begun for it that nobody wants.
	resetPrice  = 256
	brokenPrice = 4 << 10
	// updateEvery is for how many bytes that were written a client may send an update of its
	// windows that counts for no more than its bytes. Go's client sends two for 4 KiB.
	updateEvery = 2 << 10
)

// paced is a connection over HTTP/2 that is read no faster than a client needs who has
// something to say. A flood of frames would otherwise cost a core. Bodies do not count once
// they are read, as that is bounded elsewhere.
type paced struct {
	encrypted
	budget  atomic.Int64  // bytes that may be read at once; below 0: none
	written atomic.Int64  // bytes for which no window was updated yet
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
	if p.budget.Load() < 0 && !p.wait() {
		return 0, net.ErrClosed
	}
	n, err := p.encrypted.Read(b)
	price := n
	for rest := b[:n]; len(rest) > 0; {
		var f frameStart
		if f, rest = p.in.next(rest); f.found {
			price += p.price(f)
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
		if f, rest = p.out.next(rest); f.found && f.kind == http2.FrameRSTStream {
			p.budget.Add(-resetPrice)
		}
	}
	return n, err
}

// wait returns when something may be read again; false: the connection has ended.
func (p *paced) wait() bool {
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

// price returns what a frame that was read counts besides its bytes.
func (p *paced) price(f frameStart) int {
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

// frameHeader is the length of a frame's header (RFC 9113, 4.1).
const frameHeader = 9

// frameScan finds the frames in one direction of a connection, however it is cut.
type frameScan struct {
	header [frameHeader]byte
	have   int // bytes of header
	skip   int // bytes until the next header
}

// frameStart is what a frame's header says.
type frameStart struct {
	found  bool
	kind   http2.FrameType
	flags  http2.Flags
	length int // without the header
}

// next goes on in b, which is not empty, to behind the next header or to its end.
func (s *frameScan) next(b []byte) (f frameStart, rest []byte) {
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
