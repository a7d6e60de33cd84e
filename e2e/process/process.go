// Package process is what tests share that drive the gateway as a process of its own: it is
// built once, started with an environment, read by its log, and must end well. A model that a
// test scripts stands in the process of the test.
//
// A package that starts one with it calls Main in its TestMain, and lies in a folder of e2e.
package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/internal/base/testnet"
)

const (
	// Root is the repository, seen from the folder of a test.
	Root = "../.."
	// Tree is Root by way of a link inside the module e2e. go test does not notice that a file
	// outside a test's module has changed, and would report an old result. So a test reads the
	// repository's files here.
	Tree = "../tree"
	// Patience bounds every wait for something that must come on a busy machine.
	Patience = testnet.Patience
)

// folder is what all tests of a process share. Main makes and removes it.
var folder string

// Main runs the tests of a package, and returns the exit code.
func Main(m *testing.M) int {
	var err error
	if folder, err = os.MkdirTemp("", "sluice-process-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

// build builds the gateway once, without the race detector: its CPU time is measured.
var build = sync.OnceValues(func() (string, error) {
	if folder == "" {
		return "", errors.New("TestMain does not call process.Main")
	}
	if err := LookAtSources("e2e"); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "sluice")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/sluice")
	cmd.Dir = Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the gateway: %w\n%s", err, out)
	}
	return path, nil
})

// Program returns the path of the gateway's program. It skips a test that is to be quick.
func Program(t testing.TB) string {
	t.Helper()
	Needed(t)
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// LookAtSources looks at every file that a program may be built from or read, except in folders
// with the given names. go test reports an old result only if the files that a test looked at are
// the same. It does not notice the files of a program that the test starts.
func LookAtSources(without ...string) error {
	return filepath.WalkDir(Tree+"/.", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != Tree+"/." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || slices.Contains(without, d.Name())):
			return filepath.SkipDir
		case d.Type().IsRegular() && !strings.HasSuffix(path, "_test.go"):
			_, err = os.Stat(path)
		}
		return err
	})
}

// Needed skips a test that is to be quick, and one on a system without signals.
func Needed(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs other processes, which -short leaves out")
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs signals")
	}
}

