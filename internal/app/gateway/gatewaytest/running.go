// Package gatewaytest has the common parts of tests of a gateway, in the test's own process or as a
// program: a strict client, a log to wait for, upstreams, and child processes. Production code must
// not import it.
package gatewaytest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Running is a gateway at work, and a client of it. In another process, the fields that Launch sets
// are nil.
type Running struct {
	T       *testing.T
	Base    string   // http://127.0.0.1:port
	Log     *LogTail // nil: something else is its stdout
	Stderr  *SafeBuffer
	Signals chan os.Signal
	Ended   chan struct{} // closed when it has returned code
	code    int           // its exit code
	Client  *http.Client
	Cancel  context.CancelFunc // of its context
}

// NewRunning returns one that is about to run in another process.
func NewRunning(t *testing.T) *Running {
	t.Helper()
	return &Running{T: t, Stderr: new(SafeBuffer), Client: NewClient(t)}
}

// Launch starts a gateway by serve, which returns its exit code. It is stopped with
// the test, and must then end well, unless the test stops it first. out is its stdout.
func Launch(t *testing.T, out io.Writer, serve func(context.Context, *Running) int) *Running {
	t.Helper()
	r := NewRunning(t)
	r.Signals, r.Ended = make(chan os.Signal, 4), make(chan struct{})
	r.Log, _ = out.(*LogTail)
	ctx, cancel := context.WithCancel(context.Background())
	r.Cancel = cancel
	go func() {
		defer close(r.Ended)
		defer cancel()
		r.code = serve(ctx, r)
	}()
	t.Cleanup(func() {
		select {
		case <-r.Ended: // the test has seen to it
			return
		default:
		}
		if code := r.Stop(); code != 0 {
			t.Errorf("exit code %d, want 0; stderr:\n%s", code, r.Stderr)
		}
	})
	return r
}

// NewClient returns a client whose connections end with the test.
func NewClient(t *testing.T) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// WithDefaults adds to env what keeps a program from touching anything but itself.
func WithDefaults(t *testing.T, env map[string]string) map[string]string {
	all := map[string]string{
		"PATH":           os.Getenv("PATH"), // for children
		"SLUICE_ADDR":    "127.0.0.1:0",
		"SLUICE_TODO_DB": filepath.Join(t.TempDir(), "todo.db"),
		// A test that opens a hundred streams must not fail where other tests use the CPU.
		"SLUICE_ADMISSION": "count",
	}
	maps.Copy(all, env)
	return all
}

// LookupIn looks variables up in env.
func LookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

// EnvironOf returns env as os.Environ does.
func EnvironOf(env map[string]string) func() []string {
	return func() []string {
		var list []string
		for name, value := range env {
			list = append(list, name+"="+value)
		}
		return list
	}
}

// Stop sends SIGTERM, waits for the end and returns the exit code.
func (r *Running) Stop() int {
	r.T.Helper()
	r.Signals <- syscall.SIGTERM
	return r.Wait()
}

// Wait waits for the end, checks the log and returns the exit code.
func (r *Running) Wait() int {
	r.T.Helper()
	Within(r.T, "the program's end", r.Ended)
	if r.Log != nil {
		r.Log.Check(r.T)
	}
	return r.code
}

// Get returns the status and the body of a GET.
func (r *Running) Get(path string) (*http.Response, string) {
	r.T.Helper()
	resp, err := r.Client.Get(r.Base + path)
	if err != nil {
		r.T.Fatalf("GET %s: %v", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.T.Fatalf("GET %s: %v", path, err)
	}
	return resp, string(body)
}

// Ready is what /readyz reports.
type Ready struct {
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
	Models []ReadyModel
}

// ReadyModel is what /readyz says about a configured model.
type ReadyModel struct{ Key, Provider, Model, Breaker string }

// Ready asks /readyz.
func (r *Running) Ready() (status int, rep Ready) {
	r.T.Helper()
	resp, body := r.Get("/readyz")
	if err := json.Unmarshal([]byte(body), &rep); err != nil {
		r.T.Fatalf("/readyz: %v: %s", err, body)
	}
	return resp.StatusCode, rep
}

// Post sends a chat request. The caller must read the turn to its end or leave it.
func (r *Running) Post(ctx context.Context, body string) (*TurnStream, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Base+"/chat/stream", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return NewTurnStream(resp), nil
}

// Input is the body of a chat request that says text.
func Input(text string) string {
	body, _ := json.Marshal(map[string]string{"input": text})
	return string(body)
}

// StartTurn begins a turn.
func (r *Running) StartTurn(text string) *TurnStream {
	r.T.Helper()
	s, err := r.Post(r.T.Context(), Input(text))
	if err != nil {
		r.T.Fatalf("%q: %v", text, err)
	}
	return s
}

// Ask runs a whole turn.
func (r *Running) Ask(text string) []Frame {
	r.T.Helper()
	return r.StartTurn(text).All(r.T)
}

// WantProblem sends req and returns the reply's header.
func WantProblem(t *testing.T, r *Running, req *http.Request, status int, errorType string) http.Header {
	t.Helper()
	resp, err := r.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Type, Title, Detail string
		Status              int
		ErrorType           string `json:"error_type"`
		RequestID           string `json:"request_id"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("%s %s: %v: %s", req.Method, req.URL.Path, err, body)
	}
	if resp.StatusCode != status || p.Status != status || p.ErrorType != errorType || p.Type != "about:blank" ||
		p.Title != http.StatusText(status) || p.Detail == "" || p.RequestID != resp.Header.Get("X-Request-ID") ||
		resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s: got %d %s, want %d %s", req.Method, req.URL.Path, resp.StatusCode, body, status, errorType)
	}
	if allow := resp.Header.Get("Allow"); (status == http.StatusMethodNotAllowed) != (allow != "") {
		t.Errorf("%s %s: Allow is %q", req.Method, req.URL.Path, allow)
	}
	return resp.Header
}
