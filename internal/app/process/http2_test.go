package process

//lint:file-ignore SA1019 the server inside Go 1.26.8 can be crashed, so that of x/net is asked by its own names (docs/adr/0043)

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/testnet"
	"sluice/internal/edge/conns"
	"sluice/stream/sse"
)

// sealed is a Server with a certificate, in memory.
type sealed struct {
	*Server
	ln   *testnet.Listener
	tail *gatewaytest.LogTail
	errs chan string // kinds of errors
}

// serveSealed serves h over TLS until the test ends. change sees what is served before.
func serveSealed(t *testing.T, h http.HandlerFunc, change func(*ServerConfig)) *sealed {
	t.Helper()
	f, tail, ln := new(folder), new(gatewaytest.LogTail), testnet.Listen()
	f.holds(newPair(t, "gateway", time.Now().Add(-time.Hour), 365*24*time.Hour))
	log := OwnLogger(NewLogger(tail, "debug"))
	from := f.tls()
	c, err := OpenCertificate(from, log)
	if err != nil {
		t.Fatal(err)
	}
	s := &sealed{ln: ln, tail: tail, errs: make(chan string, 100)}
	cfg := ServerConfig{
		Handler: h, Turns: new(crowd), Certificate: c, Log: log, WriteTimeout: 5 * time.Second, DrainTimeout: time.Minute,
		ConnContext: func(ctx context.Context, _ net.Conn, p Place) context.Context {
			return context.WithValue(ctx, placeKey{}, p)
		},
		Flush: func(time.Duration) {}, HTTP2Error: func(kind string) { s.errs <- kind },
	}
	if change != nil {
		change(&cfg)
	}
	if s.Server, err = Serve(t.Context(), ln, cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Serve's goroutine ends with Close
		s.Close()
		<-s.failed
	})
	return s
}

type placeKey struct{}

// dial opens a connection that speaks one of protocols.
func (s *sealed) dial(t *testing.T, protocols ...string) *tls.Conn {
	t.Helper()
	raw, err := s.ln.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: protocols})
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	return c
}

// client returns one whose requests share a connection of HTTP/2, up to its limit of streams.
func (s *sealed) client(t *testing.T) *http.Client {
	transport := &http2.Transport{DialTLSContext: func(context.Context, string, string, *tls.Config) (net.Conn, error) {
		return s.dial(t, "h2"), nil
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// frameClient speaks HTTP/2 frame by frame.
type frameClient struct {
	*http2.Framer
	conn *tls.Conn
	head bytes.Buffer
	hp   *hpack.Encoder
}

func (s *sealed) framer(t *testing.T, settings ...http2.Setting) *frameClient {
	t.Helper()
	c := &frameClient{conn: s.dial(t, "h2")}
	c.hp = hpack.NewEncoder(&c.head)
	c.Framer = http2.NewFramer(c.conn, bufio.NewReader(c.conn))
	wrote := make(chan struct{})
	go func() { // in memory a write waits for its reader, and both ends begin with one
		defer close(wrote)
		_, _ = io.WriteString(c.conn, http2.ClientPreface)
		_ = c.WriteSettings(settings...)
	}()
	if f, err := c.ReadFrame(); err != nil || f.Header().Type != http2.FrameSettings {
		t.Fatalf("the first frame is %v (%v)", f, err)
	}
	<-wrote
	return c
}

// get asks for a path on a stream of its own.
func (c *frameClient) get(stream uint32, path string) error {
	c.head.Reset()
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "gateway"}, {":path", path}} {
		_ = c.hp.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.head.Bytes(), EndHeaders: true, EndStream: true})
}

// await returns the next frame of a kind, and answers what has to be answered meanwhile.
func (c *frameClient) await(kind http2.FrameType) (http2.Frame, error) {
	for {
		f, err := c.ReadFrame()
		if err != nil {
			return nil, err
		}
		if f.Header().Type == kind {
			return f, nil
		}
	}
}

// A write deadline is for a write: a stream that is silent for longer than a write may take
// goes on. Over HTTP/2 a deadline that is left behind would reset it.
func TestManySilentStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const streams, beats = 1000, 3
		s := serveSealed(t, func(w http.ResponseWriter, r *http.Request) {
			out := sse.NewWriter(w, sse.Config{WriteTimeout: 5 * time.Second, HTTP1: r.ProtoMajor == 1})
			for range beats {
				time.Sleep(20 * time.Second)
				_ = out.WriteFrame([]byte("data: beat\n\n"))
				if out.Flush() != nil {
					return
				}
			}
			_ = out.WriteFrame([]byte("event: done\n\n"))
			_ = out.Close()
		}, nil)
		client := s.client(t)
		var done, broken atomic.Int64
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				resp, err := client.Get("https://gateway/")
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.ProtoMajor != 2 || strings.Count(string(text), "beat") != beats || !strings.HasSuffix(string(text), "event: done\n\n") {
					broken.Add(1)
				} else {
					done.Add(1)
				}
			})
		}
		wg.Wait()
		if done.Load() != streams {
			t.Errorf("%d of %d streams ended well, %d did not", done.Load(), streams, broken.Load())
		}
	})
}

