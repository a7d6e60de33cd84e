package records

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runsOf(in store.Store) *Runs {
	return NewRuns(RunsConfig{Store: in, Metrics: metrics.New()})
}

func wantType(t *testing.T, what string, err error, want fault.Type) {
	t.Helper()
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Type != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// One gateway has room for 64 runs. Those beyond wait for a place, and when a thousand do no
// more are admitted.
func TestRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runsOf(memory.New(memory.Config{}))
		var leave func()
		for range 64 {
			var err error
			if leave, err = r.Enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		var entered, refused atomic.Int64
		for range 1000 {
			if err := r.Admit(); err != nil {
				t.Fatal(err)
			}
			go func() {
				if _, err := r.Enter(ctx); err == nil {
					entered.Add(1)
				} else if errors.Is(err, errLeft) {
					refused.Add(1)
				}
			}()
			synctest.Wait()
		}
		wantType(t, "one too many", r.Admit(), fault.Overloaded)
		leave()
		synctest.Wait()
		if entered.Load() != 1 || r.Admit() != nil {
			t.Errorf("%d entered when one had left; then %v", entered.Load(), r.Admit())
		}
		cancel(errLeft)
		synctest.Wait()
		if entered.Load() != 1 || refused.Load() != 999 {
			t.Errorf("at the end %d have entered and %d have left", entered.Load(), refused.Load())
		}
	})
}

var errLeft = errors.New("it has left")

// A user's runs may wait for an answer a thousand times, over several pages of tasks.
func TestRoomToWait(t *testing.T) {
	t.Parallel()
	in := memory.New(memory.Config{})
	r := runsOf(in)
	ann := &chat.Request{UserID: "ann"}
	for i := range 1000 {
		if i == 999 {
			if err := r.checkRoom(t.Context(), ann); err != nil {
				t.Errorf("behind %d: %v", i, err)
			}
		}
		doc := store.Task{Doc: []byte("{}"), Meta: store.Meta{User: "ann", State: task.InputRequired, Created: time.Now()}}
		if err := in.CreateTask(t.Context(), fmt.Sprintf("task_%026d", i), doc, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	wantType(t, "one too many", r.checkRoom(t.Context(), ann), fault.WorkflowLimit)
	if err := r.checkRoom(t.Context(), &chat.Request{UserID: "bob"}); err != nil {
		t.Errorf("of another user: %v", err)
	}
	wantType(t, "a store that cannot be asked", runsOf(unavailable{in}).checkRoom(t.Context(), ann), fault.StoreUnavailable)
	if n := runsOf(unavailable{in}).countWaiting(); !math.IsNaN(n) {
		t.Errorf("%v runs wait in a store that cannot be asked", n)
	}
	if n := r.countWaiting(); n != 0 {
		t.Errorf("%v runs wait, of tasks that are no runs", n)
	}
}

// unavailable is a store that cannot be asked.
type unavailable struct{ store.Store }

func (unavailable) Tasks(context.Context, store.Query) (p store.Page, err error) {
	return p, store.ErrUnavailable
}
func (unavailable) CountIndex(context.Context, string) (int64, error) { return 0, store.ErrUnavailable }
func (unavailable) Value(context.Context, string) (v store.Value, err error) {
	return v, store.ErrUnavailable
}

// Until there is what continues with runs another process may; that is there when the tools
// are, or when they have been waited for.
func TestUse(t *testing.T) {
	t.Parallel()
	for name, connects := range map[string]time.Duration{"soon": time.Second, "never": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &Runs{RunStore: ran(t, 1, "done").Runs}
				begun := time.Now()
				var ready atomic.Bool
				r.Use(continued(nil), func() bool { return time.Since(begun) >= connects }, func() { ready.Store(true) })
				defer r.Close()
				if _, err := r.Open(t.Context(), taskID); !errors.Is(err, task.ErrNotHere) || ready.Load() {
					t.Errorf("at the start: %v, ready: %v", err, ready.Load())
				}
				time.Sleep(min(connects, 4*time.Second) + startPause)
				synctest.Wait()
				if got, err := r.Open(t.Context(), taskID); err != nil || got == nil || !ready.Load() {
					t.Errorf("then %v, %v, ready: %v", got, err, ready.Load())
				}
			})
		})
	}
}

