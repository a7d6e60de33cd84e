package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"
)

// Variables that make the test binary another program.
const (
	// childVariable is "sluice" (the program itself, with all arguments), "http" or
	// "stdio" (an MCP server with the tools of childTools).
	childVariable = "SLUICE_TEST_CHILD"
	// reportVariable is where the tool slow calls home: host:port.
	reportVariable = "SLUICE_TEST_REPORT"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "sluice":
		main()
	case "http":
		exitOn(serveHTTPChild(os.Args[1]))
	case "stdio":
		exitOn(server.ServeStdio(childTools()))
	default:
		goleak.VerifyTestMain(m)
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveHTTPChild serves MCP over HTTP and tells on stdout where. It ends with its
// input, lest it outlives a test that dies.
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

// childTools returns a server whose tools tell what a test wants to know of the
// process that they run in.
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
	add("fork", &not, fork)
	add("slow", &not, slow)
	return m
}

// fork leaves a process behind, as uvx and npx do, and tells both ids.
func fork(context.Context) (string, error) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		return "", err
	}
	go func() { _ = cmd.Wait() }()
	return fmt.Sprintln(os.Getpid(), cmd.Process.Pid), nil
}

// slow calls home, tells its process id, and ends when the other side hangs up.
func slow(ctx context.Context) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", os.Getenv(reportVariable))
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
