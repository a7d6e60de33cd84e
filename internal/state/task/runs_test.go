package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// errands are runs of which nothing is kept: each of their turns lasts until somebody ends
// it. It is a Runs.
type errands struct {
	mu       sync.Mutex // guards the fields below
	due      []string
	finished []string
	frames   []string             // tasks that were continued, in their order
	ends     map[string]errandEnd // how the last turn of each ended
}

// errandEnd is when a turn was ended, and why.
type errandEnd struct {
	at    time.Time
	cause error
}

func (e *errands) Open(_ context.Context, task string) (Run, error) { return errand{e, task}, nil }

func (e *errands) Due(context.Context, time.Time, int) ([]string, error) { return e.due, nil }

func (e *errands) Finish(_ context.Context, task string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finished = append(e.finished, task)
	return nil
}

// continued returns the tasks whose runs were continued, in that order.
func (e *errands) continued() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.frames)
}

// count returns how many runs were continued.
func (e *errands) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.frames)
}

// ended returns how the last turn of a task ended; the zero value: it has not.
func (e *errands) ended(task string) errandEnd {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ends[task]
}

// errand is one of them.
type errand struct {
	all  *errands
	task string
}

func (errand) TakeOver([]stream.Event) []stream.Event { return nil }
func (errand) TimeOut(time.Time)                      {}
func (errand) Unseen() bool                           { return false }

func (r errand) Frame(context.Context, string, string) (*stream.Frame, *chat.Request) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	r.all.frames = append(r.all.frames, r.task)
	return &stream.Frame{Runner: r}, new(chat.Request)
}

// Run waits for its end.
func (r errand) Run(ctx context.Context, _ *chat.Request, _ stream.Sink) (stream.Result, error) {
	<-ctx.Done()
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	r.all.ends[r.task] = errandEnd{time.Now(), context.Cause(ctx)}
	return stream.Result{}, context.Cause(ctx)
}

// orphaned are n runs whose process is gone: their tasks, and what knows how they continue.
func orphaned(t *testing.T, st Store, n int) ([]string, *errands) {
	t.Helper()
	all := &errands{ends: map[string]errandEnd{}}
	dead := New(Config{Store: st, Runs: all})
	var tasks []string
	for range n {
		turn, err := dead.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi", Workflow: "flow"}, Durable: true, Detached: true, Cancel: func(error) {}})
		if err != nil || turn == nil {
			t.Fatal(turn, err)
		}
		out := turn.Before(nowhere{})
		if err := errors.Join(out.Write(stream.Stamp{N: 1}, &stream.Start{}), out.Flush()); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, turn.Task())
	}
	dead.Close()
	return tasks, all
}

// unreliable is a store that now and then does not answer.
type unreliable struct {
	*memory.Store
	lease atomic.Bool  // it does not renew leases
	tasks atomic.Int64 // so many times it does not read a task
}

func (a *unreliable) RenewLease(ctx context.Context, h store.Holder, ttl time.Duration) error {
	if a.lease.Load() {
		return store.ErrUnavailable
	}
	return a.Store.RenewLease(ctx, h, ttl)
}

func (a *unreliable) Task(ctx context.Context, id string) (store.Task, error) {
	if a.tasks.Add(-1) >= 0 {
		return store.Task{}, store.ErrUnavailable
	}
	return a.Store.Task(ctx, id)
}

// A process whose lease cannot be renewed ends its runs while the lease still holds, so that
// no other one continues with them at the same time. When the store is back it continues with
// all of them itself, also if that takes it two tries.
func TestRunsAreFenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := &unreliable{Store: memory.New(memory.Config{})}
		tasks, all := orphaned(t, shared, 3)
		s := New(Config{Store: shared, Runs: all})
		defer s.Close()
		time.Sleep(time.Minute)
		if n := all.count(); n != 3 {
			t.Fatalf("%d runs go on", n)
		}
		shared.lease.Store(true)
		began := time.Now()
		time.Sleep(time.Minute)
		for _, id := range tasks {
			end := all.ended(id)
			if after := end.at.Sub(began); fault.From(end.cause) == nil || fault.From(end.cause).Type != fault.StoreUnavailable || after <= 0 || after >= DefaultLease {
				t.Errorf("%s ended after %v: %v", id, after, end.cause)
			}
		}
		shared.tasks.Store(1)
		shared.lease.Store(false)
		time.Sleep(time.Minute)
		if n := all.count(); n != 6 {
			t.Errorf("%d runs went on, want each of three a second time: %q", n, all.continued())
		}
	})
}

