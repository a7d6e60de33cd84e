package task

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/stream"
)

// ender is a store that writes the end of a turn in one step, or does not.
type ender struct {
	*memory.Store
	fails   error // of EndTurn
	arrives bool  // it is written all the same
	// indexFails has the store be unavailable once, before the end of a turn.
	indexFails bool
	steps      []string
}

func (e *ender) EndTurn(ctx context.Context, end store.End) error {
	e.steps = append(e.steps, "end")
	if e.fails == nil || e.arrives {
		err := errors.Join(e.Store.AppendLog(ctx, end.Turn, end.Log), e.Store.UpdateTask(ctx, end.TaskID, end.Task, end.TTL),
			e.Store.PushList(ctx, store.TraceKey(end.TaskID), end.Trace, end.Bounds, end.TTL))
		if err != nil {
			return err
		}
	}
	return e.fails
}

func (e *ender) AppendLog(ctx context.Context, turn string, a store.Append) error {
	if a.At > 0 {
		e.steps = append(e.steps, "log")
	}
	return e.Store.AppendLog(ctx, turn, a)
}

func (e *ender) PutIndex(ctx context.Context, name string, m store.Member, ttl time.Duration) error {
	if e.indexFails && name == store.RetainIndex {
		e.steps = append(e.steps, "index")
		e.indexFails = false
		return store.ErrUnavailable
	}
	return e.Store.PutIndex(ctx, name, m, ttl)
}

func (e *ender) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	e.steps = append(e.steps, "task")
	return e.Store.UpdateTask(ctx, id, t, ttl)
}

func (e *ender) PushList(ctx context.Context, key string, item []byte, b store.Bounds, ttl time.Duration) error {
	e.steps = append(e.steps, "trace")
	return e.Store.PushList(ctx, key, item, b, ttl)
}

// The end of a turn is written in one step if the store can do that. After an error each part is
// written by itself, and none of them twice, also if nobody knows whether the step was made.
func TestTurnEndsInOneStep(t *testing.T) {
	t.Parallel()
	parts := []string{"end", "log", "task", "trace"}
	for name, tt := range map[string]struct {
		fails   error
		arrives bool
		want    []string
	}{
		"written":                 {want: []string{"end"}},
		"refused":                 {fails: store.ErrFull, want: parts},
		"lost on the way":         {fails: store.ErrUnavailable, want: parts},
		"its answer was lost":     {fails: store.ErrUnavailable, arrives: true, want: []string{"end"}},
		"another end of the log":  {fails: &store.EndError{End: 7}, want: parts},
		"the log is too large":    {fails: store.ErrTooLarge, want: parts},
		"the task has changed":    {fails: store.ErrConflict, want: parts},
		"the task was not there":  {fails: store.ErrNotFound, want: parts},
		"the record is of others": {fails: store.ErrDamaged, want: parts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := &ender{Store: memory.New(memory.Config{}), fails: tt.fails, arrives: tt.arrives}
				s := New(Config{Store: in})
				defer s.Close()
				turn := begin(t, s, nil, &stream.Start{Model: "m"}, &stream.Delta{Text: "hello"})
				in.steps = nil
				if err := errors.Join(turn.Write(stream.Stamp{N: 3}, &stream.Done{Reason: stream.Stop}), turn.Flush()); err != nil {
					t.Fatal(err)
				}
				turn.End()
				if diff := cmp.Diff(tt.want, in.steps); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"start", "response_delta", "done stop"}, logLines(t, s, turn.ID())); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
				if got, err := in.Task(t.Context(), turn.task); err != nil || got.State != Completed || got.Owner != "" || got.Version != 2 {
					t.Errorf("%v: %+v", err, got.Meta)
				}
				if parts, err := in.List(t.Context(), store.TraceKey(turn.task), 0, 0); err != nil || len(parts) != 1 {
					t.Errorf("%d parts of the trace, %v", len(parts), err)
				}
			})
		})
	}
}

// A client does not wait for a second try where the store was unavailable just now.
func TestEndWaitsForOneTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &ender{Store: memory.New(memory.Config{}), indexFails: true}
		s := New(Config{Store: in, Retention: Retention{Set: true, Days: 1}})
		defer s.Close()
		turn := begin(t, s, nil, &stream.Start{Model: "m"})
		in.steps = nil
		if err := errors.Join(turn.Write(stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}), turn.Flush()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"index"}, in.steps); diff != "" {
			t.Errorf("writes before the client has its end (-want +got):\n%s", diff)
		}
		turn.End()
		if got, err := in.Task(t.Context(), turn.task); err != nil || got.State != Completed {
			t.Errorf("%v: %+v", err, got.Meta)
		}
	})
}
