package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"sluice/breaker"
	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/process"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/testnet"
)

// wire is one request that a fake upstream got, and the connection to misbehave on.
type wire struct {
	net.Conn
	req  *http.Request
	body []byte
	seen <-chan struct{} // closed when the client has got a response_delta
}

// act is one thing that a fake does. After an error it closes the connection.
type act func(*wire) error

var errHangUp = errors.New("the fake hangs up")

func say(text string) act {
	return func(w *wire) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// head sends a status line and headers ("Name: value").
func head(status int, headers ...string) act {
	text := fmt.Sprintf("HTTP/1.1 %d Whatever\r\n", status)
	for _, h := range headers {
		text += h + "\r\n"
	}
	return say(text + "\r\n")
}

// piece sends a piece of a chunked body; endOfBody is the last one.
func piece(text string) act { return say(fmt.Sprintf("%x\r\n%s\r\n", len(text), text)) }

func endOfBody(w *wire) error { return say("0\r\n\r\n")(w) }

// whole sends a whole reply.
func whole(status int, body string, headers ...string) act {
	headers = append(headers, fmt.Sprintf("Content-Length: %d", len(body)))
	return func(w *wire) error { return errors.Join(head(status, headers...)(w), say(body)(w)) }
}

// flood sends unit again and again, n bytes in all, as long as somebody reads them.
func flood(unit string, n int) act {
	block := strings.Repeat(unit, max(1, 32<<10/len(unit)))
	return func(w *wire) error {
		for sent := 0; sent < n; sent += len(block) {
			if err := say(block)(w); err != nil {
				return err
			}
		}
		return errHangUp
	}
}

func pause(d time.Duration) act {
	return func(*wire) error { time.Sleep(d); return nil } // in fake time
}

func hangUp(*wire) error { return errHangUp }

// reset makes the close a TCP reset.
func reset(w *wire) error {
	return errors.Join(w.Conn.(counted).Conn.(*net.TCPConn).SetLinger(0), errHangUp)
}

// hang does nothing more until the other side leaves.
func hang(w *wire) error {
	_, _ = io.Copy(io.Discard, w.Conn)
	return errHangUp
}

// whenSeen waits until the client has got a piece of the answer.
func whenSeen(w *wire) error {
	<-w.seen
	return nil
}

// rawServer is an upstream that says what it wants to, byte by byte.
type rawServer struct {
	answer func(n int, w *wire) []act // to request n, counted from 0
	seen   chan struct{}
	wg     sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	conns    map[net.Conn]bool
	requests []*wire
	sent     int          // bytes that were taken off our hands; over a socket, by the kernel
	writing  sync.RWMutex // held by writes under way
}

func newRawServer(t *testing.T, answer func(n int, w *wire) []act) *rawServer {
	s := &rawServer{answer: answer, seen: make(chan struct{}), conns: map[net.Conn]bool{}}
	t.Cleanup(func() {
		s.mu.Lock()
		for c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

// dial connects in memory, for fake time: what it returns is read as it is written.
func (s *rawServer) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	s.wg.Go(func() { s.serve(server) })
	return client, nil
}

// listen serves on a loopback socket and returns its base URL.
func (s *rawServer) listen(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	s.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(c) })
		}
	})
	return "http://" + ln.Addr().String()
}

// counted counts what the other side takes.
type counted struct {
	net.Conn
	s *rawServer
}

func (c counted) Write(p []byte) (int, error) {
	c.s.writing.RLock()
	defer c.s.writing.RUnlock()
	n, err := c.Conn.Write(p)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.sent += n
	return n, err
}

func (s *rawServer) serve(c net.Conn) {
	s.mu.Lock()
	s.conns[c] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		_ = c.Close()
	}()
	for br := bufio.NewReader(c); ; {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		w := &wire{Conn: counted{c, s}, req: req, seen: s.seen}
		if w.body, err = io.ReadAll(req.Body); err != nil || s.play(w) != nil {
			return
		}
	}
}

func (s *rawServer) play(w *wire) error {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, w)
	s.mu.Unlock()
	for _, act := range s.answer(n, w) {
		if err := act(w); err != nil {
			return err
		}
	}
	return nil
}

func (s *rawServer) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// consumed returns sent. A write that is cut when its reader leaves counts for what was read of
// it, so its end is waited for.
func (s *rawServer) consumed() int {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// faulty is a gateway in front of upstreams that misbehave.
type faulty struct {
	*gateway.Gateway
	t      *testing.T
	client http.Client
	log    *gatewaytest.LogTail
	loose  bool   // time is real, so figures of retry_after_ms are not compared
	seen   func() // called when a response_delta has come
	memory uint64 // bounds what a turn allocates, the test's own reading included; 0: no bound
}

// startFaulty starts a gateway in this process. env are NAME=value lines.
func startFaulty(t *testing.T, env string, with gateway.Seams) *faulty {
	t.Helper()
	cfg := faultyConfig(t, env)
	f := &faulty{t: t, log: new(gatewaytest.LogTail), seen: func() {}}
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, Version: "test"}, process.NewLogger(f.log, config.Of[settings.Logging](&cfg).Level), with)
	if err != nil {
		t.Fatal(err)
	}
	f.Gateway = g
	t.Cleanup(g.Close)
	tr := testnet.Serve(t, g)
	tr.MaxIdleConnsPerHost = -1 // so that nothing is left when a client leaves
	f.client.Transport = tr
	return f
}

