//go:build unix

package records_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// unasked is paying without a person.
func unasked(file string) string {
	return strings.NewReplacer("ask: {type: human, prompt: \"Pay?\"}", "", "{from: ask, to: pay}, ", "").Replace(file)
}

// A run whose gateway is gone is cancelled by somebody who cannot run it: a process that could
// continue it ends it, and calls nothing.
func TestCancelWhileNobodyRuns(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	file := unasked(fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"))
	down := &wholetest.Cut{Store: in, Why: store.ErrUnavailable}
	down.After.Store(2) // the run has begun
	one := wholetest.StartOn(t, down, file)
	one.Serve("/chat/stream", wholetest.BeginsPay, io.Discard)
	one.Close()
	if paid.Load() != 0 {
		t.Fatal("it is too late to cancel")
	}
	page, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
	if err != nil || len(page.IDs) != 1 || page.Tasks[0].State != task.Working {
		t.Fatal(err, page)
	}
	id := page.IDs[0]
	cfg, none := wholetest.Configured(t, "", map[string]string{"SLUICE_CONFIG": ""}) // without a file it continues with no runs
	idle, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: none, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: in})
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
	wholetest.StartOn(t, in, file)
	testnet.Eventually(t, "the run is over", func() bool { return wholetest.StateOf(t, in, id) != task.Working })
	if got := wholetest.StateOf(t, in, id); got != task.Canceled || paid.Load() != 0 {
		t.Errorf("the task is %s, paid %d times", got, paid.Load())
	}
	if due, err := in.CountIndex(t.Context(), store.DueIndex); err != nil || due != 0 {
		t.Errorf("%d runs are due, %v", due, err)
	}
}

