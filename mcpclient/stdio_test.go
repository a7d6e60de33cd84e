//go:build unix

package mcpclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/mcpclient/internal/wire"
)

func newChild(t *testing.T, mode string) *Client {
	t.Helper()
	return newClient(t, childConfig(mode))
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !zombie(pid) }

// zombie says that a process is dead, but that its parent has not asked for it:
// an orphan's new parent may take its time.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z")
}

func pidFrom(t *testing.T, c *Client, tool string) int {
	t.Helper()
	r, f := call(t.Context(), c, tool)
	if f != nil {
		t.Fatal(f)
	}
	pid, err := strconv.Atoi(r.Text)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// A child that ends at once says why: the last line of its stderr is in the log, without secrets.
func TestChildThatEndsAtOnceSaysWhy(t *testing.T) {
	t.Parallel()
	var log logBuffer
	cfg := childConfig("complain")
	cfg.Log = log.logger()
	cfg.Servers[0].Env["API_TOKEN"] = "s3cret-token"
	c := unstarted(t, cfg)
	if set := c.Tools(t.Context()); len(set.Unavailable) != 1 {
		t.Fatal("the server counts as connected")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "mcp_connect_failed") && strings.Contains(line, "its last words: no certificate for [redacted]") {
			return
		}
	}
	t.Errorf("the log is %s", log.String())
}

func TestStdioParallelCalls(t *testing.T) {
	t.Parallel()
	c := newChild(t, "good")
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			want := fmt.Sprintf(`{"n":%d}`, i)
			if r, f := callWith(t.Context(), c, "echo", want); f != nil || r.Text != want {
				t.Errorf("got %q, %v; want %q", r.Text, f, want)
			}
		})
	}
	wg.Wait()
}

// A server of mcp-go's own judges what we speak.
func TestStdioWithMCPGo(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", autoProtocol} {
		cfg := childConfig("mcp-go")
		cfg.Servers[0].ProtocolVersion = version
		c := newClient(t, cfg)
		r, f := callWith(t.Context(), c, "greet", `{"name":"Ada"}`)
		if f != nil || r.Text != "Hello, Ada" {
			t.Errorf("version %q: got %q, %v", version, r.Text, f)
		}
	}
}

func TestCommandThatIsNotThere(t *testing.T) {
	for _, mode := range []string{"exit", "garbage", "silent", "missing", "not in PATH"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cfg := childConfig(mode)
			cfg.ConnectWait = 300 * time.Millisecond
			switch mode {
			case "missing":
				cfg.Servers[0].Command = filepath.Join(t.TempDir(), "nothing-here")
			case "not in PATH":
				cfg.Servers[0].Command = "surely-no-such-command"
			}
			began := time.Now()
			c := newClient(t, cfg)
			set := c.Tools(t.Context())
			testnet.Prompt(t, "the tools", time.Since(began), 3*time.Second)
			if len(set.Unavailable) != 1 {
				t.Fatalf("a server that does not work is available")
			}
			f, _ := errors.AsType[*fault.Error](set.Unavailable[0].Err)
			wantFault(t, f, fault.MCPUnavailable, false)
		})
	}
}

func TestChildKilledMidCall(t *testing.T) {
	t.Parallel()
	c := newChild(t, "good")
	pid := pidFrom(t, c, "pid")
	marker := filepath.Join(t.TempDir(), "called")
	done := make(chan *fault.Error)
	go func() {
		_, f := callWith(t.Context(), c, "hang", `{"marker":`+mustJSON(t, marker)+`}`)
		done <- f
	}()
	testnet.Eventually(t, "the child got the call", func() bool {
		_, err := os.Stat(marker)
		return err == nil
	})
	began := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantFault(t, <-done, fault.ToolFailed, true)
	if again := pidFrom(t, c, "pid"); again == pid {
		t.Error("the dead child answered")
	}
	testnet.Prompt(t, "the next call", time.Since(began), 2*time.Second)
}

