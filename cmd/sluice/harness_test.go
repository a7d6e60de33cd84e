package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/geminisim"
)

// patience bounds every wait for something that must come.
const patience = time.Minute

// running is the program at work, started as main starts it.
type running struct {
	t       *testing.T
	base    string // http://127.0.0.1:port
	log     *logTail
	stderr  *safeBuffer
	signals chan os.Signal
	ended   chan struct{} // closed when run has returned code
	code    int
	client  *http.Client
	cancel  context.CancelFunc // of the context that run was given
}

// start starts the gateway and waits until it listens. It is stopped with the
// test, and must then end well, unless the test stops it first.
func start(t *testing.T, env map[string]string, args ...string) *running {
	t.Helper()
	r := launch(t, env, new(logTail), args...)
	line := r.log.await(t, "listening", r.ended)
	r.base = "http://" + line.detail("addr")
	return r
}

// launch starts the gateway on a free port, with out as its stdout.
func launch(t *testing.T, env map[string]string, out io.Writer, args ...string) *running {
	t.Helper()
	r := &running{t: t, stderr: new(safeBuffer), signals: make(chan os.Signal, 4), ended: make(chan struct{})}
	r.log, _ = out.(*logTail)
	r.client = newClient(t)
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		defer close(r.ended)
		defer cancel()
		r.code = run(ctx, args, program{
			stdin: strings.NewReader(""), stdout: out, stderr: r.stderr,
			lookup: lookupIn(withDefaults(t, env)), readFile: os.ReadFile, signals: r.signals,
		})
	}()
	t.Cleanup(func() {
		select {
		case <-r.ended: // the test has seen to it
			return
		default:
		}
		if code := r.stop(); code != exitOK {
			t.Errorf("exit code %d, want 0; stderr:\n%s", code, r.stderr)
		}
	})
	return r
}

// newClient returns a client whose connections end with the test.
func newClient(t *testing.T) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// withDefaults adds to env what keeps a program from touching anything but itself.
func withDefaults(t *testing.T, env map[string]string) map[string]string {
	all := map[string]string{
		"PATH":        os.Getenv("PATH"), // for children
		"SLUICE_ADDR": "127.0.0.1:0",
		// A test that opens a hundred streams must not fail where other tests use the CPU.
		"SLUICE_ADMISSION": "count",
		"SLUICE_TODO_DB":   filepath.Join(t.TempDir(), "todo.db"),
	}
	maps.Copy(all, env)
	return all
}

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

// stop sends SIGTERM, waits for the end and returns the exit code.
func (r *running) stop() int {
	r.t.Helper()
	r.signals <- syscall.SIGTERM
	return r.wait()
}

func (r *running) wait() int {
	r.t.Helper()
	within(r.t, "the program's end", r.ended)
	if r.log != nil {
		r.log.check(r.t)
	}
	return r.code
}

// within waits for done to be closed.
func within[T any](t *testing.T, what string, done <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-done:
	case <-time.After(patience):
		t.Fatalf("still waiting after %v for %s", patience, what)
	}
	return v
}

// runCommand runs a command to its end and returns what it left.
func runCommand(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut safeBuffer
	code = run(t.Context(), args, program{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errOut,
		lookup: lookupIn(withDefaults(t, env)), readFile: os.ReadFile,
	})
	return code, out.String(), errOut.String()
}

