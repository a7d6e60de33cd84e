package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/engine/workflow/records"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

const (
	taskID    = "task_0123456789abcdef0123456789abcdef"
	sessionID = "6f1c9a52-7b1e-4c1f-9b53-0d4bd9a6b8a1"
)

// saying is the tools of a workflow: each says the same.
type saying string

func (saying) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{{Name: "say", Server: "s", InputSchema: []byte(`{"type":"object"}`)}}}
}
func (s saying) Call(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{Text: string(s)}, nil
}
func (saying) Named(context.Context, string, string) string { return "say" }

// unattended is a sink that belongs to nobody.
type unattended struct{}

func (unattended) Emit(stream.Event) error { return nil }
func (unattended) Flush() error            { return nil }

// ran runs a workflow of n tools as a task, and returns the records of its store.
func ran(t *testing.T, n int, text string) Records {
	t.Helper()
	var nodes, edges []string
	for i := range n {
		nodes = append(nodes, fmt.Sprintf("n%d: {type: tool, tool: s/say}", i))
		if i > 0 {
			edges = append(edges, fmt.Sprintf("{from: n%d, to: n%d}", i-1, i))
		}
	}
	var flows []*graph.Workflow
	var set config.Config
	config.Bind[store.Config](&set).At.Kind = store.Memory
	got := file.Table{graph.Section(&flows, &set, engine.Kinds())}.Read("f",
		fmt.Appendf(nil, "workflows: {flow: {nodes: {%s}, edges: [%s]}}", strings.Join(nodes, ", "), strings.Join(edges, ", ")),
		config.Sources{Lookup: func(string) (string, bool) { return "", false }})
	if len(got.Faults) > 0 {
		t.Fatal(got.Faults)
	}
	r := Of(memory.New(memory.Config{}))
	run := engine.New(engine.Config{
		Workflow: flows[0], Tools: saying(text),
		Records: func(ctx context.Context, run *engine.Run) (engine.Records, error) {
			return r.Runs.Records(ctx, run)
		},
	})
	if _, err := run.Run(t.Context(), &chat.Request{Input: "hi", Keeping: chat.Keeping{Task: taskID, Turn: taskID + ":1"}}, unattended{}); err != nil {
		t.Fatal(err)
	}
	return r
}

// A run's checkpoints come in pages: as many as asked for, and no more than a page holds.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	r := ran(t, 2, "done")
	list, more, err := r.Checkpoints(t.Context(), taskID, 0, 100)
	if err != nil || more || len(list) < 2 {
		t.Fatalf("%d checkpoints, more: %v, %v", len(list), more, err)
	}
	first, more, err := r.Checkpoints(t.Context(), taskID, 0, 1)
	if err != nil || !more || len(first) != 1 || string(first[0]) != string(list[0]) {
		t.Errorf("a page of one: %s, more: %v, %v", first, more, err)
	}
	if rest, more, err := r.Checkpoints(t.Context(), taskID, 1, 100); err != nil || more || len(rest) != len(list)-1 {
		t.Errorf("the rest: %d, more: %v, %v", len(rest), more, err)
	}
	for n := range list {
		if text, err := r.Checkpoint(t.Context(), taskID, n); err != nil || string(text) != string(list[n]) || !json.Valid(text) {
			t.Errorf("%d is %s, %v", n, text, err)
		}
	}
	wantNotFound(t, "The task has no such checkpoint")(r.Checkpoint(t.Context(), taskID, len(list)))
	wantNotFound(t, "The task has no such checkpoint")(r.Checkpoint(t.Context(), "task_other", 0))
	if list, more, err := r.Checkpoints(t.Context(), "task_other", 0, 10); list != nil || more || err != nil {
		t.Errorf("of what is no run: %v, %v, %v", list, more, err)
	}
}

// A page ends early where its checkpoints are long.
func TestLongCheckpoints(t *testing.T) {
	t.Parallel()
	r := ran(t, 6, strings.Repeat("long ", 200_000))
	n, pages := 0, 0
	for more := true; more; pages++ {
		var list []json.RawMessage
		page, again, err := r.Checkpoints(t.Context(), taskID, n, 100)
		if err != nil || len(page) == 0 {
			t.Fatalf("page %d: %d checkpoints, %v", pages, len(page), err)
		}
		for _, c := range page {
			list = append(list, json.RawMessage(c))
		}
		n, more = n+len(list), again
	}
	if pages < 2 {
		t.Errorf("%d checkpoints on %d page", n, pages)
	}
}

func wantNotFound(t *testing.T, message string) func([]byte, error) {
	return func(text []byte, err error) {
		t.Helper()
		if f, ok := errors.AsType[*fault.Error](err); !ok || f.Type != fault.NotFound || f.Message != message || text != nil {
			t.Errorf("%s, %v, want %q", text, err, message)
		}
	}
}

// A session is shown with its own task alone.
func TestSession(t *testing.T) {
	t.Parallel()
	r := Of(memory.New(memory.Config{}))
	if err := r.Sessions.Put(t.Context(), &records.SubAgentSession{SessionID: sessionID, ParentTaskID: taskID, AgentName: "writer"}, 0); err != nil {
		t.Fatal(err)
	}
	if text, err := r.Session(t.Context(), taskID, sessionID); err != nil || !strings.Contains(string(text), `"agent_name":"writer"`) {
		t.Errorf("%s, %v", text, err)
	}
	const none = "The task has no such session"
	wantNotFound(t, none)(r.Session(t.Context(), "task_other", sessionID))
	for _, id := range []string{
		"", "6f1c9a52-7b1e-4c1f-9b53-0d4bd9a6b8a2", strings.ToUpper(sessionID), sessionID + "0", strings.ReplaceAll(sessionID, "-", "0"), strings.Repeat("-", 36), "../../" + sessionID[6:],
	} {
		wantNotFound(t, none)(r.Session(t.Context(), taskID, id))
	}
}

// Nothing is left of a task that is forgotten, and forgetting twice is no error.
func TestForget(t *testing.T) {
	t.Parallel()
	r := ran(t, 2, "done")
	if err := r.Sessions.Put(t.Context(), &records.SubAgentSession{SessionID: sessionID, ParentTaskID: taskID}, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Forget(t.Context(), taskID); err != nil {
			t.Fatal(err)
		}
		if list, _, err := r.Checkpoints(t.Context(), taskID, 0, 10); len(list) > 0 || err != nil {
			t.Errorf("there are %d checkpoints, %v", len(list), err)
		}
		wantNotFound(t, "The task has no such session")(r.Session(t.Context(), taskID, sessionID))
	}
}

// What keeps a record from being read is a fault that its reader may see; damage is not.
func TestFaultsOfReading(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want fault.Type
	}{
		{store.ErrNotFound, fault.NotFound}, {run.ErrVersion, fault.NotFound}, {engine.ErrGone, fault.NotFound}, {store.ErrUnavailable, fault.StoreUnavailable},
		{store.ErrDamaged, ""}, {nil, ""},
	} {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("reading: %w", err)
		}
		got := readFault(err, "none")
		f, ok := errors.AsType[*fault.Error](got)
		if ok != (tt.want != "") || ok && f.Type != tt.want || !ok && !errors.Is(got, tt.err) {
			t.Errorf("%v became %v", tt.err, got)
		}
	}
}