// What is closed before the tools are there continues with nothing.
func TestCloseBeforeUse(t *testing.T) {
	t.Parallel()
	r := runsOf(memory.New(memory.Config{}))
	r.Close()
	r.Use(continued(nil), func() bool { return false }, func() { t.Error("it is ready") })
	r.Close()
	if r.continues.Load() != nil {
		t.Error("there is what continues with runs")
	}
}

// continued returns what continues with runs by a Frame, or fails.
func continued(err error) Continue {
	return func(_ *engine.Run, req *chat.Request, emitted []stream.Event) (*stream.Frame, error) {
		return &stream.Frame{Model: fmt.Sprint(req.Turn, " ", len(emitted))}, err
	}
}

// A run continues in its turn, behind what was emitted there; one that cannot ends with a
// fault.
func TestOpen(t *testing.T) {
	t.Parallel()
	in := memory.New(memory.Config{})
	if got, err := runsOf(in).Open(t.Context(), taskID); got != nil || err != nil {
		t.Errorf("of a task that is no run: %v, %v", got, err)
	}
	if _, err := runsOf(unavailable{in}).Open(t.Context(), taskID); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a store that cannot be asked: %v", err)
	}
	for _, tt := range []struct {
		err    error
		broken bool
	}{{nil, false}, {fmt.Errorf("agents: %w", engine.ErrGone), true}} {
		r := &Runs{RunStore: ran(t, 1, "done").Runs}
		by := continued(tt.err)
		r.continues.Store(&by)
		got, err := r.Open(t.Context(), taskID)
		if err != nil {
			t.Fatal(err)
		}
		lacks := got.TakeOver([]stream.Event{&stream.Start{}})
		frame, req := got.Frame(t.Context(), taskID, taskID+":2")
		if !tt.broken {
			if want := fmt.Sprint(taskID, ":2 ", 1+len(lacks)); frame.Model != want || req.Task != taskID {
				t.Errorf("it continues with %q as %s, want %q", frame.Model, req.Task, want)
			}
			continue
		}
		_, err = frame.Runner.Run(t.Context(), req, unattended{})
		wantType(t, "a run without agents", err, fault.WorkflowRecovery)
	}
	var broken task.Run = brokenRun{CannotGoOn(store.ErrDamaged)}
	if broken.TimeOut(time.Now()); broken.Unseen() || broken.TakeOver(nil) != nil {
		t.Error("a damaged run has something to say")
	}
}

// The caller of an answer learns why a run cannot continue with it.
func TestWaiting(t *testing.T) {
	t.Parallel()
	in := memory.New(memory.Config{})
	r := &Runs{RunStore: ran(t, 1, "done").Runs}
	if got, err := r.Waiting(t.Context(), taskID); err != nil || got.Header.ID != taskID {
		t.Errorf("%v, %v", got, err)
	}
	_, err := runsOf(in).Waiting(t.Context(), taskID)
	wantType(t, "a run that is gone", err, fault.ApprovalConflict)
	_, err = runsOf(unavailable{in}).Waiting(t.Context(), taskID)
	wantType(t, "a store that cannot be asked", err, fault.StoreUnavailable)
}

// A run whose turn is not stored has no records.
func TestRecordsOfUnstoredTurns(t *testing.T) {
	t.Parallel()
	var unstored engine.Run
	unstored.Header.ID = strings.TrimPrefix(taskID, chat.TaskPrefix)
	if got, err := runsOf(memory.New(memory.Config{})).Records(t.Context(), &unstored); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}
