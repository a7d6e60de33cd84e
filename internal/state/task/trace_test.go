package task

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task/record"
	"sluice/stream"
)

// traced returns the trace of a task.
func traced(t *testing.T, s *Service, task string) (tr record.Trace) {
	t.Helper()
	text, err := s.Trace(t.Context(), Caller{}, task)
	if err == nil {
		err = json.Unmarshal(text, &tr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// A trace is there while its turn runs, and after it; it goes with its task.
func TestTrace(t *testing.T) {
	t.Parallel()
	shared := memory.New(memory.Config{})
	s := New(Config{Store: shared})
	defer s.Close()
	turn := begin(t, s, nil, &stream.Start{}, &stream.InnerDelta{Delta: "canary", Attempt: 1}, &stream.Delta{Text: "Hi."})
	if tr := traced(t, s, turn.task); len(tr.Steps) != 2 || tr.Steps[1].Message != "Hi." || tr.Steps[0].Millis != nil {
		t.Errorf("while the turn runs: %+v", tr)
	}
	_ = turn.Write(stream.Stamp{N: 4, At: time.Second}, &stream.Done{Reason: stream.Stop})
	_ = turn.Flush()
	turn.End()
	kept, err := shared.List(t.Context(), store.TraceKey(turn.task), 0, 0)
	if err != nil || len(kept) != 1 || strings.Contains(string(kept[0]), "canary") {
		t.Errorf("%v: %s", err, kept)
	}
	_ = shared.DropLog(t.Context(), turn.id)
	if tr := traced(t, s, turn.task); len(tr.Steps) != 2 || tr.Steps[0].Message != "stop" || *tr.Steps[0].Millis != 1000 {
		t.Errorf("after the turn: %+v", tr)
	}
	if _, err := s.Trace(t.Context(), Caller{}, "task_other"); err == nil {
		t.Error("there is a trace of no task")
	}
	if err := s.Forget(t.Context(), Caller{}, "conv_1"); err != nil {
		t.Fatal(err)
	}
	if kept, _ := shared.List(t.Context(), store.TraceKey(turn.task), 0, 0); len(kept) > 0 {
		t.Errorf("after the task was forgotten: %s", kept)
	}
	_ = s.pushTrace(t.Context(), turn.task, turn.trace.Part(true), 0)
	if kept, _ := shared.List(t.Context(), store.TraceKey(turn.task), 0, 0); len(kept) > 0 {
		t.Errorf("of a turn that ended after its task was forgotten: %s", kept)
	}
}

// What the death of a process has cut is a warning in the trace.
func TestTraceOfTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		dead := New(Config{Store: shared})
		turn := begin(t, dead, func(error) {}, &stream.Start{}, &stream.Delta{Text: "Hi."}, &stream.ToolStarted{Call: stream.Call{ID: "c1", Tool: "add"}})
		dead.Close()
		s := New(Config{Store: shared})
		defer s.Close()
		time.Sleep(time.Minute)
		kept, _ := shared.List(t.Context(), store.TraceKey(turn.task), 0, 0)
		tr := traced(t, s, turn.task)
		if len(kept) != 1 || len(tr.Steps) != 2 || tr.Steps[0].Status != record.Error || tr.Steps[1].Status != record.Warning || tr.Steps[1].Calls[0].Outcome != record.Unknown {
			t.Errorf("%d parts, %+v", len(kept), tr.Steps)
		}
	})
}
