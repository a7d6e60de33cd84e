package records

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// named gives calls ids that are their own without its begin.
type named struct{ run.Owner }

func (named) CallID(own string, _ bool) string { return strings.TrimPrefix(own, "own ") }

// A step becomes a message of the assistant with its calls, and the results behind it in the
// order of the calls, whichever came first. A call within which somebody waits is left out: it
// is emitted again.
func TestTranscript(t *testing.T) {
	t.Parallel()
	var tr transcript
	started := func(id string) {
		tr.AddEvent(&stream.ToolStarted{Call: stream.Call{ID: id, Server: "s", Tool: id, Arguments: []byte(`{}`)}})
	}
	tr.addTask("Do it")
	tr.AddEvent(&stream.Delta{Text: "I "})
	tr.AddEvent(&stream.Delta{Text: "look."})
	for _, id := range []string{"a", "b", "c", "d"} {
		started(id)
	}
	tr.AddEvent(&stream.ToolFailed{Call: stream.Call{ID: "c"}, Message: "broken"})
	tr.AddEvent(&stream.ToolUnknown{Call: stream.Call{ID: "b"}, Message: "lost"})
	tr.AddEvent(&stream.ToolCompleted{Call: stream.Call{ID: "a"}, Result: strings.Repeat("x", maxSaid+1)})
	tr.AddEvent(&stream.ToolCompleted{Call: stream.Call{ID: "none"}, Result: "of nobody"})
	tr.dropSuspended(&chat.Question{Calls: []chat.PendingCall{{ID: "in", Within: "own d"}, {ID: "own c"}}}, named{})
	tr.sealStep()
	tr.AddEvent(&stream.Delta{Text: " \n"})
	tr.sealStep() // nothing was said
	var got []string
	for _, m := range tr.Messages {
		line := m.Role + " " + m.Content
		if len(line) > 80 {
			line = fmt.Sprint(m.Role, " of ", len(m.Content) <= maxSaid)
		}
		for _, c := range m.ToolCalls {
			line += " " + c.ID
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"user Do it", "assistant I look. a b c", "tool of true", "tool lost", "tool broken"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A transcript has a bound. What does not fit says so, calls stay with their results, and a
// shorter message may still fit.
func TestTranscriptIsBounded(t *testing.T) {
	t.Parallel()
	var tr transcript
	tr.Add(engine.RoleUser, strings.Repeat("x", maxTranscript-100))
	tr.Add(engine.RoleAssistant, strings.Repeat("y", 200), engine.ToolCall{ID: "a"})
	tr.Add(engine.RoleTool, "short")
	if m := tr.Messages; len(m) != 3 || m[1].Content != notKept || len(m[1].ToolCalls) != 1 || m[2].Content != "short" {
		t.Errorf("%.80q, %.80q", m[1].Content, m[2].Content)
	}
	if tr.Add(engine.RoleAssistant, "", engine.ToolCall{ID: "b", Arguments: make([]byte, 200)}); tr.Messages[3].Content != notKept {
		t.Error("arguments count for nothing")
	}
}

// breaking is a store in which one of the next writes fails.
type breaking struct {
	*memory.Store
	after int // how many more, until that one; 0: none
}

func (b *breaking) write() error {
	if b.after--; b.after == 0 {
		return store.ErrUnavailable
	}
	return nil
}

func (b *breaking) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	if err := b.write(); err != nil {
		return store.Value{}, err
	}
	return b.Store.PutValue(ctx, key, v, ttl)
}

func (b *breaking) PushList(ctx context.Context, key string, item []byte, most store.Bounds, ttl time.Duration) error {
	if err := b.write(); err != nil {
		return err
	}
	return b.Store.PushList(ctx, key, item, most, ttl)
}

func (b *breaking) DeleteValue(ctx context.Context, key string) error {
	if err := b.write(); err != nil {
		return err
	}
	return b.Store.DeleteValue(ctx, key)
}

// Whatever fails while a session is kept or removed, it is in the list of its task as long as
// it is there, so that it can be removed with it.
func TestNoSessionIsLeftBehind(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for n := range 4 {
		st := &breaking{Store: memory.New(memory.Config{})}
		s := &Sessions{Store: st}
		st.after = n
		for _, id := range []string{"one", "two"} {
			_ = s.Put(ctx, &SubAgentSession{SessionID: id, ParentTaskID: "task_1"}, 0)
		}
		for _, after := range []int{1, 2, 0} { // the last one succeeds
			st.after = after
			err := s.Forget(ctx, "task_1")
			ids, _ := s.Of(ctx, "task_1")
			left := ""
			for _, id := range []string{"one", "two"} {
				if _, err := s.Get(ctx, id); err == nil {
					left += id + " "
					if !strings.Contains(strings.Join(ids, " "), id) {
						t.Errorf("write %d, removal %d: %s is in no list", n, after, id)
					}
				}
			}
			if after == 0 && (left != "" || len(ids) > 0 || err != nil) {
				t.Errorf("write %d: there is %q, in a list of %q, %v", n, left, ids, err)
			}
		}
	}
}

// A session that a later version wrote is left alone; and one that has an end is kept for a
// time from then on.
func TestSessionsHaveATime(t *testing.T) {
	t.Parallel()
	ctx, st := t.Context(), memory.New(memory.Config{})
	s := &Sessions{Store: st, TTL: time.Nanosecond}
	if err := s.Put(ctx, &SubAgentSession{SessionID: "one", ParentTaskID: "task_1"}, 0); err != nil {
		t.Fatal(err)
	}
	if err := (&Sessions{Store: st}).Finish(ctx, "task_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "one"); err != nil {
		t.Errorf("without a time it is kept: %v", err)
	}
	if err := s.Finish(ctx, "task_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "one"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("behind its time: %v", err)
	}
	if _, err := st.PutValue(ctx, store.SessionKey("later"), store.Value{Data: []byte(`{"schema":2}`)}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "later"); !errors.Is(err, run.ErrVersion) {
		t.Errorf("of a later version: %v", err)
	}
}

// A result that the store did not take is known to this process until the store has it, and
// of so many runs at most.
func TestSettledResultsAreKept(t *testing.T) {
	t.Parallel()
	s := NewRunStore(RunStoreConfig{Store: memory.New(memory.Config{})})
	paid := &tool.Result{Text: "paid"}
	s.keepSettled("task_1", results{"a": paid})
	s.keepSettled("task_1", results{"b": nil})
	made := &storedIntent{Intent: engine.Intent{Key: "a"}, Tries: 1}
	r := storedRun{Intents: map[string]*storedIntent{"a": made, "b": {Intent: engine.Intent{Key: "b"}}, "c": {Intent: engine.Intent{Key: "c"}}}}
	s.settledResults("task_1").mergeInto(&r)
	if got := r.Intents["a"]; got == nil || got.Result != paid || got.Tries != 1 || made.Result != nil || r.Intents["b"] != nil || r.Intents["c"] == nil {
		t.Errorf("%+v", r.Intents)
	}
	for i := range maxSettled + 10 {
		s.keepSettled(fmt.Sprint("task_", i+2), results{"a": paid})
	}
	s.keepSettled("task_1", results{"d": paid})
	if len(s.settled) != maxSettled || len(s.settledResults("task_1")) != 3 {
		t.Errorf("results of %d runs are kept, %d of the first", len(s.settled), len(s.settledResults("task_1")))
	}
	if s.forgetSettled("task_1"); s.settledResults("task_1") != nil {
		t.Error("they are not forgotten")
	}
}