// Over stdio only a notification says to the server that its answer is not waited for.
func TestStdioCancelIsSent(t *testing.T) {
	t.Parallel()
	c := newChild(t, "good")
	marker := filepath.Join(t.TempDir(), "called")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *fault.Error)
	go func() {
		_, f := callWith(ctx, c, "hang", `{"marker":`+mustJSON(t, marker)+`}`)
		done <- f
	}()
	exists := func(path string) func() bool {
		return func() bool {
			_, err := os.Stat(path)
			return err == nil
		}
	}
	testnet.Eventually(t, "the child got the call", exists(marker))
	cancel()
	wantFault(t, <-done, fault.ToolFailed, true)
	testnet.Eventually(t, "the child got the notification", exists(marker+".cancelled"))
}

func TestChildDiesInCall(t *testing.T) {
	t.Parallel()
	c := newChild(t, "good")
	_, f := call(t.Context(), c, "die")
	wantFault(t, f, fault.ToolFailed, true)
	if n := failures(c); n != 1 {
		t.Errorf("the breaker counts %d failures, want 1", n)
	}
	mustCallEcho(t, c)
}

func mustCallEcho(t *testing.T, c *Client) {
	t.Helper()
	if r, f := callWith(t.Context(), c, "echo", `{"x":1}`); f != nil || r.Text != `{"x":1}` {
		t.Fatalf("got %q, %v", r.Text, f)
	}
}

// The child dies while nothing is asked of it: the next call, of any tool, works.
func TestChildDiesIdle(t *testing.T) {
	t.Parallel()
	c := newChild(t, "good")
	pid := pidFrom(t, c, "pid")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// Not before it is reaped: its threads end, and let go of the pipe, one by one.
	testnet.Eventually(t, "the child is reaped", func() bool { return syscall.Kill(pid, 0) != nil })
	mustCallEcho(t, c)
}

func TestHugeLineOverStdio(t *testing.T) {
	t.Parallel()
	c := newChild(t, "good")
	_, f := call(t.Context(), c, "big")
	wantFault(t, f, fault.ToolFailed, false)
	mustCallEcho(t, c)

	_, f = call(t.Context(), c, "line")
	wantFault(t, f, fault.ToolFailed, true)
	mustCallEcho(t, c)
}

func TestNotificationOverStdio(t *testing.T) {
	t.Parallel()
	for _, notice := range []string{"change", "listening"} {
		t.Run(notice, func(t *testing.T) {
			t.Parallel()
			c := newChild(t, "good")
			if _, f := call(t.Context(), c, notice); f != nil {
				t.Fatal(f)
			}
			testnet.Eventually(t, "the new tool is offered", func() bool {
				return c.Tools(t.Context()).Lookup("extra") != nil
			})
		})
	}
}

// The environment of a child is what its configuration says, and what programs
// need. Our own keys are not in it, whatever BaseEnv holds.
func TestChildEnvironment(t *testing.T) {
	t.Parallel()
	cfg := childConfig("good")
	cfg.BaseEnv = append(cfg.BaseEnv, "GEMINI_API_KEY=canary", "LC_TEST=yes", "AWS_SECRET=canary")
	cfg.Servers[0].Env["MINE"] = "value"
	c := newClient(t, cfg)
	r, f := call(t.Context(), c, "env")
	if f != nil {
		t.Fatal(f)
	}
	for _, kv := range strings.Split(r.Text, "\n") {
		name, _, _ := strings.Cut(kv, "=")
		if _, configured := cfg.Servers[0].Env[name]; !configured && !baseEnvAllowed(name) {
			t.Errorf("the child got %s", name)
		}
	}
	for _, want := range []string{"MINE=value", "LC_TEST=yes"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("the child did not get %s", want)
		}
	}
	if strings.Contains(r.Text, "canary") {
		t.Error("a secret got to the child")
	}
}

func TestNoBaseEnvIsNoEnvironment(t *testing.T) {
	t.Parallel()
	cfg := childConfig("good")
	cfg.BaseEnv = nil
	c := newClient(t, cfg)
	r, f := call(t.Context(), c, "env")
	if want := "GORACE=atexit_sleep_ms=0\n" + childVariable + "=good"; f != nil || r.Text != want {
		t.Errorf("got %q, %v; want %q", r.Text, f, want)
	}
}

