package mcpclient

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/base/fault"
)

// mcp-go's own HTTP server judges what we speak, in both eras of the protocol.
func TestHTTPWithMCPGo(t *testing.T) {
	for name, tt := range map[string]struct {
		version   string
		stateless bool
	}{
		"pinned, sessions":       {"", false},
		"pinned, stateless":      {"", true},
		"negotiated, sessions":   {autoProtocol, false},
		"negotiated, stateless":  {autoProtocol, true},
		"an older one, sessions": {"2025-03-26", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := over(serve(t, server.NewStreamableHTTPServer(goServer(), server.WithStateLess(tt.stateless))) + "/mcp")
			cfg.Servers[0].ProtocolVersion = tt.version
			c := newClient(t, cfg)
			for range 3 {
				r, f := callWith(t.Context(), c, "greet", `{"name":"<Ada> & \u00e9"}`)
				if f != nil || r.Text != "Hello, <Ada> & é" {
					t.Fatalf("got %q, %v", r.Text, f)
				}
			}
		})
	}
}

// A stateless server that came back knows no session, and needs none.
func TestNegotiatedServerRestart(t *testing.T) {
	t.Parallel()
	var h http.Handler = server.NewStreamableHTTPServer(goServer())
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	cfg := over(url + "/mcp")
	cfg.Servers[0].ProtocolVersion = autoProtocol
	c := newClient(t, cfg)
	if _, f := callWith(t.Context(), c, "greet", `{"name":"Ada"}`); f != nil {
		t.Fatal(f)
	}
	if v := c.upstreams[0].current.Load().protocol; !mcp.IsModernProtocol(v) {
		t.Fatalf("negotiated %s", v)
	}
	_, f := callWith(t.Context(), c, "nosuch", `{}`)
	wantFault(t, f, fault.ToolFailed, false)
}

func TestLegacySSE(t *testing.T) {
	t.Parallel()
	url := serve(t, server.NewSSEServer(goServer()))
	c := newClient(t, Config{Servers: []Server{{Name: "s", Transport: SSE, URL: url + "/sse"}}})
	for range 3 {
		r, f := callWith(t.Context(), c, "greet", `{"name":"Ada"}`)
		if f != nil || r.Text != "Hello, Ada" {
			t.Fatalf("got %q, %v", r.Text, f)
		}
	}
}

// When the stream ends, calls that wait for an answer do not wait on.
func TestLegacySSEConnectionLost(t *testing.T) {
	t.Parallel()
	s := goServer()
	reached := make(chan struct{})
	s.AddTool(mcp.NewTool("hang"), hangTool(t, reached))
	h := server.NewSSEServer(s)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c := newClient(t, Config{Servers: []Server{{Name: "s", Transport: SSE, URL: srv.URL + "/sse"}}})
	done := make(chan *fault.Error)
	go func() {
		_, f := call(t.Context(), c, "hang")
		done <- f
	}()
	<-reached
	srv.CloseClientConnections()
	wantFault(t, <-done, fault.ToolFailed, true)
	if r, f := callWith(t.Context(), c, "greet", `{"name":"Ada"}`); f != nil || r.Text != "Hello, Ada" {
		t.Errorf("got %q, %v", r.Text, f)
	}
}

// A server that is only partly there does not exclude the others.
func TestOneServerOfTwoIsUnavailable(t *testing.T) {
	t.Parallel()
	f := newFake()
	dead := httptest.NewServer(nil)
	dead.Close()
	cfg := over(serve(t, f))
	cfg.Servers = append(cfg.Servers, Server{Name: "dead", Transport: HTTP, URL: dead.URL})
	c := newClient(t, cfg)
	mustCall(t, c, "write", "ok")
	set := c.Tools(t.Context())
	if len(set.Specs) != 2 || len(set.Unavailable) != 1 || set.Unavailable[0].Server != "dead" {
		t.Errorf("got %+v", set)
	}
}

// A tool whose server became unavailable meanwhile is not unknown.
func TestToolOfAServerThatIsUnavailable(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(newFake())
	c := newClient(t, over(srv.URL))
	mustCall(t, c, "write", "ok")
	srv.CloseClientConnections()
	srv.Close()
	call(t.Context(), c, "write") // may have met the end of its connection
	_, f := call(t.Context(), c, "write")
	wantFault(t, f, fault.MCPUnavailable, false)
	if set := c.Tools(t.Context()); len(set.Specs) != 0 || len(set.Unavailable) != 1 {
		t.Errorf("got %+v", set)
	}
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	const secret = "hush-hush"
	_, err := New(Config{Timeout: -1, Servers: []Server{
		{Name: "bad name", Transport: HTTP, URL: "http://x/"},
		{Name: "a", Transport: HTTP, URL: "ftp://" + secret},
		{Name: "a", Transport: SSE, URL: "http://x", Headers: map[string]string{"Bad Name": secret, "idempotency-key": secret, "X": secret + "\n"}},
		{Name: "c", Transport: Stdio, Env: map[string]string{"A=B": secret}},
		{Name: "d", Transport: InProcess, URL: "http://x"},
		{Name: "e", Transport: "carrier pigeon", Command: "x"},
		{Name: "f", Transport: Stdio, Command: "x", Timeout: -1, ProtocolVersion: "1999"},
	}})
	if err == nil {
		t.Fatal("all is well")
	}
	for _, want := range []string{
		"a duration is negative", "server 1: its name", `server "a": url is not`, `server "a": there are two`,
		"a header's name", "the header idempotency-key cannot", "the value of header X", `server "c": command is missing`,
		"env has a name", "the in-process server is missing", `server "d": url is for`, "transport is none of",
		`server "e": command is for`, "timeout is negative", "protocolVersion is not known",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported", want)
		}
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("a value is repeated: %v", err)
	}
}

func TestNoServers(t *testing.T) {
	t.Parallel()
	c := newClient(t, Config{})
	if set := c.Tools(t.Context()); len(set.Specs)+len(set.Unavailable) != 0 {
		t.Errorf("got %+v", set)
	}
	_, f := call(t.Context(), c, "x")
	wantFault(t, f, fault.ToolFailed, false)
}
