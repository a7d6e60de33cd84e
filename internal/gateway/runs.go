package gateway

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"sluice/agent"
	"sluice/approval"
	"sluice/chat"
	"sluice/fault"
	"sluice/metrics"
	"sluice/model"
	"sluice/store"
	"sluice/stream"
	"sluice/task"
	"sluice/workflow"
)

// Bounds of a gateway.
const (
	maxRuns    = 64   // that run at the same time
	maxPending = 1000 // that wait to run
)

// runs are the runs of workflows that the store keeps: what task goes on with.
type runs struct {
	*workflow.RunStore
	gateway atomic.Pointer[Gateway] // nil while it starts

	slots   chan struct{}
	pending atomic.Int64
}

func newRuns(in store.Store, cfg Config, m *metrics.Registry, wrote func()) *runs {
	r := &runs{slots: make(chan struct{}, maxRuns)}
	wait := cfg.ApprovalTTL
	if wait == 0 {
		wait = approval.DefaultStoreTTL
	}
	r.RunStore = workflow.NewRunStore(workflow.RunStoreConfig{Store: in, TTL: cmp.Or(cfg.Tasks.TTL, task.DefaultTTL), Wait: wait, Metrics: m, Wrote: wrote})
	m.GaugeFunc("runs_active", "Runs of workflows that run here.", func() float64 { return float64(len(r.slots)) })
	return r
}

// use makes g what runs are gone on with.
func (r *runs) use(g *Gateway) {
	if g.cfg.HasFile {
		r.gateway.Store(g)
	}
}

// Open implements task.Runs.
func (r *runs) Open(ctx context.Context, id string) (task.Run, error) {
	run, err := r.Load(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case errors.Is(err, store.ErrUnavailable):
		return nil, err
	case errors.Is(err, workflow.ErrVersion):
		return nil, task.ErrNotHere
	}
	g := r.gateway.Load()
	if g == nil {
		return nil, task.ErrNotHere
	}
	if err != nil {
		return brokenRun{err}, nil
	}
	return &openRun{g, run}, nil
}

// openRun is a run to be gone on with here.
type openRun struct {
	g   *Gateway
	run *workflow.Run
}

// TakeOver implements task.Run.
func (o *openRun) TakeOver(told []stream.Event) []stream.Event {
	return o.g.state.runs.TakeOver(o.run, told)
}

// TimeOut implements task.Run.
func (o *openRun) TimeOut(now time.Time) { o.run.TimeOut(now) }

// Frame implements task.Run.
func (o *openRun) Frame(_ context.Context, id, turn string) (*stream.Frame, *chat.Request) {
	req := o.run.Request()
	req.Task, req.Turn = id, turn
	g := o.g
	agents := g.registry.Load().flows.agents
	inner := workRunner{run: g.flowRunner(o.run.Workflow(), agents), keyed: len(g.cfg.Models) > 0, g: g, delegation: agents.delegation, taken: o.run}
	return &stream.Frame{Runner: g.waiting(model.Budgeted{Runner: inner, Tokens: g.cfg.TurnTokens}), Model: g.Model()}, req
}

// brokenRun is a run that nobody can go on with.
type brokenRun struct{ err error }

func (brokenRun) TakeOver([]stream.Event) []stream.Event { return nil }
func (brokenRun) TimeOut(time.Time)                      {}

func (b brokenRun) Frame(context.Context, string, string) (*stream.Frame, *chat.Request) {
	return &stream.Frame{Runner: b}, new(chat.Request)
}

// Run implements stream.Runner.
func (b brokenRun) Run(context.Context, *chat.Request, stream.Sink) (stream.Result, error) {
	return stream.Result{}, &fault.Error{Type: fault.WorkflowRecovery, Message: "The workflow cannot go on: what it needs is gone", Err: b.err}
}

// records is workflow.Config.Records: a run whose turn is not kept cannot begin.
func (r *runs) records(ctx context.Context, run *workflow.Run) (workflow.Records, error) {
	if !strings.HasPrefix(run.Header.ID, chat.TaskPrefix) {
		return nil, nil
	}
	return r.RunStore.Records(ctx, run)
}

// enter waits until a run may run.
func (r *runs) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-r.slots }
	select {
	case r.slots <- struct{}{}:
		return leave, nil
	default:
	}
	if r.pending.Add(1) > maxPending {
		r.pending.Add(-1)
		return nil, &fault.Error{Type: fault.Overloaded, Message: "Too many workflows wait to run; try again in a moment"}
	}
	defer r.pending.Add(-1)
	select {
	case r.slots <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, fault.Cause(ctx)
	}
}

// pinned returns the runner of a definition that the file does not have any more.
func (g *Gateway) pinned(sum string) (*answerer, error) {
	if !g.mayWait() {
		return nil, nil
	}
	w, err := g.state.runs.Definition(context.Background(), sum)
	if err != nil {
		return nil, err
	}
	return g.newFlow(w, g.registry.Load().flows.agents), nil
}

// goOn goes on with a run in place of its owner.
func (r workRunner) goOn(ctx context.Context, sink stream.Sink) (stream.Result, error) {
	ctx = agent.WithShared(ctx)
	return r.run.Continue(sharing(ctx), r.taken, sink)
}
