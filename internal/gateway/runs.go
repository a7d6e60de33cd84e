// This file lets package task continue with runs of workflows: after an answer, after a wait
// that is over, or after the process that had the run is gone. It bounds how many run in one
// process. A run that cannot be continued ends with a fault that is reported to its task, and
// is never left half alive.

package gateway

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sluice/approval"
	"sluice/chat"
	"sluice/fault"
	"sluice/internal/settings"
	"sluice/run"
	"sluice/store"
	"sluice/stream"
	"sluice/task"
	"sluice/telemetry/health"
	"sluice/telemetry/metrics"
	"sluice/workflow"
)

// Bounds of a gateway.
const (
	maxRuns    = 64   // that run at the same time
	maxPending = 1000 // that wait to run
	maxWaiting = 1000 // of one user that wait for a person, on all gateways
)

// runs are the runs of workflows that the store keeps: what task continues with.
//
// It is made before the Gateway and gets it by use. Until then it opens nothing that is to
// run, and says that another process may.
type runs struct {
	*workflow.RunStore
	sessions *workflow.Sessions
	gateway  atomic.Pointer[Gateway] // nil while it starts

	store   store.Store
	slots   chan struct{}
	pending atomic.Int64

	stop    context.CancelFunc // see use
	waiting sync.WaitGroup
}

// newRuns returns the runs of a store. Nothing is read yet.
func newRuns(in store.Store, cfg settings.Config, m *metrics.Registry) *runs {
	r := &runs{store: in, slots: make(chan struct{}, maxRuns)}
	wait := cmp.Or(settings.Of[approval.Config](&cfg).TTL, approval.DefaultStoreTTL)
	r.RunStore = workflow.NewRunStore(workflow.RunStoreConfig{Store: in, Wait: wait, Metrics: m, Room: r.room})
	r.sessions = &workflow.Sessions{Store: in, TTL: cmp.Or(cfg.Tasks.TTL, task.DefaultTTL)}
	m.GaugeFunc("runs_active", "Runs of workflows that run here.", func() float64 { return float64(len(r.slots)) })
	m.GaugeFunc("tasks_waiting", "Runs of workflows that wait for a person, in the whole store.", r.countWaiting)
	return r
}

// countWaiting asks the store how many runs wait: no gateway has them in its memory. It
// returns NaN while the store is unavailable.
func (r *runs) countWaiting() float64 {
	n, err := r.store.CountIndex(context.Background(), store.DueIndex)
	if err != nil {
		return math.NaN()
	}
	return float64(n)
}

