package task

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/stream"
)

// cramped is a store that has room for documents up to some size.
type cramped struct {
	*memory.Store
	most atomic.Int64
}

func (c *cramped) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	if int64(len(t.Doc)) > c.most.Load() {
		return store.ErrFull
	}
	return c.Store.UpdateTask(ctx, id, t, ttl)
}

// A turn whose answer the store has no room for has ended all the same: its task says so, at
// once without the answer, or if there is no room for that either, when there is.
func TestTurnEndsInAFullStore(t *testing.T) {
	t.Parallel()
	for most, waits := range map[int]bool{1000: false, 0: true} {
		synctest.Test(t, func(t *testing.T) {
			shared := &cramped{Store: memory.New(memory.Config{})}
			shared.most.Store(int64(most))
			s := New(Config{Store: shared})
			defer s.Close()
			turn := begin(t, s, nil, &stream.Start{Model: "m"})
			answer := strings.Repeat("word ", 1000)
			for n, ev := range []stream.Event{&stream.Delta{Text: answer}, &stream.Done{Reason: stream.Stop}} {
				if err := errors.Join(turn.Write(stream.Stamp{N: n + 2}, ev), turn.Flush()); err != nil {
					t.Fatal(err)
				}
			}
			turn.End()
			got, err := shared.Task(t.Context(), turn.Task())
			if err != nil || (got.State == Completed) == waits {
				t.Errorf("room for %d: %v, the task is %s", most, err, got.State)
			}
			shared.most.Store(1000)
			time.Sleep(DefaultLease)
			got, err = shared.Task(t.Context(), turn.Task())
			d := readDocument(turn.Task(), got)
			if err != nil || got.State != Completed || got.Owner != "" || strings.Contains(string(got.Doc), "word") || !strings.Contains(d.Status.Message.Content, "full") {
				t.Errorf("room for %d: %v, in the end the task is %+v, %s", most, err, got.Meta, got.Doc)
			}
		})
	}
}
