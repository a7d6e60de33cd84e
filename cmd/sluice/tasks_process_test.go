//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/redis/redistest"
)

// spawn starts the program as a process of its own and returns where it listens.
func spawn(t *testing.T, env ...string) (cmd *exec.Cmd, base string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), exe)
	cmd.Env = append([]string{gatewaytest.ChildVariable + "=sluice", "GEMINI_API_KEY=a-key-for-tests", "SLUICE_ADDR=127.0.0.1:0", "SLUICE_TODO_DB=:memory:"}, env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal("it does not listen")
		}
		if _, rest, ok := strings.Cut(line, `"addr":"`); ok && strings.Contains(line, `"listening"`) {
			addr, _, _ := strings.Cut(rest, `"`)
			go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
			return cmd, "http://" + addr
		}
	}
}

// A gateway that is killed in the middle of 20 turns leaves none of them open: the other
// one begins their answers again, and sends each of their readers one done.
func TestTurnsOfAKilledGatewayGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a lease")
	}
	t.Parallel()
	const turns = 20
	server := redistest.Start(t, "redis-server", false)
	hang := gatewaytest.Scripted(t, strings.Repeat("text Hello\ndelay 60s\ntext bye\nfinish STOP\n---\n", turns)+
		strings.TrimSuffix(strings.Repeat("text Goodbye\nfinish STOP\n---\n", turns), "---\n"))
	env := []string{"SLUICE_STORE=unix://" + server.Socket, "SLUICE_REQUEST_TIMEOUT=50s", "SLUICE_MODEL_TIMEOUT=45s"}
	for name, value := range hang.Env() {
		env = append(env, name+"="+value)
	}
	killed, first := spawn(t, env...)
	_, second := spawn(t, env...)

	tasks := make(chan string, turns)
	for range turns {
		go func() {
			resp, err := http.Post(first+"/chat/stream", "application/json", strings.NewReader(`{"input":"hi"}`))
			if err != nil {
				tasks <- err.Error()
				return
			}
			defer resp.Body.Close()
			r := bufio.NewReader(resp.Body)
			task := ""
			for {
				line, err := r.ReadString('\n')
				if _, rest, ok := strings.Cut(line, `"task_id":"`); ok {
					task, _, _ = strings.Cut(rest, `"`)
				}
				if err != nil || strings.HasPrefix(line, "event: response_delta") {
					break
				}
			}
			tasks <- task
			_, _ = io.Copy(io.Discard, r) // ends with the process
		}()
	}
	var ids []string
	for range turns {
		id := gatewaytest.Within(t, "a turn", tasks)
		if !strings.HasPrefix(id, "task_") {
			t.Fatalf("a turn began with %q", id)
		}
		ids = append(ids, id)
	}
	_ = killed.Process.Kill()

	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	began := time.Now()
	var wait sync.WaitGroup
	for _, id := range ids {
		wait.Go(func() {
			if err := wholeOf(ctx, second, id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	wait.Wait()
	t.Logf("all had ended after %v", time.Since(began))
	for _, id := range ids {
		testnet.Eventually(t, "a task that is completed", func() bool { // its state follows its last event
			text, err := textOf(ctx, second+"/tasks/"+id)
			return err == nil && strings.Contains(text, `"state":"completed"`)
		})
	}
}

// wholeOf reads a task's stream, which must end with one done and the answer that was begun again.
func wholeOf(ctx context.Context, base, id string) error {
	text, err := textOf(ctx, base+"/tasks/"+id+"/events")
	if err != nil {
		return err
	}
	if strings.Count(text, "event: done") != 1 || !strings.Contains(text, `"accumulated":"","reason":"taken_over"`) || !strings.Contains(text, `"final_output":"Goodbye"`) {
		return fmt.Errorf("its stream is\n%s", text)
	}
	return nil
}

// textOf is what a URL replies.
func textOf(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return string(all), err
}