// room is workflow.RunStoreConfig.Room.
//
// It counts tasks page by page and stops at the bound; it is asked once for each wait.
func (r *runs) room(ctx context.Context, req *chat.Request) error {
	q := store.Query{Tenant: req.Principal.Tenant, User: req.Owner(), State: task.InputRequired, Limit: store.MaxPage}
	for n := 0; ; {
		page, err := r.store.Tasks(ctx, q)
		if err != nil {
			return &fault.Error{Type: fault.StoreUnavailable, Message: "The store is unavailable; the workflow goes on when it is back", Err: err}
		}
		if n += len(page.IDs); n >= maxWaiting {
			return &fault.Error{Type: fault.WorkflowLimit, Message: "Too many workflows of this user wait for an answer"}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// use makes g what runs are continued, once its tools are there: an agent must not find out
// that it has none because its process has just begun. It waits in a goroutine that close ends.
func (r *runs) use(g *Gateway) {
	if !g.cfg.HasFile() {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), toolPatience)
	r.stop = stop
	r.waiting.Go(func() {
		for !g.connected() && ctx.Err() == nil {
			select {
			case <-time.After(toolPause):
			case <-ctx.Done():
			}
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return
		}
		r.gateway.Store(g)
		g.state.tasks.Ready()
	})
}

// How long runs that were taken over wait at the start for servers that do not connect, and
// how often it is looked whether they have.
const (
	toolPatience = 4 * time.Second
	toolPause    = 20 * time.Millisecond
)

// connected says whether the sessions with all tool servers are up.
func (g *Gateway) connected() bool {
	for _, c := range g.tools.Checkers() {
		if s, ok := c.Check().(health.Session); ok && !s.Connected {
			return false
		}
	}
	return true
}

// close ends what use began. It works on nil.
func (r *runs) close() {
	if r != nil && r.stop != nil {
		r.stop()
		r.waiting.Wait()
	}
}

// Open implements task.Runs.
//
// nil without an error: the task is no run. task.ErrNotHere leaves it to another process,
// of a newer version or one that is ready.
func (r *runs) Open(ctx context.Context, id string) (task.Run, error) {
	state, err := r.Load(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case errors.Is(err, store.ErrUnavailable):
		return nil, err
	case errors.Is(err, run.ErrVersion):
		return nil, task.ErrNotHere
	}
	g := r.gateway.Load()
	if g == nil {
		return nil, task.ErrNotHere
	}
	switch {
	case err == nil:
		return &openRun{g: g, run: state}, nil
	case errors.Is(err, store.ErrDamaged), errors.Is(err, workflow.ErrRun), errors.Is(err, workflow.ErrGone):
		return brokenRun{err}, nil
	}
	return nil, err
}

// openRun is a run to be continued here.
type openRun struct {
	g       *Gateway
	run     *workflow.Run
	emitted []stream.Event // in the turn that is continued
}

// TakeOver implements task.Run.
func (o *openRun) TakeOver(emitted []stream.Event) []stream.Event {
	lacks := o.g.state.runs.TakeOver(o.run, emitted)
	o.emitted = append(emitted, lacks...)
	return lacks
}

// Unseen implements task.Run.
func (o *openRun) Unseen() bool { return o.run.Unseen() }

// TimeOut implements task.Run.
func (o *openRun) TimeOut(now time.Time) { o.run.TimeOut(now) }

// Frame implements task.Run. What stands around the run is what stood around it in the
// process that began it: questions, memory and checks.
//
// The registry is that of now: checks and memory follow the file, and the run its
// definition.
func (o *openRun) Frame(ctx context.Context, id, turn string) (*stream.Frame, *chat.Request) {
	req := o.run.Request()
	req.Task, req.Turn = id, turn
	flow, err := o.g.flowOf(o.run.Workflow())
	if err != nil {
		return brokenRun{err}.Frame(ctx, id, turn)
	}
	runner, _, err := o.g.goingOn(flow, o.run, o.emitted).forRequest(o.g.registry.Load(), req, "")
	if err != nil {
		return brokenRun{err}.Frame(ctx, id, turn)
	}
	return &stream.Frame{Runner: runner, Model: o.g.Model()}, req
}

// brokenRun is a run that nobody can continue with.
//
// Its frame runs nothing and ends with the fault, so that the task is closed in the usual
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
	return stream.Result{}, cannotGoOn(b.err)
}

// records is workflow.Config.Records: a run whose turn is not kept cannot begin.
func (r *runs) records(ctx context.Context, run *workflow.Run) (workflow.Records, error) {
	if !strings.HasPrefix(run.Header.ID, chat.TaskPrefix) {
		return nil, nil
	}
	return r.RunStore.Records(ctx, run)
}

// admit refuses a run, or an answer to one, before anything is kept of it: too many wait.
// Those that were admitted at the same time may be some more.
func (r *runs) admit() error {
	if r.pending.Load() < maxPending {
		return nil
	}
	return &fault.Error{Type: fault.Overloaded, Message: "Too many workflows wait to run; try again in a moment"}
}

// enter is workflow.Config.Enter. A run that was accepted, or taken over, is not refused.
//
// The slot is given back by leave, which must be called once. The error is the cause of
// ctx.
func (r *runs) enter(ctx context.Context) (leave func(), err error) {
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
