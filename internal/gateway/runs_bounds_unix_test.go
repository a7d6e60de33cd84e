//go:build unix

package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/store"
	"sluice/store/memory"
	"sluice/store/redis"
	"sluice/store/redis/redistest"
	"sluice/task"
)

// unasked is paying without a person.
func unasked(file string) string {
	return strings.NewReplacer("ask: {type: human, prompt: \"Pay?\"}", "", "{from: ask, to: pay}, ", "").Replace(file)
}

// stateOf returns the state of a task; empty: there is none.
func stateOf(t *testing.T, in store.Store, id string) string {
	t.Helper()
	got, err := in.Task(t.Context(), id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return got.State
}

// More runs than a gateway has room for wait their turn, and hear that they are there. When
// too many wait a run is refused before anything is kept of it, and so is an answer, which
// can be given again.
func TestRoomForRuns(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	f := over(t, in, fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp"))
	waits := f.begun(beginsPay)
	free := f.FillRoom()
	first := make(chan string, 1)
	reply := make(chan string, 1)
	go func() {
		reply <- f.serve("/chat/stream", beginsPay, firstOf(first))
	}()
	if told := <-first; !strings.Contains(told, "event: start") {
		t.Errorf("a run that waits for room is told %q", told)
	}
	testnet.Eventually(t, "the run waits for room", func() bool { return f.Pending(0) == 1 })
	f.Pending(MaxPending - 1)
	before, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
	if err != nil || len(before.IDs) != 2 {
		t.Fatal(err, before.IDs)
	}
	got := f.serve("/chat/stream", beginsPay, io.Discard)
	if !strings.Contains(got, `"error_type":"overloaded"`) || !strings.Contains(got, `"status":503`) {
		t.Errorf("one too many: %s", got)
	}
	if code, got := f.decides(waits, `{"action":"approve","user_id":"ann"}`); code != http.StatusServiceUnavailable || !strings.Contains(got, "overloaded") {
		t.Errorf("an answer: %d %s", code, got)
	}
	if got := f.serve("/chat/stream", `{"input":"Show my todos"}`, io.Discard); !strings.Contains(got, `"success":true`) {
		t.Errorf("a plain turn: %s", got)
	}
	after, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
	if err != nil || len(after.IDs) != 2 || stateOf(t, in, waits) != task.InputRequired {
		t.Errorf("%v %v, the one that waits is %s", err, after.IDs, stateOf(t, in, waits))
	}
	f.Pending(1 - MaxPending)
	free()
	if got := <-reply; !strings.Contains(got, `"finish_reason":"approval_required"`) {
		t.Errorf("when there is room: %s", got)
	}
	if code, got := f.decides(waits, `{"action":"approve","user_id":"ann"}`); code != http.StatusOK || paid.Load() != 1 {
		t.Errorf("the answer, given again: %d %s", code, got)
	}
}

// firstOf sends the first piece that is written.
func firstOf(to chan<- string) io.Writer { return &firstWriter{to} }

type firstWriter struct{ to chan<- string }

func (w *firstWriter) Write(p []byte) (int, error) {
	if w.to != nil {
		w.to <- string(p)
		w.to = nil
	}
	return len(p), nil
}

// A user for whom a thousand runs wait gets no more of them: the next one fails and says why.
// Another user is not concerned.
func TestRunsThatWaitForOneUser(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	f := over(t, in, fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp"))
	for i := range MaxWaiting - 1 {
		if err := in.CreateTask(t.Context(), fmt.Sprintf("task_%026d", i), store.Task{Doc: []byte("{}"), Meta: store.Meta{User: "ann", State: task.InputRequired, Created: time.Now()}}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	f.begun(beginsPay)
	if got := f.serve("/chat/stream", beginsPay, io.Discard); !strings.Contains(got, `"error_type":"workflow_limit"`) || strings.Contains(got, "event: approval") {
		t.Errorf("one too many: %s", got)
	}
	f.begun(strings.Replace(beginsPay, "ann", "bob", 1))
}

// A run whose gateway is gone is cancelled by somebody who cannot run it: who could go on
// with it ends it, and calls nothing.
func TestCancelWhileNobodyRuns(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	file := unasked(fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp"))
	away := &cut{Store: in, why: store.ErrUnavailable}
	away.after.Store(2) // the run has begun
	one := over(t, away, file)
	one.serve("/chat/stream", beginsPay, io.Discard)
	one.Close()
	if paid.Load() != 0 {
		t.Fatal("it is too late to cancel")
	}
	page, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
	if err != nil || len(page.IDs) != 1 || page.Tasks[0].State != task.Working {
		t.Fatal(err, page)
	}
	id := page.IDs[0]
	cfg, none := configured(t, "", map[string]string{"SLUICE_CONFIG": ""}) // without a file it goes on with no runs
	idle, err := New(t.Context(), settings.Config{Config: cfg, File: none, Version: "test"}, zerolog.New(io.Discard), Seams{Store: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(idle.Close)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/tasks/"+id+"/cancel?user_id=ann", strings.NewReader(`{"user_id":"ann"}`))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	idle.ServeHTTP(w, req)
	if w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	over(t, in, file)
	testnet.Eventually(t, "the run is over", func() bool { return stateOf(t, in, id) != task.Working })
	if got := stateOf(t, in, id); got != task.Canceled || paid.Load() != 0 {
		t.Errorf("the task is %s, paid %d times", got, paid.Load())
	}
	if due, err := in.CountIndex(t.Context(), store.DueIndex); err != nil || due != 0 {
		t.Errorf("%d runs are due, %v", due, err)
	}
}

// Of a call that a dead gateway may have made nobody is asked where the server's on_unknown
// is tell: the node fails with it, an edge goes on from there, and the call is never made
// again.
func TestUnknownOutcomeIsTold(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	t.Run("at each write", func(t *testing.T) {
		for after := int64(2); after < 9; after++ {
			t.Run(fmt.Sprint("write ", after), func(t *testing.T) {
				t.Parallel()
				var paid atomic.Int64
				in := memory.New(memory.Config{})
				file := unasked(fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp"))
				file = strings.Replace(file, "bank: {", "bank: {on_unknown: tell, ", 1)
				away := &cut{Store: in, why: store.ErrUnavailable}
				away.after.Store(after)
				one := over(t, away, file)
				one.serve("/chat/stream", beginsPay, io.Discard)
				one.Close()
				two := over(t, in, file)
				page, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
				if err != nil || len(page.IDs) != 1 {
					t.Fatal(err, page.IDs)
				}
				id := page.IDs[0]
				testnet.Eventually(t, "the run is over", func() bool { return stateOf(t, in, id) != task.Working })
				two.Close()
				switch got := stateOf(t, in, id); {
				case paid.Load() > 1 || got != task.Completed && got != task.Failed:
					t.Errorf("the task is %s; paid %d times", got, paid.Load())
				case got == task.Failed:
					if last, _ := in.Task(t.Context(), id); !strings.Contains(string(last.Doc), "not known") {
						t.Errorf("it failed with %s", last.Doc)
					}
					told.Add(1)
				}
			})
		}
	})
	if told.Load() == 0 {
		t.Error("no run was cut between the call and its result")
	}
}

// hookedBank is newCountedBank with something that happens in the call.
func hookedBank(t *testing.T, paid *atomic.Int64, hook func()) (url string) {
	no, yes := false, true
	mcpServer := server.NewMCPServer("bank", "1")
	mcpServer.AddTool(mcp.NewTool("pay", mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no}),
		mcp.WithNumber("amount")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := paid.Add(1)
		hook()
		return mcp.NewToolResultText(fmt.Sprint("paid ", n)), nil
	})
	bank := httptest.NewServer(server.NewStreamableHTTPServer(mcpServer, server.WithStateLess(true)))
	t.Cleanup(bank.Close)
	return bank.URL
}

// overRedis starts a gateway on a server of Redis, in a state of its own.
func overRedis(t *testing.T, server *redistest.Server, file string) *flowing {
	t.Helper()
	f := startFlows(t, file, map[string]string{"SLUICE_STORE": "unix://" + server.Socket, "SLUICE_APPROVAL_TTL": "240h"})
	awaitTools(t, f)
	return f
}

// A Redis that hangs in the middle of a run: its client hears so soon, and when the store
// answers again the run is finished, its call made once.
func TestRedisHangsInARun(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	redis := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	f := overRedis(t, redis, unasked(fmt.Sprintf(paying, hookedBank(t, &paid, func() { redis.Pause(t) })+"/mcp")))
	began := time.Now()
	told := f.serve("/chat/stream", beginsPay, io.Discard)
	took := time.Since(began)
	var start struct {
		Task string `json:"task_id"`
	}
	dataOf(t, told, "start", &start)
	testnet.Prompt(t, "the end", took, 30*time.Second)
	if !strings.Contains(told, `"error_type":"store_unavailable"`) {
		t.Errorf("after %v:\n%s", took, told)
	}
	redis.Resume(t)
	in := beside(t, redis)
	testnet.Eventually(t, "the run is over", func() bool {
		last, err := in.Task(t.Context(), start.Task)
		if err == nil && last.State == task.InputRequired { // nobody knows what became of the call
			f.decides(start.Task, `{"action":"modify","result":"paid 1","user_id":"ann"}`)
		}
		return err == nil && last.State != task.Working && last.State != task.InputRequired
	})
	if got := stateOf(t, in, start.Task); got != task.Completed || paid.Load() != 1 {
		t.Errorf("the task is %s, paid %d times", got, paid.Load())
	}
}

// beside returns the store of a server of Redis as a process beside its gateways sees it.
func beside(t *testing.T, server *redistest.Server) store.Store {
	t.Helper()
	s := redis.New(redis.Config{Location: server.Location(), Calls: store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second})})
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ended waits until a run on some gateway is over, and says of calls of which nobody knows
// that they were made.
func ended(t *testing.T, in store.Store, id string, g *flowing) (state string) {
	t.Helper()
	testnet.Eventually(t, "the run is over", func() bool {
		if state = stateOf(t, in, id); state == task.InputRequired {
			g.decides(id, `{"action":"modify","result":"paid 1","user_id":"ann"}`)
		}
		return state != task.Working && state != task.InputRequired
	})
	return state
}

// The clock of Redis jumps by a day in the middle of a call: the lease of the gateway that
// makes it is over at once. Another one may go on with the run; the call is made once.
func TestClockOfRedisJumpsInARun(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paid atomic.Int64
			server, move := redistest.StartWithClock(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
			hook := func() {
				move(by)
				testnet.Settle(7 * time.Second) // in which the others look for the dead
			}
			file := unasked(fmt.Sprintf(paying, hookedBank(t, &paid, hook)+"/mcp"))
			one, two := overRedis(t, server, file), overRedis(t, server, file)
			told := one.serve("/chat/stream", beginsPay, io.Discard)
			var start struct {
				Task string `json:"task_id"`
			}
			dataOf(t, told, "start", &start)
			if state := ended(t, beside(t, server), start.Task, two); state != task.Completed || paid.Load() != 1 {
				t.Errorf("the task is %s, paid %d times:\n%s", state, paid.Load(), told)
			}
		})
	}
}

// A question outlives a clock of Redis that jumps by a day, and is answered once.
func TestClockOfRedisJumpsOverAQuestion(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paid atomic.Int64
			server, move := redistest.StartWithClock(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
			f := overRedis(t, server, fmt.Sprintf(strings.Replace(paying, `prompt: "Pay?"`, `prompt: "Pay?", timeout: 72h`, 1), newCountedBank(t, &paid)+"/mcp"))
			id := f.begun(beginsPay)
			move(by)
			in := beside(t, server)
			if state := stateOf(t, in, id); state != task.InputRequired {
				t.Fatalf("the task is %q", state)
			}
			if code, got := f.decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusOK || paid.Load() != 1 {
				t.Errorf("%d %s", code, got)
			}
			if code, _ := f.decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusConflict || paid.Load() != 1 {
				t.Errorf("again: %d, paid %d times", code, paid.Load())
			}
		})
	}
}
