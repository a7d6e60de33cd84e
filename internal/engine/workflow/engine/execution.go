// This file carries a run on to its end, or to the next question to people; its loop is in loop.go.
// The execution alone changes a Run while it is continuing, and emits its events.
//
// For each change there is one order: the Run changes in memory, the checkpoint is saved, then the
// event is emitted. So a client never sees something that a process after a crash would not know.
// The kind of a node says how it begins (kind.go), ending.go how it ends, and people.go how people
// are asked. The slow work of a node is in worker.go; package run brings its items from its
// goroutine.

package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxParallel is how many nodes of a run work at the same time.
const maxParallel = 8

// execution carries a run on. All of it belongs to the goroutine that called it. Nodes that work at
// the same time have goroutines of their own, and hand their items to this one. It alone changes
// the run and emits: a slow client holds back no node's tools.
//
// It lives as long as one stream of the run. Its goroutine waits for all workers before runStream
// returns, also after an error: they never outlive the stream. stop ends the context of all of them
// with a cause.
type execution struct {
	runner      *Runner
	of          *chat.Request // of this stream; not of the run, whose own is in its Header
	w           *graph.Workflow
	state       *Run
	records     Records // nil without records
	ctx         context.Context
	stop        context.CancelCauseFunc
	began       time.Time
	before      time.Duration // that the run had run before
	savedCounts counts        // the part of the run that the records have

	out    run.Out
	result stream.Result
	voice  voice

	crew
	acted   atomic.Bool // a call was made that must not be made twice, also by workers
	unknown *unknownCalls
	err     error // that ends the run
	lost    bool  // the records are not ours any more, or unavailable

	holding
}

// holding is the part of an execution that is held until the answer was checked.
type holding struct {
	caller   context.Context // of the caller that is given the Result
	held     bool            // the answer is, until it was checked
	withheld []*graph.Vertex // that have ended, and that no checkpoint has yet
}

// crew are the workers of an execution.
type crew struct {
	queue   *run.Queue[*worker] // nil: no node has a goroutine of its own
	working []*worker
	running sync.WaitGroup
	count   atomic.Int64 // of executions, also by workers
}

// newExecution returns an execution of state, and state belongs to it from here on. The caller must
// call stop in the end, or the context leaks.
func newExecution(ctx context.Context, r *Runner, of *chat.Request, state *Run, sink stream.Sink) *execution {
	x := &execution{runner: r, of: of, w: r.cfg.Workflow, state: state, out: run.Out{Sink: sink}, holding: holding{caller: ctx}, began: time.Now(), before: state.Progress.Elapsed}
	x.ctx, x.stop = context.WithCancelCause(ctx)
	x.count.Store(int64(state.Progress.Iterations))
	x.acted.Store(state.Progress.Acted)
	x.unknown = unknownOf(state)
	x.held = of.Facts.Held != nil && of.Facts.Held()
	x.voice.init(x)
	if state.Progress.Sequence > 0 {
		x.savedCounts = counts{len(state.Ended), len(state.Messages)}
	}
	return x
}

// finalError returns the error of a run for its client. After an unsafe call, or if the run
// continues by itself, it says that the request must not be sent again.
func (x *execution) finalError(err error) error {
	if err == nil || !x.acted.Load() && !continuesLater(err) {
		return err
	}
	if _, bug := errors.AsType[*stream.Panic](err); bug {
		return err // a panic is reported as such, and never as recoverable
	}
	f := *fault.From(err)
	f.Acted = true
	return &f
}

// mustStop reports whether no node may begin any more.
//
// It also turns the end of the context (a deadline, a shutdown, a client that left) into
// the run's error, so that it is looked at before each node.
func (x *execution) mustStop() bool {
	if x.err == nil && x.out.Err == nil {
		if cause := fault.Cause(x.ctx); cause != nil {
			x.failRun(cause)
		}
	}
	return x.err != nil || x.out.Err != nil
}

