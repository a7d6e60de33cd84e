package memory_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// What a task leaves behind would fill the store with what nobody can ask for.
func TestTraceLeavesWithItsTask(t *testing.T) {
	t.Parallel()
	s := memory.New(memory.Config{Tasks: 2})
	for i := range 5 {
		id := strconv.Itoa(i)
		must(t, create(s, t, id, "", 10))
		must(t, s.PushList(t.Context(), store.TraceKey(id), []byte("part"), store.Bounds{}, time.Hour))
	}
	traced := ""
	for i := range 5 {
		id := strconv.Itoa(i)
		if items, _ := s.List(t.Context(), store.TraceKey(id), 0, 0); len(items) > 0 {
			traced += id
		}
	}
	if got := exists(t, s, "0", "1", "2", "3", "4"); got != "34" || traced != "34" {
		t.Errorf("tasks %s with traces of %s, want 34 both", got, traced)
	}
}

// A task that was written again is as old as that, and one that runs does not leave,
// whatever it was before.
func TestAgeIsThatOfTheLastChange(t *testing.T) {
	t.Parallel()
	s, ctx := memory.New(memory.Config{Tasks: 3}), t.Context()
	for _, id := range []string{"a", "b", "c"} {
		must(t, create(s, t, id, "", 10))
	}
	must(t, s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 1, Holder: store.Holder{Owner: "g"}}}, time.Hour))
	must(t, s.UpdateTask(ctx, "b", store.Task{Meta: store.Meta{Version: 1}}, time.Hour))
	must(t, create(s, t, "d", "", 10)) // c leaves
	if got := exists(t, s, "a", "b", "c", "d"); got != "abd" {
		t.Errorf("kept %s, want abd", got)
	}
	must(t, s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 2}}, time.Hour))
	must(t, create(s, t, "e", "", 10)) // b leaves
	must(t, create(s, t, "f", "", 10)) // d leaves
	if got := exists(t, s, "a", "b", "c", "d", "e", "f"); got != "aef" {
		t.Errorf("kept %s, want aef", got)
	}
}

// A conversation's tasks are those that are there.
func TestConversationForgetsWhatLeft(t *testing.T) {
	t.Parallel()
	s, ctx := memory.New(memory.Config{Tasks: 2}), t.Context()
	for i := range 4 {
		must(t, s.CreateTask(ctx, strconv.Itoa(i), store.Task{Meta: store.Meta{User: "u", Conversation: "c", Created: time.UnixMilli(int64(i))}}, time.Hour))
	}
	must(t, s.DeleteTask(ctx, "2"))
	page, err := s.Tasks(ctx, store.Query{User: "u", Conversation: "c", Limit: 10})
	if got := fmt.Sprint(page.IDs); err != nil || got != "[3]" {
		t.Errorf("tasks %s, %v, want [3]", got, err)
	}
}

// Whatever comes and goes in a conversation, and in which order: its tasks are those that are
// there, the newest first.
func TestConversationIsItsTasks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	s, ctx := memory.New(memory.Config{}), t.Context()
	var there []string // the oldest first
	for i := range 500 {
		if n := len(there); n > 0 && random.IntN(2) == 0 {
			at := random.IntN(n)
			must(t, s.DeleteTask(ctx, there[at]))
			there = slices.Delete(there, at, at+1)
		} else {
			id := strconv.Itoa(i)
			must(t, s.CreateTask(ctx, id, store.Task{Meta: store.Meta{User: "u", Conversation: "c", Created: time.UnixMilli(int64(i))}}, time.Hour))
			there = append(there, id)
		}
		page, err := s.Tasks(ctx, store.Query{User: "u", Conversation: "c", Limit: 1000})
		want := slices.Clone(there)
		if slices.Reverse(want); err != nil || !slices.Equal(page.IDs, want) {
			t.Fatalf("after %d changes: %q, %v, want %q", i, page.IDs, err, want)
		}
	}
}

// What is being written does not make room for itself: neither a list nor the task of a log.
func TestWhatIsWrittenStays(t *testing.T) {
	t.Parallel()
	s, ctx := memory.New(memory.Config{Bytes: 10_000}), t.Context()
	must(t, create(s, t, "a", "", 1000))
	must(t, s.AppendLog(ctx, "turn_a", store.Append{Entry: store.Entry{N: 1, Data: make([]byte, 1000)}}))
	if err := s.AppendLog(ctx, "turn_a", store.Append{Entry: store.Entry{N: 2, Data: make([]byte, 9000)}, At: 1}); !errors.Is(err, store.ErrFull) || exists(t, s, "a") != "a" {
		t.Errorf("a log that has no room: %v, and its task is %q", err, exists(t, s, "a"))
	}
	must(t, s.DeleteTask(ctx, "a"))
	must(t, s.DropLog(ctx, "turn_a"))
	must(t, s.PushList(ctx, "l", make([]byte, 5000), store.Bounds{}, 0))
	if err := s.PushList(ctx, "l", make([]byte, 6000), store.Bounds{}, 0); !errors.Is(err, store.ErrFull) {
		t.Errorf("a list that has no room: %v", err)
	}
	if items, err := s.List(ctx, "l", 0, 0); len(items) != 1 || err != nil {
		t.Errorf("it has %d items, %v", len(items), err)
	}
}

// BenchmarkFull is a turn's writes in a store that has to remove something for each.
func BenchmarkFull(b *testing.B) {
	for _, tasks := range []int{100, 10_000} {
		b.Run(strconv.Itoa(tasks), func(b *testing.B) {
			s, ctx, n := memory.New(memory.Config{Tasks: tasks}), b.Context(), 0
			turn := func() {
				n++
				id := strconv.Itoa(n)
				err := s.CreateTask(ctx, id, store.Task{Doc: make([]byte, 500), Meta: store.Meta{User: "u", Conversation: id, Turn: "turn_" + id}}, time.Hour)
				if err == nil {
					err = s.AppendLog(ctx, "turn_"+id, store.Append{Entry: store.Entry{N: 1, Data: make([]byte, 2000)}, TTL: time.Hour})
				}
				if err == nil {
					_, err = s.Tasks(ctx, store.Query{User: "u", Conversation: id, Limit: 1})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for range tasks {
				turn()
			}
			for b.Loop() {
				turn()
			}
		})
	}
}
