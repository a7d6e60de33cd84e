package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/metrics"
	"sluice/store"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var verdicts []error
		registry := metrics.New()
		calls := store.NewCalls(store.CallsConfig{
			Log: zerolog.New(&log), Metrics: registry,
			Allow: func(context.Context) (func(error), error) {
				return func(err error) { verdicts = append(verdicts, err) }, nil
			},
		})
		do := func(ctx context.Context, err error) error {
			return calls.Do(ctx, "read_log", func(context.Context) error { return err })
		}
		for _, err := range []error{nil, store.ErrNotFound, store.ErrConflict} {
			if got := do(t.Context(), err); !errors.Is(got, err) || calls.Failing() {
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
		if !calls.Failing() {
			t.Error("the store is not failing")
		}
		_ = do(t.Context(), nil)
		if got := strings.Count(log.String(), "\n"); got != 2 || !strings.Contains(log.String(), `"operation":"append_log"`) || !strings.Contains(log.String(), `"message":"store_back"`) {
			t.Errorf("logged %s, want unavailable and back", &log)
		}
		if len(verdicts) != 7 || !errors.Is(verdicts[3], store.ErrUnavailable) || errors.Is(verdicts[5], store.ErrUnavailable) {
			t.Errorf("the breaker was told %v", verdicts)
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
	calls := store.NewCalls(store.CallsConfig{Allow: func(context.Context) (func(error), error) { return nil, refusal }})
	err := calls.Do(t.Context(), "task", func(context.Context) error { t.Error("sent"); return nil })
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, refusal) {
		t.Errorf("error %v", err)
	}
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
