package records

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/engine/approval"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/records"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Bounds of a gateway.
const (
	maxRuns    = 64   // that run at the same time
	maxPending = 1000 // that wait to run
	maxWaiting = 1000 // of one user that wait for a person, on all gateways
)

// Runs are the stored runs of workflows. Package task continues them after an answer, after a wait
// that is over, or after the death of their process. They bound how many run in one process. A run
// that cannot be continued ends with a fault that is reported to its task, and is never left half
// alive.
//
// They are made before what continues with runs, and get it by Use. Until then Open returns
// nothing that is to run, and says that another process may. Use NewRuns.
type Runs struct {
	*records.RunStore
	Sessions  *records.Sessions
	continues atomic.Pointer[Continue] // nil while the gateway starts

	store   store.Store
	slots   chan struct{}
	pending atomic.Int64

	stop    context.CancelFunc // see Use
	waiting sync.WaitGroup
}

// Continue returns the frame that continues a run; emitted has the events of its turn so far. The
// error wraps engine.ErrGone.
type Continue func(r *engine.Run, req *chat.Request, emitted []stream.Event) (*stream.Frame, error)

// RunsConfig has the parts of Runs.
type RunsConfig struct {
	Store store.Store
	// Wait is how long a person may take over a question that says nothing of that; 0:
	// approval.DefaultStoreTTL.
	Wait time.Duration
	// TTL is how long sessions are stored; 0: task.DefaultTTL.
	TTL     time.Duration
	Metrics *metrics.Registry
}

// NewRuns returns the runs of a store. It does not read anything yet.
func NewRuns(cfg RunsConfig) *Runs {
	r := &Runs{store: cfg.Store, slots: make(chan struct{}, maxRuns)}
	wait := cmp.Or(cfg.Wait, approval.DefaultStoreTTL)
	r.RunStore = records.NewRunStore(records.RunStoreConfig{Store: cfg.Store, Wait: wait, Metrics: cfg.Metrics, Room: r.checkRoom})
	r.Sessions = &records.Sessions{Store: cfg.Store, TTL: cmp.Or(cfg.TTL, task.DefaultTTL)}
	cfg.Metrics.GaugeFunc("runs_active", "Runs of workflows that run here.", func() float64 { return float64(len(r.slots)) })
	cfg.Metrics.GaugeFunc("tasks_waiting", "Runs of workflows that wait for a person, in the whole store.", r.countWaiting)
	return r
}

// countWaiting asks the store how many runs wait: no gateway has them in its memory. It
// returns NaN while the store is unavailable.
func (r *Runs) countWaiting() float64 {
	n, err := r.store.CountIndex(context.Background(), store.DueIndex)
	if err != nil {
		return math.NaN()
	}
	return float64(n)
}

// checkRoom is records.RunStoreConfig.Room.
func (r *Runs) checkRoom(ctx context.Context, req *chat.Request) error {
	crowded, err := Crowded(ctx, r.store, req)
	switch {
	case err != nil:
		return &fault.Error{Type: fault.StoreUnavailable, Message: "The store is unavailable; the workflow goes on when it is back", Err: err}
	case crowded:
		return &fault.Error{Type: fault.WorkflowLimit, Message: "Too many workflows of this user wait for an answer"}
	}
	return nil
}

// Crowded reports whether so many tasks of a request's user wait for a person that no more may.
//
// It counts tasks page by page and stops at the bound; it is asked once for each wait.
func Crowded(ctx context.Context, in store.Tasks, req *chat.Request) (bool, error) {
	q := store.Query{Tenant: req.Principal.Tenant, User: req.Owner(), State: task.InputRequired, Limit: store.MaxPage, Bare: true}
	for n := 0; ; {
		page, err := in.Tasks(ctx, q)
		if err != nil {
			return false, err
		}
		if n += len(page.IDs); n >= maxWaiting {
			return true, nil
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return false, nil
		}
	}
}

// At the start, runs that were taken over wait startPatience for tools and agents that cannot be
// reached. startPause is the pause between two looks.
const (
	startPatience = 4 * time.Second
	startPause    = 20 * time.Millisecond
)

// Use sets the function that continues runs, and calls ready as soon as tools and remote agents are
// connected. A turn must not miss them only because its process has just begun. It waits in a
// goroutine that Close ends. by may be nil: then no run continues here.
func (r *Runs) Use(by Continue, connected func() bool, ready func()) {
	ctx, stop := context.WithTimeout(context.Background(), startPatience)
	r.stop = stop
	// Goroutine (first tools): waits until all is connected, then lets runs continue.
	// Ends: it is, or `Close`.
	// Waits: `Close`.
	r.waiting.Go(func() {
		for !connected() && ctx.Err() == nil {
			select {
			case <-time.After(startPause):
			case <-ctx.Done():
			}
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return
		}
		if by != nil {
			r.continues.Store(&by)
		}
		ready()
	})
}

// Close ends what Use began.
func (r *Runs) Close() {
	if r.stop != nil {
		r.stop()
		r.waiting.Wait()
	}
}

