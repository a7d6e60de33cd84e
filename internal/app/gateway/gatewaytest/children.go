package gatewaytest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Variables that make the test binary another program.
const (
	// ChildVariable is "sluice" (the program itself, with all arguments), "http" or
	// "stdio" (an MCP server with the tools of childTools).
	ChildVariable = "SLUICE_TEST_CHILD"
	// ReportVariable is where the tool slow calls home: host:port.
	ReportVariable = "SLUICE_TEST_REPORT"
)

// BeChild runs what ChildVariable asks the test binary to be. It returns false if it
// is to run its tests. program is "sluice".
func BeChild(program func()) bool {
	switch os.Getenv(ChildVariable) {
	case "sluice":
		program()
	case "http":
		ExitOn(serveHTTPChild(os.Args[1]))
	case "stdio":
		ExitOn(server.ServeStdio(childTools()))
	default:
		return false
	}
	return true
}

// ExitOn ends the process, with code 1 if there is an error.
func ExitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveHTTPChild serves MCP over HTTP and reports on stdout where. It ends with its input, so
// that it does not outlive a test that dies.
func serveHTTPChild(addr string) error {
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}()
	return http.Serve(ln, server.NewStreamableHTTPServer(childTools()))
}

// childTools returns a server whose tools report facts about the process that they run in.
func childTools() *server.MCPServer {
	m := server.NewMCPServer("child", "1")
	readOnly, not := true, false
	add := func(name string, hint *bool, run func(context.Context) (string, error)) {
		tool := mcp.NewToolWithRawSchema(name, "The tool "+name+".", []byte(`{"type":"object"}`))
		tool.Annotations.ReadOnlyHint = hint
		m.AddTool(tool, func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := run(ctx)
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText(text), nil
		})
	}
	add("pid", &readOnly, func(context.Context) (string, error) { return fmt.Sprint(os.Getpid()), nil })
	add("env", &readOnly, func(context.Context) (string, error) { return strings.Join(os.Environ(), "\n"), nil })
	add("complain", &readOnly, func(context.Context) (string, error) {
		_, err := fmt.Fprintln(os.Stderr, "my environment is", os.Environ())
		return "done", err
	})
	add("fork", &not, runFork)
	add("slow", &not, runSlow)
	return m
}

// runFork leaves a process behind, as uvx and npx do, and reports both ids.
func runFork(context.Context) (string, error) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		return "", err
	}
	go func() { _ = cmd.Wait() }()
	return fmt.Sprintln(os.Getpid(), cmd.Process.Pid), nil
}

// runSlow calls home, reports its process id, and ends when the other side hangs up.
func runSlow(ctx context.Context) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", os.Getenv(ReportVariable))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, os.Getpid()); err != nil {
		return "", err
	}
	_, _ = bufio.NewReader(conn).ReadByte()
	return "slow is done", nil
}

// NoExitSleep keeps a program with the race detector in it from sleeping for a
// second at its end.
const NoExitSleep = "atexit_sleep_ms=0"

// StdioChild describes this test binary as a stdio MCP server.
func StdioChild(env map[string]string) map[string]any {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return map[string]any{"command": path, "env": With(env, ChildVariable, "stdio", "GORACE", NoExitSleep)}
}

// Callers takes the calls home of the tool slow.
type Callers struct{ ln net.Listener }

// AcceptCalls listens until the test ends.
func AcceptCalls(t *testing.T) *Callers {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return &Callers{ln}
}

// Addr is what ReportVariable is to be.
func (c *Callers) Addr() string { return c.ln.Addr().String() }

// Next waits until the tool runs and returns the process that it runs in. The
// tool ends when conn is closed.
func (c *Callers) Next(t *testing.T) (process *os.Process, conn net.Conn) {
	t.Helper()
	_ = c.ln.(*net.TCPListener).SetDeadline(time.Now().Add(Patience))
	conn, err := c.ln.Accept()
	if err != nil {
		t.Fatalf("waiting for the tool slow: %v", err)
	}
	t.Cleanup(func() { conn.Close() })
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	process, err = os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return process, conn
}
