// This file is the loop of an execution: what begins, what works at the same time, and how the
// stream of the run ends. What one execution is lies below it, in execution.go.

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/graph"
	"sluice/stream"
)

// run keeps the run, lets it work when there is room for it, and says how it ended.
//
// The sink's error wins over the run's, as the caller judges by it that the client has
// gone. The workflow's timeout counts what the run has worked before, and neither the wait
// for room nor for people.
func (x *execution) run() (stream.Result, error) {
	x.keep()
	if leave := x.enter(); leave != nil {
		defer leave()
	}
	ctx, cancel := context.WithTimeoutCause(x.ctx, max(x.w.Definition().Timeout-x.before, 0), &fault.Error{
		Type: fault.Timeout, Message: "The workflow took too long and was stopped",
	})
	defer cancel()
	x.ctx, x.began = ctx, time.Now()
	x.loop()
	x.finish()
	x.runner.counts.runs.Inc(x.w.Definition().Name, x.state.Progress.Status)
	x.log("workflow_completed", x.err)
	if x.out.Err != nil {
		return x.result, x.out.Err
	}
	return x.result, x.final(x.err)
}

// enter waits until the run may work. What has failed by now need not.
//
// leave is nil if there is no limit, or if the run may not work; then x.err says why.
func (x *execution) enter() (leave func()) {
	if x.runner.cfg.Enter == nil || x.err != nil {
		return nil
	}
	x.out.Flush() // a client that waits learns that the run is there
	leave, err := x.runner.cfg.Enter(x.ctx)
	if err != nil {
		x.fail(err)
	}
	return leave
}

// keep saves where the run stands, before anything is done.
//
// A run that has failed before, whose caller did not learn of it, fails again with the same
// fault: no node runs, nothing is written. A run that was taken over is not saved here: its
// claim is in the record already.
func (x *execution) keep() {
	x.log("workflow_started", nil)
	p := &x.state.Progress
	switch {
	case p.Failure != nil: // and nobody learned of it
		x.lost = true
		x.fail(&fault.Error{Type: p.Failure.Type, Message: p.Failure.Message})
	case p.Sequence == 0:
		x.save(CheckpointCreated)
	case x.state.Origin == nil || !x.state.Origin.Orphaned():
		x.save(CheckpointResumed)
	}
}

// loop works until nothing can be done any more.
//
// It ends with an error, with the end of the run, or with a question that has gone out.
// pause returns false where nobody can be asked: then the refused calls continue, and the loop
// with them.
func (x *execution) loop() {
	defer x.running.Wait()
	for {
		x.launch()
		switch {
		case len(x.working) > 0:
			x.receive()
		case x.err != nil || x.out.Err != nil || x.state.over() || x.pause():
			return
		}
	}
}

// launch begins what can begin.
//
// A node that must be asked about is asked first; a rejection closes the node at once.
func (x *execution) launch() {
	for !x.over() {
		o, alone := x.next()
		if o == nil {
			return
		}
		n := x.w.Node(o.Node)
		switch {
		case x.asks(n, o):
			x.ask(n, o)
		case o.Decision != nil && rejected(o.Decision):
			x.decided(n, o)
		default:
			n.Kind.(kind).begin(x, n, o, alone)
		}
	}
}

// work carries a node out on a worker, which calls perform for each round. A node that is
// alone works here, without a goroutine of its own.
func (x *execution) work(n *graph.Vertex, o *Open, alone bool, perform func(*worker) error) {
	if !x.admit() {
		return
	}
	k := x.start(n, o)
	k.perform = perform
	if !alone {
		x.out.Flush()
		x.spawn(k)
		return
	}
	out, err := k.work()
	x.end(k, out, err)
}

// next returns a node that can begin, and whether no other can, or works.
//
// found is nil if no node can begin, or if maxParallel work. A node waits its turn in the
// graph's order, which is that of the frontier.
func (x *execution) next() (found *Open, alone bool) {
	if len(x.working) >= maxParallel {
		return nil, false
	}
	alone = len(x.working) == 0
	for i := range x.state.Progress.Frontier {
		o := &x.state.Progress.Frontier[i]
		if o.Waits() || x.works(o.Node) {
			continue
		}
		if found != nil {
			return found, false
		}
		found = o
	}
	return found, alone
}

