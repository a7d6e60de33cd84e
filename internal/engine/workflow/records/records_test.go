//go:build unix

package records_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	core "sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/engine/workflow/records"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// The suite of what a RunStore promises, on every engine: a server of Redis among them.
func TestRunStore(t *testing.T) {
	t.Parallel()
	calls := func() *store.Calls { return store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second}) }
	engines := map[string]func(t *testing.T) func(t *testing.T) store.Store{
		"memory": func(*testing.T) func(t *testing.T) store.Store {
			return func(*testing.T) store.Store { return memory.New(memory.Config{}) }
		},
		"sqlite": func(*testing.T) func(t *testing.T) store.Store {
			return func(t *testing.T) store.Store {
				s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "s.db"), Calls: calls()})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
		},
		"redis": func(t *testing.T) func(t *testing.T) store.Store {
			server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
			var n atomic.Int64
			return func(*testing.T) store.Store {
				return redis.New(redis.Config{Location: server.Location(), Prefix: "t" + strconv.FormatInt(n.Add(1), 10) + ":", Calls: calls()})
			}
		},
	}
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := engine(t)
			for part, test := range map[string]func(t *testing.T, s store.Store){
				"a run is read as it was kept":        keptAndRead,
				"a fenced owner writes nothing":       fencedOwner,
				"one of two claims succeeds":          twoClaims,
				"five claims without progress":        tooManyClaims,
				"intents, results and journal":        intentsAndJournal,
				"a run that waits is in the index":    waitsInIndex,
				"records that cannot be used":         unusable,
				"what another life wrote is not read": otherLife,
				"a lost record":                       lostRecord,
			} {
				t.Run(part, func(t *testing.T) {
					s := open(t)
					defer s.Close()
					test(t, s)
				})
			}
		})
	}
}

const pair = `{"name":"pair","entry_point":"ask","max_iterations":9,"timeout":60000000000,` +
	`"nodes":[{"id":"ask","type":"human","prompt":"Go on?","timeout":3600000000000},{"id":"say","type":"tool","tool":"s/echo"}],"edges":[{"from":"ask","to":"say"}]}`

