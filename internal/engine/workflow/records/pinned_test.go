//go:build unix

package records_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// A definition goes two days after the last run that was pinned to it, and not before: not
// while another run waits, and not when one has begun in the meantime, however soon.
func TestDefinitionGoesWithItsLastRun(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"at once": 0, "soon": time.Second, "later": time.Minute, "a day later": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := memory.New(memory.Config{})
				w, err := graph.Read([]byte(pair), engine.Kinds())
				if err != nil {
					t.Fatal(err)
				}
				_, sum := w.Stored()
				here, sweeper := runStore(s), runStore(s) // two gateways
				begins := func(id string) {
					t.Helper()
					r := engine.New(engine.Config{Workflow: w, Tools: echoing{}, Records: here.Records, Load: here.Load})
					if _, err := r.Run(t.Context(), &chat.Request{Input: "hello", Keeping: chat.Keeping{Task: id}, Facts: askable()}, discard{}); err != nil {
						t.Fatal(err)
					}
				}
				forgets := func(id string) {
					t.Helper()
					for range 2 { // it may be done twice
						if err := sweeper.Forget(t.Context(), id); err != nil {
							t.Fatal(err)
						}
					}
				}
				there := func() bool {
					t.Helper()
					_, err := s.Value(t.Context(), store.DefinitionKey(sum))
					if err != nil && !errors.Is(err, store.ErrNotFound) {
						t.Fatal(err)
					}
					return err == nil
				}
				begins("task_1")
				begins("task_2")
				forgets("task_1")
				time.Sleep(100 * 24 * time.Hour)
				if !there() {
					t.Fatal("it is gone, and a run waits")
				}
				begins("task_3")
				forgets("task_2")
				forgets("task_3")
				time.Sleep(pause)
				begins("task_4")
				time.Sleep(100 * 24 * time.Hour)
				if !there() {
					t.Error("it is gone, and a run that began meanwhile waits")
				}
				if _, err := runStore(s).Load(t.Context(), "task_4"); err != nil {
					t.Error(err)
				}
				forgets("task_4")
				if time.Sleep(47 * time.Hour); !there() {
					t.Error("it is gone at once")
				}
				if time.Sleep(2 * time.Hour); there() {
					t.Error("it is there without a run")
				}
				if n, err := s.CountIndex(t.Context(), store.DefinitionRunsKey(sum)); n != 0 || err != nil {
					t.Errorf("%d runs are pinned to it, %v", n, err)
				}
				begins("task_5")
				if !there() {
					t.Error("it is not there again")
				}
			})
		})
	}
}

// between is a store in which something happens before a definition is let expire.
type between struct {
	store.Store
	happens func()
}

func (b *between) KeepValue(ctx context.Context, key string, ttl time.Duration) error {
	if ttl > 0 && b.happens != nil {
		b.happens()
		b.happens = nil
	}
	return b.Store.KeepValue(ctx, key, ttl)
}

// A run that begins while the last one is forgotten, after that was seen to be the last one,
// keeps its definition.
func TestDefinitionStaysForWhoBeginsMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(memory.Config{})
		w, err := graph.Read([]byte(pair), engine.Kinds())
		if err != nil {
			t.Fatal(err)
		}
		_, sum := w.Stored()
		here := runStore(s)
		begins := func(id string) {
			r := engine.New(engine.Config{Workflow: w, Tools: echoing{}, Records: here.Records, Load: here.Load})
			if _, err := r.Run(t.Context(), &chat.Request{Input: "hello", Keeping: chat.Keeping{Task: id}, Facts: askable()}, discard{}); err != nil {
				t.Error(err)
			}
		}
		begins("task_1")
		time.Sleep(time.Minute) // the gateway no longer trusts that the definition is there
		sweeper := runStore(&between{s, func() { begins("task_2") }})
		if err := sweeper.Forget(t.Context(), "task_1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * 24 * time.Hour)
		if _, err := s.Value(t.Context(), store.DefinitionKey(sum)); err != nil {
			t.Error(err)
		}
	})
}

// refusing is a store that now and then takes no values.
type refusing struct {
	*memory.Store
	off atomic.Bool
}

func (r *refusing) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	if r.off.Load() {
		return store.Value{}, store.ErrUnavailable
	}
	return r.Store.PutValue(ctx, key, v, ttl)
}

// If the store did not accept what became of a call, the same process still knows it when it
// continues the run: nobody is asked.
func TestOwnResultIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &refusing{Store: memory.New(memory.Config{})}
		rs, _ := kept1(t, s)
		first, call := claim(t, rs, load(t, rs)), &engine.Intent{Node: "ask", Key: "k"}
		if _, err := first.Intend(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		s.off.Store(true)
		if err := first.StoreOutcome(t.Context(), call, &tool.Result{Text: "paid"}, nil); err == nil {
			t.Error("the store has taken it")
		}
		s.off.Store(false)
		if known, err := claim(t, rs, load(t, rs)).Intend(t.Context(), call); err != nil || known == nil || known.Text != "paid" {
			t.Errorf("%+v, %v", known, err)
		}
	})
}
