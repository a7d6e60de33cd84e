package task_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
)

// distant is a store whose answers take a second: what two gateways do at the same time goes on
// side by side.
type distant struct{ store.Store }

func (d distant) Value(ctx context.Context, key string) (store.Value, error) {
	v, err := d.Store.Value(ctx, key)
	time.Sleep(time.Second)
	return v, err
}

func (d distant) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	v, err := d.Store.PutValue(ctx, key, v, ttl)
	time.Sleep(time.Second)
	return v, err
}

// Of requests that reach several gateways at the same instant one finds no note, whether a
// library repeats it or a person.
func TestOneOfManyFindsNoNote(t *testing.T) {
	t.Parallel()
	for name, repetition := range map[string]bool{"repetitions": true, "requests": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kept := distant{memory.New(memory.Config{Tasks: 100})}
				var first sync.Map
				var wg sync.WaitGroup
				for _, id := range []string{"req_a", "req_b"} {
					s := task.New(task.Config{Store: kept})
					defer s.Close()
					wg.Go(func() {
						if !s.NoteContent(t.Context(), [32]byte{1}, id, repetition) {
							first.Store(id, true)
						}
					})
				}
				wg.Wait()
				n := 0
				first.Range(func(any, any) bool { n++; return true })
				if n != 1 {
					t.Errorf("%d found no note", n)
				}
			})
		})
	}
}

// A request replaces the note of an earlier one, a repetition does not: it is dropped by whose
// it is.
func TestOwnerOfANote(t *testing.T) {
	t.Parallel()
	kept := memory.New(memory.Config{Tasks: 100})
	s := task.New(task.Config{Store: kept})
	defer s.Close()
	content := [32]byte{1}
	for _, step := range []struct {
		id         string
		repetition bool
		known      bool
		drops      string
	}{
		{"req_a", true, false, ""},
		{"req_b", true, true, "req_b"},
		{"req_c", false, true, "req_a"},
		{"req_d", true, true, "req_c"},
		{"req_e", false, false, ""},
	} {
		if known := s.NoteContent(t.Context(), content, step.id, step.repetition); known != step.known {
			t.Errorf("%s: known %v, want %v", step.id, known, step.known)
		}
		s.DropContent(t.Context(), content, step.drops)
	}
}
