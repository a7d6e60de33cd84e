//go:build unix

package protocols

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// Run with
//
//	go test ./e2e/protocols -run '^$' -bench .

// deltas is how many an answer has.
const deltas = 2000

// said is the text of each delta: some words, as services send them.
const said = ` and some more words of it,\n`

// wire is how a protocol says the deltas of an answer, framed as the recordings are.
type wire struct{ begin, delta, end string }

func data(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("data: " + line + "\n\n")
	}
	return b.String()
}

// named frames events as Responses and Messages do: the type twice.
func named(typ, line string) string { return "event: " + typ + "\ndata: " + line + "\n\n" }

func wires() map[string]wire {
	const (
		geminiHead = `{"candidates": [{"content": {"parts": [{"text": "` + said + `"}],"role": "model"},"index": 0`
		geminiTail = `}],"usageMetadata": {"promptTokenCount": 12,"candidatesTokenCount": 44,"totalTokenCount": 56,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 12}]},"modelVersion": "gemini-2.5-flash","responseId": "ZpSxaKHbLdOUxN8Pq8mO4AE"}`
		chatHead   = `{"id":"chatcmpl-CkMdZ0lXTBFLOCnQwKTJlBr7Xm7Ng","object":"chat.completion.chunk","created":1775700000,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_560af6e559","choices":[{"index":0,"delta":{`
		chatTail   = `,"usage":null,"obfuscation":"Zx0QbTz"}`
		responseID = `"item_id":"msg_05fd3d1b6c7f0f0f006908a1c5b2f881a3a1b9c9a7c3d0d3e4","output_index":0,"content_index":0,`
	)
	return map[string]wire{
		"gemini": {
			delta: "data: " + geminiHead + geminiTail + "\r\n\r\n",
			end:   "data: " + geminiHead + `,"finishReason": "STOP"` + geminiTail + "\r\n\r\n",
		},
		"chat": {
			delta: data(chatHead + `"content":"` + said + `"},"logprobs":null,"finish_reason":null}]` + chatTail),
			end:   data(chatHead+`},"logprobs":null,"finish_reason":"stop"}]`+chatTail, "[DONE]"),
		},
		"responses": {
			delta: named("response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":9,`+responseID+`"delta":"`+said+`","logprobs":[],"obfuscation":"l2nVqZ8y"}`),
			end:   named("response.completed", `{"type":"response.completed","sequence_number":99,"response":{"status":"completed","model":"gpt-5","usage":{"input_tokens":9,"output_tokens":9,"total_tokens":18}}}`),
		},
		"messages": {
			begin: named("message_start", `{"type":"message_start","message":{"model":"claude-sonnet-4-5","usage":{"input_tokens":9,"output_tokens":1}}}`) +
				named("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
			delta: named("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+said+`"}           }`),
			end: named("content_block_stop", `{"type":"content_block_stop","index":0}`) +
				named("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":44}}`) +
				named("message_stop", `{"type":"message_stop"}`),
		},
	}
}

// canned answers each request with the same body, without a network.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(strings.NewReader(string(c))),
	}, nil
}

// answering returns the model of p, whose every answer is the same deltas, and a function
// that reads one.
func answering(tb testing.TB, p provider) func() {
	w := wires()[p.spec.Key]
	p.spec.Endpoint = "http://127.0.0.1"
	m, err := connectOver(p.spec, canned(w.begin+strings.Repeat(w.delta, deltas)+w.end))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(m.Close)
	req := &chat.ModelRequest{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hello"}}}}}
	return func() {
		n := 0
		err := m.Stream(context.Background(), req, func(c *chat.Chunk) error { n += len(c.Parts); return nil })
		if err != nil || n < deltas {
			tb.Fatalf("%s: %d parts, %v", p.spec.Key, n, cause(err))
		}
	}
}

// BenchmarkDelta is all that happens to a delta between the socket and the agent. Each
// protocol is measured in turns with Gemini's, so that x-gemini, the ratio of CPU times,
// holds on a busy machine, too.
func BenchmarkDelta(b *testing.B) {
	reference := answering(b, protocols()[0])
	for _, p := range protocols() {
		b.Run(p.spec.Key, func(b *testing.B) {
			read := answering(b, p)
			var own, other, before, after time.Duration
			var allocated uint64
			var mem runtime.MemStats
			for b.Loop() {
				before = cpuTime(b)
				reference()
				after = cpuTime(b)
				other += after - before
				runtime.ReadMemStats(&mem)
				mallocs := mem.Mallocs
				before = cpuTime(b)
				read()
				own += cpuTime(b) - before
				runtime.ReadMemStats(&mem)
				allocated += mem.Mallocs - mallocs
			}
			total := float64(b.N) * deltas
			b.ReportMetric(float64(own)/total, "cpu-ns/delta")
			b.ReportMetric(float64(own)/float64(other), "x-gemini")
			b.ReportMetric(float64(allocated)/total, "allocs/delta")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A delta costs the allocation of its text, whichever protocol it came in.
func TestAllocationsOfADelta(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget on purpose under the race detector")
	}
	for _, p := range protocols() {
		read := answering(t, p)
		if n := testing.AllocsPerRun(5, read) / deltas; n > 1.1 {
			t.Errorf("%s: %.2f allocations a delta", p.spec.Key, n)
		}
	}
}

// idleStreams is how many are open at once.
const idleStreams = 300

// BenchmarkIdleStream is the memory of a stream that has said something and waits, on
// connections of its own. What server and sockets take is measured as well, with a client
// that does nothing, and taken off.
func BenchmarkIdleStream(b *testing.B) {
	for _, p := range protocols() {
		b.Run(p.spec.Key, func(b *testing.B) {
			var own, other, floor float64
			reference := protocols()[0]
			idleOf(b, reference) // the first ones find less memory that can be used again
			for b.Loop() {
				floor += idle(b, wires()[p.spec.Key], readBytes)
				idleOf(b, reference)
				other += idleOf(b, reference)
				own += idleOf(b, p)
				own += idleOf(b, p)
				other += idleOf(b, reference) // in this order, as each finds memory of the one before
				floor += idle(b, wires()[p.spec.Key], readBytes)
			}
			n := 2 * float64(b.N)
			b.ReportMetric((own-floor)/n, "B/stream")
			b.ReportMetric((own-floor)/(other-floor), "x-gemini")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// idleOf returns the memory of a stream of p, with its server and its sockets.
func idleOf(b *testing.B, p provider) float64 {
	var m *model.Model
	var once sync.Once
	each := idle(b, wires()[p.spec.Key], func(ctx context.Context, url string, said func()) error {
		once.Do(func() {
			var err error
			if m, err = connect(p.spec, url); err != nil {
				b.Error(err)
			}
		})
		req := &chat.ModelRequest{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "hello"}}}}}
		return m.Stream(ctx, req, func(c *chat.Chunk) error {
			if len(c.Parts) > 0 {
				said()
			}
			return nil
		})
	})
	m.Close()
	return each
}

// readBytes is a client that reads what comes and keeps nothing.
func readBytes(ctx context.Context, url string, said func()) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var one [1]byte
	if _, err = conn.Read(one[:]); err == nil {
		said()
	}
	for err == nil {
		_, err = conn.Read(one[:])
	}
	return nil
}

// idle returns the memory of a stream, while all of them have said something and wait for
// a server that has sent the beginning of an answer. A stream says so once.
func idle(b *testing.B, w wire, open func(ctx context.Context, url string, said func()) error) float64 {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	var said, served, streams sync.WaitGroup
	said.Add(idleStreams)
	release := make(chan struct{})
	served.Go(func() {
		for range idleStreams {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			served.Go(func() { beginAnswer(conn, w, release) })
		}
	})
	before := memory()
	ctx, cancel := context.WithCancel(context.Background())
	for range idleStreams {
		streams.Go(func() { _ = open(ctx, "http://"+ln.Addr().String(), said.Done) }) // ends with ctx
	}
	said.Wait()
	time.Sleep(50 * time.Millisecond) // they go back to waiting
	each := float64(memory()-before) / idleStreams
	cancel()
	close(release)
	streams.Wait()
	served.Wait()
	return each
}

func beginAnswer(conn net.Conn, w wire, release <-chan struct{}) {
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReaderSize(conn, 16<<10))
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if err == nil {
		text := w.begin + w.delta
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(text), text)
	}
	<-release
}

// memory returns what heap and stacks take, in bytes.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
