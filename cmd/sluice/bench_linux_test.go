package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/internal/app/gateway/gatewaytest"
)

// The benchmarks of the whole program. The gateway is a process of its own, so that
// its CPU time and its memory are distinguished from those of the model and the client here.
// docs/performance.md says what the figures mean.

// clockTick is the unit of the times in /proc/PID/stat (USER_HZ, 100 on Linux).
const clockTick = 10 * time.Millisecond

// benched is a gateway under measurement.
type benched struct {
	base string
	pid  int
	http *http.Client
	head http.Header // of each request besides its type; nil: nothing
}

// bench starts a gateway whose model is answered by h.
func bench(b *testing.B, h http.Handler, env ...string) *benched {
	b.Helper()
	model := httptest.NewServer(h)
	b.Cleanup(model.Close)
	return benchAgainst(b, model, env...)
}

// overHTTP2 is bench with a model that speaks HTTP/2 over TLS, as the real one does.
func overHTTP2(b *testing.B, h http.Handler, env ...string) *benched {
	b.Helper()
	model := httptest.NewUnstartedServer(h)
	model.EnableHTTP2 = true
	model.StartTLS()
	b.Cleanup(model.Close)
	roots := filepath.Join(b.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: model.Certificate().Raw}), 0o600); err != nil {
		b.Fatal(err)
	}
	return benchAgainst(b, model, append(env, "SSL_CERT_FILE="+roots)...)
}

func benchAgainst(b testing.TB, model *httptest.Server, env ...string) *benched {
	b.Helper()
	path, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), path)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), gatewaytest.ChildVariable+"=sluice", "SLUICE_ADDR=127.0.0.1:0", "SLUICE_TODO_DB=:memory:",
		"GEMINI_BASE_URL="+model.URL, "GEMINI_API_KEY=bench", "SLUICE_REQUEST_TIMEOUT=10m", "SLUICE_MODEL_TIMEOUT=10m")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	log := bufio.NewReader(out)
	addr := awaitAddress(b, log)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, log)
	}()
	tr := &http.Transport{MaxIdleConnsPerHost: 2000, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	b.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-drained
		_ = cmd.Wait()
	})
	return &benched{base: "http://" + addr, pid: cmd.Process.Pid, http: &http.Client{Transport: tr}}
}

func awaitAddress(b testing.TB, log *bufio.Reader) string {
	b.Helper()
	for {
		line, err := log.ReadBytes('\n')
		if err != nil {
			b.Fatal("the gateway did not start: ", err)
		}
		var entry struct {
			Event   string
			Details struct{ Addr string }
		}
		if json.Unmarshal(line, &entry) == nil && entry.Event == "listening" {
			return entry.Details.Addr
		}
	}
}

// post asks for a turn.
func (g *benched) post(body string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, g.base+"/chat/stream", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if g.head != nil {
		req.Header = g.head.Clone()
	}
	req.Header.Set("Content-Type", "application/json")
	return g.http.Do(req)
}

// turn runs a turn and returns how many bytes it had on the wire.
func (g *benched) turn(b testing.TB, body string) int64 {
	b.Helper()
	resp, err := g.post(body)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	var tail lastBytesOf
	n, err := io.Copy(&tail, resp.Body)
	if err != nil || !bytes.Contains(tail.kept, []byte(`"success":true`)) {
		b.Fatalf("a turn that is no success: %v, it ends in %q", err, tail.kept)
	}
	return n
}

// lastBytesOf keeps the end of what is written to it.
type lastBytesOf struct{ kept []byte }

func (l *lastBytesOf) Write(p []byte) (int, error) {
	const enough = 16 << 10
	l.kept = append(l.kept, p[max(0, len(p)-enough):]...)
	l.kept = l.kept[max(0, len(l.kept)-enough):]
	return len(p), nil
}

// cpu returns the CPU time that the gateway has used.
func (g *benched) cpu(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // behind the name, which may hold anything
	fields := strings.Fields(string(rest))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * clockTick
}

// rss returns the resident memory of the gateway in bytes.
func (g *benched) rss(b *testing.B) float64 {
	b.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.pid))
	if err != nil {
		b.Fatal(err)
	}
	pages, _ := strconv.Atoi(strings.Fields(string(statm))[1])
	return float64(pages * os.Getpagesize())
}

// measure repeats a turn and reports the gateway's CPU time, for each of the units
// that a turn has.
func (g *benched) measure(b *testing.B, unit string, units int, body string) {
	b.Helper()
	g.turn(b, body) // connections, pools, compiled schemas
	before := g.cpu(b)
	var wire int64
	for b.Loop() {
		wire += g.turn(b, body)
	}
	per := float64(b.N * units)
	b.ReportMetric(float64(g.cpu(b)-before)/1e3/per, "server-µs/"+unit)
	b.ReportMetric(float64(wire)/per, "wire-B/"+unit)
}

const quiet = `{"input":"Add a todo to review the report","accumulated":false}`

// textChunk is what Gemini 3 sends, byte for byte but for the text of 24 characters.
const textChunk = `data: {"candidates": [{"content": {"parts": [{"text": "the next few words go on "}],"role": "model"},"index": 0}],` +
	`"usageMetadata": {"promptTokenCount": 161,"candidatesTokenCount": 32,"totalTokenCount": 238,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 161}],"thoughtsTokenCount": 45},` +
	`"modelVersion": "gemini-3-flash-preview","responseId": "aiS5abqwJJf7nsEPuIy3wQQ"}` + "\r\n\r\n"

