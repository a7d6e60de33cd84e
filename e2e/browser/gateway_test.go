package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/process"
)

// gateway is Sluice at work, as a process.
type gateway struct {
	base string // http://127.0.0.1:port
	log  *journal
}

// startGateway starts the gateway on a port that the kernel picks, with the offline
// model unless env says otherwise. It ends with the test, and must then end well.
func startGateway(t testing.TB, env map[string]string) *gateway {
	t.Helper()
	g, cmd := startToEnd(t, env)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
	return g
}

// startToEnd is startGateway for one that the test ends itself.
func startToEnd(t testing.TB, env map[string]string) (*gateway, *exec.Cmd) {
	t.Helper()
	process.Needed(t)
	all := map[string]string{"SLUICE_ADDR": "127.0.0.1:0", "SLUICE_TODO_DB": ":memory:", "SLUICE_DRAIN_TIMEOUT": "1s", "SLUICE_ADMISSION": "count"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR"} { // and no setting of ours
		all[name] = os.Getenv(name)
	}
	maps.Copy(all, env)
	g := &gateway{log: &journal{}}
	cmd := exec.Command(program(t, built.gateway))
	for name, value := range all {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stdout, cmd.Stderr = g.log, g.log
	cmd.SysProcAttr = diesWithUs()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the gateway:\n%s", g.log)
		}
	})
	g.base = "http://" + fmt.Sprint(g.log.await(t, 1, "listening")[0].Details["addr"])
	return g, cmd
}

// journal is the log that the gateway writes.
type journal struct {
	mu      sync.Mutex // guards the fields below
	text    bytes.Buffer
	changed chan struct{} // closed by the next write; nil: nobody waits
}

// entry is a line of it.
type entry struct {
	RequestID string `json:"request_id"`
	UserID    string `json:"user_id"`
	Event     string
	Details   map[string]any
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// next returns what there is, and a channel that is closed when there is more.
func (j *journal) next() ([]byte, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return slices.Clone(j.text.Bytes()), j.changed
}

// of returns the entries of an event, oldest first.
func (j *journal) of(event string) []entry { return entries([]byte(j.String()), event) }

// turns returns how many turns a user has had.
func (j *journal) turns(user string) (n int) {
	for _, e := range j.of("request_received") {
		if e.UserID == user {
			n++
		}
	}
	return n
}

func entries(text []byte, event string) (found []entry) {
	for line := range bytes.Lines(text) {
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Event == event { // the banner is no JSON
			found = append(found, e)
		}
	}
	return found
}

// await waits until there are n entries of an event.
func (j *journal) await(t testing.TB, n int, event string) []entry {
	t.Helper()
	timeout := time.After(patience)
	for {
		text, changed := j.next()
		if found := entries(text, event); len(found) >= n {
			return found
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("no %d entries %s in the log:\n%s", n, event, text)
		}
	}
}
