package mcpclient

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

type toolHandler = server.ToolHandlerFunc

// goServer is a server made with mcp-go: a peer that we did not write.
func goServer() *server.MCPServer {
	s := server.NewMCPServer("go", "1", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("greet", mcp.WithString("name", mcp.Required())),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("Hello, " + req.GetString("name", "")), nil
		})
	return s
}

func within(s *server.MCPServer) Config {
	return Config{Servers: []Server{{Name: "s", Transport: InProcess, InProcess: s}}}
}

// withTool returns a client of an in-process server with one tool, "tool".
func withTool(t *testing.T, h toolHandler) *Client {
	s := goServer()
	s.AddTool(mcp.NewTool("tool"), h)
	return newClient(t, within(s))
}

func TestInProcess(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", autoProtocol} {
		cfg := within(goServer())
		cfg.Servers[0].ProtocolVersion = version
		c := newClient(t, cfg)
		r, f := callWith(t.Context(), c, "greet", `{"name":"Ada"}`)
		if f != nil {
			t.Fatal(f)
		}
		want := tool.Result{ID: "id", Name: "greet", Text: "Hello, Ada"}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("version %q (-want +got)\n%s", version, diff)
		}
	}
}

func TestNotificationInProcess(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", autoProtocol} {
		s := goServer()
		cfg := within(s)
		cfg.Servers[0].ProtocolVersion = version
		c := newClient(t, cfg)
		if c.Tools(t.Context()).Lookup("later") != nil {
			t.Fatal("the tool is there already")
		}
		s.AddTool(mcp.NewTool("later"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("ok"), nil
		})
		testnet.Eventually(t, "the new tool is offered with version "+version, func() bool {
			return c.Tools(t.Context()).Lookup("later") != nil
		})
	}
}

func TestToolPanics(t *testing.T) {
	t.Parallel()
	c := withTool(t, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom") })
	_, f := call(t.Context(), c, "tool")
	wantFault(t, f, fault.ToolFailed, true)
	if n := failures(c); n != 1 {
		t.Errorf("the breaker counts %d failures, want 1", n)
	}
}

func TestToolError(t *testing.T) {
	t.Parallel()
	c := withTool(t, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("no todo has this id"), nil
	})
	r, f := call(t.Context(), c, "tool")
	if f != nil || !r.IsError || r.Text != "no todo has this id" {
		t.Errorf("got %+v, %v", r, f)
	}
	if n := failures(c); n != 0 {
		t.Errorf("the breaker counts %d failures, want 0", n)
	}
}

func TestToolErrorWithAPath(t *testing.T) {
	t.Parallel()
	c := withTool(t, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError(`open /var/secret/todo.db: locked (see C:\Users\ada\x.log); /items/0/title is wrong`), nil
	})
	r, f := call(t.Context(), c, "tool")
	if f != nil {
		t.Fatal(f)
	}
	if want := `open [path]: locked (see [path]); /items/0/title is wrong`; r.Text != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
}

func TestHugeResultInProcess(t *testing.T) {
	t.Parallel()
	c := withTool(t, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(strings.Repeat("x", wire.MaxReply)), nil
	})
	_, f := call(t.Context(), c, "tool")
	wantFault(t, f, fault.ToolFailed, false)
}

// A handler that ignores its context holds up nothing but Close, and that not for
// ever.
func TestInProcessHandlerThatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := withTool(t, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(5 * time.Second)
			return mcp.NewToolResultText("late"), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, f := call(ctx, c, "tool")
		wantFault(t, f, fault.Timeout, true)
		if elapsed := time.Since(began); elapsed != time.Second {
			t.Errorf("the call took %v, want 1s", elapsed)
		}
	})
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := goServer()
		s.AddTool(mcp.NewTool("tool"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(time.Hour)
			return mcp.NewToolResultText("late"), nil
		})
		c, err := New(within(s))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan *fault.Error)
		go func() {
			_, f := call(t.Context(), c, "tool")
			done <- f
		}()
		time.Sleep(time.Second)
		began := time.Now()
		if c.Close() == nil {
			t.Error("Close says that all is well")
		}
		if elapsed := time.Since(began); elapsed != closeTimeout {
			t.Errorf("Close took %v, want %v", elapsed, closeTimeout)
		}
		wantFault(t, <-done, fault.ToolFailed, true)
		time.Sleep(2 * time.Hour)
	})
}

// hangTool closes reached when it is called, and waits for the test's end.
func hangTool(t *testing.T, reached chan<- struct{}) toolHandler {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(reached)
		<-t.Context().Done()
		return nil, t.Context().Err()
	}
}