// works says whether a node has a worker. Such a node is in the frontier too, until it has
// ended.
func (x *execution) works(node string) bool {
	return slices.ContainsFunc(x.working, func(k *worker) bool { return k.n.ID == node })
}

// start opens an execution of a node that works.
//
// The event is flushed before the node works, for a client sees what runs while the model still
// thinks; but that of a node which is alone goes with the event of its first call, if it calls a tool.
func (x *execution) start(n *graph.Vertex, o *Open) *worker {
	k := newWorker(x, n, *o)
	x.working = append(x.working, k)
	x.emitNode(n, o, stream.NodeStarted)
	return k
}

// spawn gives a node a goroutine of its own.
//
// The worker sees the run as it was when it began, so that it needs no lock. unwatch wakes
// it from a full queue if its context ends while it waits there.
func (x *execution) spawn(k *worker) {
	if x.queue == nil {
		x.queue = run.NewQueue[*worker]()
	}
	k.queue = x.queue
	k.unwatch = context.AfterFunc(k.ctx, x.queue.Wake)
	// Goroutine (node of a workflow): runs the node and puts its events into a queue; the turn's
	// goroutine emits them.
	// Ends: the node is over.
	// Waits: the run, before it ends (`internal/engine/workflow/engine/loop.go`: loop).
	x.running.Go(func() {
		out, err := k.work()
		x.queue.End(func() { x.end(k, out, err) })
	})
}

// receive takes what the nodes have handed over.
//
// It waits until there is something. After an error of the run texts and events are
// dropped, but ends are taken, for else loop would wait for ever. A sink that fails closes
// the queue, so that no worker waits for room that never comes.
func (x *execution) receive() {
	for _, it := range x.queue.Receive() {
		if it.Over != nil {
			it.Over()
		} else if x.err == nil {
			x.pass(&it)
		}
	}
	x.out.Flush()
	if x.out.Err != nil { // nobody listens any more
		x.queue.Close(x.out.Err)
		x.stop(x.out.Err)
	}
}

// finish ends the stream of the run: it is over, has failed, or waits.
//
// A run that waits was kept by pause. The usage is that of the whole run and not of this
// stream alone.
func (x *execution) finish() {
	p := &x.state.Progress
	x.result.Usage = p.Usage
	switch {
	case x.err != nil || x.out.Err != nil:
		x.saveFailure()
	case len(p.Frontier) > 0: // it waits
	default:
		x.voice.Rest(x.voice.ended)
		x.out.Flush()
		if x.result.Reason == "" {
			x.result.Reason = stream.Stop
		}
		if len(x.withheld) > 0 {
			x.result.StoreAnswer = x.settle
		}
	}
}

// saveFailure keeps that a run has failed, unless another process will continue with it.
//
// Its context does not end with the request's, which is often why the run has failed. If
// the write fails too the run stays as its last checkpoint has it; another process takes it
// over and tries again.
func (x *execution) saveFailure() {
	if x.records == nil || x.lost || left(x.err) {
		return
	}
	x.replace("")
	err := x.err
	if err == nil { // nobody listens any more
		err = x.out.Err
	}
	f := fault.From(err)
	x.state.Progress.Status, x.state.Progress.Failure = StatusFailed, &Failure{f.Type, f.Message}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), lastSave)
	defer cancel()
	if err := x.records.Save(ctx, x.state.checkpoint(x.kept, CheckpointCreated, x.before+time.Since(x.began))); err != nil {
		zerolog.Ctx(x.ctx).Warn().Dict("details", zerolog.Dict().Str("task_id", x.state.Header.ID).
			Str("workflow", x.w.Definition().Name).AnErr("cause", err)).Msg("checkpoint_lost")
	}
}
