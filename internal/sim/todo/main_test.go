package todo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"
	_ "time/tzdata" // the tests name places; not every machine knows them

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asChild {
		if err := child(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// asChild makes the test binary another process that works on a file of todos.
const asChild = "create-25-todos-in"

func child(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, Config{Path: path})
	if err != nil {
		return err
	}
	for range 25 {
		if _, err := s.createTodo(ctx, "", titled("from a child")); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	return s.Close()
}

// wednesday is the clock of most tests: 25 November 2026, 10:00 in Berlin.
var wednesday = time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)

// testConfig has a fixed clock, Berlin as its place, and the ids todo_1, todo_2…
func testConfig() Config {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		panic(err)
	}
	var ids atomic.Int64
	return Config{
		Location: berlin,
		Now:      func() time.Time { return wednesday },
		NewID:    func() string { return fmt.Sprintf("todo_%d", ids.Add(1)) },
	}
}

func open(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A dialer connects a client to a server over one of the transports.
type dialer func(*testing.T, *server.MCPServer) transport.Interface

func dialInProcess(_ *testing.T, m *server.MCPServer) transport.Interface {
	return transport.NewInProcessTransport(m)
}

func dialHTTP(t *testing.T, m *server.MCPServer) transport.Interface {
	srv := httptest.NewServer(Handler(m))
	t.Cleanup(srv.Close)
	c, err := transport.NewStreamableHTTP(srv.URL+"/any/path", transport.WithHTTPBasicClient(srv.Client()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dialStdio(t *testing.T, m *server.MCPServer) transport.Interface {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- ServeStdio(context.WithoutCancel(t.Context()), m, serverIn, serverOut)
		serverOut.Close()
	}()
	t.Cleanup(func() {
		clientOut.Close()
		if err := <-served; err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
	})
	return transport.NewIO(clientIn, clientOut, io.NopCloser(eof{}))
}

// eof is an empty stream.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// session is a client that has shaken hands. version is the protocol version to
// pin, or "" to negotiate the newest.
type session struct {
	*client.Client
	t *testing.T
}

func connect(t *testing.T, m *server.MCPServer, dial dialer, version string) session {
	t.Helper()
	var options []client.ClientOption
	if version != "" {
		options = append(options, client.WithProtocolVersion(version))
	}
	c := client.NewClient(dial(t, m), options...)
	t.Cleanup(func() { c.Close() })
	if err := c.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return session{c, t}
}

// local returns a client of a fresh store in memory.
func local(t *testing.T) session {
	t.Helper()
	return connect(t, NewServer(open(t, testConfig()), "1.0"), dialInProcess, "2025-11-25")
}

// call calls a tool with arguments written as JSON, and returns the result's text
// and whether it is an error.
func (s session) call(tool, arguments string) (text string, isError bool) {
	s.t.Helper()
	result := s.result(tool, arguments)
	if len(result.Content) != 1 {
		s.t.Fatalf("%s: %d contents, want 1", tool, len(result.Content))
	}
	return result.Content[0].(mcp.TextContent).Text, result.IsError
}

func (s session) result(tool, arguments string) *mcp.CallToolResult {
	s.t.Helper()
	result, err := s.CallTool(s.t.Context(), request(tool, arguments))
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	return result
}

// must is call for a call that succeeds.
func (s session) must(tool, arguments string) string {
	s.t.Helper()
	text, isError := s.call(tool, arguments)
	if isError {
		s.t.Fatalf("%s %s: %s", tool, arguments, text)
	}
	return text
}

func request(tool, arguments string) mcp.CallToolRequest {
	return mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}}
}
