//go:build unix

package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/state/task"
	"sluice/stream"
)

// Variables of the process that is killed.
const (
	crashDir   = "SLUICE_TEST_CRASH_DIR"   // of its files
	crashAt    = "SLUICE_TEST_CRASH_AT"    // its point: odd before a write, even behind it
	crashURL   = "SLUICE_TEST_CRASH_URL"   // of the bank
	crashRedis = "SLUICE_TEST_CRASH_REDIS" // its socket; empty: SQLite
)

// crashAll, if set, has the race detector watch a kill at every point, not at every
// seventh: some four minutes.
const crashAll = "SLUICE_TEST_CRASH_ALL"

const crashFile = `
mcpServers: {bank: {url: %q}, todo: {builtin: todo}}
agents: {a: {description: answers, tools: [todo]}}
workflows:
  pay:
    nodes:
      note: {type: agent, agent: a, input: "Add milk to my todos"}
      ask: {type: human, prompt: "Pay?"}
      pay: {type: tool, tool: bank/pay, arguments: {amount: "30"}}
      answer: {type: agent, agent: a, input: "Show my todos"}
    edges: [{from: note, to: ask}, {from: ask, to: pay}, {from: pay, to: answer}]
`

// crashing is where the gateways of one crash keep what they keep.
type crashing struct{ dir, url, redis string }

// open opens the store, with patience: the machine is busy.
func (c crashing) open(t testing.TB) store.Store {
	t.Helper()
	calls := store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second})
	if c.redis != "" {
		return redis.New(redis.Config{Location: store.Location{Kind: store.Redis, Socket: true, Addrs: []string{c.redis}}, Prefix: filepath.Base(c.dir) + ":", Calls: calls})
	}
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(c.dir, "s.db"), Calls: calls})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// gateway starts a gateway on a store, for c's bank and todos.
func (c crashing) gateway(t *testing.T, in store.Store) *wholetest.Flow {
	t.Helper()
	cfg, file := wholetest.Configured(t, fmt.Sprintf(crashFile, c.url), map[string]string{"SLUICE_TODO_DB": filepath.Join(c.dir, "todo.db")})
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return &wholetest.Flow{T: t, Gateway: g}
}

// atOnce is what engines can write in one step.
type atOnce interface {
	store.Ender
	store.Together
}

// fragileSteps is Fragile for an engine that has them.
type fragileSteps struct {
	wholetest.Fragile
	steps atOnce
}

func (f fragileSteps) EndTurn(ctx context.Context, e store.End) error {
	return f.Write(func() error { return f.steps.EndTurn(ctx, e) })
}

func (f fragileSteps) PushAndPut(ctx context.Context, items []store.Pushed, key string, v store.Value, ttl time.Duration) (there store.Value, err error) {
	err = f.Write(func() error {
		there, err = f.steps.PushAndPut(ctx, items, key, v, ttl)
		return err
	})
	return there, err
}

// breakable returns a store whose process is killed at a point.
func breakable(in store.Store, at int64) store.Store {
	return fragileSteps{wholetest.Fragile{Store: in, At: at, Point: new(atomic.Int64)}, in.(atOnce)}
}

// TestCrashChild is the process that is killed at one point of a run. It reports all that its
// client sees.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("it is run by TestKilledAtEveryWrite")
	}
	var at int64
	_, _ = fmt.Sscan(os.Getenv(crashAt), &at)
	c := crashing{dir, os.Getenv(crashURL), os.Getenv(crashRedis)}
	in := c.open(t)
	t.Cleanup(func() { _ = in.Close() })
	f := c.gateway(t, breakable(in, at))
	wholetest.AwaitTools(t, f)
	asked := f.Serve("/chat/stream", `{"input":"Buy it","workflow":"pay"}`, os.Stdout)
	var start struct {
		Task string `json:"task_id"`
	}
	wholetest.DataOf(t, asked, "start", &start)
	if got := f.Serve("/tasks/"+start.Task+"/decision", `{"action":"approve"}`, os.Stdout); !strings.Contains(got, `"finish_reason":"stop"`) {
		t.Fatal(got)
	}
}

// A run whose process is killed at any of its writes is finished by the next one: each
// tool ran once, and the log of each turn reports all of it.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killAtEveryWrite(t, "")
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		killAtEveryWrite(t, redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "").Socket)
	})
}

// killAtEveryWrite kills a process at each point that a run has, some at a time.
func killAtEveryWrite(t *testing.T, redis string) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() || (raceEnabled && os.Getenv(crashAll) == "") { // the run without the race detector kills at each
		step = 7
	}
	var over atomic.Bool
	var some sync.WaitGroup
	places := make(chan struct{}, 8) // most of the time is a lease that ends
	points := 0
	for at := 1; !over.Load() && !t.Failed() && at < 400; at += step {
		places <- struct{}{}
		points = at
		some.Go(func() {
			defer func() { <-places }()
			t.Run(fmt.Sprint("point ", at), func(t *testing.T) {
				if killedAt(t, path, redis, at) {
					over.Store(true)
				}
			})
		})
	}
	some.Wait()
	t.Logf("%d points", points)
	if points < 40 {
		t.Errorf("a run has %d points: they are not counted any more", points)
	}
}

