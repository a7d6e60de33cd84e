//go:build unix

package quality_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
)

// timesheetModel calls a tool and then says what it said in forty chunks, 1 KB together. To a
// planner and a judge it says what they are asked for.
func timesheetModel(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var out strings.Builder
	chunk := func(part, finish string) {
		fmt.Fprintf(&out, `data: {"candidates":[{"content":{"role":"model","parts":[%s]}%s}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5},"modelVersion":"m"}`+"\r\n\r\n", part, finish)
	}
	const stop = `,"finishReason":"STOP"`
	switch {
	case bytes.Contains(body, []byte("You plan how")):
		chunk(`{"text":"{\"criteria\":[{\"id\":\"says_hours\",\"description\":\"The answer says the hours.\",\"expected\":\"32\"}],\"steps\":[{\"agent\":\"assistant\",\"action\":\"answer\"}]}"}`, stop)
	case bytes.Contains(body, []byte("You check an answer")):
		chunk(`{"text":"{\"verdicts\":[{\"id\":\"says_hours\",\"passed\":true,\"feedback\":\"\"}]}"}`, stop)
	case !bytes.Contains(body, []byte("functionResponse")):
		chunk(`{"functionCall":{"id":"c","name":"get_timesheet","args":{}}}`, stop)
	default:
		for range 39 {
			chunk(`{"text":"You have logged 32 hours. "}`, "")
		}
		chunk(`{"text":"The end."}`, stop)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, out.String())
}

// atLoopback serves a handler on a port of its own and returns its address.
func atLoopback(b *testing.B, h http.Handler) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(ln) }()
	b.Cleanup(func() { _ = srv.Close() })
	return "http://" + ln.Addr().String()
}

// times is when a turn showed its first text, and when it was over.
type times struct{ first, total time.Duration }

// timesheetTurns starts a gateway between a client, a model and an MCP server, each over
// loopback, and returns what runs a turn.
func timesheetTurns(b *testing.B, model, tools, yaml, body string) func() times {
	b.Helper()
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(map[string]string{
		"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": model, "SLUICE_ADMISSION": "count", "SLUICE_CONFIG": "sluice.yaml",
	}), func(string) ([]byte, error) {
		return []byte("mcpServers: {hours: {type: http, url: \"" + tools + "/mcp\"}}\n" + yaml), nil
	})
	if err != nil {
		b.Fatal(err)
	}
	g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), gateway.Seams{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	at := atLoopback(b, g)
	client := http.Client{}
	b.Cleanup(client.CloseIdleConnections)
	return func() (t times) {
		began := time.Now()
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, at+"/chat/stream", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		var all []byte
		for buf := make([]byte, 16<<10); err == nil; {
			var n int
			n, err = resp.Body.Read(buf)
			all = append(all, buf[:n]...)
			if t.first == 0 && bytes.Contains(all, []byte("event: response_delta")) {
				t.first = time.Since(began)
			}
		}
		t.total = time.Since(began)
		if err != io.EOF || !bytes.Contains(all, []byte(`"finish_reason":"stop"`)) || !bytes.Contains(all, []byte("logged 32")) || bytes.Contains(all, []byte(`"passed":false`)) {
			b.Fatalf("%v: %s", err, all)
		}
		return t
	}
}

// BenchmarkTurnWithQuality is a turn with a tool, client, model and MCP server over
// loopback, in turns with a plain one of which its CPU time is a multiple: x-plain. Where the
// text is held, first-after-plain-ms is how long after the end of a plain turn the first
// text is out (medians). docs/performance.md says what they may be.
func BenchmarkTurnWithQuality(b *testing.B) {
	const criteria = `[{id: numbers, description: Every number comes from a tool., check: numbers_backed}, {id: facts, description: The hours are told., check: required_facts, args: {facts: [{tool: get_timesheet, pointer: /hours_logged}]}}]`
	hours := server.NewMCPServer("hours", "1", server.WithToolCapabilities(true))
	hours.AddTool(mcp.NewTool("get_timesheet"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(`{"hours_logged":32,"hours_target":40}`), nil
	})
	tools := atLoopback(b, server.NewStreamableHTTPServer(hours))
	model := atLoopback(b, http.HandlerFunc(timesheetModel))
	const web, sms = `{"input":"Check my timesheet","accumulated":false}`, `{"input":"Check my timesheet","accumulated":false,"channel":"sms"}`
	for _, tt := range []struct{ name, yaml, body string }{
		{"web-style", "style: {version: \"1\", personality: friendly, texts: {en: {greeting_text: \"Hello!\"}}}", web},
		{"sms-code", "quality: {mode: enforce, plan: none, criteria: " + criteria + "}", sms},
		{"enforce-planner-judge", "quality: {mode: enforce, criteria: " + criteria + "}", web},
	} {
		b.Run(tt.name, func(b *testing.B) {
			plain, own := timesheetTurns(b, model, tools, "", web), timesheetTurns(b, model, tools, tt.yaml, tt.body)
			var plains, firsts []time.Duration
			plain()
			own()
			wholetest.Alternate(b, func() { plains = append(plains, plain().total) }, func() { firsts = append(firsts, own().first) })
			slices.Sort(plains)
			slices.Sort(firsts)
			b.ReportMetric(float64(firsts[len(firsts)/2]-plains[len(plains)/2])/1e6, "first-after-plain-ms")
		})
	}
}

