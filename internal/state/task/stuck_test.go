package task

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/stream"
)

// inOrder is a store that names the orphans in the order of their ids, as long as there are some.
type inOrder struct{ *memory.Store }

func (s inOrder) Orphans(ctx context.Context, limit int) ([]string, error) {
	ids, err := s.Store.Orphans(ctx, 1<<20)
	slices.Sort(ids)
	return ids[:min(limit, len(ids))], err
}

// partly are runs of which some cannot be continued here.
type partly struct {
	*errands
	not []string
}

func (e partly) Open(ctx context.Context, task string) (Run, error) {
	if slices.Contains(e.not, task) {
		return nil, ErrNotHere
	}
	return e.errands.Open(ctx, task)
}

// Due names them in the order of their ids, as long as they wait.
func (e partly) Due(_ context.Context, _ time.Time, limit int) ([]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting := slices.DeleteFunc(slices.Clone(e.due), func(id string) bool { return slices.Contains(e.frames, id) })
	return waiting[:min(limit, len(waiting))], nil
}

// Turns of the dead that this process cannot continue do not keep it from those behind them.
func TestOrphansThatStayHideNoOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := inOrder{memory.New(memory.Config{})}
		tasks, all := orphaned(t, shared, maxOrphans+1)
		slices.Sort(tasks)
		s := New(Config{Store: shared, Runs: partly{all, tasks[:maxOrphans]}})
		defer s.Close()
		time.Sleep(time.Minute)
		if diff := cmp.Diff(tasks[maxOrphans:], all.continued()); diff != "" {
			t.Errorf("continued (-want +got):\n%s", diff)
		}
	})
}

// Runs whose wait is over and that this process cannot continue do not keep it from those behind them.
func TestDueRunsThatStayHideNoOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		all := &errands{ends: map[string]errandEnd{}}
		s := New(Config{Store: shared})
		for range maxDue + 1 {
			task := runTurn(t, s, "flow", "", nil, &stream.Approval{ID: "a1"}, &stream.Done{Reason: stream.ApprovalRequired})
			all.due = append(all.due, task)
		}
		s.Close()
		slices.Sort(all.due)
		s = New(Config{Store: shared, Runs: partly{all, all.due[:maxDue]}})
		defer s.Close()
		time.Sleep(time.Minute)
		if diff := cmp.Diff(all.due[maxDue:], all.continued()); diff != "" {
			t.Errorf("continued (-want +got):\n%s", diff)
		}
	})
}

// A turn that ends with its client while the store cannot read its log gets its end later.
func TestLogIsClosedAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lossy := &forgetful{in: memory.New(memory.Config{}), calls: map[string]int{}, method: "ReadLog", nth: 1, stall: lostStall}
		s := New(Config{Store: lossy})
		defer s.Close()
		turn := begin(t, s, nil, &stream.Start{Model: "m"}, &stream.Delta{Text: "hello"})
		lossy.arm(true)
		turn.End()
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"start", "response_delta", "error cancelled, recoverable", "done cancelled"}, logLines(t, s, turn.ID())); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if got, err := lossy.Task(t.Context(), turn.Task()); err != nil || got.State != Canceled {
			t.Errorf("%v: %s", err, got.State)
		}
	})
}

// More turns end during an outage than their ends have room for: the others are closed by their logs.
func TestEndsWithoutRoomAreClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lossy := &forgetful{in: memory.New(memory.Config{}), calls: map[string]int{}, method: "AppendLog", nth: 1, stall: time.Second}
		s := New(Config{Store: lossy, Turns: new(rests)})
		defer s.Close()
		var turns []*Turn
		for range maxUnsettled + 2 {
			turns = append(turns, begin(t, s, nil, &stream.Start{Model: "m"}))
		}
		lossy.arm(true)
		for _, turn := range turns {
			_ = errors.Join(turn.Write(stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}), turn.Flush())
			turn.End()
		}
		time.Sleep(time.Minute)
		states := map[string]int{}
		for _, turn := range turns {
			got, err := lossy.Task(t.Context(), turn.Task())
			if err != nil {
				t.Fatal(err)
			}
			states[got.State]++
		}
		if diff := cmp.Diff(map[string]int{Completed: maxUnsettled + 2}, states); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if ids, err := lossy.Orphans(t.Context(), 1); len(ids) > 0 || errors.Is(err, store.ErrUnavailable) {
			t.Error(ids, err)
		}
	})
}
