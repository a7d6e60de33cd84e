// This file is the loop of an execution: it begins nodes, bounds how many work at a time, and ends
// the stream of the run. The execution itself is in execution.go.

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

// runStream saves the begin of the run, waits for room, works, and returns the result of the
// stream.
//
// The sink's error wins over the run's, as the caller judges by it that the client has gone. The
// workflow's timeout includes the earlier working time of the run, but no time of waiting for room
// or for people.
func (x *execution) runStream() (stream.Result, error) {
	x.saveStart()
	if leave := x.enterRun(); leave != nil {
		defer leave()
	}
	ctx, cancel := context.WithTimeoutCause(x.ctx, max(x.w.Definition().Timeout-x.before, 0), &fault.Error{
		Type: fault.Timeout, Message: "The workflow took too long and was stopped",
	})
	defer cancel()
	x.ctx, x.began = ctx, time.Now()
	x.runLoop()
	x.finishStream()
	x.runner.counts.runs.Inc(x.w.Definition().Name, x.state.Progress.Status)
	x.logRun("workflow_completed", x.err)
	if x.out.Err != nil {
		return x.result, x.out.Err
	}
	return x.result, x.finalError(x.err)
}

// enterRun waits until the run may work. A run that has already failed does not wait.
//
// leave is nil without a limit, or if the run may not work; then x.err has the reason.
func (x *execution) enterRun() (leave func()) {
	if x.runner.cfg.Enter == nil || x.err != nil {
		return nil
	}
	x.out.Flush() // a client that waits learns that the run is there
	leave, err := x.runner.cfg.Enter(x.ctx)
	if err != nil {
		x.failRun(err)
	}
	return leave
}

// saveStart saves the state of the run before any node begins.
//
// A run that has failed before, whose caller did not learn of it, fails again with the same
// fault: no node runs, nothing is written. A run that was taken over is not saved here: its
// claim is in the record already.
func (x *execution) saveStart() {
	x.logRun("workflow_started", nil)
	p := &x.state.Progress
	switch {
	case p.Failure != nil: // and nobody learned of it
		x.lost = true
		x.failRun(&fault.Error{Type: p.Failure.Type, Message: p.Failure.Message})
	case p.Sequence == 0:
		x.saveCheckpoint(CheckpointCreated)
	case x.state.Origin == nil || !x.state.Origin.Orphaned():
		x.saveCheckpoint(CheckpointResumed)
	}
}

// runLoop works until no node can begin any more.
//
// It ends with an error, with the end of the run, or with a question that has gone out.
// pauseRun returns false where nobody can be asked: then the refused calls continue, and the loop
// with them.
func (x *execution) runLoop() {
	defer x.running.Wait()
	for {
		x.launchNodes()
		switch {
		case len(x.working) > 0:
			x.receiveItems()
		case x.err != nil || x.out.Err != nil || x.state.hasEnded() || x.pauseRun():
			return
		}
	}
}

// launchNodes begins the nodes that can begin.
//
// A node that must be asked about is asked first; a rejection closes the node at once.
func (x *execution) launchNodes() {
	for !x.mustStop() {
		o, alone := x.nextNode()
		if o == nil {
			return
		}
		n := x.w.Node(o.Node)
		switch {
		case x.needsPerson(n, o):
			x.askBefore(n, o)
		case o.Decision != nil && isRejection(o.Decision):
			x.continueDecided(n, o)
		default:
			n.Kind.(kind).beginNode(x, n, o, alone)
		}
	}
}

// workNode carries a node out on a worker, which calls perform for each round. A node that is
// alone works here, without a goroutine of its own.
func (x *execution) workNode(n *graph.Vertex, o *Open, alone bool, perform func(*worker) error) {
	if !x.countExecution() {
		return
	}
	k := x.startWorker(n, o)
	k.perform = perform
	if !alone {
		x.out.Flush()
		x.spawnWorker(k)
		return
	}
	out, err := k.runRounds()
	x.endWorker(k, out, err)
}

