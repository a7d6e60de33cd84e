//go:build unix

package records_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// A run that one gateway began is decided on another. Of answers at the same time, on both,
// one wins and the others are refused; so are late, foreign and repeated ones: the tool
// runs once.
func TestDecisionOnAnotherGateway(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	at, file := wholetest.StartRedis(t), fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp")
	env := map[string]string{"SLUICE_STORE": at}
	one, two := wholetest.StartFlows(t, file, env), wholetest.StartFlows(t, file, env)
	wholetest.AwaitTools(t, one)
	wholetest.AwaitTools(t, two)
	id := one.Begun(wholetest.BeginsPay)
	if code, got := two.Decides(id, `{"action":"approve","user_id":"bob"}`); code != http.StatusForbidden && code != http.StatusNotFound {
		t.Errorf("somebody else: %d %s", code, got)
	}
	var codes [6]int
	var all sync.WaitGroup
	for i := range codes {
		f := []*wholetest.Flow{one, two}[i%2]
		all.Go(func() { codes[i], _ = f.Decides(id, `{"action":"approve","user_id":"ann"}`) })
	}
	all.Wait()
	won := 0
	for _, code := range codes {
		if code == http.StatusOK {
			won++
		} else if code != http.StatusConflict {
			t.Errorf("an answer got %d", code)
		}
	}
	if won != 1 || paid.Load() != 1 {
		t.Errorf("%d answers won, paid %d times", won, paid.Load())
	}
	if code, _ := one.Decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusConflict || paid.Load() != 1 {
		t.Errorf("again: %d, paid %d times", code, paid.Load())
	}
	if _, got := one.Get("/tasks/" + id + "?user_id=ann"); !strings.Contains(got, `"state":"completed"`) {
		t.Errorf("the task is %s", got)
	}
}

// change replaces the record of a run.
func change(t *testing.T, in store.Store, id string, f func([]byte) []byte) {
	t.Helper()
	v, err := in.Value(t.Context(), store.RunKey(id))
	if err != nil {
		t.Fatal(err)
	}
	v.Data = f(v.Data)
	if _, err := in.PutValue(t.Context(), store.RunKey(id), v, 0); err != nil {
		t.Fatal(err)
	}
}

// A run whose records are of a newer version is left alone, and one whose records were cut
// never runs: the person who answers learns why, and the answer is not used up.
func TestDecisionOnUnusableRecords(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	f := wholetest.StartOn(t, in, fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"))
	id := f.Begun(wholetest.BeginsPay)
	approve := `{"action":"approve","user_id":"ann"}`
	var whole []byte
	change(t, in, id, func(data []byte) []byte {
		whole = data
		return []byte(strings.Replace(string(data), `"schema":3`, `"schema":99`, 1))
	})
	if code, got := f.Decides(id, approve); code != http.StatusConflict || !strings.Contains(got, "newer version") {
		t.Errorf("a newer version: %d %s", code, got)
	}
	change(t, in, id, func([]byte) []byte { return whole[:len(whole)/2] })
	if code, got := f.Decides(id, approve); code != http.StatusInternalServerError || !strings.Contains(got, "workflow_recovery") {
		t.Errorf("a cut record: %d %s", code, got)
	}
	if last, err := in.Task(t.Context(), id); err != nil || last.State != task.InputRequired || paid.Load() != 0 {
		t.Errorf("the task is %s, %v; paid %d times", last.State, err, paid.Load())
	}
	change(t, in, id, func([]byte) []byte { return whole })
	if code, got := f.Decides(id, approve); code != http.StatusOK || paid.Load() != 1 {
		t.Errorf("mended: %d %s", code, got)
	}
}

// A run whose gateway loses the store is finished by another one, each call made once. The
// conversation remembers one turn of it, with the whole answer.
func TestTakenOverWithMemory(t *testing.T) {
	t.Parallel()
	for after := int64(2); after < 9; after++ {
		t.Run(fmt.Sprint("write ", after), func(t *testing.T) {
			t.Parallel()
			var paid atomic.Int64
			in := memory.New(memory.Config{})
			file := strings.NewReplacer("ask: {type: human, prompt: \"Pay?\"}", "", "{from: ask, to: pay}, ", "").Replace(fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"))
			down := &wholetest.Cut{Store: in, Why: []error{store.ErrUnavailable, store.ErrFull}[after%2]}
			down.After.Store(after)
			one := wholetest.StartOn(t, down, file)
			got := one.Serve("/chat/stream", wholetest.BeginsPay, io.Discard)
			if down.Off.Load() && !strings.Contains(got, `"error_type":"store_unavailable"`) {
				t.Fatalf("without the store:\n%s", got)
			}
			one.Close()
			two := wholetest.StartOn(t, in, file)
			page, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
			if err != nil || len(page.IDs) != 1 {
				t.Fatal(err, page.IDs)
			}
			testnet.Eventually(t, "the run is over", func() bool {
				last, err := in.Task(t.Context(), page.IDs[0])
				if err == nil && last.State == task.InputRequired { // what became of the payment
					two.Decides(page.IDs[0], `{"action":"modify","result":"paid 1","user_id":"ann"}`)
				}
				return errors.Is(err, store.ErrNotFound) || last.State == task.Completed || last.State == task.Failed
			})
			if last, err := in.Task(t.Context(), page.IDs[0]); err != nil || last.State != task.Completed || paid.Load() != 1 {
				t.Errorf("the task is %s, %v; paid %d times", last.Doc, err, paid.Load())
			}
			items, err := in.List(t.Context(), store.MemoryKey("", "ann", "conv_1"), 0, 0)
			if err != nil || len(items) == 0 || !strings.Contains(string(items[len(items)-1]), "todo list") {
				t.Errorf("remembered: %q, %v", items, err)
			}
		})
	}
}

// A server of Redis that is unavailable, or comes back with or without what it had: no run
// begins that could not be kept, and nothing is allowed that nobody has allowed.
func TestRunsWithoutRedis(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args    []string
		restart bool
		want    int // of the answer
	}{
		"refuses":            {nil, false, http.StatusServiceUnavailable},
		"comes back empty":   {nil, true, http.StatusNotFound},
		"comes back with it": {[]string{"--appendonly", "yes", "--appendfsync", "always"}, true, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var paid atomic.Int64
			server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "", tt.args...)
			f := wholetest.StartFlows(t, fmt.Sprintf(wholetest.Paying, wholetest.NewCountedBank(t, &paid)+"/mcp"), map[string]string{"SLUICE_STORE": "unix://" + server.Socket})
			wholetest.AwaitTools(t, f)
			id := f.Begun(wholetest.BeginsPay)
			server.Kill()
			if status, got := f.Post(wholetest.BeginsPay); status != http.StatusServiceUnavailable || !strings.Contains(got, "store_unavailable") {
				t.Errorf("a run without the store: %d %s", status, got)
			}
			if tt.restart {
				server.Start(t)
			}
			code, got := 0, ""
			testnet.Eventually(t, "the store is asked again", func() bool {
				code, got = f.Decides(id, `{"action":"approve","user_id":"ann"}`)
				return !tt.restart || code != http.StatusServiceUnavailable
			})
			if code != tt.want {
				t.Errorf("the answer: %d %s", code, got)
			}
			if allowed := tt.want == http.StatusOK; allowed != (paid.Load() == 1) {
				t.Errorf("paid %d times", paid.Load())
			}
		})
	}
}