// killedAt kills a process at one of its points, and continues in this one. It returns true if
// the process had fewer.
func killedAt(t *testing.T, path, redis string, at int) (over bool) {
	var paid atomic.Int64
	bank := wholetest.NewCountedBank(t, &paid)
	c := crashing{t.TempDir(), bank + "/mcp", redis}
	if redis != "" { // names the keys
		c.dir = filepath.Join(c.dir, fmt.Sprint("at", at))
		if err := os.Mkdir(c.dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashDir+"="+c.dir, fmt.Sprint(crashAt, "=", at), crashURL+"="+c.url, crashRedis+"="+c.redis)
	got, err := cmd.CombinedOutput()
	if err == nil {
		return true
	}
	if cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%v\n%s", err, got)
	}
	if bytes.Contains(got, []byte("WARNING: DATA RACE")) { // nothing else reports it: it was killed
		t.Errorf("the process that was killed had a race:\n%s", got)
	}
	in := c.open(t)
	t.Cleanup(func() { _ = in.Close() })
	page, err := in.Tasks(t.Context(), store.Query{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.IDs) == 0 {
		if strings.Contains(string(got), "event: ") {
			t.Errorf("nothing is kept of a turn that was told of:\n%s", got)
		}
		return false
	}
	if redis != "" && page.Tasks[0].Owner != "" { // as if the lease had ended, in 15 seconds
		if err := in.ReleaseLease(t.Context(), page.Tasks[0].Holder); err != nil {
			t.Fatal(err)
		}
	}
	f := c.gateway(t, in)
	finishRun(f, page.IDs[0], &paid, string(got))
	return false
}

// noted returns how many todos there are of milk: how often the agent's tool ran.
func noted(f *wholetest.Flow) int {
	return strings.Count(strings.ToLower(f.Serve("/chat/stream", `{"input":"Show my todos","agent":"a","accumulated":false}`, io.Discard)), `"title\":\"milk`)
}

// finishRun continues with a task until it is over: it allows what is asked, and says what
// became of calls of which nobody knows.
func finishRun(f *wholetest.Flow, id string, paid *atomic.Int64, got string) {
	t := f.T
	t.Helper()
	var last store.Task
	testnet.Eventually(t, "the run is over", func() bool {
		var err error
		if last, err = f.Store().Task(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if last.State == task.InputRequired {
			decideRun(f, id, last, paid)
		}
		return last.State != task.Working && last.State != task.InputRequired
	})
	if last.State == task.Failed && !strings.Contains(got, "event: ") && paid.Load() == 0 && noted(f) == 0 {
		return // nobody had read that it was accepted, and nothing was done
	}
	if last.State != task.Completed {
		t.Fatalf("the task is %s: %s\n%s", last.State, last.Doc, got)
	}
	if got := paid.Load(); got != 1 {
		t.Errorf("paid %d times", got)
	}
	if got := noted(f); got != 1 {
		t.Errorf("%d todos", got)
	}
	wholeLogs(f, last)
}

// decideRun answers the question for which a task waits.
func decideRun(f *wholetest.Flow, id string, waits store.Task, paid *atomic.Int64) {
	var list struct {
		Approvals []struct {
			Kind  string
			Calls []struct {
				Tool string `json:"tool_name"`
			}
		}
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequestWithContext(f.T.Context(), http.MethodGet, "/approvals?conversation_id="+waits.Conversation, nil))
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Approvals) != 1 {
		f.T.Fatalf("%v: %s of %s", err, w.Body, waits.Doc)
	}
	body := `{"action":"approve"}`
	if q := list.Approvals[0]; q.Kind == "outcome" {
		switch {
		case q.Calls[0].Tool == "create_todo" && noted(f) > 0:
			body = `{"action":"modify","result":"created"}`
		case q.Calls[0].Tool == "pay" && paid.Load() > 0:
			body = `{"action":"modify","result":"paid 1"}`
		}
	}
	if got := f.Serve("/tasks/"+id+"/decision", body, io.Discard); !strings.Contains(got, "event: done") {
		f.T.Fatalf("%s: %s\n%s", body, got, waits.Doc)
	}
}

// wholeLogs checks that the logs of a task's turns have no gap, and report all its nodes.
func wholeLogs(f *wholetest.Flow, last store.Task) {
	t := f.T
	t.Helper()
	var doc struct{ Metadata struct{ Turns []string } }
	if err := json.Unmarshal(last.Doc, &doc); err != nil {
		t.Fatal(err)
	}
	ended := map[string]int{}
	var done *stream.Done
	text := ""
	for _, turn := range doc.Metadata.Turns {
		log, err := f.Tasks().OpenLog(t.Context(), turn)
		if err != nil {
			t.Errorf("the log of %s: %v", turn, err)
			continue
		}
		n := 0
		for events, err := range log.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if n++; e.N != n {
					t.Fatalf("event %d follows %d", e.N, n-1)
				}
				switch ev := e.Event.(type) {
				case *stream.NodeRun:
					if ev.Status == stream.NodeCompleted {
						ended[ev.NodeID]++
					}
				case *stream.Delta:
					text += ev.Text
				case *stream.Done:
					done = ev
				}
			}
		}
	}
	for _, node := range []string{"note", "ask", "pay", "answer"} {
		if ended[node] != 1 {
			t.Errorf("%d times it is told that %s was completed", ended[node], node)
		}
	}
	if done == nil || done.Reason != stream.Stop || !strings.Contains(strings.ToLower(text), "milk") {
		t.Errorf("the log ends with %+v; the answer is %q", done, text)
	}
}
