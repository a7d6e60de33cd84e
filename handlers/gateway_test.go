package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	gosse "github.com/tmaxmax/go-sse"

	"sluice/handlers"
	"sluice/internal/base/testnet"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// runner is a Runner that is a function. It sends a whole turn, of which the frame
// is taken off: the server adds its own.
type runner func(context.Context, chat.Request, stream.Sink) error

func (r runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	inner := &unframed{Sink: sink}
	err := r(ctx, *req, inner)
	return inner.result, err
}

// counting counts the runs.
type counting struct {
	stream.Runner
	runs *atomic.Int64
}

func (c counting) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	c.runs.Add(1)
	return c.Runner.Run(ctx, req, sink)
}

// unframed passes on what is between Start and Done.
type unframed struct {
	stream.Sink
	result stream.Result
}

func (u *unframed) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Start:
		return nil
	case *stream.Done:
		u.result = stream.Result{Reason: ev.Reason, Usage: ev.Usage, Model: ev.Model, Tools: ev.Tools}
		return nil
	}
	return u.Sink.Emit(ev)
}

// sends returns a runner that sends events, each with a flush of its own.
func sends(events ...stream.Event) runner {
	return func(_ context.Context, _ chat.Request, sink stream.Sink) error {
		for _, ev := range events {
			if err := sink.Emit(ev); err != nil {
				return err
			}
			if err := sink.Flush(); err != nil {
				return err
			}
		}
		return nil
	}
}

var hello = sends(&stream.Start{Model: "m"}, &stream.Delta{Text: "Hel"}, &stream.Delta{Text: "lo"}, &stream.Done{Reason: stream.Stop})

// begins returns a runner that sends its start and hands over to rest.
func begins(rest runner) runner {
	return func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		if err := sends(&stream.Start{Model: "m"})(ctx, req, sink); err != nil {
			return err
		}
		return rest(ctx, req, sink)
	}
}

// waits is a runner that runs until its context ends, and says why it did.
var waits = begins(func(ctx context.Context, _ chat.Request, _ stream.Sink) error {
	<-ctx.Done()
	return context.Cause(ctx)
})

// gateway is a Server behind net/http, with a client.
type gateway struct {
	*handlers.Server
	net    *http.Server
	client *http.Client
	url    string
	log    logBuffer
	runs   atomic.Int64 // how often the Runner was called
}

// prepare makes the Server. Without a Runner it says hello.
func (g *gateway) prepare(cfg handlers.Config) {
	inner := cfg.Runner
	if inner == nil {
		inner = hello
	}
	cfg.Runner = counting{inner, &g.runs}
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 24 * time.Hour
	}
	cfg.Dialects = withOwn(cfg.Dialects)
	cfg.Log = zerolog.New(&g.log)
	g.Server = handlers.NewServer(cfg)
}

// withOwn adds our own protocol if it is not there.
func withOwn(list []dialect.Dialect) []dialect.Dialect {
	for _, d := range list {
		if _, ok := d.(sluice.Dialect); ok {
			return list
		}
	}
	return append(list, sluice.Dialect{})
}

// serve serves over loopback, as everywhere where time plays no part.
func serve(t testing.TB, cfg handlers.Config) *gateway {
	g := &gateway{}
	g.prepare(cfg)
	srv := httptest.NewServer(g.Server)
	t.Cleanup(srv.Close)
	g.net, g.client, g.url = srv.Config, srv.Client(), srv.URL
	return g
}

// serveInBubble serves in memory, which a synctest bubble can wait for. stop ends
// client and server.
func serveInBubble(cfg handlers.Config) (g *gateway, l *testnet.Listener, stop func()) {
	g = &gateway{url: "http://gateway"}
	g.prepare(cfg)
	l = testnet.Listen()
	g.net = &http.Server{Handler: g.Server}
	go func() { _ = g.net.Serve(l) }()
	transport := &http.Transport{DialContext: l.Dial}
	g.client = &http.Client{Transport: transport}
	return g, l, func() {
		transport.CloseIdleConnections()
		_ = g.net.Close()
		time.Sleep(time.Second) // net/http lingers for half a second where it closes early
	}
}

// reply is a response that was read to its end.
type reply struct {
	status int
	header http.Header
	closes bool // the server closes the connection
	body   string
}

const jsonType = "Content-Type: application/json"

// send sends a request; headers are written as on the wire.
func (g *gateway) send(ctx context.Context, method, path string, body io.Reader, headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, g.url+path, body)
	if err != nil {
		return nil, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Add(name, value); name == "Host" {
			req.Host = value
		}
	}
	return g.client.Do(req)
}

func (g *gateway) do(t testing.TB, method, path, body string, headers ...string) reply {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	resp, err := g.send(t.Context(), method, path, r, headers...)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: reading the reply: %v", method, path, err)
	}
	return reply{resp.StatusCode, resp.Header, resp.Close, string(b)}
}

// chat asks the usual question.
func (g *gateway) chat(t testing.TB, headers ...string) reply {
	t.Helper()
	return g.do(t, "POST", "/chat/stream", `{"input":"hi"}`, append(headers, jsonType)...)
}

// event is a frame as a client sees it.
type event struct {
	id, kind string
	data     map[string]any
}

// judge reads a stream with a parser that is not ours and checks what holds for
// every stream: start first, one done, last, and ids without gaps.
func judge(t testing.TB, body string) []event {
	t.Helper()
	var events []event
	for ev, err := range gosse.Read(strings.NewReader(body), nil) {
		if err != nil {
			t.Fatalf("not an event stream: %v\n%s", err, body)
		}
		e := event{id: ev.LastEventID, kind: ev.Type}
		if err := json.Unmarshal([]byte(ev.Data), &e.data); err != nil {
			t.Fatalf("data of %s: %v", ev.LastEventID, err)
		}
		events = append(events, e)
	}
	n := len(events)
	if n == 0 || events[0].kind != "start" || events[n-1].kind != "done" || strings.Count(body, "\nevent: done\n") != 1 {
		t.Fatalf("not one start, first, and one done, last:\n%s", body)
	}
	for i, e := range events {
		rid, _ := e.data["request_id"].(string)
		if want := rid + ":" + itoa(i+1); rid == "" || e.id != want {
			t.Errorf("id of event %d is %q, want %q", i+1, e.id, want)
		}
	}
	return events
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// fatal checks that a stream ended by one fatal error of the given type.
func fatal(t testing.TB, body, errorType, reason string) {
	t.Helper()
	events := judge(t, body)
	var kinds []string
	for _, e := range events {
		if e.kind == "error" && e.data["fatal"] == true {
			kinds = append(kinds, e.data["error_type"].(string))
		}
	}
	done := events[len(events)-1].data
	if diff := cmp.Diff([]string{errorType}, kinds); diff != "" || done["finish_reason"] != reason || done["success"] != false {
		t.Errorf("fatal errors (-want +got):\n%s\nand done is %v, want reason %s", diff, done, reason)
	}
}

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// line is a log line.
type line struct {
	Level          string         `json:"level"`
	Event          string         `json:"message"`
	RequestID      string         `json:"request_id"`
	UserID         string         `json:"user_id"`
	ConversationID string         `json:"conversation_id"`
	DurationMS     float64        `json:"duration_ms"`
	Details        map[string]any `json:"details"`
}

func (l *logBuffer) lines(t testing.TB) (lines []line) {
	t.Helper()
	for s := range strings.Lines(l.String()) {
		var ln line
		if err := json.Unmarshal([]byte(s), &ln); err != nil {
			t.Fatalf("log line %q: %v", s, err)
		}
		lines = append(lines, ln)
	}
	return lines
}
