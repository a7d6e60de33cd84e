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

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/testnet"
)

// wantGone waits until none of the processes is there any more. A process that is
// dead but not reaped, as an orphan may be where nobody reaps, counts as gone.
func wantGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		t.Cleanup(func() {
			if t.Failed() && !gone(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
		testnet.Eventually(t, fmt.Sprintf("process %d is gone", pid), func() bool { return gone(pid) })
	}
}

func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// family is a turn after which a child and a grandchild run.
const family = "call fork {}\nfinish STOP\n---\ntext Done\nfinish STOP\n---\ncall slow {}\nfinish STOP\n---\ntext Done\nfinish STOP"

func forked(t *testing.T, r *gatewaytest.Running) (child, grandchild int) {
	t.Helper()
	result := gatewaytest.WantResult(t, r.Ask("fork"), "fork")
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
		file := gatewaytest.MCPConfig(t, map[string]any{"kid": gatewaytest.StdioChild(nil)})
		r := start(t, gatewaytest.Scripted(t, family).Env("MCP_CONFIG", file))
		r.Log.Await(t, "mcp_connected", nil)
		child, grandchild := forked(t, r)
		if code := r.Stop(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
		wantGone(t, child, grandchild)
	})
	t.Run("after a second signal, with a call under way", func(t *testing.T) {
		t.Parallel()
		home := gatewaytest.AcceptCalls(t)
		file := gatewaytest.MCPConfig(t, map[string]any{"kid": gatewaytest.StdioChild(map[string]string{gatewaytest.ReportVariable: home.Addr()})})
		r := start(t, gatewaytest.Scripted(t, family).Env("MCP_CONFIG", file, "SLUICE_DRAIN_TIMEOUT", "1h"))
		r.Log.Await(t, "mcp_connected", nil)
		child, grandchild := forked(t, r)
		s := r.StartTurn("slow")
		home.Next(t)
		r.Signals <- syscall.SIGINT
		r.Log.Await(t, "draining", nil)
		r.Signals <- syscall.SIGINT
		began := time.Now()
		gatewaytest.WantFailure(t, s.All(t), "shutting_down", "shutdown")
		if code := r.Wait(); code != exitFailed {
			t.Errorf("exit code %d", code)
		}
		testnet.Prompt(t, "the end after the second signal", time.Since(began), time.Second)
		wantGone(t, child, grandchild)
	})
}

var childURL = regexp.MustCompile(`"addr":"([^"]+)"`)

// binary is the program as a process of its own, with a stdio child.
type binary struct {
	*gatewaytest.Running
	cmd    *exec.Cmd
	stdout *gatewaytest.SafeBuffer
	home   *gatewaytest.Callers // of the child's tool slow
}

func startProcess(t *testing.T) *binary {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := gatewaytest.AcceptCalls(t)
	file := gatewaytest.MCPConfig(t, map[string]any{"kid": gatewaytest.StdioChild(map[string]string{gatewaytest.ReportVariable: home.Addr()})})
	env := gatewaytest.Scripted(t, family).Env("MCP_CONFIG", file, gatewaytest.ChildVariable, "sluice", "GORACE", gatewaytest.NoExitSleep)
	p := &binary{cmd: exec.CommandContext(t.Context(), path), stdout: new(gatewaytest.SafeBuffer), home: home}
	p.Running = gatewaytest.NewRunning(t)
	p.cmd.Env = os.Environ()
	for name, value := range gatewaytest.WithDefaults(t, env) {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.Base = "http://" + p.stdout.Await(t, childURL)[1]
	p.stdout.Await(t, regexp.MustCompile("mcp_connected"))
	return p
}

// end sends a signal, waits for the end and returns the exit code; -1 means that
// the signal itself was the end.
func (p *binary) end(signal syscall.Signal) int {
	p.T.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		p.T.Fatal(err)
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// The same with real processes and real signals.
func TestProcess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		signal syscall.Signal
		code   int
	}{{syscall.SIGTERM, exitOK}, {syscall.SIGINT, exitOK}, {syscall.SIGKILL, -1}} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			t.Parallel()
			p := startProcess(t)
			child, grandchild := forked(t, p.Running)
			if code := p.end(tt.signal); code != tt.code {
				t.Errorf("exit code %d, want %d; stderr:\n%s", code, tt.code, p.Stderr)
			}
			if tt.signal == syscall.SIGKILL { // then the kernel ends the child, but nobody what it has started
				_ = syscall.Kill(grandchild, syscall.SIGKILL)
			}
			wantGone(t, child, grandchild)
		})
	}
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		p := startProcess(t)
		child, grandchild := forked(t, p.Running)
		s := p.StartTurn("slow")
		p.home.Next(t)
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.stdout.Await(t, regexp.MustCompile("draining"))
		if code := p.end(syscall.SIGTERM); code != exitFailed {
			t.Errorf("exit code %d, want 1; stderr:\n%s", code, p.Stderr)
		}
		gatewaytest.WantFailure(t, s.All(t), "shutting_down", "shutdown")
		wantGone(t, child, grandchild)
	})
}