// nextNode returns a node that can begin, and whether no other can, or works.
//
// found is nil if no node can begin, or if maxParallel work. Nodes begin in the order of the
// frontier, that is, in the graph's order.
func (x *execution) nextNode() (found *Open, alone bool) {
	if len(x.working) >= maxParallel {
		return nil, false
	}
	alone = len(x.working) == 0
	for i := range x.state.Progress.Frontier {
		o := &x.state.Progress.Frontier[i]
		if o.Waits() || x.hasWorker(o.Node) {
			continue
		}
		if found != nil {
			return found, false
		}
		found = o
	}
	return found, alone
}

// hasWorker reports whether a node has a worker. Such a node is in the frontier too, until it has
// ended.
func (x *execution) hasWorker(node string) bool {
	return slices.ContainsFunc(x.working, func(k *worker) bool { return k.n.ID == node })
}

// startWorker opens an execution of a node that works.
//
// The event is flushed before the node works, so that a client sees the running node while the
// model still thinks. If the node is alone and calls a tool, the event goes with that of its first
// call.
func (x *execution) startWorker(n *graph.Vertex, o *Open) *worker {
	k := newWorker(x, n, *o)
	x.working = append(x.working, k)
	x.emitNode(n, o, stream.NodeStarted)
	return k
}

// spawnWorker gives a node a goroutine of its own.
//
// The worker reads the run as of its begin, and so works without a lock. unwatch wakes it from a
// full queue if its context ends while it waits there.
func (x *execution) spawnWorker(k *worker) {
	if x.queue == nil {
		x.queue = run.NewQueue[*worker]()
	}
	k.queue = x.queue
	k.unwatch = context.AfterFunc(k.ctx, x.queue.Wake)
	// Goroutine (node of a workflow): runs the node and puts its events into a queue; the turn's
	// goroutine emits them.
	// Ends: the node is over.
	// Waits: the run, before it ends (`internal/engine/workflow/engine/loop.go`: runLoop).
	x.running.Go(func() {
		out, err := k.runRounds()
		x.queue.End(func() { x.endWorker(k, out, err) })
	})
}

// receiveItems takes the items of the nodes from the queue.
//
// It waits for an item. After an error of the run it drops texts and events, but takes ends, or
// else runLoop would wait for ever. A sink that fails closes the queue, so that no worker waits for
// room that never comes.
func (x *execution) receiveItems() {
	for _, it := range x.queue.Receive() {
		if it.End != nil {
			it.End()
		} else if x.err == nil {
			x.passItem(&it)
		}
	}
	x.out.Flush()
	if x.out.Err != nil { // nobody listens any more
		x.queue.Close(x.out.Err)
		x.stop(x.out.Err)
	}
}

// finishStream ends the stream of the run: it is over, has failed, or waits.
//
// A run that waits was saved by pauseRun. The usage is that of the whole run and not of this
// stream alone.
func (x *execution) finishStream() {
	p := &x.state.Progress
	x.result.Usage = p.Usage
	switch {
	case x.err != nil || x.out.Err != nil:
		x.saveFailure()
	case len(p.Frontier) > 0: // it waits
	default:
		x.voice.FlushEnded(x.voice.hasEnded)
		x.out.Flush()
		if x.result.Reason == "" {
			x.result.Reason = stream.Stop
		}
		if len(x.withheld) > 0 {
			x.result.StoreAnswer = x.saveEnd
		}
	}
}

// saveFailure stores that a run has failed, unless another process will continue it.
//
// Its context outlives that of the request, since the end of the request is a frequent cause of the
// failure. If the write fails too the run stays as its last checkpoint has it; another process
// takes it over and tries again.
func (x *execution) saveFailure() {
	if x.records == nil || x.lost || continuesLater(x.err) {
		return
	}
	x.replaceHeld("")
	err := x.err
	if err == nil { // nobody listens any more
		err = x.out.Err
	}
	f := fault.From(err)
	x.state.Progress.Status, x.state.Progress.Failure = StatusFailed, &Failure{f.Type, f.Message}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), lastSave)
	defer cancel()
	if err := x.records.Save(ctx, x.state.nextCheckpoint(x.savedCounts, CheckpointCreated, x.before+time.Since(x.began))); err != nil {
		zerolog.Ctx(x.ctx).Warn().Dict("details", zerolog.Dict().Str("task_id", x.state.Header.ID).
			Str("workflow", x.w.Definition().Name).AnErr("cause", err)).Msg("checkpoint_lost")
	}
}
