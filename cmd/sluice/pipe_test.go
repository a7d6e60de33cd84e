//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// startOn starts the program as a process of its own with stdout and stderr as they
// are given. The caller finds out where it listens. It must end well with the test.
func startOn(t *testing.T, stdout, stderr *os.File, env map[string]string) *gatewaytest.Running {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = os.Environ()
	for name, value := range gatewaytest.WithDefaults(t, gatewaytest.With(env, gatewaytest.ChildVariable, "sluice", "GORACE", gatewaytest.NoExitSleep)) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process ended with: %v", err)
		}
	})
	return gatewaytest.NewRunning(t)
}

func mustPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// awaitListening reads the log up to the line that reports the address.
func awaitListening(t *testing.T, log *bufio.Reader) (base string) {
	t.Helper()
	for {
		line, err := log.ReadString('\n')
		if err != nil {
			t.Fatalf("the log ended: %v", err)
		}
		if m := childURL.FindStringSubmatch(line); m != nil {
			return "http://" + m[1]
		}
	}
}

// The reader of the log may leave for good: every stream still gets its end.
func TestLogReaderThatLeavesEndsNothing(t *testing.T) {
	t.Parallel()
	logs, stdout := mustPipe(t)
	errs, stderr := mustPipe(t)
	errs.Close() // nobody reads the banner either
	r := startOn(t, stdout, stderr, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env())
	stdout.Close()
	stderr.Close()
	r.Base = awaitListening(t, bufio.NewReader(logs))
	logs.Close()
	for range 20 {
		gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	}
}

// A reader that comes back to a named pipe finds all that was logged meanwhile.
func TestLogReaderThatComesBackMissesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	logs, err := os.OpenFile(path, os.O_RDWR, 0) // so that nobody waits for the other side
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := startOn(t, stdout, nil, gatewaytest.Scripted(t, "loop\ntext Hi\nfinish STOP").Env())
	stdout.Close()
	r.Base = awaitListening(t, bufio.NewReaderSize(logs, 16)) // leaves the rest in the pipe
	logs.Close()
	const turns = 20
	for range turns {
		gatewaytest.WantSuccess(t, r.Ask("hi"), "stop")
	}
	again, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	lines := bufio.NewScanner(again)
	for done := 0; done < turns && lines.Scan(); {
		if strings.Contains(lines.Text(), `"request_completed"`) {
			done++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