// stalling says 2 KB in eighty chunks and then nothing until it is left.
type stalling struct{ said chan<- struct{} }

func (s stalling) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	text := strings.Repeat(`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"twenty-five characters .."}]}}]}`+"\r\n\r\n", 80)
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: &stalled{text: strings.NewReader(text), ctx: r.Context(), said: s.said},
	}, nil
}

// stalled is the body of such an answer.
type stalled struct {
	text *strings.Reader
	ctx  context.Context
	said chan<- struct{}
	once sync.Once
}

func (s *stalled) Read(p []byte) (int, error) {
	if s.text.Len() > 0 {
		return s.text.Read(p)
	}
	s.once.Do(func() { s.said <- struct{}{} }) // what was read has been shown, or is held
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (*stalled) Close() error { return nil }

// BenchmarkHeldStreams is what 5,000 streams take in memory that have said 2 KB each, where
// the text is out and where it is held, without their connections: plain-B/stream and
// held-B/stream. What they take with theirs docs/performance.md has (S3), and of that the
// difference may be a tenth.
func BenchmarkHeldStreams(b *testing.B) {
	const streams = 5000
	open := func(yaml string) uint64 {
		said, failed := make(chan struct{}, 2*streams), make(chan int, streams)
		var file settings.File
		cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(map[string]string{
			"GEMINI_API_KEY": "test-key-0123456789", "SLUICE_TODO_DB": ":memory:", "SLUICE_ADMISSION": "count", "SLUICE_CONFIG": "sluice.yaml", "SLUICE_MAX_STREAMS": "6000",
		}), func(string) ([]byte, error) { return []byte(yaml), nil })
		if err != nil {
			b.Fatal(err)
		}
		g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), gateway.Seams{Gemini: stalling{said}})
		if err != nil {
			b.Fatal(err)
		}
		defer g.Close()
		before := inUse()
		ctx, leave := context.WithCancel(b.Context())
		var ended sync.WaitGroup
		for range streams {
			ended.Go(func() {
				defer func() { // a stream that its client leaves ends so
					if v := recover(); v != nil && v != http.ErrAbortHandler {
						panic(v)
					}
				}()
				req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://gateway/chat/stream", strings.NewReader(`{"input":"hello","accumulated":false}`))
				req.Header.Set("Content-Type", "application/json")
				out := &discarding{header: http.Header{}}
				g.ServeHTTP(out, req)
				failed <- out.status // none ends before it is left
			})
		}
		for range streams {
			select {
			case <-said:
			case status := <-failed:
				b.Fatalf("a stream has ended with %d", status)
			case <-time.After(30 * time.Second):
				b.Fatal("the model was not asked")
			}
		}
		elapsed := inUse() - before
		leave()
		ended.Wait()
		return elapsed / streams
	}
	var plain, held uint64
	for b.Loop() {
		plain += open("quality: {mode: \"off\"}")
		held += open("quality: {mode: enforce, plan: none}")
	}
	b.ReportMetric(float64(plain)/float64(b.N), "plain-B/stream")
	b.ReportMetric(float64(held)/float64(b.N), "held-B/stream")
	b.ReportMetric((float64(held)-float64(plain))/float64(b.N), "more-B/stream")
	b.ReportMetric(float64(held)/float64(plain), "x-plain")
	b.ReportMetric(0, "ns/op")
}

// inUse is what heap and stacks hold after a collection.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// discarding is a ResponseWriter that keeps nothing.
type discarding struct {
	header http.Header
	status int
}

func (d *discarding) Header() http.Header { return d.header }

func (*discarding) Write(p []byte) (int, error) { return len(p), nil }

func (d *discarding) WriteHeader(status int) { d.status = status }

func (*discarding) Flush() {}

func (*discarding) SetWriteDeadline(time.Time) error { return nil }