// Nobody is asked about a call that a dead gateway may have made where the server's on_unknown
// is "tell": the node fails with it, an edge continues from there, and the call is never made
// again.
func TestUnknownOutcomeIsReported(t *testing.T) {
	t.Parallel()
	var reported atomic.Int64
	t.Run("at each write", func(t *testing.T) {
		for after := int64(2); after < 9; after++ {
			t.Run(fmt.Sprint("write ", after), func(t *testing.T) {
				t.Parallel()
				var paid atomic.Int64
				in := memory.New(memory.Config{})
				file := unasked(fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"))
				file = strings.Replace(file, "bank: {", "bank: {on_unknown: tell, ", 1)
				down := &wholetest.Cut{Store: in, Why: store.ErrUnavailable}
				down.After.Store(after)
				one := wholetest.StartOn(t, down, file)
				one.Serve("/chat/stream", wholetest.BeginsPay, io.Discard)
				one.Close()
				two := wholetest.StartOn(t, in, file)
				page, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
				if err != nil || len(page.IDs) != 1 {
					t.Fatal(err, page.IDs)
				}
				id := page.IDs[0]
				testnet.Eventually(t, "the run is over", func() bool { return wholetest.StateOf(t, in, id) != task.Working })
				two.Close()
				switch got := wholetest.StateOf(t, in, id); {
				case paid.Load() > 1 || got != task.Completed && got != task.Failed:
					t.Errorf("the task is %s; paid %d times", got, paid.Load())
				case got == task.Failed:
					if last, _ := in.Task(t.Context(), id); !strings.Contains(string(last.Doc), "not known") {
						t.Errorf("it failed with %s", last.Doc)
					}
					reported.Add(1)
				}
			})
		}
	})
	if reported.Load() == 0 {
		t.Error("no run was cut between the call and its result")
	}
}

// overRedis starts a gateway on a server of Redis, in a state of its own.
func overRedis(t *testing.T, server *redistest.Server, file string) *wholetest.Flow {
	t.Helper()
	f := wholetest.StartFlows(t, file, map[string]string{"SLUICE_STORE": "unix://" + server.Socket, "SLUICE_APPROVAL_TTL": "240h"})
	wholetest.AwaitTools(t, f)
	return f
}

// A Redis that hangs in the middle of a run: its client learns of it soon, and when the store
// answers again the run is finished, its call made once.
func TestRedisHangsInARun(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	redis := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	f := overRedis(t, redis, unasked(fmt.Sprintf(wholetest.Paying, wholetest.HookedBank(t, &paid, func() { redis.Pause(t) })+"/mcp")))
	began := time.Now()
	got := f.Serve("/chat/stream", wholetest.BeginsPay, io.Discard)
	elapsed := time.Since(began)
	var start struct {
		Task string `json:"task_id"`
	}
	wholetest.DataOf(t, got, "start", &start)
	testnet.Prompt(t, "the end", elapsed, 30*time.Second)
	if !strings.Contains(got, `"error_type":"store_unavailable"`) {
		t.Errorf("after %v:\n%s", elapsed, got)
	}
	redis.Resume(t)
	in := wholetest.AlongsideRedis(t, redis)
	testnet.Eventually(t, "the run is over", func() bool {
		last, err := in.Task(t.Context(), start.Task)
		if err == nil && last.State == task.InputRequired { // nobody knows what became of the call
			f.Decides(start.Task, `{"action":"modify","result":"paid 1","user_id":"ann"}`)
		}
		return err == nil && last.State != task.Working && last.State != task.InputRequired
	})
	if got := wholetest.StateOf(t, in, start.Task); got != task.Completed || paid.Load() != 1 {
		t.Errorf("the task is %s, paid %d times", got, paid.Load())
	}
}

// ended waits until a run on some gateway is over, and says of calls of which nobody knows
// that they were made.
func ended(t *testing.T, in store.Store, id string, g *wholetest.Flow) (state string) {
	t.Helper()
	testnet.Eventually(t, "the run is over", func() bool {
		if state = wholetest.StateOf(t, in, id); state == task.InputRequired {
			g.Decides(id, `{"action":"modify","result":"paid 1","user_id":"ann"}`)
		}
		return state != task.Working && state != task.InputRequired
	})
	return state
}

// The clock of Redis jumps by a day in the middle of a call: the lease of the gateway that
// makes it is over at once. Another one may continue with the run; the call is made once.
func TestClockOfRedisJumpsInARun(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paid atomic.Int64
			server, move := redistest.StartWithClock(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
			hook := func() {
				move(by)
				testnet.SleepAtLeast(7 * time.Second) // in which the others look for the dead
			}
			file := unasked(fmt.Sprintf(wholetest.Paying, wholetest.HookedBank(t, &paid, hook)+"/mcp"))
			one, two := overRedis(t, server, file), overRedis(t, server, file)
			got := one.Serve("/chat/stream", wholetest.BeginsPay, io.Discard)
			var start struct {
				Task string `json:"task_id"`
			}
			wholetest.DataOf(t, got, "start", &start)
			if state := ended(t, wholetest.AlongsideRedis(t, server), start.Task, two); state != task.Completed || paid.Load() != 1 {
				t.Errorf("the task is %s, paid %d times:\n%s", state, paid.Load(), got)
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
			f := overRedis(t, server, fmt.Sprintf(strings.Replace(wholetest.Paying, `prompt: "Pay?"`, `prompt: "Pay?", timeout: 72h`, 1), wholetest.NewCountedBank(t, &paid)+"/mcp"))
			id := f.Begun(wholetest.BeginsPay)
			move(by)
			in := wholetest.AlongsideRedis(t, server)
			if state := wholetest.StateOf(t, in, id); state != task.InputRequired {
				t.Fatalf("the task is %q", state)
			}
			if code, got := f.Decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusOK || paid.Load() != 1 {
				t.Errorf("%d %s", code, got)
			}
			if code, _ := f.Decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusConflict || paid.Load() != 1 {
				t.Errorf("again: %d, paid %d times", code, paid.Load())
			}
		})
	}
}
