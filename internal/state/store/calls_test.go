package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/state/store"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var verdicts []store.Verdict
		registry := metrics.New()
		calls := store.NewCalls(store.CallsConfig{
			Log: zerolog.New(&log), Metrics: registry,
			Allow: func(context.Context) (func(store.Verdict, error), error) {
				return func(v store.Verdict, _ error) { verdicts = append(verdicts, v) }, nil
			},
		})
		do := func(ctx context.Context, err error) error {
			return calls.Do(ctx, "read_log", func(context.Context) error { return err })
		}
		for _, err := range []error{nil, store.ErrNotFound, store.ErrConflict} {
			if got := do(t.Context(), err); !errors.Is(got, err) || calls.State() == health.Unavailable {
				t.Errorf("%v became %v", err, got)
			}
		}
		if log.Len() > 0 {
			t.Errorf("logged %s", &log)
		}
		hangs := func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("read: %w", ctx.Err()) }
		began := time.Now()
		if err := calls.Do(t.Context(), "append_log", hangs); !errors.Is(err, store.ErrUnavailable) || time.Since(began) != store.DefaultTimeout {
			t.Errorf("a command that hangs: %v after %v", err, time.Since(began))
		}
		_ = do(t.Context(), fmt.Errorf("again: %w", store.ErrUnavailable))
		gone, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("client gone"))
		if err := do(gone, fmt.Errorf("%w: %w", store.ErrUnavailable, context.Canceled)); errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "client gone") {
			t.Errorf("the store is blamed for a client: %v", err)
		}
		if calls.State() != health.Unavailable {
			t.Error("the store is not failing")
		}
		_ = do(t.Context(), nil)
		if got := strings.Count(log.String(), "\n"); got != 2 || !strings.Contains(log.String(), `"operation":"append_log"`) || !strings.Contains(log.String(), `"message":"store_back"`) {
			t.Errorf("logged %s, want unavailable and back", &log)
		}
		if want := []store.Verdict{store.Well, store.Well, store.Well, store.Ill, store.Ill, store.Unsaid, store.Well}; !slices.Equal(verdicts, want) {
			t.Errorf("the breaker got %v, want %v", verdicts, want)
		}
		figures, err := registry.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(figures)
		for _, name := range []string{"sluice_store_seconds", "sluice_store_errors_total", "append_log"} {
			if !strings.Contains(text, name) {
				t.Errorf("no %s among the figures", name)
			}
		}
	})
}

func TestRefusedCallsAreNotSent(t *testing.T) {
	t.Parallel()
	refusal := errors.New("open")
	calls := store.NewCalls(store.CallsConfig{Allow: func(context.Context) (func(store.Verdict, error), error) { return nil, refusal }})
	err := calls.Do(t.Context(), "task", func(context.Context) error { t.Error("sent"); return nil })
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, refusal) {
		t.Errorf("error %v", err)
	}
}

// More commands than there are connections wait, in their order, for longer than one command
// may run. Neither that nor giving up says anything of the store.
func TestWaitForAConnectionIsNoFailureOfTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards the two fields below
		var verdicts []store.Verdict
		var order []int
		calls := store.NewCalls(store.CallsConfig{Allow: func(context.Context) (func(store.Verdict, error), error) {
			return func(v store.Verdict, _ error) {
				mu.Lock()
				defer mu.Unlock()
				verdicts = append(verdicts, v)
			}, nil
		}})
		calls.Share(1, 1)
		const each = 450 * time.Millisecond
		var late atomic.Int64
		for i := range 7 {
			go func() {
				err := calls.Do(t.Context(), "task", func(context.Context) error {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					time.Sleep(each)
					return nil
				})
				if errors.Is(err, store.ErrUnavailable) && errors.Is(err, store.ErrCrowded) && errors.Is(err, store.ErrNotSent) {
					late.Add(1)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(10 * each)
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) || late.Load() != 2 {
			t.Errorf("ran %v, and %d gave up: want the first five in their order, and those that waited two seconds", order, late.Load())
		}
		if slices.Contains(verdicts, store.Ill) || calls.State() != health.Available {
			t.Errorf("the breaker got %v, the store is %s", verdicts, calls.State())
		}
		left, cancel := context.WithCancel(t.Context())
		cancel()
		go func() {
			_ = calls.Do(t.Context(), "task", func(context.Context) error { time.Sleep(each); return nil })
		}()
		synctest.Wait()
		if err := calls.Do(left, "task", func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("who has left while it waited: %v", err)
		}
		time.Sleep(each)
	})
}