// get returns the status and the body of a GET.
func (r *running) get(path string) (*http.Response, string) {
	r.t.Helper()
	resp, err := r.client.Get(r.base + path)
	if err != nil {
		r.t.Fatalf("GET %s: %v", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("GET %s: %v", path, err)
	}
	return resp, string(body)
}

// ready is what /readyz tells.
type ready struct {
	Status   string
	Model    string
	Streams  int
	Breakers []struct {
		Service      string
		State        string
		FailureCount int   `json:"failure_count"`
		RetryAfter   int64 `json:"retry_after_ms"`
	}
	MCP []struct {
		Server    string
		Connected bool
		Tools     int
	}
}

func (r *running) ready() (status int, rep ready) {
	r.t.Helper()
	resp, body := r.get("/readyz")
	if err := json.Unmarshal([]byte(body), &rep); err != nil {
		r.t.Fatalf("/readyz: %v: %s", err, body)
	}
	return resp.StatusCode, rep
}

// post sends a chat request. The caller must read the turn to its end or leave it.
func (r *running) post(ctx context.Context, body string) (*turnStream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base+"/chat/stream", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return newTurnStream(resp), nil
}

func input(text string) string {
	body, _ := json.Marshal(map[string]string{"input": text})
	return string(body)
}

// say begins a turn.
func (r *running) say(text string) *turnStream {
	r.t.Helper()
	s, err := r.post(r.t.Context(), input(text))
	if err != nil {
		r.t.Fatalf("%q: %v", text, err)
	}
	return s
}

// ask runs a whole turn.
func (r *running) ask(text string) []frame {
	r.t.Helper()
	return r.say(text).all(r.t)
}

// fakeGemini is a scripted Gemini API.
type fakeGemini struct {
	*geminisim.Server
	url string
}

// scripted serves a script over loopback HTTP. A request that the script did not
// expect fails the test.
func scripted(t *testing.T, script string) *fakeGemini {
	t.Helper()
	parsed, err := geminisim.ParseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	g := &fakeGemini{Server: geminisim.New(geminisim.Config{Script: parsed})}
	g.url = serveHandler(t, g.Server)
	t.Cleanup(func() {
		for _, f := range g.Failures() {
			t.Errorf("Gemini: %s", f)
		}
	})
	return g
}

// env points a gateway at the fake.
func (g *fakeGemini) env(more ...string) map[string]string {
	return with(map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": g.url}, more...)
}

// with returns env with names and values added.
func with(env map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, env)
	for pair := range slices.Chunk(more, 2) {
		all[pair[0]] = pair[1]
	}
	return all
}

// serveHandler serves h until the test ends and returns its base URL.
func serveHandler(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// unusedAddr returns an address of this machine at which nobody listens. The port
// is one that the kernel gives to nobody else as long as this one listens on
// another address of the loopback network.
func unusedAddr(t *testing.T) string {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("needs a second loopback address: %v", err)
	}
	t.Cleanup(func() { ln.Close() })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return "127.0.0.3:" + port
}

// toolServer serves tools over MCP's streamable HTTP. Each answers with what its
// function returns, and is not safe to repeat.
func toolServer(t *testing.T, tools map[string]func(context.Context) string) http.Handler {
	t.Helper()
	m := server.NewMCPServer("tools", "1")
	for name, f := range tools {
		tool := mcp.NewToolWithRawSchema(name, "The tool "+name+".", []byte(`{"type":"object"}`))
		m.AddTool(tool, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(f(ctx)), nil
		})
	}
	return server.NewStreamableHTTPServer(m)
}

// mcpConfig writes an mcpServers file and returns its path.
func mcpConfig(t *testing.T, servers map[string]any) string {
	t.Helper()
	content, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// noExitSleep keeps a program with the race detector in it from sleeping for a
// second at its end.
const noExitSleep = "atexit_sleep_ms=0"

// stdioChild describes this test binary as a stdio MCP server.
func stdioChild(env map[string]string) map[string]any {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return map[string]any{"command": path, "env": with(env, childVariable, "stdio", "GORACE", noExitSleep)}
}

// safeBuffer is a buffer that is written and read at the same time.
type safeBuffer struct {
	mu      sync.Mutex // guards the fields below
	buf     bytes.Buffer
	changed chan struct{} // closed with the next write; nil: nobody waits
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	text, _ := b.now()
	return text
}

// now returns what there is, and what is closed when there is more.
func (b *safeBuffer) now() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.buf.String(), b.changed
}

// await waits for a text that matches, and returns the groups of the match.
func (b *safeBuffer) await(t *testing.T, re *regexp.Regexp) []string {
	t.Helper()
	for {
		text, more := b.now()
		if m := re.FindStringSubmatch(text); m != nil {
			return m
		}
		within(t, re.String(), more)
	}
}