// failRun ends the run and cancels the nodes that work.
//
// The first error counts. Later errors, such as those of cancelled nodes, change nothing.
func (x *execution) failRun(err error) {
	if x.err == nil {
		x.err = err
		x.stop(err)
	}
}

// countExecution counts an execution.
//
// It fails the run with workflow_limit above max_iterations. Rounds of a node that repeats
// itself are counted in worker.runRounds, against the same number: a loop cannot hide inside a
// node.
func (x *execution) countExecution() bool {
	if x.count.Add(1) > int64(x.w.Definition().MaxIterations) {
		x.failRun(tooMany())
		return false
	}
	x.state.Progress.Iterations = int(x.count.Load())
	return true
}

func tooMany() error {
	return limitFault("The workflow ran more nodes than its max_iterations allows")
}

// passItem emits an event or a text of a node.
//
// A delta comes as a text and becomes an event here, since its sender uses its own event
// again.
func (x *execution) passItem(it *run.Item[*worker]) {
	switch {
	case it.Event != nil:
		x.passEvent(it.Of, it.Event)
	case it.Inner:
		x.voice.emitInner(it.Of, it.Text)
	default:
		x.voice.Text(x.voice.line[it.Of.n], it.Text)
	}
}

// passEvent emits an event. A reset takes effect where its text stands.
func (x *execution) passEvent(k *worker, ev stream.Event) {
	if reset, ok := ev.(*stream.Reset); ok {
		x.voice.Reset(x.voice.line[k.n], reset)
		return
	}
	x.out.Emit(ev)
}

// nodeEvent returns a node's event with the members that all of them have.
func (x *execution) nodeEvent(n *graph.Vertex, o *Open, status stream.NodeStatus) *stream.NodeRun {
	return &stream.NodeRun{NodeID: n.ID, Type: string(n.Type), Status: status, Attempt: o.Attempt}
}

// emitNode emits a node's event.
func (x *execution) emitNode(n *graph.Vertex, o *Open, status stream.NodeStatus) {
	x.out.Emit(x.nodeEvent(n, o, status))
}

// saveCheckpoint stores a checkpoint. If the write fails, no node begins any more.
//
// While the end of a node is withheld nothing is saved, so that no checkpoint has the text
// that was not sent. Without records only the number continues, as questions carry it.
func (x *execution) saveCheckpoint(status string) {
	if x.err != nil || len(x.withheld) > 0 {
		return
	}
	x.voice.saveProgress()
	if x.records == nil {
		x.state.Progress.Sequence++
		return
	}
	c := x.state.nextCheckpoint(x.savedCounts, status, x.before+time.Since(x.began))
	if err := x.records.Save(x.ctx, c); err != nil {
		x.lost = true
		x.failRun(err)
		return
	}
	x.savedCounts = counts{c.EndedCount, c.MessageCount}
}

// continuesLater reports whether err means that another process, or this one later, continues the run.
func continuesLater(err error) bool {
	if err == nil {
		return false
	}
	switch fault.From(err).Type {
	case fault.ShuttingDown, fault.StoreUnavailable, fault.TurnLost:
		return true
	}
	return false
}

// logRun writes one line about the run, without any text of it.
func (x *execution) logRun(what string, err error) {
	details := zerolog.Dict().Str("workflow", x.w.Definition().Name).Str("status", x.state.Progress.Status)
	if err != nil {
		details.Str("error_type", string(fault.From(err).Type))
	}
	zerolog.Ctx(x.ctx).Info().Dict("details", details).Msg(what)
}

// logNodeEnd writes one line for the end of a node; ev.Millis is set.
func (x *execution) logNodeEnd(ev *stream.NodeRun) {
	zerolog.Ctx(x.ctx).Info().Int64("duration_ms", *ev.Millis).Dict("details", zerolog.Dict().
		Str("node_id", ev.NodeID).Str("type", ev.Type).Str("status", string(ev.Status)).Int("attempt", ev.Attempt)).Msg("node_completed")
}

// nowUTC is in UTC, as all times of a run are stored.
func nowUTC() time.Time { return time.Now().UTC() }
