package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return memory.New(memory.Config{}) })
}

func BenchmarkStore(b *testing.B) { storetest.Bench(b, memory.New(memory.Config{})) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(s *memory.Store, t *testing.T, id, owner string, size int) error {
	return s.CreateTask(t.Context(), id, store.Task{Doc: make([]byte, size), Meta: store.Meta{Holder: store.Holder{Owner: owner}, Turn: "turn_" + id}}, time.Hour)
}

// exists says of each task whether it is there.
func exists(t *testing.T, s *memory.Store, ids ...string) (all string) {
	for _, id := range ids {
		if _, err := s.Task(t.Context(), id); err == nil {
			all += id
		}
	}
	return all
}

// When there are too many tasks, those go that have ended, oldest first, with their logs.
func TestOldTasksMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{Tasks: 3})
		for _, id := range []string{"a", "b", "c"} {
			owner := ""
			if id == "a" {
				owner = "g" // runs
			}
			must(t, create(s, t, id, owner, 10))
			must(t, s.AppendLog(t.Context(), "turn_"+id, store.Append{Entry: store.Entry{N: 1}}))
			time.Sleep(time.Second)
		}
		must(t, create(s, t, "d", "g", 10))
		if got := exists(t, s, "a", "b", "c", "d"); got != "acd" {
			t.Errorf("kept %s, want acd", got)
		}
		if _, err := s.ReadLog(t.Context(), "turn_b", 0, 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the log of b: %v", err)
		}
		must(t, create(s, t, "e", "g", 10))
		if err := create(s, t, "f", "g", 10); !errors.Is(err, store.ErrFull) {
			t.Errorf("a task too many: %v, want %v", err, store.ErrFull)
		}
		if got := exists(t, s, "a", "c", "d", "e", "f"); got != "ade" {
			t.Errorf("kept %s, want ade", got)
		}
	})
}

func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{Bytes: 10_000})
		for _, id := range []string{"a", "b", "c"} {
			must(t, create(s, t, id, "", 3000))
			time.Sleep(time.Second)
		}
		must(t, s.PushList(t.Context(), "old", make([]byte, 1000), store.Bounds{}, 0)) // a leaves
		time.Sleep(time.Second)
		must(t, s.PushList(t.Context(), "new", make([]byte, 1000), store.Bounds{}, 0))
		if got := exists(t, s, "a", "b", "c"); got != "bc" {
			t.Errorf("kept %s, want bc", got)
		}
		must(t, s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: 1, Data: make([]byte, 7000)}})) // b and c leave
		if got := exists(t, s, "b", "c"); got != "" {
			t.Errorf("kept %s", got)
		}
		for _, key := range []string{"old", "new"} {
			if items, _ := s.List(t.Context(), key, 0, 0); len(items) != 1 {
				t.Errorf("%s has %d items, want 1", key, len(items))
			}
		}
		if err := s.AppendLog(t.Context(), "x", store.Append{Entry: store.Entry{N: 2, Data: make([]byte, 3000)}, At: 1}); !errors.Is(err, store.ErrFull) {
			t.Errorf("an entry that does not fit: %v, want %v", err, store.ErrFull)
		}
		if state := s.Check().(health.Store).State; state != health.Full {
			t.Errorf("the store is %s, want full", state)
		}
		if log, err := s.ReadLog(t.Context(), "x", 0, 9); err != nil || len(log) != 1 {
			t.Errorf("log %d, %v", len(log), err)
		}
	})
}

// What has expired, or was removed, takes no room.
func TestBytesAreCountedBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{Bytes: 10_000})
		ctx := t.Context()
		for range 50 {
			must(t, s.CreateTask(ctx, "a", store.Task{Doc: make([]byte, 1000), Meta: store.Meta{Holder: store.Holder{Owner: "g"}}}, time.Second))
			must(t, s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: 1, Data: make([]byte, 1000)}, TTL: time.Second}))
			_, err := s.PutValue(ctx, "v", store.Value{Data: make([]byte, 1000)}, time.Second)
			must(t, err)
			must(t, s.PushList(ctx, "l", make([]byte, 1000), store.Bounds{Items: 1}, time.Second))
			must(t, s.PushList(ctx, "l", make([]byte, 1000), store.Bounds{Items: 1}, time.Second))
			must(t, s.PutIndex(ctx, "i", store.Member{ID: "m"}, time.Second))
			time.Sleep(2 * time.Minute)
		}
	})
}
