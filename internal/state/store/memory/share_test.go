package memory

import (
	"errors"
	"fmt"
	"testing"

	"sluice/internal/state/store"
)

// A task that runs or waits is kept with its records however little room there is, and so are the
// keys and indexes that name it: the new write is refused.
func TestNothingThatLivesMakesRoom(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"submitted", "queued", "working", "input-required", "auth-required"} {
		s, ctx := New(Config{Bytes: 20_000, Tasks: 50}), t.Context()
		records := []string{store.TraceKey("w"), store.LongKey("w"), store.CheckpointsKey("w"), store.MessagesKey("w"), store.SessionsKey("w"), store.MemoryKey("blue", "bob", "c"), store.ThreadItemsKey("c")}
		_, keyed := s.PutValue(ctx, store.IdempotencyKey("blue", "bob", "k"), store.Value{Data: of(10)}, 0)
		_, asked := s.PutValue(ctx, store.ApprovalKey("a"), store.Value{Data: of(100)}, 0)
		err := errors.Join(keyed, asked,
			s.CreateTask(ctx, "w", store.Task{Doc: of(500), Meta: store.Meta{Tenant: "blue", User: "bob", Conversation: "c", Turn: "turn_w", State: state}}, 0),
			s.AppendLog(ctx, "turn_w", entry(0, 500, 0)), s.PutIndex(ctx, store.DueIndex, store.Member{ID: "w"}, 0),
			s.PutIndex(ctx, store.ApprovalsKey("blue", "bob"), store.Member{ID: "a"}, 0))
		for _, key := range records {
			err = errors.Join(err, s.PushList(ctx, key, of(10), store.Bounds{}, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for i := range 100 { // of another tenant: some end, then all wait
			id := fmt.Sprint(i)
			meta := store.Meta{Tenant: "acme", User: "ann", Conversation: "c", Turn: "turn_" + id, State: []string{"completed", "input-required"}[i/50]}
			made := s.CreateTask(ctx, id, store.Task{Doc: of(300), Meta: meta}, 0)
			if made == nil {
				made = errors.Join(s.AppendLog(ctx, "turn_"+id, entry(0, 300, 0)), s.PushList(ctx, store.TraceKey(id), of(100), store.Bounds{}, 0))
			}
			if errors.Is(made, store.ErrFull) {
				refused++
			} else if made != nil {
				t.Fatal(made)
			}
		}
		if refused == 0 || refused == 100 {
			t.Errorf("%s: %d of 100 writes were refused: this shows little", state, refused)
		}
		if _, err := s.Task(ctx, "w"); err != nil || s.logs["turn_w"] == nil {
			t.Errorf("%s: the task: %v, and its log: %v", state, err, s.logs["turn_w"])
		}
		for _, key := range records {
			if len(s.itemsOf(key)) != 1 {
				t.Errorf("%s: the list %s is gone", state, key)
			}
		}
		if len(s.values) != 2 || !s.findIndex(store.DueIndex).hasMember("w") || !s.findIndex(store.ApprovalsKey("blue", "bob")).hasMember("a") {
			t.Errorf("%s: %d values are left, or an index lost a member", state, len(s.values))
		}
		if diff := books(s); diff != "" {
			t.Errorf("%s: %s", state, diff)
		}
	}
}

// The tenant that has most makes room, or the user without a tenant, whichever tenant writes, and however old
// the tasks of others are.
func TestLargestShareMakesRoom(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]func(string) store.Meta{
		"tenants": func(who string) store.Meta { return store.Meta{Tenant: who, User: "u"} },
		"users":   func(who string) store.Meta { return store.Meta{User: who} },
	} {
		s, ctx, ids := New(Config{Bytes: 50_000}), t.Context(), []string{}
		create := func(id, who string, size int) {
			m := meta(who)
			m.State = "completed"
			if err := s.CreateTask(ctx, id, store.Task{Doc: of(size), Meta: m}, 0); err != nil {
				t.Fatal(err)
			}
			if err := s.PushList(ctx, store.TraceKey(id), of(size), store.Bounds{}, 0); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 {
			ids = append(ids, fmt.Sprint("small", i))
			create(ids[i], fmt.Sprint("small", i), 100)
		}
		create("other", "small2", 100)
		for i := range 100 {
			create(fmt.Sprint("large", i), "large", 1000)
		}
		create("last", "small0", 1000)
		for _, id := range append(ids, "other", "last", "large99") {
			if s.tasks[id] == nil {
				t.Errorf("%s: the task %s is gone", name, id)
			}
		}
		if s.tasks["large0"] != nil || s.lists[store.TraceKey("large0")] != nil {
			t.Errorf("%s: the oldest task of the largest share is there", name)
		}
		if diff := books(s); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A task that makes room takes its run, sessions and responses along; the last one of a
// conversation takes the memory and the thread.
func TestEndedTaskLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s, ctx := New(Config{Tasks: 2}), t.Context()
	create := func(id, user, conversation string) error {
		return s.CreateTask(ctx, id, store.Task{Meta: store.Meta{User: user, Conversation: conversation, Turn: "turn_" + id, State: "completed"}}, 0)
	}
	put := func(key string) error {
		_, err := s.PutValue(ctx, key, store.Value{Data: of(1)}, 0)
		return err
	}
	push := func(key, item string) error { return s.PushList(ctx, key, []byte(item), store.Bounds{}, 0) }
	err := errors.Join(create("a", "u", "c"), s.AppendLog(ctx, "turn_a", entry(0, 1, 0)), put(store.RunKey("a")),
		push(store.SessionsKey("a"), "s"), put(store.SessionKey("s")), push(store.ResponsesKey("a"), "turn_a"), put(store.ResponseKey("resp_a")),
		push(store.CheckpointsKey("a"), "x"), push(store.MessagesKey("a"), "x"), push(store.MemoryKey("", "u", "c"), "x"),
		push(store.ThreadItemsKey("c"), "x"), put(store.ThreadKey("c")), create("b", "v", "c"), create("d", "v", ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.values) != 1 || len(s.lists) != 1 || len(s.logs) != 0 || s.lists[store.ThreadItemsKey("c")] == nil {
		t.Errorf("%d values, %d lists and %d logs are left, want those of the thread, in which another user has a task", len(s.values), len(s.lists), len(s.logs))
	}
	if err := create("e", "u", ""); err != nil || s.tasks["b"] != nil {
		t.Fatalf("%v, and the second task of the thread is there: %v", err, s.tasks["b"] != nil)
	}
	if len(s.values) != 0 || len(s.lists) != 0 {
		t.Errorf("%d values and %d lists are left", len(s.values), len(s.lists))
	}
}
