package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// burst is how long a flood may have the bytes that every connection has at first, and
	// lasting how long it is measured after that.
	burst   = 1500 * time.Millisecond
	lasting = 2 * time.Second
	// freeBytes and readRate are what the gateway promises to read of a connection, and
	// inKernel what may be on its way: buffers of both ends.
	freeBytes = 4 << 20
	readRate  = 1 << 20
	inKernel  = 16 << 20
)

// flood is what a client does with a connection over HTTP/2 to cost the gateway more than itself.
type flood struct {
	name string
	// begin is sent once, and more again and again: round counts.
	begin func(f *frames)
	more  func(f *frames, round uint32)
	// ends says that the connection must be closed for it.
	ends bool
}

// allFloods are those that are known.
func allFloods() []flood {
	open := func(n uint32) func(*frames) { // turns that wait for their bodies
		return func(f *frames) {
			for i := range n {
				f.post(2*i+1, "/chat/stream")
			}
		}
	}
	return []flood{
		{name: "rapid reset", more: func(f *frames, round uint32) {
			f.get(2*round+1, "/tools")
			_ = f.WriteRSTStream(2*round+1, http2.ErrCodeCancel)
		}},
		{name: "resets of turns", more: func(f *frames, round uint32) {
			f.get(2*round+1, "/chat/stream?input=hi")
			_ = f.WriteRSTStream(2*round+1, http2.ErrCodeCancel)
		}},
		{name: "resets made by the server", more: func(f *frames, round uint32) {
			f.post(2*round+1, "/chat/stream")
			_ = f.WriteWindowUpdate(2*round+1, 0) // an error of this stream alone
		}},
		{name: "CONTINUATION without end", ends: true, begin: func(f *frames) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block("GET", "/")})
		}, more: func(f *frames, _ uint32) {
			_ = f.WriteContinuation(1, false, f.block("GET", "/", hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 4000)}))
		}},
		{name: "empty CONTINUATION", more: func(f *frames, round uint32) {
			if round == 0 {
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block("GET", "/")})
			}
			_ = f.WriteContinuation(1, false, nil)
		}},
		{name: "PING", more: func(f *frames, _ uint32) { _ = f.WritePing(false, [8]byte{}) }},
		{name: "SETTINGS", more: func(f *frames, _ uint32) { _ = f.WriteSettings() }},
		{name: "HEADER_TABLE_SIZE", more: func(f *frames, round uint32) {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: round % 2 * 4096})
		}},
		{name: "initial window, 200 streams", begin: open(200), more: func(f *frames, round uint32) {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: round % 65535})
		}},
		{name: "window of a connection", more: func(f *frames, round uint32) {
			if round < 1<<30 {
				_ = f.WriteWindowUpdate(0, 1)
			}
		}},
		{name: "window of a stream", begin: open(1), more: func(f *frames, _ uint32) { _ = f.WriteWindowUpdate(1, 1) }},
		{name: "empty DATA", begin: open(1), more: func(f *frames, _ uint32) { _ = f.WriteData(1, false, nil) }},
		{name: "DATA of one byte", begin: open(1), more: func(f *frames, _ uint32) { _ = f.WriteData(1, false, []byte{' '}) }},
		{name: "DATA of a closed stream", begin: func(f *frames) { f.get(1, "/healthz") }, more: func(f *frames, _ uint32) { _ = f.WriteData(1, false, []byte{' '}) }},
		{name: "streams beyond the limit", begin: open(250), more: func(f *frames, round uint32) { f.get(2*round+501, "/") }},
		{name: "DATA that ends a closed stream", begin: func(f *frames) { f.get(1, "/healthz") }, more: func(f *frames, _ uint32) { _ = f.WriteData(1, true, nil) }},
		{name: "PRIORITY", more: func(f *frames, round uint32) {
			_ = f.WritePriority(2*round+1, http2.PriorityParam{Weight: byte(round)})
		}},
		{name: "unknown frames", more: func(f *frames, _ uint32) { _ = f.WriteRawFrame(0xbe, 0, 0, nil) }},
		{name: "headers that grow when unpacked", more: func(f *frames, round uint32) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*round + 1, BlockFragment: bomb(round), EndHeaders: true, EndStream: true})
		}},
	}
}