func faultyConfig(t *testing.T, env string) config.Config {
	cfg, _ := wholetest.Transcript{Archive: &txtar.Archive{Files: []txtar.File{{Name: "config", Data: []byte(env)}}}}.Config(t)
	return cfg
}

// maxJudged is the largest reply that judge is given: its patterns take a second
// for each MiB under the race detector.
const maxJudged = 256 << 10

// turn runs a turn, which must take no longer than within. The reply must keep the
// rules of the contract, whatever the upstreams do.
func (f *faulty) turn(text string, within time.Duration) wholetest.WireReply {
	f.t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	resp, err := f.client.Do(f.request(f.t.Context(), text))
	if err != nil {
		f.t.Error(err)
		return wholetest.WireReply{}
	}
	resp.Body = &watched{ReadCloser: resp.Body, seen: f.seen}
	r := wholetest.ReadReply(f.t, resp)
	if elapsed := time.Since(began); elapsed > within {
		f.t.Errorf("the turn took %v, want at most %v", elapsed, within)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > f.memory && f.memory > 0 {
		f.t.Errorf("%d KiB were allocated, want at most %d KiB", n>>10, f.memory>>10)
	}
	if len(r.Body) > maxJudged {
		return r
	}
	for _, fault := range wholetest.Judge(r) {
		f.t.Errorf("the reply breaks the contract: %s", fault)
	}
	return r
}

func (f *faulty) request(ctx context.Context, text string) *http.Request {
	body, _ := json.Marshal(map[string]any{"input": text, "accumulated": false})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway/chat/stream", bytes.NewReader(body))
	if err != nil {
		panic(err) // nothing in it comes from outside
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-ID", wholetest.RequestID)
	return req
}

// watched looks for an event in what is read.
type watched struct {
	io.ReadCloser
	text []byte
	seen func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if len(w.text) < 64<<10 {
		w.text = append(w.text, p[:n]...)
		if bytes.Contains(w.text, []byte("event: response_delta\n")) {
			w.seen()
		}
	}
	return n, err
}

// wantTurn runs a turn and compares its events.
func (f *faulty) wantTurn(want string, within time.Duration) wholetest.WireReply {
	f.t.Helper()
	r := f.turn("hello", within)
	got := eventTrace(r)
	if f.loose {
		got = retryFigure.ReplaceAllString(got, ",retry")
	}
	if got != want {
		f.t.Errorf("events:\n got %s\nwant %s", got, want)
	}
	return r
}

var retryFigure = regexp.MustCompile(`,retry \d+s`)

// wantBreaker compares a breaker's state and its consecutive failures: "open 3".
func (f *faulty) wantBreaker(b *breaker.Breaker, want string) {
	f.t.Helper()
	s := b.Snapshot()
	if got := fmt.Sprintf("%s %d", s.State, s.FailureCount); got != want {
		f.t.Errorf("breaker %s is %s, want %s", s.Service, got, want)
	}
}

// settle waits until every turn is over on the gateway's side too, and judges the log.
func (f *faulty) settle(private ...string) {
	f.t.Helper()
	for {
		_, more := f.log.Since(0)
		if len(f.log.All("request_received")) == len(f.log.All("request_completed")) {
			break
		}
		gatewaytest.Within(f.t, "the end of all turns", more)
	}
	for _, fault := range wholetest.JudgeLog([]byte(f.log.String()), append(private, wholetest.Key, "UPSTREAM", "SECRET")) {
		f.t.Errorf("the log breaks the contract: %s", fault)
	}
}

// eventTrace returns the events of a stream in short: deltas in a row are one, and
// a retry_after_ms is rounded up to seconds.
func eventTrace(r wholetest.WireReply) string {
	var list []string
	var text strings.Builder
	flush := func() {
		switch n := text.Len(); {
		case n > 60:
			list = append(list, fmt.Sprintf("delta(%d bytes)", n))
		case n > 0:
			list = append(list, "delta("+text.String()+")")
		}
		text.Reset()
	}
	events, _ := wholetest.ReadByAnother(r.Body) // Judge reports errors
	for _, ev := range events {
		var e wholetest.WireEvent
		_ = json.Unmarshal([]byte(ev.Data), &e) // as above
		if ev.Type != "response_delta" {
			flush()
			list = append(list, brief(e, ev.Type))
		}
		text.WriteString(e.Delta)
	}
	flush()
	return strings.Join(list, " ")
}

// brief is an event in a word or two.
func brief(e wholetest.WireEvent, kind string) string {
	switch kind {
	case "thinking":
		return "thinking(" + e.Content + ")"
	case "tool_call":
		return "tool(" + e.Tool + "," + e.Status + ")"
	case "error":
		s := "error(" + e.ErrorType
		if e.Fatal {
			s += ",fatal"
		}
		if e.Recoverable {
			s += ",recoverable"
		}
		if e.RetryAfter > 0 {
			s += fmt.Sprintf(",retry %ds", (e.RetryAfter+999)/1000)
		}
		return s + ")"
	case "done":
		return "done(" + e.Finish + ")"
	}
	return kind
}