// A process that is shut down leaves the run as it was, and its client's stream breaks off:
// another one continues with it at once.
func TestRunsAreLeftAtShutdown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		all := &errands{ends: map[string]errandEnd{}}
		here := New(Config{Store: shared, Runs: all})
		turn, err := here.Begin(t.Context(), Request{Chat: &chat.Request{Input: "hi", Workflow: "flow"}, Durable: true, Cancel: func(error) {}})
		if err != nil || turn == nil {
			t.Fatal(turn, err)
		}
		own := new(client)
		out := turn.Before(own)
		for i, ev := range []stream.Event{&stream.Start{}, &stream.Error{Type: fault.ShuttingDown, Fatal: true}, &stream.Done{Reason: stream.Failed}} {
			if err := errors.Join(out.Write(stream.Stamp{N: i + 1}, ev), out.Flush()); errors.Is(err, ErrBroken) != (i > 0) {
				t.Error(err)
			}
		}
		turn.End()
		here.Close()
		if got, err := shared.Task(t.Context(), turn.Task()); err != nil || got.State != Working || len(own.lines) != 1 || len(all.finished) != 0 {
			t.Errorf("%v, %s; the client was told %q; finished: %q", err, got.State, own.lines, all.finished)
		}
		there := New(Config{Store: shared, Runs: all})
		defer there.Close()
		if time.Sleep(2 * sweepEvery); all.count() != 1 {
			t.Errorf("%d runs go on", all.count())
		}
	})
}

// faulty are runs whose code panics, which is a bug.
type faulty struct {
	*errands
	open bool // already when they are read
}

func (f faulty) Open(_ context.Context, task string) (Run, error) {
	if f.open {
		panic("a bug")
	}
	return faultyRun{errand{f.errands, task}}, nil
}

type faultyRun struct{ errand }

func (faultyRun) Frame(context.Context, string, string) (*stream.Frame, *chat.Request) {
	panic("a bug")
}

// A panic of a run that this process continues with is that run's: the process, and its other
// turns, live on.
func TestPanicOfARun(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]bool{"when it is read": true, "when it goes on": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := memory.New(memory.Config{})
				tasks, all := orphaned(t, shared, 1)
				s := New(Config{Store: shared, Runs: faulty{all, open}})
				defer s.Close()
				time.Sleep(time.Minute)
				want := Failed
				if open {
					want = Working // it is tried again
				}
				if got, err := shared.Task(t.Context(), tasks[0]); err != nil || got.State != want {
					t.Errorf("the task is %s, %v", got.State, err)
				}
			})
		})
	}
}

// A run that somebody cancelled while it had no process is ended by the one that finds it.
func TestCancelledBetweenProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		tasks, all := orphaned(t, shared, 1)
		if _, err := shared.CancelTask(t.Context(), tasks[0]); err != nil {
			t.Fatal(err)
		}
		s := New(Config{Store: shared, Runs: all})
		defer s.Close()
		time.Sleep(time.Minute)
		got, err := shared.Task(t.Context(), tasks[0])
		if diff := cmp.Diff(tasks, all.finished); err != nil || got.State != Canceled || diff != "" {
			t.Errorf("%v, %s; finished (-want +got):\n%s", err, got.State, diff)
		}
	})
}

// A process takes some of the runs of a dead one with each sweep, and leaves others theirs.
func TestRunsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		_, all := orphaned(t, shared, 2*maxContinued+1)
		s := New(Config{Store: shared, Runs: all})
		defer s.Close()
		synctest.Wait()
		var got []string
		for range 3 {
			more := s.sweepOrphans(t.Context())
			synctest.Wait()
			got = append(got, fmt.Sprint(more, " ", all.count()))
		}
		if diff := cmp.Diff([]string{"true 8", "true 16", "false 17"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// After an outage of the store nothing is taken for dead before its owner could renew the
// lease.
func TestOutageIsNoDeath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		_, all := orphaned(t, shared, 1)
		s := New(Config{Store: shared, Runs: all})
		defer s.Close()
		_ = s.recordOutage(store.ErrUnavailable)
		time.Sleep(DefaultLease - time.Second)
		if n := all.count(); n != 0 {
			t.Error("it was taken over within a lease")
		}
		time.Sleep(time.Minute)
		if n := all.count(); n != 1 {
			t.Errorf("%d runs go on", n)
		}
	})
}

// A wait that is over of a task that has ended is nobody's: it is not looked at again.
func TestWaitOfAnEndedTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := memory.New(memory.Config{})
		if err := shared.CreateTask(t.Context(), "task_1", store.Task{Doc: []byte(`{}`), Meta: store.Meta{State: Failed}}, time.Hour); err != nil {
			t.Fatal(err)
		}
		all := &errands{due: []string{"task_1", "task_2"}}
		s := New(Config{Store: shared, Runs: all})
		defer s.Close()
		if more := s.sweepDue(t.Context()); more {
			t.Error("there is more to do")
		}
		if diff := cmp.Diff(all.due, all.finished); diff != "" || all.count() != 0 {
			t.Errorf("finished (-want +got):\n%s", diff)
		}
	})
}