// bomb is a request's head that names a long header of the table again and again. Round 0 puts it there.
func bomb(round uint32) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, h := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/"}} {
		_ = e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	if round == 0 {
		_ = e.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 3900)})
		return b.Bytes()
	}
	return append([]byte{0x82, 0x87, 0x84}, bytes.Repeat([]byte{0x80 | 62}, 4000)...) // the newest of the table
}

// outcome is what became of a flood.
type outcome struct {
	sent, received int64
	acks           int // PING and SETTINGS that were answered
	closed         bool
	cpuAtFirst     time.Duration
	cpu            float64 // of a core, after the first bytes
	memory         int64   // more than before, bytes
}

// answers counts what the other side sends until the connection ends.
func answers(r io.Reader) (received int64, acks int) {
	var head [9]byte
	for {
		n, err := io.ReadFull(r, head[:])
		received += int64(n)
		if err != nil {
			return received, acks
		}
		kind, flags := http2.FrameType(head[3]), http2.Flags(head[4])
		if (kind == http2.FramePing || kind == http2.FrameSettings) && flags.Has(http2.FlagPingAck) {
			acks++
		}
		m, err := io.CopyN(io.Discard, r, int64(binary.BigEndian.Uint32(head[:])>>8))
		received += m
		if err != nil {
			return received, acks
		}
	}
}

// run floods a gateway over one connection.
func (fl flood) run(t *testing.T, g *gateway) (o outcome) {
	c := g.dial(t, "h2")
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		o.received, o.acks = answers(c)
	}()
	memory := g.Memory(t)
	var out bytes.Buffer
	f := newFrames(&out)
	out.WriteString(http2.ClientPreface)
	_ = f.WriteSettings()
	if fl.begin != nil {
		fl.begin(f)
	}
	began, first := time.Now(), g.CPU(t)
	var after time.Duration // what it has used when the first bytes are gone
	time.AfterFunc(burst, func() { after = g.CPU(t) })
	for round := uint32(0); !o.closed && time.Since(began) < burst+lasting; {
		for out.Len() < 16<<10 {
			fl.more(f, round)
			round++
		}
		_ = c.SetWriteDeadline(began.Add(burst + lasting))
		n, err := c.Write(out.Bytes())
		out.Reset()
		o.sent += int64(n)
		if timeout, ok := err.(net.Error); err != nil && !(ok && timeout.Timeout()) {
			o.closed = true
		}
	}
	if o.closed {
		o.cpuAtFirst = g.CPU(t) - first
	} else {
		o.cpuAtFirst, o.cpu = after-first, (g.CPU(t)-after).Seconds()/lasting.Seconds()
	}
	o.memory = g.Memory(t) - memory
	_ = c.NetConn().Close()
	<-counted
	return o
}

// A flood over HTTP/2 ends, or is read no faster than a client that has something to say needs.
// Meanwhile and afterwards others are served. docs/reliability.md sums the table up.
func TestFloods(t *testing.T) {
	g, _ := startSealed(t, map[string]string{"SLUICE_LOG_LEVEL": "info"})
	table := "| flood | sent | answered | ends | CPU of its first bytes | then, of a core | memory |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	for _, fl := range allFloods() {
		o := fl.run(t, g)
		table += fmt.Sprintf("| %s | %.1f MB | %.1f MB | %v | %d ms | %.1f %% | %.1f MB |\n", fl.name, float64(o.sent)/1e6, float64(o.received)/1e6,
			map[bool]string{true: "yes", false: "no"}[o.closed], o.cpuAtFirst.Milliseconds(), 100*o.cpu, float64(o.memory)/1e6)
		if fl.ends && !o.closed {
			t.Errorf("%s: the connection stays open", fl.name)
		}
		if most := int64(freeBytes + (burst+lasting).Seconds()*readRate + inKernel); o.sent > most {
			t.Errorf("%s: %d bytes were sent, want at most %d", fl.name, o.sent, most)
		}
		// A frame that is answered counts for 128 bytes at least.
		if most := int(freeBytes+(burst+lasting+time.Second).Seconds()*readRate)/128 + 100; o.acks > most {
			t.Errorf("%s: %d frames were answered, want at most %d", fl.name, o.acks, most)
		}
		g.healthy(t)
	}
	t.Log("\n" + table)
}
