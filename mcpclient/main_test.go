package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/turn/tool"
)

// TestMain is also the stdio servers of the tests: with childVariable set, the
// test binary is one.
func TestMain(m *testing.M) {
	if mode := os.Getenv(childVariable); mode != "" {
		runChild(mode)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// newClient returns a started client, which is closed with the test.
func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c := unstarted(t, cfg)
	c.Start(t.Context())
	return c
}

func unstarted(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.Version == "" {
		cfg.Version = "test"
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// over returns the configuration of one HTTP server, named s. A busy machine may
// take its time to connect.
func over(url string) Config {
	return Config{ConnectWait: 10 * time.Second, Servers: []Server{{Name: "s", Transport: HTTP, URL: url}}}
}

// inBubble returns the configuration of one HTTP server, named s, in b.
func inBubble(b *bubble) Config {
	c := over("http://server/mcp")
	c.ConnectWait = 0
	c.Transport = b.transport
	return c
}

// call calls a tool without arguments.
func call(ctx context.Context, c *Client, name string) (tool.Result, *fault.Error) {
	return callWith(ctx, c, name, "{}")
}

func callWith(ctx context.Context, c *Client, name, args string) (tool.Result, *fault.Error) {
	c.Tools(ctx)
	r, err := c.Call(ctx, tool.Call{ID: "id", Name: name, Arguments: jsontext.Value(args)})
	if err == nil {
		return r, nil
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return r, &fault.Error{Type: "not a fault.Error", Err: err}
	}
	return r, f
}

// mustCall calls a tool that must answer with text.
func mustCall(t *testing.T, c *Client, name, text string) {
	t.Helper()
	r, f := call(t.Context(), c, name)
	if f != nil {
		t.Fatalf("calling %s: %v", name, f)
	}
	if r.Text != text || r.IsError {
		t.Fatalf("calling %s: got %q (error: %v), want %q", name, r.Text, r.IsError, text)
	}
}

func wantFault(t *testing.T, f *fault.Error, typ fault.Type, unknown bool) {
	t.Helper()
	if f == nil {
		t.Fatalf("got no error, want %s", typ)
	}
	if f.Type != typ || f.Unknown != unknown {
		t.Errorf("got %s (unknown: %v), want %s (unknown: %v): %v", f.Type, f.Unknown, typ, unknown, f)
	}
	if typ == fault.MCPUnavailable && f.Message != fault.MCPUnavailableMessage {
		t.Errorf("got message %q, want the contract's", f.Message)
	}
}

func names(set *tool.Set) []string {
	var list []string
	for _, s := range set.Specs {
		list = append(list, s.Name)
	}
	return list
}

func failures(c *Client) uint32 { return c.Breakers()[0].Snapshot().FailureCount }

// sessions returns the state of each server.
func sessions(c *Client) []health.Status {
	var all health.Registry
	all.Add(c.Checkers()[len(c.upstreams):]...)
	return all.Check()
}

func state(c *Client) breaker.State { return c.Breakers()[0].Snapshot().State }

// logBuffer is a log that a test can read.
type logBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logBuffer) logger() zerolog.Logger { return zerolog.New(l) }

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
