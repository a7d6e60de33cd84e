//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// wantGone waits until none of the processes is there any more. A process that is
// dead but not reaped, as an orphan may be where nobody reaps, counts as gone.
func wantGone(t *testing.T, pids ...int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // nobody tells of the end of another's child
		alive := 0
		for _, pid := range pids {
			if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				continue
			}
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err == nil && bytes.Contains(stat, []byte(") Z ")) {
				continue
			}
			alive = pid
		}
		if alive == 0 {
			return
		}
		if time.Now().After(end) {
			_ = syscall.Kill(alive, syscall.SIGKILL)
			t.Fatalf("process %d is still there", alive)
		}
	}
}

// family is a turn after which a child and a grandchild run.
const family = "call fork {}\nfinish STOP\n---\ntext Done\nfinish STOP\n---\ncall slow {}\nfinish STOP\n---\ntext Done\nfinish STOP"

func forked(t *testing.T, r *running) (child, grandchild int) {
	t.Helper()
	result := wantResult(t, r.ask("fork"), "fork")
	if _, err := fmt.Sscan(result, &child, &grandchild); err != nil {
		t.Fatalf("%v: %q", err, result)
	}
	return child, grandchild
}

// However the program ends, no process stays behind.
func TestNoProcessStaysBehind(t *testing.T) {
	t.Parallel()
	t.Run("at the end", func(t *testing.T) {
		t.Parallel()
		file := mcpConfig(t, map[string]any{"kid": stdioChild(nil)})
		r := start(t, scripted(t, family).env("MCP_CONFIG", file))
		r.log.await(t, "mcp_connected", nil)
		child, grandchild := forked(t, r)
		if code := r.stop(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
		wantGone(t, child, grandchild)
	})
	t.Run("after a second signal, with a call under way", func(t *testing.T) {
		t.Parallel()
		home := takeCalls(t)
		file := mcpConfig(t, map[string]any{"kid": stdioChild(map[string]string{reportVariable: home.addr()})})
		r := start(t, scripted(t, family).env("MCP_CONFIG", file, "SLUICE_DRAIN_TIMEOUT", "1h"))
		r.log.await(t, "mcp_connected", nil)
		child, grandchild := forked(t, r)
		s := r.say("slow")
		home.next(t)
		r.signals <- syscall.SIGINT
		r.log.await(t, "draining", nil)
		r.signals <- syscall.SIGINT
		began := time.Now()
		wantFailure(t, s.all(t), "shutting_down", "shutdown")
		if code := r.wait(); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v to end after the second signal", took)
		}
		wantGone(t, child, grandchild)
	})
}

var childURL = regexp.MustCompile(`"addr":"([^"]+)"`)

// process starts the program as a process of its own, with a stdio child.
func process(t *testing.T) (*exec.Cmd, *running) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := scripted(t, family).env("MCP_CONFIG", mcpConfig(t, map[string]any{"kid": stdioChild(nil)}), childVariable, "sluice", "GORACE", noExitSleep)
	cmd := exec.CommandContext(t.Context(), path)
	cmd.Env = os.Environ()
	for name, value := range withDefaults(t, env) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	stdout, stderr := new(safeBuffer), new(safeBuffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, stderr: stderr, client: newClient(t)}
	r.base = "http://" + stdout.await(t, childURL)[1]
	stdout.await(t, regexp.MustCompile("mcp_connected"))
	return cmd, r
}

// The same with a real process and real signals.
func TestProcess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGTERM, exitOK}, {syscall.SIGINT, exitOK}, {syscall.SIGKILL, -1}} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			t.Parallel()
			cmd, r := process(t)
			child, grandchild := forked(t, r)
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d; stderr:\n%s", code, tt.code, r.stderr)
			}
			if tt.signal == syscall.SIGKILL { // then the kernel ends the child, but nobody what it has started
				_ = syscall.Kill(grandchild, syscall.SIGKILL)
			}
			wantGone(t, child, grandchild)
		})
	}
}
