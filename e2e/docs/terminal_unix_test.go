//go:build unix

package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/process"
)

// terminal is what one page is run in.
type terminal struct {
	dir     string // where its blocks begin
	state   string // folder with what a block leaves for the next one: variables, folder
	program string // the path of the gateway's
	env     []string
	socket  net.Listener
	wg      sync.WaitGroup // of the goroutine that serves

	mu      sync.Mutex         // guards servers
	servers map[string]*server // by address
}

// newTerminal opens one, in a folder with what the documents name of the repository.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	program := process.Program(t)
	dir, err := os.MkdirTemp("", "docs-") // a short path: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{dir: filepath.Join(dir, "work"), state: dir, program: program, servers: map[string]*server{}}
	if err := term.furnish(); err != nil {
		t.Fatal(err)
	}
	if term.socket, err = net.Listen("unix", filepath.Join(dir, "socket")); err != nil {
		t.Fatal(err)
	}
	term.env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH") + ":/usr/sbin", "HOME=" + filepath.Join(dir, "home"), "LANG=C.UTF-8",
		"SLUICE_ADMISSION=count", "DOCS_PROGRAM=" + program, "DOCS_SOCKET=" + filepath.Join(dir, "socket")}
	term.wg.Go(term.serve)
	t.Cleanup(func() {
		_ = term.socket.Close()
		term.wg.Wait()
		for _, s := range term.servers {
			s.stop()
		}
		term.endDaemons()
		for _, left := range endProcesses(dir) {
			t.Errorf("a command of the page has left a process running: %s", left)
		}
		_ = os.RemoveAll(dir)
	})
	return term
}

// furnish makes the folders: that of the page, with what the documents name of the repository, the
// home folder, and one on the PATH in which this test stands for the gateway and for go.
func (term *terminal) furnish() error {
	self, err := os.Executable()
	root, rootErr := filepath.Abs(process.Root)
	bin, home := filepath.Join(term.state, "bin"), filepath.Join(term.state, "home")
	return errors.Join(err, rootErr,
		os.Chmod(term.state, 0o755), os.Mkdir(term.dir, 0o755), // nginx reads there as somebody else
		os.Symlink(filepath.Join(root, "examples"), filepath.Join(term.dir, "examples")),
		os.Symlink(filepath.Join(root, "deploy"), filepath.Join(term.dir, "deploy")),
		os.Mkdir(bin, 0o700), os.Symlink(self, filepath.Join(bin, "sluice")), os.Symlink(self, filepath.Join(bin, "go")),
		// In a terminal curl shows no progress between the events. Here it also fails on each status from
		// 400 on, which a reader would see.
		os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, ".curlrc"), []byte("no-progress-meter\nfail-with-body\n"), 0o600))
}

// endDaemons ends what a page has left behind that wrote its number into a file: nginx, Redis.
func (term *terminal) endDaemons() {
	files, _ := filepath.Glob(filepath.Join(term.dir, "*.pid"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		var pid int
		if _, scanErr := fmt.Sscan(string(text), &pid); err == nil && scanErr == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

// run runs commands in it. What they print on both outputs comes together.
func (term *terminal) run(ctx context.Context, commands string) (output string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	const begin = `set -o pipefail
if [ -f "$DOCS_STATE/env" ]; then . "$DOCS_STATE/env"; cd "$(cat "$DOCS_STATE/dir")"; fi
trap 'export -p >"$DOCS_STATE/env"; pwd >"$DOCS_STATE/dir"' EXIT
set -e
`
	cmd := exec.CommandContext(ctx, "bash", "-c", begin+commands)
	cmd.Dir = term.dir
	cmd.Env = append(term.env, "DOCS_STATE="+term.state)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && ctx.Err() == nil {
		return out.String(), exit.ExitCode(), nil
	}
	return out.String(), 0, errors.Join(err, ctx.Err())
}

// picked are the ports that pages use.
var picked sync.Map

// freePort returns a port at which nobody listens, and that no other page gets. It lies below those
// that the system gives to connections.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := 11000 + rand.IntN(20000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			if _, used := picked.LoadOrStore(port, true); !used {
				return fmt.Sprint(port)
			}
		}
	}
	t.Fatal("no port is free")
	return ""
}