const stopChunk = `data: {"candidates": [{"content": {"parts": [{"text": "."}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 161,"candidatesTokenCount": 33}}` + "\r\n\r\n"

// callChunk asks for a tool of the built-in todo server. The limit makes each step's
// call another one: equal calls are refused.
const callChunk = `data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "list_todos","args": {"limit": %d},"id": "call%d"},"thoughtSignature": "RXVrQg=="}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 161}}` + "\r\n\r\n"

// talker is a model that calls a tool in each of the first steps of a turn, and then
// answers in so many chunks.
func talker(steps, chunks int) http.HandlerFunc {
	answer := []byte(strings.Repeat(textChunk, chunks) + stopChunk)
	return func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if step := bytes.Count(request, []byte(`"functionResponse"`)); step < steps {
			fmt.Fprintf(w, callChunk, step+1, step)
			return
		}
		_, _ = w.Write(answer)
	}
}

// BenchmarkTurn is a turn of 40 chunks and one tool call over loopback, one after
// the other, with both drivers.
func BenchmarkTurn(b *testing.B) {
	for _, driver := range []string{"rest", "sdk"} {
		b.Run("driver="+driver, func(b *testing.B) {
			bench(b, talker(1, 40), "GEMINI_DRIVER="+driver).measure(b, "turn", 1, quiet)
		})
	}
}

// BenchmarkGrowth: the CPU time of a chunk stays the same however long the answer
// is. With accumulated, each event repeats the text before it, so that the bytes on
// the wire, and the time to write them, grow with the square of the length.
func BenchmarkGrowth(b *testing.B) {
	for _, accumulated := range []bool{false, true} {
		for _, chunks := range []int{100, 1000, 10_000} {
			b.Run(fmt.Sprintf("accumulated=%t/chunks=%d", accumulated, chunks), func(b *testing.B) {
				g := bench(b, talker(0, chunks))
				g.measure(b, "chunk", chunks, fmt.Sprintf(`{"input":"go on","accumulated":%t}`, accumulated))
			})
		}
	}
}

// BenchmarkSteps: a step costs the same however many came before it, but for the
// conversation so far, which the API wants with each call.
func BenchmarkSteps(b *testing.B) {
	for _, steps := range []int{1, 7, 49} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			bench(b, talker(steps, 1), "SLUICE_MAX_STEPS=64").measure(b, "step", steps+1, quiet)
		})
	}
}

// BenchmarkRefusal is a request that a full gateway refuses, over connections that
// are kept. Many clients ask at once, as under overload: a server that falls asleep
// after each request is woken for each, which costs as much again.
func BenchmarkRefusal(b *testing.B) {
	hold := make(chan struct{})
	g := bench(b, thinker(hold), "SLUICE_MAX_STREAMS=1")
	g.open(b, 1)
	refused := func() {
		resp, err := g.http.Get(g.base + "/chat/stream?input=hi")
		if err != nil {
			b.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Close {
			b.Errorf("status %d, connection closed: %t", resp.StatusCode, resp.Close)
		}
	}
	for range 100 {
		refused() // pools, and more than are logged one by one
	}
	before := g.cpu(b)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			refused()
		}
	})
	b.ReportMetric(float64(g.cpu(b)-before)/1e3/float64(b.N), "server-µs/refusal")
	close(hold)
}

// BenchmarkIdleStreams opens streams whose model has said a word and thinks on, and
// reports what one costs the gateway in resident memory, buffers of both sides
// included. Over HTTP/2 many share a connection to the model.
func BenchmarkIdleStreams(b *testing.B) {
	const streams = 1000
	for upstream, begin := range map[string]func(*testing.B, http.Handler, ...string) *benched{"http1": bench, "http2": overHTTP2} {
		b.Run("upstream="+upstream, func(b *testing.B) {
			for b.Loop() {
				hold := make(chan struct{})
				g := begin(b, thinker(hold), "SLUICE_ADMISSION=count")
				empty := g.rss(b)
				g.open(b, streams)
				b.ReportMetric((g.rss(b)-empty)/streams/1024, "RSS-KB/stream")
				close(hold)
			}
		})
	}
}

// thinker is a model that says a word and continues when hold is closed.
func thinker(hold <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, textChunk)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-hold:
			_, _ = io.WriteString(w, stopChunk)
		case <-r.Context().Done():
		}
	}
}

// open opens n streams, some at a time, and returns when each has its first text. What comes
// behind it can be read from rest.
func (g *benched) open(b *testing.B, n int) (rest []io.Reader) {
	b.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, 32)
	rest = make([]io.Reader, n)
	for i := range rest {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			resp, err := g.post(quiet)
			if err != nil {
				b.Error(err)
				return
			}
			b.Cleanup(func() { _ = resp.Body.Close() })
			rest[i] = resp.Body
			for text := bufio.NewScanner(resp.Body); text.Scan(); {
				if text.Text() == "event: response_delta" {
					return
				}
			}
			b.Error("a stream without text")
		})
	}
	wg.Wait()
	return rest
}
