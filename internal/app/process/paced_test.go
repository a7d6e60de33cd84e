package process

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// endless is a client that repeats itself, after its preface, as fast as it is read.
type endless struct {
	net.Conn
	say   []byte
	most  int // bytes of one read
	at    int
	began bool
}

func (e *endless) Read(p []byte) (int, error) {
	p = p[:min(len(p), e.most)]
	if !e.began {
		e.began = true
		return copy(p, http2.ClientPreface), nil // most is longer
	}
	n := copy(p, e.say[e.at:])
	e.at = (e.at + n) % len(e.say)
	return n, nil
}

func (e *endless) Write(p []byte) (int, error)            { return len(p), nil }
func (e *endless) Close() error                           { return nil }
func (*endless) ConnectionState() (s tls.ConnectionState) { return s }

// frames returns what write writes.
func frames(write func(f *http2.Framer)) []byte {
	var b bytes.Buffer
	write(http2.NewFramer(&b, nil))
	return b.Bytes()
}

// A connection is read at a rate beyond its first bytes. A frame that makes us work counts for
// more than its bytes, wherever the reads cut it.
func TestFloodsArePaced(t *testing.T) {
	t.Parallel()
	const seconds = 2
	for name, tt := range map[string]struct {
		say    []byte
		counts int // of one repetition
	}{
		"a request": {frames(func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 50), EndHeaders: true})
		}), 59},
		"a long head": {frames(func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 5000), EndHeaders: true})
		}), 9 + 5000 + 5000 - shortHead},
		"CONTINUATION":       {frames(func(f *http2.Framer) { _ = f.WriteContinuation(1, false, make([]byte, 5000)) }), 9 + 5000 + 5000 - shortHead},
		"empty CONTINUATION": {frames(func(f *http2.Framer) { _ = f.WriteContinuation(1, false, nil) }), framePrice},
		"a body":             {frames(func(f *http2.Framer) { _ = f.WriteData(1, false, make([]byte, 16<<10)) }), 9 + 16<<10},
		"a short body":       {frames(func(f *http2.Framer) { _ = f.WriteData(1, true, make([]byte, 91)) }), 100},
		"a body in pieces":   {frames(func(f *http2.Framer) { _ = f.WriteData(1, false, make([]byte, 10)) }), framePrice},
		"PING":               {frames(func(f *http2.Framer) { _ = f.WritePing(false, [8]byte{}) }), framePrice},
		"SETTINGS":           {frames(func(f *http2.Framer) { _ = f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize}) }), framePrice},
		"empty DATA":         {frames(func(f *http2.Framer) { _ = f.WriteData(1, false, nil) }), framePrice},
		"window updates":     {frames(func(f *http2.Framer) { _ = f.WriteWindowUpdate(0, 1) }), framePrice},
		"resets":             {frames(func(f *http2.Framer) { _ = f.WriteRSTStream(1, http2.ErrCodeCancel) }), framePrice},
		"a reset request": {frames(func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 50), EndHeaders: true})
			_ = f.WriteRSTStream(1, http2.ErrCodeCancel)
		}), 59 + framePrice},
	} {
		for _, most := range []int{24, 4096} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPaced(&endless{say: tt.say, most: most})
					time.AfterFunc(seconds*time.Second, func() { _ = p.Close() })
					n, err := io.Copy(io.Discard, struct{ io.Reader }{p})
					if err != net.ErrClosed {
						t.Errorf("it ended with %v", err)
					}
					got, want := float64(n)/float64(len(tt.say)), float64(freeBytes+seconds*readRate)/float64(tt.counts)
					if got < want*0.98-10 || got > want*1.02+10 {
						t.Errorf("%.0f of them were read, want about %.0f", got, want)
					}
				})
			})
		}
	}
}

// What a handler has read of a body does not count, and what is written makes up for the window
// updates that it causes. A request that was broken off counts.
func TestWhatIsNotPaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &endless{say: frames(func(f *http2.Framer) { _ = f.WriteData(1, false, make([]byte, 16<<10)) }), most: 1 << 20}
		p, buf, began := newPaced(e), make([]byte, 16<<10), time.Now()
		body := &pacedBody{io.NopCloser(p), p}
		for range 64 << 20 / len(buf) {
			if _, err := body.Read(buf); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("64 MiB of bodies took %v", d)
		}
		update := frameStart{found: true, kind: http2.FrameWindowUpdate, length: 4}
		if p.priceOf(update) == 0 {
			t.Error("a window update is free while nothing was written")
		}
		_, _ = p.Write(frames(func(f *http2.Framer) { _ = f.WriteData(1, false, make([]byte, 2*updateEvery)) }))
		if first, second, third := p.priceOf(update), p.priceOf(update), p.priceOf(update); first != 0 || second != 0 || third == 0 {
			t.Errorf("after so much as two are free for, window updates count %d, %d, %d", first, second, third)
		}
		before := p.budget.Load()
		resets := frames(func(f *http2.Framer) {
			_ = f.WriteRSTStream(1, http2.ErrCodeStreamClosed)
			_ = f.WriteData(1, false, make([]byte, 100))
			_ = f.WriteRSTStream(3, http2.ErrCodeStreamClosed)
		})
		_, _ = p.Write(resets[:20])
		_, _ = p.Write(resets[20:])
		if got := before - p.budget.Load(); got != 2*resetPrice {
			t.Errorf("two resets that are sent count %d, want %d", got, 2*resetPrice)
		}
		ctx, cancel := context.WithCancel(t.Context())
		before = p.budget.Load()
		p.chargeBroken(ctx)
		if p.budget.Load() != before {
			t.Error("a request that ended well counts")
		}
		cancel()
		p.chargeBroken(ctx)
		if got := before - p.budget.Load(); got != brokenPrice {
			t.Errorf("a request that was reset counts %d, want %d", got, brokenPrice)
		}
	})
}

// What may be read is read at once, to the last byte. After a wait it is worth waking up for, and an
// update is free as soon as its bytes were written.
func TestPaceToTheByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(&endless{say: frames(func(f *http2.Framer) { _ = f.WriteData(1, false, make([]byte, 91)) }), most: 100})
		for budget, want := range map[int64]time.Duration{0: 0, -1: (readSlice + 1) * time.Second / readRate} {
			p.budget.Store(budget)
			p.filled = time.Now()
			began := time.Now()
			_, _ = p.Read(make([]byte, 100))
			if d := time.Since(began); d < want || d > want+time.Millisecond {
				t.Errorf("with %d bytes to read it took %v, want %v", budget, d, want)
			}
		}
		_, _ = p.Write(make([]byte, updateEvery))
		if price := p.priceOf(frameStart{found: true, kind: http2.FrameWindowUpdate, length: 4}); price != 0 {
			t.Errorf("an update for %d bytes counts %d", updateEvery, price)
		}
	})
}

// A connection that was silent has no more than its first bytes to say at once.
func TestSilenceIsNotSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(&endless{say: frames(func(f *http2.Framer) { _ = f.WriteData(1, false, make([]byte, 16<<10)) }), most: 1 << 20})
		buf, read := make([]byte, 32<<10), 0
		time.Sleep(time.Hour)
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			for time.Since(began) < 10*time.Second {
				n, _ := p.Read(buf)
				read += n
			}
		})
		wg.Wait()
		if most := 2*freeBytes + 10*readRate + len(buf); read > most || read < freeBytes+10*readRate {
			t.Errorf("%d bytes were read in ten seconds after an hour, want at most %d", read, most)
		}
	})
}
