package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"
)

var serverURL = regexp.MustCompile(` on (http://\S+)\n`)

// alone starts one of the servers by itself and returns its URL and what is said on
// stderr. It must end well at a signal.
func alone(t *testing.T, args ...string) (url string, banner string) {
	t.Helper()
	signals, ended, stderr := make(chan os.Signal, 1), make(chan int, 1), new(gatewaytest.SafeBuffer)
	go func() {
		ended <- run(context.Background(), args, program{
			stdin: strings.NewReader(""), stdout: io.Discard, stderr: stderr,
			lookup: gatewaytest.LookupIn(gatewaytest.WithDefaults(t, nil)), readFile: os.ReadFile, signals: signals,
		})
	}()
	t.Cleanup(func() {
		signals <- syscall.SIGTERM
		if code := gatewaytest.Within(t, "the server's end", ended); code != exitOK {
			t.Errorf("%v: exit code %d; stderr:\n%s", args, code, stderr)
		}
	})
	url = stderr.Await(t, serverURL)[1]
	return url, stderr.String()
}

func TestTodoServerOverHTTP(t *testing.T) {
	t.Parallel()
	url, _ := alone(t, "todo-server", "--addr", "127.0.0.1:0")
	c, err := client.NewStreamableHttpClient(url)
	if err != nil {
		t.Fatal(err)
	}
	useTodos(t, c)
}

func TestTodoServerOverStdio(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewStdioMCPClient(path, []string{gatewaytest.ChildVariable + "=sluice", "GORACE=" + gatewaytest.NoExitSleep}, "todo-server", "--stdio", "--todo-db", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	useTodos(t, c)
}

// useTodos talks to a todo server as another agent would, with mcp-go's client.
func useTodos(t *testing.T, c *client.Client) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	hello, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "test", Version: "1"}}})
	if err != nil || hello.ServerInfo.Name != "sluice-todo" {
		t.Fatalf("%v: %+v", err, hello)
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil || len(list.Tools) != 4 {
		t.Fatalf("%v: %+v", err, list)
	}
	call := func(tool string, args map[string]any) string {
		t.Helper()
		result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: args}})
		if err != nil || result.IsError {
			t.Fatalf("%s: %v: %+v", tool, err, result)
		}
		return result.Content[0].(mcp.TextContent).Text
	}
	call("create_todo", map[string]any{"title": "Feed the ficus"})
	if got := call("list_todos", nil); !strings.Contains(got, `"Feed the ficus"`) || !strings.Contains(got, `"count":1`) {
		t.Errorf("the list is %s", got)
	}
}

// A gateway in front of the other commands: the whole thing as three processes
// would be.
func TestCommandsWorkTogether(t *testing.T) {
	t.Parallel()
	gemini, banner := alone(t, "gemini-sim", "--addr", "127.0.0.1:0", "--pace", "0s")
	if !strings.Contains(banner, "SIMULATOR") {
		t.Errorf("the simulator passes for the real API: %s", banner)
	}
	todos, _ := alone(t, "todo-server", "--addr", "127.0.0.1:0")
	r := start(t, map[string]string{"GEMINI_BASE_URL": gemini, "MCP_SERVER_URL": todos})
	gatewaytest.WantSuccess(t, r.Ask("Remind me to feed the ficus tomorrow at 3pm"), "stop")
	if got := gatewaytest.Done(r.Ask("Show my todos")).Str("final_output"); !strings.Contains(got, "ficus") {
		t.Errorf("the list is %q", got)
	}
}

