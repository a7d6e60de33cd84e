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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/store"
	"sluice/store/memory"
	"sluice/store/redis/redistest"
	"sluice/task"
)

const paying = `
mcpServers: {bank: {url: %q}}
memory: {enabled: true}
agents: {a: {description: answers, prompt: "the first prompt"}}
workflows:
  pay:
    nodes:
      ask: {type: human, prompt: "Pay?"}
      pay: {type: tool, tool: bank/pay, arguments: {amount: "30"}}
      answer: {type: agent, agent: a, input: "Show my todos"}
    edges: [{from: ask, to: pay}, {from: pay, to: answer}]
`

// over starts a gateway on a store, with that file.
func over(t *testing.T, in store.Store, file string) *flowing {
	t.Helper()
	cfg, read := configured(t, file, nil)
	g, err := New(t.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.New(io.Discard), Seams{Store: in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	awaitTools(t, g)
	return &flowing{t: t, Gateway: g}
}

// begun begins a run that waits, and returns its task.
func (f *flowing) begun(body string) (id string) {
	f.t.Helper()
	var start struct {
		Task string `json:"task_id"`
	}
	told := f.serve("/chat/stream", body, io.Discard)
	dataOf(f.t, told, "start", &start)
	if !strings.Contains(told, `"finish_reason":"approval_required"`) {
		f.t.Fatal(told)
	}
	return start.Task
}

// decides posts a decision and returns the reply.
func (f *flowing) decides(id, body string) (int, string) {
	return f.replies("/tasks/"+id+"/decision", body)
}

// replies posts a body and returns the reply.
func (f *flowing) replies(path, body string) (int, string) {
	req := httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

const beginsPay = `{"input":"Buy it","workflow":"pay","user_id":"ann","conversation_id":"conv_1"}`

// A run that one gateway began is decided on another. Of answers at the same time, on both,
// one wins and the others are refused; so are late, foreign and repeated ones: the tool
// runs once.
func TestDecisionOnAnotherGateway(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	at, file := startRedis(t), fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp")
	env := map[string]string{"SLUICE_STORE": at}
	one, two := startFlows(t, file, env), startFlows(t, file, env)
	awaitTools(t, one)
	awaitTools(t, two)
	id := one.begun(beginsPay)
	if code, got := two.decides(id, `{"action":"approve","user_id":"bob"}`); code != http.StatusForbidden && code != http.StatusNotFound {
		t.Errorf("somebody else: %d %s", code, got)
	}
	var codes [6]int
	var all sync.WaitGroup
	for i := range codes {
		f := []*flowing{one, two}[i%2]
		all.Go(func() { codes[i], _ = f.decides(id, `{"action":"approve","user_id":"ann"}`) })
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
	if code, _ := one.decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusConflict || paid.Load() != 1 {
		t.Errorf("again: %d, paid %d times", code, paid.Load())
	}
	if _, got := one.get("/tasks/" + id + "?user_id=ann"); !strings.Contains(got, `"state":"completed"`) {
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
// never runs: who answers hears why, and the answer is not used up.
func TestDecisionOnUnusableRecords(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	f := over(t, in, fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp"))
	id := f.begun(beginsPay)
	approve := `{"action":"approve","user_id":"ann"}`
	var whole []byte
	change(t, in, id, func(data []byte) []byte {
		whole = data
		return []byte(strings.Replace(string(data), `"schema":3`, `"schema":99`, 1))
	})
	if code, got := f.decides(id, approve); code != http.StatusConflict || !strings.Contains(got, "newer version") {
		t.Errorf("a newer version: %d %s", code, got)
	}
	change(t, in, id, func([]byte) []byte { return whole[:len(whole)/2] })
	if code, got := f.decides(id, approve); code != http.StatusInternalServerError || !strings.Contains(got, "workflow_recovery") {
		t.Errorf("a cut record: %d %s", code, got)
	}
	if last, err := in.Task(t.Context(), id); err != nil || last.State != task.InputRequired || paid.Load() != 0 {
		t.Errorf("the task is %s, %v; paid %d times", last.State, err, paid.Load())
	}
	change(t, in, id, func([]byte) []byte { return whole })
	if code, got := f.decides(id, approve); code != http.StatusOK || paid.Load() != 1 {
		t.Errorf("mended: %d %s", code, got)
	}
}

// A run goes on with the agents' settings that it began with.
func TestRunKeepsItsAgents(t *testing.T) {
	t.Parallel()
	var paid atomic.Int64
	in := memory.New(memory.Config{})
	file := fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp")
	f := over(t, in, file)
	id := f.begun(beginsPay)
	prompt := func() string {
		agents, err := f.AgentsOfRun(t.Context(), id)
		if err != nil || len(agents) != 1 {
			t.Fatal(err, agents)
		}
		for _, a := range agents {
			return a.Prompt
		}
		return ""
	}
	cfg, read := configured(t, strings.Replace(file, "the first prompt", "the second prompt", 1), nil)
	if err := f.Reload(settings.Config{Config: cfg, File: read}, nil); err != nil {
		t.Fatal(err)
	}
	if got := prompt(); got != "the first prompt" {
		t.Errorf("the run's agent has %q", got)
	}
	if code, got := f.decides(id, `{"action":"approve","user_id":"ann"}`); code != http.StatusOK || paid.Load() != 1 {
		t.Errorf("%d %s", code, got)
	}
	if id = f.begun(beginsPay); prompt() != "the second prompt" {
		t.Error("a new run has the old prompt")
	}
}

// cut is a store that one gateway cannot reach any more.
type cut struct {
	store.Store
	off   atomic.Bool
	why   error
	after atomic.Int64 // writes of runs until then; 0: never
}

func (c *cut) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	if strings.HasPrefix(key, store.RunKey("")) && c.after.Add(-1) == 0 {
		c.off.Store(true)
	}
	if c.off.Load() {
		return store.Value{}, c.why
	}
	return c.Store.PutValue(ctx, key, v, ttl)
}

func (c *cut) AppendLog(ctx context.Context, turn string, a store.Append) error {
	if c.off.Load() {
		return c.why
	}
	return c.Store.AppendLog(ctx, turn, a)
}

func (c *cut) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	if c.off.Load() {
		return c.why
	}
	return c.Store.UpdateTask(ctx, id, t, ttl)
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
			file := strings.NewReplacer("ask: {type: human, prompt: \"Pay?\"}", "", "{from: ask, to: pay}, ", "").Replace(fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp"))
			away := &cut{Store: in, why: []error{store.ErrUnavailable, store.ErrFull}[after%2]}
			away.after.Store(after)
			one := over(t, away, file)
			told := one.serve("/chat/stream", beginsPay, io.Discard)
			if away.off.Load() && !strings.Contains(told, `"error_type":"store_unavailable"`) {
				t.Fatalf("without the store:\n%s", told)
			}
			one.Close()
			two := over(t, in, file)
			page, err := in.Tasks(t.Context(), store.Query{User: "ann", Limit: 10})
			if err != nil || len(page.IDs) != 1 {
				t.Fatal(err, page.IDs)
			}
			testnet.Eventually(t, "the run is over", func() bool {
				last, err := in.Task(t.Context(), page.IDs[0])
				if err == nil && last.State == task.InputRequired { // what became of the payment
					two.decides(page.IDs[0], `{"action":"modify","result":"paid 1","user_id":"ann"}`)
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
			f := startFlows(t, fmt.Sprintf(paying, newCountedBank(t, &paid)+"/mcp"), map[string]string{"SLUICE_STORE": "unix://" + server.Socket})
			awaitTools(t, f)
			id := f.begun(beginsPay)
			server.Kill()
			if status, got := f.post(beginsPay); status != http.StatusServiceUnavailable || !strings.Contains(got, "store_unavailable") {
				t.Errorf("a run without the store: %d %s", status, got)
			}
			if tt.restart {
				server.Start(t)
			}
			code, got := 0, ""
			testnet.Eventually(t, "the store is asked again", func() bool {
				code, got = f.decides(id, `{"action":"approve","user_id":"ann"}`)
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
