package peers

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// Servers of this repository in Python.
const (
	todoServer   = "examples/fastmcp-todo/server.py"
	todoConfig   = "examples/fastmcp-todo/mcp.json"
	todoHTTP     = "e2e/peers/testdata/todo_http.py"
	quirksServer = "e2e/peers/testdata/quirks.py"
)

// python returns the path of a program of the virtual environment. With
// SLUICE_PEERS_VENV it is another one's, to try other versions of FastMCP.
func python(t testing.TB, program string) string {
	t.Helper()
	if venv := os.Getenv("SLUICE_PEERS_VENV"); venv != "" {
		needPeers(t)
		return filepath.Join(venv, "bin", program)
	}
	return installed(t, filepath.Join(".venv", "bin", program))
}

// quiet is the environment of a FastMCP server that asks nobody for updates.
func quiet(more ...string) map[string]string {
	return with(map[string]string{"FASTMCP_SHOW_SERVER_BANNER": "false", "FASTMCP_CHECK_FOR_UPDATES": "off",
		"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}, more...)
}

// fastMCP is a FastMCP server over HTTP.
type fastMCP struct {
	*process
	command command
	addr    string
	url     string
}

// startFastMCP starts a server of this repository over streamable HTTP, or as env
// says, on an address of its own.
func startFastMCP(t testing.TB, script string, env map[string]string, args ...string) *fastMCP {
	t.Helper()
	addr := freeAddr(t)
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	all := with(baseEnv(), "FASTMCP_TRANSPORT", "http", "FASTMCP_HOST", host, "FASTMCP_PORT", port)
	maps.Copy(all, quiet())
	maps.Copy(all, env)
	path := map[bool]string{true: "/sse", false: "/mcp"}[all["FASTMCP_TRANSPORT"] == "sse"]
	s := &fastMCP{
		command: command{name: python(t, "python"), args: append([]string{installed(t, script)}, args...), env: all, dir: t.TempDir()},
		addr:    addr, url: "http://" + addr + path,
	}
	s.process = startServer(t, s.command, addr)
	return s
}

// restart starts the server again on its old address.
func (s *fastMCP) restart(t testing.TB) {
	t.Helper()
	s.kill()
	s.process = startServer(t, s.command, s.addr)
}
