//go:build unix

package task_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/fault"
	"sluice/store"
	"sluice/store/memory"
	"sluice/stream"
	"sluice/task"
)

// sink passes events to a Guard, which refuses what a client must not see.
type sink struct{ events []stream.Event }

func (s *sink) Emit(ev stream.Event) error { s.events = append(s.events, ev); return nil }
func (*sink) Flush() error                 { return nil }

// Wherever a turn is broken off, what is added makes a whole one of it.
func TestClosingMakesATurnWhole(t *testing.T) {
	t.Parallel()
	call := func(id string) stream.Call { return stream.Call{ID: id, Tool: "t"} }
	yes, ms := true, int64(5)
	events := []stream.Event{
		&stream.Start{}, &stream.Route{Decision: stream.Routed}, &stream.AgentRun{AgentID: "a", Attempt: 1, Status: stream.AgentStarted},
		&stream.AgentRun{AgentID: "b", Attempt: 1, Status: stream.AgentStarted}, &stream.Delta{Text: "x"},
		&stream.ToolStarted{Call: call("c1"), Repeatable: true}, &stream.ToolStarted{Call: call("c2")}, &stream.ToolProgress{Call: call("c1")},
		&stream.ToolCompleted{Call: call("c1")}, &stream.AgentRun{AgentID: "a", Attempt: 1, Status: stream.AgentCompleted, Success: &yes, Millis: &ms},
		&stream.ToolFailed{Call: call("c2")}, &stream.AgentRun{AgentID: "b", Attempt: 2, Status: stream.AgentRetrying},
		&stream.AgentRun{AgentID: "b", Attempt: 2, Status: stream.AgentFailed}, &stream.Error{Type: fault.Timeout, Fatal: true}, &stream.Done{Reason: stream.TimedOut},
	}
	for cut := range len(events) + 1 {
		s := memory.New(memory.Config{})
		w := task.NewWriter(t.Context(), nil, config(s))
		for i, ev := range events[:cut] {
			must(t, w.Write(stream.Stamp{N: i + 1, At: time.Duration(i+1) * time.Second}, ev))
			must(t, w.Flush())
		}
		a, done, err := task.Closing(t.Context(), s, "turn_1")
		if cut == 0 {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("no log: %v", err)
			}
			continue
		}
		must(t, err)
		if cut == len(events) {
			if done.Reason != stream.TimedOut || len(a.Data) > 0 {
				t.Errorf("a turn that had ended: %v, %s", done, a.Data)
			}
			continue
		}
		must(t, s.AppendLog(t.Context(), "turn_1", a))
		out := &sink{}
		guard, n := stream.NewGuard(out), 0
		for e, err := range task.Events(t.Context(), s, "turn_1", 0) {
			must(t, err)
			if n++; e.N != n {
				t.Errorf("cut after %d: event %d has the number %d", cut, n, e.N)
			}
			if err := guard.Emit(e.Event); err != nil {
				t.Errorf("cut after %d: %v", cut, err)
			}
		}
		if !guard.Ended() || n != a.N {
			t.Errorf("cut after %d: ended %v with %d events, want %d", cut, guard.Ended(), n, a.N)
		}
		last := out.events[len(out.events)-2].(*stream.Error)
		want := &stream.Error{Type: fault.TurnLost, Message: last.Message, Fatal: true, Recoverable: cut < 7}
		if cut == 14 {
			want = &stream.Error{Type: fault.Timeout, Fatal: true}
		}
		if diff := cmp.Diff(want, last); diff != "" {
			t.Errorf("cut after %d (-want +got):\n%s", cut, diff)
		}
	}
}