func TestNoOrphans(t *testing.T) {
	t.Parallel()
	c := newChild(t, "good")
	pid, grandchild := pidFrom(t, c, "pid"), pidFrom(t, c, "grandchild")
	if !alive(pid) || !alive(grandchild) {
		t.Fatal("the processes do not run")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "child and grandchild are gone", func() bool { return !alive(pid) && !alive(grandchild) })
}

func TestChildThatIgnoresEverything(t *testing.T) {
	t.Parallel()
	c := newChild(t, "stubborn")
	pid := pidFrom(t, c, "pid")
	began := time.Now()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	testnet.Prompt(t, "closing", time.Since(began), wire.StdinGrace+wire.TermGrace+2*time.Second)
	if alive(pid) {
		t.Error("the child lives on")
	}
}

// Kill has no patience with such a child, nor with one that Close waits for.
func TestChildIsKilled(t *testing.T) {
	t.Parallel()
	for _, closing := range []bool{false, true} {
		c := newChild(t, "stubborn")
		pid := pidFrom(t, c, "pid")
		var wg sync.WaitGroup
		if closing {
			wg.Go(func() { _ = c.Close() })
		}
		began := time.Now()
		_ = c.Kill() // on a busy machine it may be too early for the child to be reaped
		testnet.Prompt(t, fmt.Sprintf("while closing: %v: killing", closing), time.Since(began), wire.StdinGrace/2)
		wg.Wait()
		testnet.Eventually(t, "the child is gone", func() bool { return !alive(pid) })
	}
}

// A child that stops reading is replaced when a write to it has not come back in
// time. TestLinesPeerStopsReading has the details.
func TestChildThatStopsReading(t *testing.T) {
	t.Parallel()
	cfg := childConfig("deaf")
	cfg.Servers[0].Timeout = 500 * time.Millisecond
	c := newClient(t, cfg)
	c.Tools(t.Context())
	first := c.upstreams[0].current.Load()
	_, f := callWith(t.Context(), c, "echo", `{"x":"`+strings.Repeat("x", 1<<18)+`"}`)
	if f == nil || !f.Unknown {
		t.Errorf("got %v, want an unknown outcome", f)
	}
	select {
	case <-first.dead:
	case <-time.After(testnet.Patience):
		t.Fatal("the child that does not read was not given up")
	}
	if !errors.Is(first.deadErr, wire.ErrStuck) {
		t.Errorf("it was given up because of %v", first.deadErr)
	}
}

func TestStderrGoesToTheLog(t *testing.T) {
	t.Parallel()
	var log logBuffer
	cfg := childConfig("good")
	cfg.Log = log.logger()
	cfg.Servers[0].Env["TOKEN"] = "s3cret-value"
	c := newClient(t, cfg)
	if _, f := call(t.Context(), c, "notes"); f != nil {
		t.Fatal(f)
	}
	testnet.Eventually(t, "both lines are logged", func() bool { return strings.Contains(log.String(), "the next note") })
	if s := log.String(); strings.Contains(s, "s3cret-value") || !strings.Contains(s, `"details":{"server":"s","line":`) || !strings.Contains(s, `"truncated":true`) {
		t.Errorf("the log is\n%s", s)
	}
}

func TestStdioServerMayAsk(t *testing.T) {
	t.Parallel()
	c := newChild(t, "good")
	if _, f := call(t.Context(), c, "ask"); f != nil {
		t.Fatal(f)
	}
	mustCallEcho(t, c)
}

// When we are killed, the child goes too, even one that ignores the end of its
// input.
func TestChildDiesWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux signals a child at its parent's death")
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatal("the child does not run")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	testnet.Eventually(t, "the child is gone", func() bool { return !alive(pid) })
}

func TestStdioBreakerOpensWhenTheChildCannotStart(t *testing.T) {
	t.Parallel()
	c := unstarted(t, childConfig("exit"))
	for range 5 {
		c.Tools(t.Context())
	}
	if s := state(c); s != breaker.Open {
		t.Errorf("the breaker is %s", s)
	}
}
