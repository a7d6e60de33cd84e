package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachDriver runs test once for each driver, in parallel.
func eachDriver(t *testing.T, test func(t *testing.T, open func(*testing.T, Config) *Model)) {
	t.Parallel()
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(t *testing.T, cfg Config) *Model {
				t.Helper()
				return open(t, driver, cfg)
			})
		})
	}
}

// open makes a Model that does not wait between attempts.
func open(t *testing.T, driver func(Config) (*Model, error), cfg Config) *Model {
	t.Helper()
	if cfg.jitter == nil {
		cfg.jitter = func(time.Duration) time.Duration { return 0 }
	}
	m, err := driver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// upstream is a Gemini that does what was asked of it, and remembers what it was asked.
type upstream struct {
	URL     string
	conns   atomic.Int64   // opened so far
	closed  chan struct{}  // gets one for each that is closed
	running sync.WaitGroup // handlers

	mu   sync.Mutex // guards the fields below
	seen []received
}

type received struct {
	method, target string
	header         http.Header
	body           []byte
}

// handler answers the nth request with the nth of replies, or the last.
func (u *upstream) handler(replies []http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.running.Add(1)
		defer u.running.Done()
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		n := len(u.seen)
		u.seen = append(u.seen, received{r.Method, r.RequestURI, r.Header.Clone(), body})
		u.mu.Unlock()
		replies[min(n, len(replies)-1)](w, r)
	})
}

func (u *upstream) requests() []received {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen
}

// serve starts an upstream on a real socket.
func serve(t *testing.T, replies ...http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{closed: make(chan struct{}, 1000)}
	srv := httptest.NewUnstartedServer(u.handler(replies))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			u.conns.Add(1)
		case http.StateClosed:
			u.closed <- struct{}{}
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	u.URL = srv.URL
	return u
}

// bubble runs test for each driver in fake time. Its open starts an upstream in
// memory, and returns it with a Model that talks to it.
func bubble(t *testing.T, test func(t *testing.T, open func(Config, ...http.HandlerFunc) (*Model, *upstream))) {
	t.Parallel()
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				test(t, func(cfg Config, replies ...http.HandlerFunc) (*Model, *upstream) {
					u := new(upstream)
					l := testnet.Listen()
					srv := &http.Server{Handler: u.handler(replies)}
					served := make(chan struct{})
					go func() { defer close(served); srv.Serve(l) }()
					tr := model.NewTransport(nil)
					tr.DialContext = l.Dial
					cfg.Transport, cfg.BaseURL = tr, "http://upstream"
					t.Cleanup(func() { tr.CloseIdleConnections(); srv.Close(); <-served; u.running.Wait() })
					return open(t, driver, cfg), u
				})
			})
		})
	}
}

// canned answers every request alike, without a network.
type canned struct {
	status int
	body   string
	err    error // in place of the end of the body
	sent   string
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	c.sent = string(b)
	var body io.Reader = strings.NewReader(c.body)
	if c.err != nil {
		body = io.MultiReader(body, iotest.ErrReader(c.err))
	}
	return &http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, err
}

// httpOver returns the sender of a driver over a transport, with its codec.
func httpOver(tb testing.TB, transport http.RoundTripper) (*model.HTTP, *codec) {
	tb.Helper()
	c := newCodec(generation{})
	h, err := model.NewHTTP(model.Target{URL: "http://upstream", Transport: transport}, model.PolicyGemini, c)
	if err != nil {
		tb.Fatal(err)
	}
	return h, c
}

// Replies of an upstream.

// stream sends pieces one by one, each flushed, as text/event-stream.
func stream(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			io.WriteString(w, p)
			flush(w)
		}
	}
}

func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// then sends what first does and continues with next.
func then(first, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { first(w, r); next(w, r) }
}

// hang waits until the client is gone.
func hang(w http.ResponseWriter, r *http.Request) {
	flush(w)
	<-r.Context().Done()
}

// cut breaks the connection in the middle of the body.
func cut(w http.ResponseWriter, _ *http.Request) {
	flush(w)
	panic(http.ErrAbortHandler)
}

// reset closes the connection so that the client gets a RST.
func reset(w http.ResponseWriter, _ *http.Request) {
	flush(w)
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

func flush(w http.ResponseWriter) { http.NewResponseController(w).Flush() }

// Chunks on the wire.

func event(json string) string { return "data: " + json + "\r\n\r\n" }

func textChunk(s string) string {
	return event(`{"candidates":[{"content":{"parts":[{"text":` + string(model.AppendString(nil, s)) + `}],"role":"model"},"index":0}]}`)
}

func finishChunk(reason string) string {
	return event(`{"candidates":[{"content":{"role":"model"},"finishReason":"` + reason + `"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"thoughtsTokenCount":7}}`)
}

// finished are the chunks of a short answer.
func finished(text string) http.HandlerFunc { return stream(textChunk(text), finishChunk("STOP")) }

func googleError(code int, name, message string) string {
	return `{"error":{"code":` + strconv.Itoa(code) + `,"message":"` + message + `","status":"` + name + `"}}`
}

// collected is what a call handed on, added up.
type collected struct {
	Text, Thoughts string
	Calls          []tool.Call
	Signatures     []string
	Usage          chat.Usage
	Finish         chat.Finish
	chunks         int
	more           []bool
}

func (g *collected) add(c *chat.Chunk) {
	g.chunks++
	g.more = append(g.more, c.More)
	if c.Usage != nil {
		g.Usage = *c.Usage
	}
	g.Finish = c.Finish
	for _, p := range c.Parts {
		if p.Signature != "" {
			g.Signatures = append(g.Signatures, p.Signature)
		}
		switch {
		case p.Call != nil:
			g.Calls = append(g.Calls, *p.Call)
		case p.Thought:
			g.Thoughts += p.Text
		default:
			g.Text += p.Text
		}
	}
}

// ask makes a call and adds up what it reports.
func ask(ctx context.Context, m *Model) (*collected, error) {
	g := new(collected)
	req := &chat.ModelRequest{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hello"}}}}, Step: 1}
	err := m.Stream(ctx, req, func(c *chat.Chunk) error { g.add(c); return nil })
	return g, err
}

// wantFault checks err's place in the contract and returns it.
func wantFault(t *testing.T, err error, want fault.Type) *fault.Error {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a fault of type %s", err, want)
	}
	if e.Type != want {
		t.Errorf("error = %v, want type %s", err, want)
	}
	if e.Service != service {
		t.Errorf("service = %q", e.Service)
	}
	return e
}

// ignoreCounts leaves out of a comparison how often something was reported.
var ignoreCounts = cmpopts.IgnoreUnexported(collected{})

// quiet swallows what net/http has to say.
var quiet = log.New(io.Discard, "", 0)

func newCancel(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

// syncBuffer is a log that goroutines may write to.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
