package h2pool_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/model/h2pool"
)

// Frames of RFC 9113, section 6.
const (
	frameData     = 0x0
	frameHeaders  = 0x1
	frameReset    = 0x3
	frameSettings = 0x4
	framePing     = 0x6
	frameGoAway   = 0x7

	flagAck        = 0x1
	flagEndStream  = 0x1
	flagEndHeaders = 0x4

	settingMaxConcurrentStreams = 0x3

	codeRefused = 0x7
)

// rawServer speaks HTTP/2 frame by frame, to do what net/http's server does not.
type rawServer struct {
	opened atomic.Int64 // connections
	// open begins a connection; nth counts from 1. It should send SETTINGS.
	open func(c *rawConn, nth int)
	// request is called with each request that has come in whole.
	request func(c *rawConn, stream uint32, body []byte)
	mute    atomic.Bool // answers no PING
}

// rawConn is one connection of a rawServer. Its fields are for the functions of
// the server, which run on one goroutine for each connection.
type rawConn struct {
	nth      int
	requests int // so far

	out chan []byte // to be written; a pipe has no buffer, and both ends may write
}

func serveRaw(t *testing.T, s *rawServer) (*h2pool.Transport, *network) {
	t.Helper()
	n := newNetwork()
	l := tls.NewListener(n, tlsConfig(t, "h2"))
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { defer conn.Close(); s.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); running.Wait() })
	return transport(t, n), n
}

func (s *rawServer) serve(conn net.Conn) {
	c := &rawConn{nth: int(s.opened.Add(1)), out: make(chan []byte, 1000)}
	var writer sync.WaitGroup
	defer writer.Wait()
	gone := make(chan struct{})
	defer close(gone)
	writer.Go(func() {
		for {
			select {
			case frame := <-c.out:
				_, _ = conn.Write(frame)
			case <-gone:
				return
			}
		}
	})
	r := bufio.NewReader(conn)
	if _, err := r.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		return
	}
	s.open(c, c.nth)
	bodies := map[uint32][]byte{}
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		length := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		payload := make([]byte, length)
		if _, err := io.ReadFull(r, payload); err != nil {
			return
		}
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			c.write(frameSettings, flagAck, 0, nil)
		case kind == framePing && flags&flagAck == 0 && !s.mute.Load():
			c.write(framePing, flagAck, 0, payload)
		case kind == frameData:
			bodies[stream] = append(bodies[stream], payload...)
			if flags&flagEndStream != 0 {
				c.requests++
				s.request(c, stream, bodies[stream])
			}
		}
	}
}

func (c *rawConn) write(kind, flags byte, stream uint32, payload []byte) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	frame = append(frame, flags)
	frame = binary.BigEndian.AppendUint32(frame, stream)
	c.out <- append(frame, payload...)
}

// allow announces a limit on streams.
func (c *rawConn) allow(limit uint32) {
	c.write(frameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, settingMaxConcurrentStreams}, limit))
}

// answer sends the whole of an answer: ":status: 200" is 8 in HPACK's static table
// (RFC 7541, appendix A).
func (c *rawConn) answer(stream uint32, body []byte) {
	c.write(frameHeaders, flagEndHeaders, stream, []byte{0x80 | 8})
	c.write(frameData, flagEndStream, stream, body)
}

func (c *rawConn) reset(stream, code uint32) {
	c.write(frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, code))
}

// goAway drains the connection; last is the last stream that will be answered.
func (c *rawConn) goAway(last uint32) {
	c.write(frameGoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), 0))
}