// Open implements task.Runs.
//
// It returns nil without an error if the task is not a run. task.ErrNotHere leaves it to another
// process, of a newer version or one that is ready.
func (r *Runs) Open(ctx context.Context, id string) (task.Run, error) {
	state, err := r.Load(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case errors.Is(err, store.ErrUnavailable):
		return nil, err
	case errors.Is(err, records.ErrVersion):
		return nil, task.ErrNotHere
	}
	by := r.continues.Load()
	if by == nil {
		return nil, task.ErrNotHere
	}
	switch {
	case err == nil:
		return &openRun{Run: state, runs: r, by: *by}, nil
	case errors.Is(err, store.ErrDamaged), errors.Is(err, engine.ErrRun), errors.Is(err, engine.ErrGone):
		return brokenRun{CannotGoOn(err)}, nil
	}
	return nil, err
}

// Waiting returns a run that waits for an answer. A run that nobody, or not this version of the
// program, can continue with is refused before its answer is used up.
//
// It claims nothing. The errors are faults that the caller of the answer is shown.
func (r *Runs) Waiting(ctx context.Context, id string) (*engine.Run, error) {
	state, err := r.Load(ctx, id)
	switch {
	case err == nil:
		return state, nil
	case errors.Is(err, store.ErrUnavailable):
		return nil, fault.NewStoreUnavailable(err)
	case errors.Is(err, records.ErrVersion):
		return nil, &fault.Error{Type: fault.ApprovalConflict, Message: "A newer version of the gateway runs this workflow: a gateway of that version takes the answer", Err: err}
	case errors.Is(err, store.ErrNotFound):
		return nil, &fault.Error{Type: fault.ApprovalConflict, Message: "The workflow that asked is not there any more", Err: err}
	}
	return nil, CannotGoOn(err)
}

// CannotGoOn is the fault of a run whose records, or whose definition, cannot be used.
func CannotGoOn(err error) error {
	return &fault.Error{Type: fault.WorkflowRecovery, Message: "The workflow cannot go on: what it needs is gone", Err: err}
}

// openRun is a run to be continued here. The Run has TimeOut of task.Run.
type openRun struct {
	*engine.Run
	runs    *Runs
	by      Continue
	emitted []stream.Event // in the turn that is continued
}

// TakeOver implements task.Run.
func (o *openRun) TakeOver(emitted []stream.Event) []stream.Event {
	lacks := o.runs.TakeOver(o.Run, emitted)
	o.emitted = append(emitted, lacks...)
	return lacks
}

// Unseen implements task.Run.
func (o *openRun) Unseen() bool { return o.runs.Unseen(o.Run) }

// Frame implements task.Run.
func (o *openRun) Frame(ctx context.Context, id, turn string) (*stream.Frame, *chat.Request) {
	if o.Overdone() {
		return brokenRun{&fault.Error{Type: fault.TurnLost, Message: "The answer was begun again too often"}}.Frame(ctx, id, turn)
	}
	req := o.Request()
	req.Task, req.Turn = id, turn
	frame, err := o.by(o.Run, req, o.emitted)
	if err != nil {
		return brokenRun{CannotGoOn(err)}.Frame(ctx, id, turn)
	}
	return frame, req
}

// brokenRun is a run that nobody can continue with.
//
// Its frame runs nothing and ends with the fault err, so that the task is closed in the usual
// way.
type brokenRun struct{ err error }

func (brokenRun) TakeOver([]stream.Event) []stream.Event { return nil }
func (brokenRun) TimeOut(time.Time)                      {}
func (brokenRun) Unseen() bool                           { return false }

func (b brokenRun) Frame(context.Context, string, string) (*stream.Frame, *chat.Request) {
	return &stream.Frame{Runner: b}, new(chat.Request)
}

// Run implements stream.Runner.
func (b brokenRun) Run(context.Context, *chat.Request, stream.Sink) (stream.Result, error) {
	return stream.Result{}, b.err
}

// Records is engine.Config.Records: a run whose turn is not stored cannot begin.
func (r *Runs) Records(ctx context.Context, run *engine.Run) (engine.Records, error) {
	if !strings.HasPrefix(run.Header.ID, chat.TaskPrefix) {
		return nil, nil
	}
	return r.RunStore.Records(ctx, run)
}

// Admit refuses a run, or an answer to one, before anything of it is stored: too many wait. Some
// more may be admitted at the same time.
func (r *Runs) Admit() error {
	if r.pending.Load() < maxPending {
		return nil
	}
	return &fault.Error{Type: fault.Overloaded, Message: "Too many workflows wait to run; try again in a moment"}
}

// Enter is engine.Config.Enter. A run that was accepted, or taken over, is not refused.
//
// The caller must call leave once, to give the slot back. The error is the cause of ctx.
func (r *Runs) Enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-r.slots }
	select {
	case r.slots <- struct{}{}:
		return leave, nil
	default:
	}
	r.pending.Add(1)
	defer r.pending.Add(-1)
	select {
	case r.slots <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, fault.Cause(ctx)
	}
}