// A client that reads nothing is cut, whichever window it keeps closed: that of a stream is
// reset, and a connection that takes no byte is closed.
func TestClosedWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		left := make(chan time.Time, 1)
		s := serveSealed(t, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(5 * time.Second))
			_, _ = w.Write(make([]byte, 64<<10))
			_ = http.NewResponseController(w).Flush()
			left <- time.Now()
		}, nil)
		began := time.Now()
		c := s.framer(t, http2.Setting{ID: http2.SettingInitialWindowSize})
		if err := c.get(1, "/"); err != nil {
			t.Fatal(err)
		}
		f, err := c.await(http2.FrameRSTStream)
		if err != nil || f.Header().StreamID != 1 || time.Since(began) != 5*time.Second {
			t.Errorf("a closed window: %v (%v) after %v", f, err, time.Since(began))
		}
		<-left

		began = time.Now()
		c = s.framer(t)
		if err := c.get(1, "/"); err != nil {
			t.Fatal(err)
		}
		if at := <-left; at.Sub(began) > 15*time.Second { // and the client never reads
			t.Errorf("a connection that is not read is left after %v", at.Sub(began))
		}
	})
}

// A stream that its client resets ends the work on it.
func TestResetCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, ended := make(chan struct{}), make(chan error, 1)
		s := serveSealed(t, func(_ http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
			ended <- r.Context().Err()
		}, nil)
		c := s.framer(t)
		if err := c.get(1, "/"); err != nil {
			t.Fatal(err)
		}
		<-began
		at := time.Now()
		go func() { _ = c.WriteRSTStream(1, http2.ErrCodeCancel) }()
		go func() { _, _ = c.await(http2.FrameGoAway) }()
		if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(at) > 0 {
			t.Errorf("%v after %v", err, time.Since(at))
		}
	})
}

// A connection that is silent is asked whether it is still there, and given up when it does not
// answer.
func TestSilentConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serveSealed(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
		began := time.Now()
		c := s.framer(t)
		if err := c.get(1, "/"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.await(http2.FramePing); err != nil || time.Since(began) != silence {
			t.Errorf("asked after %v (%v), want %v", time.Since(began), err, silence)
		}
		if _, err := c.await(http2.FramePing); err == nil || time.Since(began) != silence+silenceAnswer {
			t.Errorf("given up after %v (%v), want %v", time.Since(began), err, silence+silenceAnswer)
		}
		if kind := <-s.errs; kind != "conn_close_lost_ping" {
			t.Errorf("counted as %q", kind)
		}
	})
}

// A drain has each connection send its next request elsewhere, and lets what runs end.
func TestDrainOverHTTP2(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running := make(chan struct{})
		turns := &crowd{own: 20 * time.Second}
		s := serveSealed(t, func(w http.ResponseWriter, r *http.Request) {
			close(running)
			time.Sleep(15 * time.Second)
			_, _ = io.WriteString(w, "done")
		}, func(cfg *ServerConfig) { cfg.Turns = turns })
		c := s.framer(t)
		if err := c.get(1, "/"); err != nil {
			t.Fatal(err)
		}
		<-running
		signals, ended := make(chan os.Signal, 1), make(chan error, 1)
		began := time.Now()
		go func() { ended <- s.Run(t.Context(), signals) }()
		signals <- os.Interrupt
		f, err := c.await(http2.FrameGoAway)
		if err != nil || time.Since(began) > time.Second || f.(*http2.GoAwayFrame).ErrCode != http2.ErrCodeNo || f.(*http2.GoAwayFrame).LastStreamID != 1 {
			t.Errorf("%v (%v) after %v", f, err, time.Since(began))
		}
		f, err = c.await(http2.FrameData)
		if err != nil || string(f.(*http2.DataFrame).Data()) != "done" {
			t.Errorf("the stream that ran: %v (%v)", f, err)
		}
		_, _ = c.await(http2.FrameGoAway) // reads until the end
		if err := <-ended; err != nil || time.Since(began) > 25*time.Second {
			t.Errorf("it ended after %v: %v", time.Since(began), err)
		}
	})
}