// kept1 is a RunStore with a run of pair that was begun in it and waits.
func kept1(t *testing.T, s store.Store) (*records.RunStore, *graph.Workflow) {
	t.Helper()
	w, err := graph.Read([]byte(pair), engine.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	rs := runStore(s)
	if got := runPair(t, rs, w, nil); got.Reason != stream.ApprovalRequired {
		t.Fatalf("the run ended with %+v", got)
	}
	return rs, w
}

func runStore(s store.Store) *records.RunStore {
	return records.NewRunStore(records.RunStoreConfig{Store: s, Wait: 2 * time.Hour})
}

const runID = "task_1"

// runPair begins a run, or continues with one that was read.
func runPair(t *testing.T, rs *records.RunStore, w *graph.Workflow, run *engine.Run) stream.Result {
	t.Helper()
	r := engine.New(engine.Config{Workflow: w, Tools: echoing{}, Records: rs.Records, Load: rs.Load})
	req := &chat.Request{Input: "hello", Keeping: chat.Keeping{Task: runID}, Facts: askable()}
	var got stream.Result
	var err error
	if run == nil {
		got, err = r.Run(t.Context(), req, discard{})
	} else {
		got, err = r.Continue(t.Context(), req, run, discard{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

type discard struct{}

func (discard) Emit(stream.Event) error { return nil }
func (discard) Flush() error            { return nil }

// askable are the facts of a turn in which a person can be asked.
func askable() chat.Facts { return chat.Facts{Ask: func(*chat.Paused) string { return "" }} }

// echoing is a server s with a tool echo, which answers with its arguments.
type echoing struct{}

func (echoing) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{{Name: "echo", Server: "s"}}}
}

func (echoing) Named(_ context.Context, _, name string) string { return name }

func (echoing) Call(_ context.Context, call tool.Call) (tool.Result, error) {
	return tool.Result{Text: string(call.Arguments)}, nil
}

// load reads the run, claimed by nobody.
func load(t *testing.T, rs *records.RunStore) *engine.Run {
	t.Helper()
	run, err := rs.Load(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// claim makes the run the caller's.
func claim(t *testing.T, rs *records.RunStore, run *engine.Run) engine.Records {
	t.Helper()
	records, err := rs.Records(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func keptAndRead(t *testing.T, s store.Store) {
	rs, _ := kept1(t, s)
	one, two := load(t, rs), load(t, runStore(s)) // another process
	if diff := cmp.Diff(one.State(), two.State()); diff != "" {
		t.Errorf("read twice (-one +two):\n%s", diff)
	}
	if two.Progress.Status != engine.StatusWaiting || two.Progress.Sequence != 2 || len(two.Messages) != 1 || two.Header.Request.Input != "hello" {
		t.Errorf("%+v", two)
	}
	if _, err := rs.Load(t.Context(), "task_2"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another run: %v", err)
	}
}

// wantLost checks that a write was refused because the run is another's.
func wantLost(t *testing.T, what string, err error) {
	t.Helper()
	if f := fault.From(err); f == nil || f.Type != fault.TurnLost {
		t.Errorf("%s of a fenced owner: %v", what, err)
	}
}

func fencedOwner(t *testing.T, s store.Store) {
	rs, _ := kept1(t, s)
	for what, write := range map[string]func(ctx context.Context, old engine.Records, run *engine.Run) error{
		"a checkpoint": func(ctx context.Context, old engine.Records, run *engine.Run) error {
			return old.Save(ctx, &engine.Checkpoint{ID: "x", Sequence: run.Progress.Sequence, Progress: run.Progress,
				Messages: []engine.Message{{Role: "user", Content: "of the dead"}}})
		},
		"a wait": func(ctx context.Context, old engine.Records, run *engine.Run) error {
			return old.Wait(ctx, &run.Progress)
		},
		"a journal": func(ctx context.Context, old engine.Records, _ *engine.Run) error {
			return old.Journal(ctx, &engine.Entry{Node: "ask"})
		},
		"an intent": func(ctx context.Context, old engine.Records, _ *engine.Run) error {
			_, err := old.Intend(ctx, &engine.Intent{Node: "ask", Key: "k"})
			return err
		},
	} {
		run := load(t, rs)
		old := claim(t, rs, run)
		claim(t, runStore(s), load(t, runStore(s)))
		wantLost(t, what, write(t.Context(), old, run))
		wantLost(t, what+" again", write(t.Context(), old, run))
		if got := load(t, rs); len(got.Messages) != 1 || got.Progress.Sequence != 2 {
			t.Errorf("%s was read: %+v", what, got)
		}
	}
}

func twoClaims(t *testing.T, s store.Store) {
	rs, _ := kept1(t, s)
	one, two := load(t, rs), load(t, runStore(s))
	claim(t, rs, one)
	_, err := runStore(s).Records(t.Context(), two)
	wantLost(t, "the second claim", err)
}

func tooManyClaims(t *testing.T, s store.Store) {
	rs, _ := kept1(t, s)
	for n := 1; ; n++ {
		run := load(t, rs)
		rs.TakeOver(run, nil)
		if _, err := rs.Records(t.Context(), run); err != nil {
			if f := fault.From(err); n != 6 || f.Type != fault.WorkflowRecovery {
				t.Errorf("claim %d: %v", n, err)
			}
			return
		}
	}
}

func intentsAndJournal(t *testing.T, s store.Store) {
	rs, _ := kept1(t, s)
	ctx := t.Context()
	first := claim(t, rs, load(t, rs))
	made := &engine.Intent{Node: "ask", Key: "made"}
	for _, i := range []*engine.Intent{made, {Node: "ask", Key: "cut"}, {Node: "ask", Key: "refused"}} {
		if known, err := first.Intend(ctx, i); known != nil || err != nil {
			t.Fatal(known, err)
		}
	}
	if err := errors.Join(
		first.StoreOutcome(ctx, made, &tool.Result{Text: "paid"}, nil),
		first.StoreOutcome(ctx, &engine.Intent{Key: "refused"}, nil, &fault.Error{Type: fault.MCPUnavailable, NoEffect: true}),
		first.StoreOutcome(ctx, &engine.Intent{Key: "cut"}, nil, &fault.Error{Type: fault.ToolFailed, Unknown: true}),
	); err != nil {
		t.Fatal(err)
	}
	next := claim(t, runStore(s), load(t, runStore(s)))
	if known, err := next.Intend(ctx, made); err != nil || known == nil || known.Text != "paid" {
		t.Errorf("a call that was made: %+v, %v", known, err)
	}
	if known, err := next.Intend(ctx, &engine.Intent{Node: "ask", Key: "refused"}); known != nil || err != nil {
		t.Errorf("a call without effect: %+v, %v", known, err)
	}
	if _, err := next.Intend(ctx, &engine.Intent{Node: "ask", Key: "cut"}); !errors.Is(err, engine.ErrUnknown) {
		t.Errorf("a call of which nobody knows: %v", err)
	}
	if known, err := next.Intend(ctx, &engine.Intent{Node: "ask", Key: "cut", Retries: 1}); known != nil || err != nil {
		t.Errorf("the same, allowed: %+v, %v", known, err)
	}
	if err := next.Journal(ctx, &engine.Entry{Node: "ask", Attempt: 1, Round: 1, Text: "so far", CallCounts: map[string]int{"pay": 1}}); err != nil {
		t.Fatal(err)
	}
	run := load(t, rs)
	run.Progress.Frontier[0].Asks = nil // it runs
	rs.TakeOver(run, nil)
	if e := run.Progress.Frontier[0].Entry; e == nil || e.Text != "so far" || e.CallCounts["pay"] != 1 {
		t.Errorf("the journal has %+v", e)
	}
}

func waitsInIndex(t *testing.T, s store.Store) {
	rs, w := kept1(t, s)
	ctx := t.Context()
	due := func(at time.Time) string {
		ids, err := rs.Due(ctx, at, 8)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(ids)
		return string(text)
	}
	if got := due(time.Now()); got != "null" {
		t.Errorf("due at once: %s", got)
	}
	if got := due(time.Now().Add(61 * time.Minute)); got != `["`+runID+`"]` {
		t.Errorf("due in an hour: %s", got)
	}
	run := load(t, rs)
	run.TimeOut(time.Now().Add(2 * time.Hour))
	r := engine.New(engine.Config{Workflow: w, Tools: echoing{}, Records: rs.Records, Load: rs.Load})
	if _, err := r.Continue(ctx, new(chat.Request), run, discard{}); fault.From(err).Type != fault.ApprovalRejected {
		t.Errorf("nobody answered: %v", err)
	}
	if got := due(time.Now().Add(61 * time.Minute)); got != "null" {
		t.Errorf("due behind its end: %s", got)
	}
}

// put replaces the record of the run.
func put(t *testing.T, s store.Store, change func(record map[string]any)) {
	t.Helper()
	v, err := s.Value(t.Context(), store.RunKey(runID))
	if err != nil {
		t.Fatal(err)
	}
	record := map[string]any{}
	if err := json.Unmarshal(v.Data, &record); err != nil {
		t.Fatal(err)
	}
	change(record)
	v.Data, _ = json.Marshal(record)
	if _, err := s.PutValue(t.Context(), store.RunKey(runID), v, 0); err != nil {
		t.Fatal(err)
	}
}

func unusable(t *testing.T, s store.Store) {
	rs, _ := kept1(t, s)
	ctx := t.Context()
	want := func(what string, err error) {
		t.Helper()
		if _, got := runStore(s).Load(ctx, runID); !errors.Is(got, err) {
			t.Errorf("%s: %v", what, got)
		}
	}
	put(t, s, func(r map[string]any) { r["schema"] = 99 })
	want("a newer version", core.ErrVersion)
	put(t, s, func(r map[string]any) { r["schema"], r["checkpoints"] = 1, 7 })
	want("a checkpoint too few", engine.ErrRun)
	put(t, s, func(r map[string]any) { r["checkpoints"] = 2 })
	load(t, rs)
	if err := s.DeleteList(ctx, store.MessagesKey(runID)); err != nil {
		t.Fatal(err)
	}
	want("no messages", engine.ErrRun)
	if err := s.PushList(ctx, store.CheckpointsKey(runID), []byte(`{"epo`), store.Bounds{}, 0); err != nil {
		t.Fatal(err)
	}
	want("a cut checkpoint", store.ErrDamaged)
	v, err := s.Value(ctx, store.RunKey(runID))
	if err != nil {
		t.Fatal(err)
	}
	v.Data = v.Data[:len(v.Data)/2]
	if _, err := s.PutValue(ctx, store.RunKey(runID), v, 0); err != nil {
		t.Fatal(err)
	}
	want("a cut record", store.ErrDamaged)
}

func otherLife(t *testing.T, s store.Store) {
	rs, _ := kept1(t, s)
	old, run := claim(t, rs, load(t, rs)), load(t, rs)
	claim(t, runStore(s), load(t, runStore(s)))
	_ = old.Save(t.Context(), &engine.Checkpoint{ID: "dead", Sequence: 2, Progress: run.Progress, Messages: []engine.Message{{Role: "user", Content: "dead"}}})
	last := load(t, rs)
	records := claim(t, rs, last)
	if err := records.Save(t.Context(), &engine.Checkpoint{ID: "alive", Sequence: 2, Progress: run.Progress, Messages: []engine.Message{{Role: "user", Content: "alive"}}}); err != nil {
		t.Fatal(err)
	}
	if got := load(t, rs); len(got.Messages) != 2 || got.Messages[1].Content != "alive" {
		t.Errorf("%+v", got.Messages)
	}
}

func lostRecord(t *testing.T, s store.Store) {
	rs, _ := kept1(t, s)
	run := load(t, rs)
	records := claim(t, rs, run)
	if err := rs.Forget(t.Context(), runID); err != nil {
		t.Fatal(err)
	}
	if err := records.Wait(t.Context(), &run.Progress); fault.From(err).Type != fault.WorkflowRecovery {
		t.Errorf("a write: %v", err)
	}
	if _, err := rs.Load(t.Context(), runID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it is there again: %v", err)
	}
}

// fixture is what a version of the program has stored of a run that waits.
type fixture struct {
	Definition, Run       json.RawMessage
	Checkpoints, Messages []json.RawMessage
}

// Each version of the records is read by the versions that come: testdata/runs has a run
// of every one. A version without a file writes it, and fails.
func TestStoredVersions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/runs/schema-*.json")
	if err != nil {
		t.Fatal(err)
	}
	s := memory.New(memory.Config{})
	rs, w := kept1(t, s)
	load(t, rs)
	name := "testdata/runs/schema-" + strconv.Itoa(core.Version) + ".json"
	if _, err := os.Stat(name); err != nil {
		writeFixture(t, s, w, name)
		t.Errorf("%s was not there; now it is", name)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			s := memory.New(memory.Config{})
			readFixture(t, s, name)
			rs := runStore(s)
			run := load(t, rs)
			if run.Progress.Status != engine.StatusWaiting || run.Header.Request.Input != "hello" {
				t.Fatalf("%+v", run)
			}
			rs.TakeOver(run, nil)
			if got := runPair(t, rs, run.Workflow(), run); got.Reason != stream.ApprovalRequired {
				t.Errorf("taken over, it ended with %+v", got)
			}
			r := engine.New(engine.Config{Workflow: run.Workflow(), Tools: echoing{}, Records: rs.Records, Load: rs.Load})
			req := &chat.Request{Resumed: &chat.Resumed{By: chat.PausedWorkflow, Decisions: []chat.Decision{{CallID: "ask", Action: chat.Approve}},
				State: []byte(`{"kept":true,"header":{"schema":1,"id":"` + runID + `"}}`)}}
			if got, err := r.Run(t.Context(), req, discard{}); err != nil || got.Reason != stream.Stop {
				t.Errorf("allowed, it ended with %+v, %v", got, err)
			}
		})
	}
}

func writeFixture(t *testing.T, s store.Store, w *graph.Workflow, name string) {
	t.Helper()
	run, err := s.Value(t.Context(), store.RunKey(runID))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := w.Stored()
	f := fixture{Definition: text, Run: run.Data}
	for key, into := range map[string]*[]json.RawMessage{store.CheckpointsKey(runID): &f.Checkpoints, store.MessagesKey(runID): &f.Messages} {
		items, err := s.List(t.Context(), key, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			*into = append(*into, item)
		}
	}
	data, err := json.MarshalIndent(f, "", " ")
	if err == nil {
		err = os.WriteFile(name, append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readFixture(t *testing.T, s store.Store, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	var def, run bytes.Buffer // as they were stored: the sum is of the bytes
	if err := errors.Join(json.Compact(&def, f.Definition), json.Compact(&run, f.Run)); err != nil {
		t.Fatal(err)
	}
	var head struct{ Header engine.Header }
	if err := json.Unmarshal(f.Run, &head); err != nil {
		t.Fatal(err)
	}
	_, err = s.PutValue(t.Context(), store.DefinitionKey(head.Header.Definition), store.Value{Data: def.Bytes()}, 0)
	if err == nil {
		_, err = s.PutValue(t.Context(), store.RunKey(runID), store.Value{Data: run.Bytes()}, 0)
	}
	for _, item := range f.Checkpoints {
		err = errors.Join(err, s.PushList(t.Context(), store.CheckpointsKey(runID), item, store.Bounds{}, 0))
	}
	for _, item := range f.Messages {
		err = errors.Join(err, s.PushList(t.Context(), store.MessagesKey(runID), item, store.Bounds{}, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}
