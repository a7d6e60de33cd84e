package peers

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"

	processes "sluice/e2e/process"
	"sluice/internal/base/testnet"
)

const (
	// patience bounds every wait for something that must come: starting Python on a
	// busy machine takes its time.
	patience = testnet.Patience
	// root is the repository, seen from this folder.
	root = "../.."
)

// workspace is what all tests of this package share. Whatever takes long to make
// is made when the first test asks for it.
type workspace struct {
	dir string // also another user may look into it
	// binary builds the gateway and returns its path.
	binary func() (string, error)
	mu     sync.Mutex // guards ends
	ends   []func()   // run in reverse when the last test has ended
}

// shared is set by TestMain, before the first test.
var shared *workspace

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-peers-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // PostgreSQL runs as another user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = &workspace{dir: dir}
	shared.binary = sync.OnceValues(shared.build)
	defer shared.close()
	return m.Run()
}

// build builds the gateway as this test was built: with the race detector or not.
func (w *workspace) build() (string, error) {
	if err := processes.LookAtSources(); err != nil {
		return "", err
	}
	path := filepath.Join(w.dir, "sluice")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "./cmd/sluice")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the gateway: %w\n%s", err, out)
	}
	return path, nil
}

// atEnd runs end when the last test has ended.
func (w *workspace) atEnd(end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = append(w.ends, end)
}

func (w *workspace) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range slices.Backward(w.ends) {
		end()
	}
	_ = os.RemoveAll(w.dir)
}

// needPeers skips a test that is to be quick. Every test begins with it, or with
// what calls it.
func needPeers(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs other processes, which -short leaves out")
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs process groups")
	}
}

// missing ends a test for want of a peer: it is skipped, or with
// SLUICE_REQUIRE_PEERS=1 it fails.
func missing(t testing.TB, what string) {
	t.Helper()
	text := what + " is missing: scripts/peers-install.sh installs it"
	if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// installed returns the absolute path of a file of the repository that belongs to
// a peer, or ends the test.
func installed(t testing.TB, path string) string {
	t.Helper()
	needPeers(t)
	full, err := filepath.Abs(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(full); err != nil {
		missing(t, path)
	}
	return full
}

// baseEnv is what every process of a test gets: no key, no setting of ours, and
// nothing else that would make its run differ from the next one's.
func baseEnv() map[string]string {
	env := map[string]string{}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG"} {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	return env
}

// with returns env with names and values added.
func with(env map[string]string, more ...string) map[string]string {
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	for pair := range slices.Chunk(more, 2) {
		env[pair[0]] = pair[1]
	}
	return env
}

// gateway is Sluice at work, as a process.
type gateway struct {
	*process
	base   string // http://127.0.0.1:port
	client *http.Client
}

// startGateway starts the gateway on a port that the kernel picks, with the offline
// model unless env says otherwise. It ends with the test, and must then end well.
func startGateway(t testing.TB, env map[string]string) *gateway {
	t.Helper()
	needPeers(t)
	path, err := shared.binary()
	if err != nil {
		t.Fatal(err)
	}
	// Admission by count: a hundred turns at once must not fail where others use the CPU.
	all := with(baseEnv(), "SLUICE_ADDR", "127.0.0.1:0", "SLUICE_TODO_DB", ":memory:", "SLUICE_LOG_LEVEL", "debug", "SLUICE_ADMISSION", "count",
		"GORACE", "atexit_sleep_ms=0") // a program with the race detector would take a second to end
	maps.Copy(all, env)
	g := &gateway{process: start(t, command{name: path, env: all})}
	t.Cleanup(func() { g.endWell(t) })
	g.base = "http://" + g.awaitLog(t, "listening").detail("addr")
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	g.client = &http.Client{Transport: transport}
	return g
}

// endWell drains the gateway, which is a test of its own: nothing may be left over.
func (g *gateway) endWell(t testing.TB) {
	t.Helper()
	select {
	case <-g.ended: // the test has seen to it, or it crashed
		if g.wanted.Load() {
			return
		}
	default:
	}
	g.stop(syscall.SIGTERM)
	if g.err != nil {
		t.Errorf("the gateway ended with %v", g.err)
	}
}

// mcpConfig writes an mcpServers file and returns the environment that names it.
func mcpConfig(t testing.TB, servers map[string]any) map[string]string {
	t.Helper()
	content, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"MCP_CONFIG": path}
}

// get reads a JSON reply into v and returns its status.
func (g *gateway) get(t testing.TB, path string, v any) int {
	t.Helper()
	resp, err := g.client.Get(g.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, v); err != nil {
		t.Fatalf("GET %s: %v: %s", path, err, body)
	}
	return resp.StatusCode
}

// toolInfo is a row of GET /tools.
type toolInfo struct {
	Name, Server, Description string
	InputSchema               json.RawMessage `json:"input_schema"`
	Annotations               map[string]any
}

func (g *gateway) tools(t testing.TB) []toolInfo {
	t.Helper()
	var reply struct{ Tools []toolInfo }
	g.get(t, "/tools", &reply)
	return reply.Tools
}
