//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// startOn starts the program as a process of its own with stdout and stderr as they
// are given. The caller finds out where it listens. It must end well with the test.
func startOn(t *testing.T, stdout, stderr *os.File, env map[string]string) *running {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = os.Environ()
	for name, value := range withDefaults(t, with(env, childVariable, "sluice", "GORACE", noExitSleep)) {
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
	return &running{t: t, client: newClient(t)}
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

// awaitListening reads the log up to the line that tells the address.
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

// Whoever reads the log may leave for good: every stream still gets its end.
func TestLogReaderThatLeavesEndsNothing(t *testing.T) {
	t.Parallel()
	logs, stdout := mustPipe(t)
	errs, stderr := mustPipe(t)
	errs.Close() // nobody reads the banner either
	r := startOn(t, stdout, stderr, scripted(t, "loop\ntext Hi\nfinish STOP").env())
	stdout.Close()
	stderr.Close()
	r.base = awaitListening(t, bufio.NewReader(logs))
	logs.Close()
	for range 20 {
		wantSuccess(t, r.ask("hi"), "stop")
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
	r := startOn(t, stdout, nil, scripted(t, "loop\ntext Hi\nfinish STOP").env())
	stdout.Close()
	r.base = awaitListening(t, bufio.NewReaderSize(logs, 16)) // leaves the rest in the pipe
	logs.Close()
	const turns = 20
	for range turns {
		wantSuccess(t, r.ask("hi"), "stop")
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

// fickle is a stdout whose reader is away now and then, and which takes what there
// is room for.
type fickle struct {
	logTail
	away bool
	room int
}

func (f *fickle) Write(p []byte) (int, error) {
	if !f.away {
		return f.logTail.Write(p)
	}
	n := min(f.room, len(p))
	f.room -= n
	_, _ = f.logTail.Write(p[:n])
	return n, errors.Join(os.ErrClosed, syscall.EPIPE)
}

// What is logged while nobody reads is kept as far as there is room, also the second
// half of a line; the rest is counted, and the reader that comes back is told.
func TestLogLinesAreDroppedAndToldWhenTheReaderIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &fickle{away: true, room: 1500}
		w := newLogWriter(out, nil)
		log := processLogger(newLogger(w, "info"))
		const lines = 10_000
		filler := strings.Repeat("x", 1000)
		for range lines {
			log.Info().Dict("details", zerolog.Dict().Str("filler", filler)).Msg("said")
			synctest.Wait()
		}
		if n := len(out.all("said")); n != 1 {
			t.Errorf("%d lines are out, want 1", n)
		}
		out.away = false
		time.Sleep(2 * logRetry)
		synctest.Wait()
		out.check(t) // whole lines, all of them
		kept := len(out.all("said"))
		told := out.all("log_lines_dropped")
		if len(told) != 1 {
			t.Fatalf("the loss was told %d times", len(told))
		}
		dropped, _ := told[0].fields["details"].(map[string]any)["count"].(float64)
		if kept+int(dropped) != lines || dropped == 0 || kept*1000 < maxBacklog/2 {
			t.Errorf("of %d lines %d were kept and %v counted as dropped", lines, kept, dropped)
		}
		w.Close()
	})
}