func TestGeminiSimWithScript(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("text Said as told\nfinish STOP"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := alone(t, "gemini-sim", "--addr", "127.0.0.1:0", "--script", script)
	resp, err := gatewaytest.NewClient(t).Post(url+"/v1beta/models/m:generateContent", "application/json", strings.NewReader(`{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"Said as told"`) || resp.Header.Get("X-Geminisim") == "" {
		t.Errorf("%v: %d %v %s", err, resp.StatusCode, resp.Header, body)
	}
}

func TestGeminiSimWithBadScript(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("text Hi\nsing a song\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{script: "script line 2", script + ".not": "no such file"} {
		code, stdout, stderr := runCommand(t, nil, "gemini-sim", "--script", file)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "--script") || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d, stdout %q, stderr %q, want %q", code, stdout, stderr, want)
		}
	}
}

// TestMain looks for goroutines when all tests are over; here it is after each
// kind of life. Not parallel: others' goroutines are in the way.
func TestNoGoroutineIsLeft(t *testing.T) {
	const calls = "call pid {}\nfinish STOP\n---\ntext Hi\nfinish STOP"
	for _, tt := range []struct {
		name string
		live func(t *testing.T)
	}{
		{"built-in model and tools", func(t *testing.T) {
			gatewaytest.WantSuccess(t, start(t, nil).Ask("Show my todos"), "stop")
		}},
		{"a child", func(t *testing.T) {
			r := start(t, gatewaytest.Scripted(t, calls).Env("MCP_CONFIG", gatewaytest.MCPConfig(t, map[string]any{"kid": gatewaytest.StdioChild(nil)})))
			r.Log.Await(t, "mcp_connected", nil)
			gatewaytest.WantResult(t, r.Ask("hi"), "pid")
		}},
		{"a server that is unavailable", func(t *testing.T) {
			r := start(t, gatewaytest.Scripted(t, "text Hi\nfinish STOP").Env("MCP_SERVER_URL", "http://"+gatewaytest.UnusedAddr(t)+"/mcp"))
			gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
		}},
		{"clients that leave", func(t *testing.T) {
			r := start(t, gatewaytest.Scripted(t, "loop\ntext Hi\nstall").Env())
			for range 5 {
				s := r.StartTurn("hi")
				s.Until(t, "response_delta")
				s.Leave()
			}
		}},
		{"ask", func(t *testing.T) {
			if code, _, stderr := runCommand(t, nil, "ask", "Show my todos"); code != exitOK {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		}},
		{"ask another", func(t *testing.T) {
			if code, _, stderr := runCommand(t, nil, "ask", "--url", gatewayThatSays(t, endedFrames), "hi"); code != exitOK {
				t.Errorf("exit code %d: %s", code, stderr)
			}
		}},
		{"a start that fails", func(t *testing.T) {
			if code, _, _ := runCommand(t, map[string]string{"SLUICE_TODO_DB": "/dev/null/todo.db"}); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
		}},
	} {
		before := goleak.IgnoreCurrent()
		if ok := t.Run(tt.name, tt.live); !ok {
			continue
		}
		if err := goleak.Find(before); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// An address for all interfaces is none that a browser can open.
func TestReachable(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	want := map[string]string{
		"[::]:8080": "localhost:8080", "0.0.0.0:8080": "localhost:8080", ":8080": "localhost:8080",
		"127.0.0.1:80": "127.0.0.1:80", "[::1]:80": "[::1]:80", "host:1": "host:1", "nonsense": "nonsense",
	}
	for addr := range want {
		got[addr] = reachableAddr(addr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Besides Gemini's API the simulator speaks three more, by directives if there are any.
func TestGeminiSimSpeaksOtherProtocols(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "directives")
	if err := os.WriteFile(file, []byte("text Said as told\nloop"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := alone(t, "gemini-sim", "--addr", "127.0.0.1:0", "--pace", "0s", "--directives", file)
	resp, err := gatewaytest.NewClient(t).Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"Said as told"`) || resp.Header.Get("X-Modelsim") == "" {
		t.Errorf("%v: %d %v %s", err, resp.StatusCode, resp.Header, body)
	}
	if code, _, stderr := runCommand(t, nil, "gemini-sim", "--directives", file+".not"); code != exitUsage || !strings.Contains(stderr, "--directives") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}
