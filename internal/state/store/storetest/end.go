// This file has the rules of store.Ender and store.Together, for the engines that have them.

package storetest

import (
	"errors"
	"testing"
	"time"

	"sluice/internal/state/store"
)

// endOfTurn is the end of a turn that runs, as runs makes one.
func endOfTurn() store.End {
	return store.End{
		Turn: "turn_1", TaskID: "a", TTL: long,
		Log: store.Append{Entry: store.Entry{N: 3, Data: []byte("three")}, At: 2, TTL: long, Task: "a", Holder: store.Holder{Owner: "g", Epoch: 7}},
		Task: store.Task{
			Doc: []byte(`{"ended":true}`), Meta: store.Meta{Version: 1, State: "completed", Turn: "turn_1"},
			Side: store.Side{Key: store.TurnKey("turn_1"), Drop: true},
		},
		Trace: []byte("trace"), Bounds: store.Bounds{Items: 2, Bytes: 100},
	}
}

// runningTurn makes a task whose turn runs: its log ends at 2, and something of it is saved.
func runningTurn(t *testing.T, s store.Store) store.Ender {
	t.Helper()
	ender, ok := s.(store.Ender)
	if !ok {
		t.Skip("the engine writes each part by itself")
	}
	must(t, s.CreateTask(t.Context(), "a", task("u", "c"), long))
	must(t, s.AppendLog(t.Context(), "turn_1", store.Append{
		Entry: store.Entry{N: 2, Data: []byte("two")}, TTL: long, Task: "a", Holder: store.Holder{Owner: "g", Epoch: 7},
		Side: store.Side{Key: store.TurnKey("turn_1"), Item: []byte("saved")},
	}))
	return ender
}

// EndTurn adds to the log, replaces the task, drops the saved states, and adds to the trace within
// its bounds. It wakes the followers of the log.
func turnEnds(t *testing.T, s store.Store) {
	ctx, ender := t.Context(), runningTurn(t, s)
	for _, item := range []string{"first", "second"} {
		must(t, s.PushList(ctx, store.TraceKey("a"), []byte(item), store.Bounds{}, long))
	}
	watch := s.Watch(store.LogTopic("turn_1"))
	defer watch.Stop()
	drain(watch)
	must(t, ender.EndTurn(ctx, endOfTurn()))
	select {
	case <-watch.C:
	case <-time.After(5 * time.Second):
		t.Error("nobody was woken")
	}
	got, err := s.Task(ctx, "a")
	must(t, err)
	same(t, "task", got, store.Task{Doc: []byte(`{"ended":true}`), Meta: store.Meta{Version: 2, User: "u", Conversation: "c", State: "completed", Turn: "turn_1", Created: began()}})
	log, err := s.ReadLog(ctx, "turn_1", 0, 9)
	must(t, err)
	same(t, "log", log, []store.Entry{{N: 2, Data: []byte("two")}, {N: 3, Data: []byte("three")}})
	items, err := s.List(ctx, store.TraceKey("a"), 0, 0)
	must(t, err)
	same(t, "trace", items, [][]byte{[]byte("second"), []byte("trace")})
	items, err = s.List(ctx, store.TurnKey("turn_1"), 0, 0)
	if !errors.Is(err, store.ErrNotFound) && (err != nil || len(items) > 0) {
		t.Errorf("what was saved is still there: %q, %v", items, err)
	}
}

// Unless all of it can be written nothing is. A log that has all already is left as it is.
func turnEndsWhole(t *testing.T, s store.Store) {
	ctx, ender := t.Context(), runningTurn(t, s)
	for name, c := range map[string]struct {
		change func(*store.End)
		want   error
	}{
		"version": {func(e *store.End) { e.Task.Version = 2 }, store.ErrConflict},
		"holder":  {func(e *store.End) { e.Log.Holder.Epoch = 8 }, store.ErrConflict},
		"end":     {func(e *store.End) { e.Log.At = 1 }, store.ErrConflict},
		"no log":  {func(e *store.End) { e.Turn = "turn_2" }, store.ErrNotFound},
	} {
		e := endOfTurn()
		c.change(&e)
		err := ender.EndTurn(ctx, e)
		want(t, c.want, err)
		if end, ok := errors.AsType[*store.EndError](err); ok != (name == "end") || ok && end.End != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := s.Task(ctx, "a")
	must(t, err)
	same(t, "version", got.Version, 1)
	log, err := s.ReadLog(ctx, "turn_1", 0, 9)
	must(t, err)
	same(t, "log", numbers(log), []int{2})
	if items, err := s.List(ctx, store.TraceKey("a"), 0, 0); len(items) > 0 {
		t.Errorf("trace: %q, %v", items, err)
	}
	items, err := s.List(ctx, store.TurnKey("turn_1"), 0, 0)
	must(t, err)
	same(t, "saved", items, [][]byte{[]byte("saved")})
	whole := endOfTurn()
	whole.Log.N, whole.Log.Data = 2, nil
	must(t, ender.EndTurn(ctx, whole))
	log, err = s.ReadLog(ctx, "turn_1", 0, 9)
	must(t, err)
	same(t, "log", numbers(log), []int{2})
	must(t, s.DeleteTask(ctx, "a"))
	if err := ender.EndTurn(ctx, endOfTurn()); !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) {
		t.Errorf("without a task: %v", err)
	}
}

// PushAndPut changes lists and a value, or, if the value has another version, none of them.
func pushedAndPut(t *testing.T, s store.Store) {
	ctx := t.Context()
	together, ok := s.(store.Together)
	if !ok {
		t.Skip("the engine writes each part by itself")
	}
	var all [][]byte
	for version, item := range []string{"one", "two", "three"} {
		put := func() (store.Value, error) {
			return together.PushAndPut(ctx, []store.Pushed{{Key: "a", Item: []byte(item)}, {Key: "b", Item: []byte(item)}}, "r",
				store.Value{Data: []byte(item), Version: int64(version)}, long)
		}
		there := store.Value{Data: []byte(item), Version: int64(version) + 1}
		got, err := put()
		must(t, err)
		same(t, "value", got, there)
		got, err = put()
		want(t, store.ErrConflict, err)
		same(t, "value of a second try", got, there)
		got, err = s.Value(ctx, "r")
		must(t, err)
		same(t, "stored value", got, there)
		all = append(all, []byte(item))
		for _, key := range []string{"a", "b"} {
			items, err := s.List(ctx, key, 0, 0)
			must(t, err)
			same(t, "list "+key, items, all)
		}
	}
}