// Missing ends a test for want of a program: it is skipped, or with SLUICE_REQUIRE_PEERS=1 it
// fails. script is what installs it.
func Missing(t testing.TB, what, script string) {
	t.Helper()
	text := what + " is missing: " + script + " installs it"
	if os.Getenv("SLUICE_REQUIRE_PEERS") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// Tool returns the path of the first of some programs that is there, or ends the test.
func Tool(t testing.TB, names ...string) string {
	t.Helper()
	Needed(t)
	for _, name := range names {
		for _, path := range []string{name, "/usr/sbin/" + name, filepath.Join(Root, ".judges", name)} {
			if found, err := exec.LookPath(path); err == nil {
				if full, err := filepath.Abs(found); err == nil {
					return full
				}
			}
		}
	}
	Missing(t, names[0], "scripts/judges-install.sh")
	return ""
}

// Gateway is Sluice as a process.
type Gateway struct {
	Addr  string // host:port
	Admin string // host:port of the operators' address; empty without one

	t       testing.TB
	cmd     *exec.Cmd
	ended   chan struct{}
	stderr  bytes.Buffer // of the process, until ended
	excused bool         // the test has seen to its end

	mu    sync.Mutex // guards the fields below
	lines []Line
	news  chan struct{} // closed when there are more lines
}

// Line is one of the log.
type Line struct {
	Event     string         `json:"event"`
	Level     string         `json:"level"`
	RequestID string         `json:"request_id"`
	Details   map[string]any `json:"details"`
	Raw       string         `json:"-"`
}

// Detail returns a member of the details as text; "" if it is missing.
func (l Line) Detail(name string) string {
	if v, ok := l.Details[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// Start starts a gateway, with the simulated model unless env says otherwise, and waits until it
// listens. It is stopped with the test, and must then end well.
func Start(t testing.TB, env map[string]string) *Gateway {
	t.Helper()
	g := Launch(t, exec.Command(Program(t)), env)
	g.Addr = g.Await("listening").Detail("addr")
	if env["SLUICE_ADMIN_ADDR"] != "" {
		g.Admin = g.Await("admin_listening").Detail("addr")
	}
	return g
}

// Launch starts a command that runs the gateway, and does not wait: its log goes to the standard
// output of the command, and a signal to the command reaches it.
func Launch(t testing.TB, cmd *exec.Cmd, env map[string]string) *Gateway {
	t.Helper()
	// Admission by count: other work on the machine is to refuse no turn.
	all := map[string]string{"SLUICE_ADDR": "127.0.0.1:0", "SLUICE_TODO_DB": ":memory:", "SLUICE_LOG_LEVEL": "debug", "SLUICE_ADMISSION": "count",
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir()}
	maps.Copy(all, env)
	g := &Gateway{t: t, cmd: cmd, ended: make(chan struct{}), news: make(chan struct{})}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		cmd.Env = append(cmd.Env, name+"="+all[name])
	}
	cmd.Stderr = &g.stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(g.ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			g.addLine(lines.Text())
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(g.endWell)
	return g
}

// endWell ends a gateway that its test has not ended.
func (g *Gateway) endWell() {
	if !g.excused {
		if code := g.Stop(); code != 0 {
			g.t.Errorf("the gateway ended with %d: %s", code, g.stderr.String())
		}
	}
	if g.t.Failed() {
		log := g.Log()
		g.t.Logf("the end of its log:\n%s", log[max(0, len(log)-3<<10):])
	}
}

// Stop drains the gateway and returns the exit code.
func (g *Gateway) Stop() int {
	g.t.Helper()
	g.Signal(syscall.SIGTERM)
	return g.Wait()
}

// Kill ends the gateway without warning.
func (g *Gateway) Kill() {
	g.t.Helper()
	_ = g.cmd.Process.Kill()
	g.Wait()
}

// Signal sends a signal.
func (g *Gateway) Signal(s os.Signal) { _ = g.cmd.Process.Signal(s) }

// Wait waits for the end and returns the exit code, -1 after a signal that killed it. The test then
// judges the code.
func (g *Gateway) Wait() int {
	g.t.Helper()
	g.excused = true
	select {
	case <-g.ended:
	case <-time.After(Patience):
		_ = g.cmd.Process.Kill()
		<-g.ended
		g.t.Error("the gateway does not end")
	}
	return g.cmd.ProcessState.ExitCode()
}

// Ended is closed when the gateway has ended.
func (g *Gateway) Ended() <-chan struct{} { return g.ended }

// Stderr returns what stood on its standard error. The gateway must have ended.
func (g *Gateway) Stderr() string {
	<-g.ended
	return g.stderr.String()
}

// PID returns the id of the process.
func (g *Gateway) PID() int { return g.cmd.Process.Pid }

// addLine adds a line of the log.
func (g *Gateway) addLine(text string) {
	l := Line{Raw: text}
	_ = json.Unmarshal([]byte(text), &l)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lines = append(g.lines, l)
	close(g.news)
	g.news = make(chan struct{})
}

// Await returns the first line of an event.
func (g *Gateway) Await(event string) Line {
	g.t.Helper()
	return g.AwaitAfter(event, 0)
}

// AwaitAfter returns the line of an event that follows so many others of it.
func (g *Gateway) AwaitAfter(event string, others int) Line {
	g.t.Helper()
	return g.AwaitLine(fmt.Sprintf("%s after %d others", event, others), func(l Line) bool {
		if l.Event == event {
			others--
		}
		return others < 0
	})
}

// AwaitLine returns the first line that is wanted. Each is shown once, in order.
func (g *Gateway) AwaitLine(what string, wanted func(Line) bool) Line {
	g.t.Helper()
	limit := time.After(Patience)
	for seen, over := 0, false; ; {
		g.mu.Lock()
		lines, news := g.lines, g.news
		g.mu.Unlock()
		for ; seen < len(lines); seen++ {
			if wanted(lines[seen]) {
				return lines[seen]
			}
		}
		if over {
			g.t.Fatalf("the gateway ended without %s: %s", what, g.stderr.String())
		}
		select {
		case <-news:
		case <-g.ended:
			over = true // once more, for the last lines
		case <-limit:
			g.t.Fatalf("no line in time: %s", what)
		}
	}
}

// Logged returns all lines of an event so far; "" is every event.
func (g *Gateway) Logged(event string) (all []Line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.lines {
		if event == "" || l.Event == event {
			all = append(all, l)
		}
	}
	return all
}

// Log returns the log so far.
func (g *Gateway) Log() string {
	var b strings.Builder
	for _, l := range g.Logged("") {
		b.WriteString(l.Raw + "\n")
	}
	return b.String()
}