// A connection of HTTP/2 on which a turn runs keeps its place, whatever else is asked on it. It
// makes room when none runs.
func TestPlaceOfManyStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := conns.NewLimiter(1, 2)
		turn, ended := make(chan struct{}), make(chan struct{})
		s := serveSealed(t, func(_ http.ResponseWriter, r *http.Request) {
			place := r.Context().Value(placeKey{}).(Place)
			place.Busy()
			switch r.URL.Path {
			case "/turn":
				<-turn
			case "/body":
				place.Waiting()
				time.Sleep(time.Second)
			}
		}, func(cfg *ServerConfig) { cfg.Limiter = limiter })
		client := s.client(t)
		get := func(path string) {
			t.Helper()
			resp, err := client.Get("https://gateway" + path)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
		}
		go func() { defer close(ended); get("/turn") }()
		get("/body") // it ended without being busy again
		get("/other")
		time.Sleep(time.Second)
		other := s.dial(t, "http/1.1")
		if open, evicted := limiter.Stats(); open != 2 || evicted != 0 {
			t.Errorf("while a turn runs: %d open, %d evicted", open, evicted)
		}
		_ = other.Close()
		close(turn)
		<-ended
		time.Sleep(time.Second)
		_ = s.dial(t, "http/1.1")
		if _, evicted := limiter.Stats(); evicted != 1 {
			t.Errorf("a connection that waits: %d evicted", evicted)
		}
	})
}

// A turn that has ended keeps no place for a connection whose other request waits for bytes.
func TestPlaceAfterATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := conns.NewLimiter(1, 2)
		turn, left := make(chan struct{}), make(chan struct{})
		s := serveSealed(t, func(_ http.ResponseWriter, r *http.Request) {
			place := r.Context().Value(placeKey{}).(Place)
			if place.Busy(); r.URL.Path == "/turn" {
				<-turn
				return
			}
			place.Waiting()
			<-r.Context().Done()
			close(left)
		}, func(cfg *ServerConfig) { cfg.Limiter = limiter })
		client := s.client(t)
		go func() { _, _ = client.Get("https://gateway/body") }()
		synctest.Wait()
		close(turn)
		resp, err := client.Get("https://gateway/turn")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		time.Sleep(time.Second)
		_ = s.dial(t, "http/1.1")
		if open, evicted := limiter.Stats(); open != 1 || evicted != 1 {
			t.Errorf("%d open, %d evicted", open, evicted)
		}
		<-left
	})
}

// Besides HTTP/2 there is HTTP/1.1 over TLS, and of TLS what is asked for as the least. A client
// that speaks plain HTTP gets a 400; one that speaks nothing known is closed.
func TestWhatIsSpoken(t *testing.T) {
	t.Parallel()
	old := serveSealed(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %v", r.Proto, r.Context().Value(placeKey{}) != nil)
	}, func(cfg *ServerConfig) { cfg.Limiter = conns.NewLimiter(100, 2) })
	recent := serveSealed(t, func(http.ResponseWriter, *http.Request) {}, func(cfg *ServerConfig) { cfg.Certificate.from.Min = tls.VersionTLS13 })
	one := &http.Client{Transport: &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		return old.dial(t, "http/1.1"), nil
	}}}
	defer one.CloseIdleConnections()
	for want, client := range map[string]*http.Client{"HTTP/2.0 true": old.client(t), "HTTP/1.1 true": one} {
		resp, err := client.Get("https://gateway/")
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(resp.Body); string(text) != want {
			t.Errorf("%q, want %q", text, want)
		}
		_ = resp.Body.Close()
	}
	for name, tt := range map[string]struct {
		s         *sealed
		from, max uint16
		ok        bool
	}{
		"1.1":                       {old, tls.VersionTLS10, tls.VersionTLS11, false},
		"1.2":                       {old, tls.VersionTLS12, tls.VersionTLS12, true},
		"1.3":                       {old, tls.VersionTLS13, tls.VersionTLS13, true},
		"1.2 where 1.3 is required": {recent, tls.VersionTLS12, tls.VersionTLS12, false},
		"1.3 where it is required":  {recent, tls.VersionTLS13, tls.VersionTLS13, true},
	} {
		raw, err := tt.s.ln.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		err = tls.Client(raw, &tls.Config{InsecureSkipVerify: true, MinVersion: tt.from, MaxVersion: tt.max}).Handshake()
		if (err == nil) != tt.ok {
			t.Errorf("TLS %s: %v", name, err)
		}
		_ = raw.Close()
	}
	for name, say := range map[string]string{"plain HTTP": "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "garbage": "\x16\x03\x01\xff\xffgarbage", "zeros": strings.Repeat("\x00", 100)} {
		raw, err := old.ln.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(raw, say) }()
		text, _ := io.ReadAll(raw)
		if got := strings.HasPrefix(string(text), "HTTP/1.0 400 "); got != (name == "plain HTTP") {
			t.Errorf("%s gets %q", name, text)
		}
	}
}