// A command that runs out of time over a large value of its own is no failure of the store.
func TestLargeValuesSayNothingOfTheStore(t *testing.T) {
	t.Parallel()
	var verdicts []store.Verdict
	calls := store.NewCalls(store.CallsConfig{Allow: func(context.Context) (func(store.Verdict, error), error) {
		return func(v store.Verdict, _ error) { verdicts = append(verdicts, v) }, nil
	}})
	for _, bytes := range []int{100 << 10, 1 << 10} {
		err := calls.Do(t.Context(), "tasks", func(context.Context) error { return store.Carried(bytes, store.ErrUnavailable) })
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("with %d bytes: %v", bytes, err)
		}
	}
	if want := []store.Verdict{store.Unsaid, store.Ill}; !slices.Equal(verdicts, want) {
		t.Errorf("the breaker got %v, want %v", verdicts, want)
	}
	if err := store.Carried(100<<10, store.ErrNotFound); errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an answer became %v", err)
	}
}

// A store that refuses writes for lack of room, or takes none, says so whatever reads and small
// writes succeed meanwhile: in its state, once a minute in the log, and in a figure of its own.
func TestRefusedWritesAreSaid(t *testing.T) {
	t.Parallel()
	for refusal, state := range map[error]health.StoreState{
		store.ErrFull: health.Full,
		fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrReadOnly): health.Unavailable,
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			registry := metrics.New()
			calls := store.NewCalls(store.CallsConfig{Log: zerolog.New(&log), Metrics: registry})
			write := func(size int, err error) {
				got := calls.Do(t.Context(), "create_task", func(context.Context) error { return err })
				calls.Wrote("create_task", size, got)
			}
			lines := func(event string) int { return strings.Count(log.String(), `"message":"`+event+`"`) }
			write(100, nil)
			for range 3 {
				write(1000, refusal)
				time.Sleep(20 * time.Second)
			}
			write(100, nil)
			_ = calls.Do(t.Context(), "task", func(context.Context) error { return nil })
			if calls.State() != state || lines("store_unavailable") != 1 || lines("store_back") != 0 || !strings.Contains(log.String(), `"operation":"create_task"`) {
				t.Errorf("%v: state %s, log %s", refusal, calls.State(), &log)
			}
			write(1000, refusal)
			if lines("store_unavailable") != 2 {
				t.Errorf("after a minute the log is %s", &log)
			}
			if n := failures(t, registry, "create_task"); n != 4 {
				t.Errorf("%v failures are counted, want 4", n)
			}
			write(1000, nil)
			if calls.State() != health.Available || lines("store_back") != 1 {
				t.Errorf("with room again: state %s, log %s", calls.State(), &log)
			}
			write(1000, refusal)
			time.Sleep(time.Minute)
			write(100, nil)
			if calls.State() != health.Available {
				t.Errorf("a minute after the last refusal: %s", calls.State())
			}
		})
	}
}

// failures is what sluice_store_errors_total says of one operation.
func failures(t *testing.T, registry *metrics.Registry, operation string) float64 {
	families, err := registry.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "sluice_store_errors_total" && m.GetLabel()[0].GetValue() == operation {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func TestCursors(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_790_000_000_123)
	got, err := store.ReadCursor(store.NewCursor("task_a_b", at))
	if err != nil || got != (store.Member{ID: "task_a_b", Score: at.UnixMilli()}) {
		t.Errorf("cursor %+v, %v", got, err)
	}
}

// Texts that users choose make names that no other texts make.
func TestKeysAreApart(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, key := range []string{
		store.MemoryKey("", "a", "b"), store.MemoryKey("a", "", "b"), store.MemoryKey("", "ab", ""), store.MemoryKey("", "a1:b", ""),
		store.IdempotencyKey("", "a", "b"), store.TasksKey("", "a", "b"), store.TasksKey("", "a", ""), store.ThreadsKey("", "a"),
		store.CacheKey("", "a", "s", "t", "{}", 1), store.CacheKey("", "a", "s", "t", "{}", 2), store.GenerationKey("s"),
	} {
		if seen[key] || strings.ContainsAny(strings.TrimPrefix(key, "sluice:"), " \n") {
			t.Errorf("key %q", key)
		}
		seen[key] = true
	}
}
