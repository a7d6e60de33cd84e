// This file carries a run on from where it stands to its end or to the next question to
// people. The execution alone changes a Run while it is continuing, and emits its events.
//
// For each change there is one order: the Run changes in memory, the checkpoint is saved,
// then the event is emitted. So a client never sees something that a process after a crash
// would not know. What a node begins with is said by its kind (kind.go), how it ends by
// ending.go, and how people are asked by people.go. What a node does that takes time is in
// worker.go, and how items come from its goroutine in the package run.

package workflow

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/fault"
	"sluice/run"
	"sluice/stream"
)

// maxParallel is how many nodes of a run work at the same time.
const maxParallel = 8

// execution carries a run on. All of it belongs to the goroutine that called it; the
// nodes that work at the same time have goroutines of their own, which hand what happens
// to this one. It alone changes the run and emits: a slow client holds back no node's
// tools.
//
// It lives as long as one stream of the run. Its goroutine waits for all workers before run
// returns, also after an error: none of them outlives the stream. stop ends the context of
// all of them with a cause.
type execution struct {
	runner  *Runner
	of      *chat.Request // of this stream; not of the run, whose own is in its Header
	w       *Workflow
	state   *Run
	records Records // nil: there are none
	ctx     context.Context
	stop    context.CancelCauseFunc
	began   time.Time
	before  time.Duration // that the run had run before
	kept    counts        // what the records have of the run

	out    run.Out
	result stream.Result
	voice  voice

	queue   *run.Queue[*worker] // nil: no node has a goroutine of its own
	working []*worker
	running sync.WaitGroup
	count   atomic.Int64 // of executions, also by workers
	acted   atomic.Bool  // a call was made that must not be made twice, also by workers
	unknown *unknownCalls
	err     error // that ends the run
	lost    bool  // the records are not ours any more, or unavailable

	caller   context.Context // of the caller that is given the Result
	held     bool            // the answer is, until it was checked
	withheld []*node         // that have ended, and that no checkpoint has yet
}

// run belongs to the execution from here on. The caller must call stop in the end, or the
// context leaks.
func newExecution(ctx context.Context, r *Runner, of *chat.Request, state *Run, sink stream.Sink) *execution {
	x := &execution{runner: r, of: of, w: r.cfg.Workflow, state: state, out: run.Out{Sink: sink}, caller: ctx, began: time.Now(), before: state.Progress.Elapsed}
	x.ctx, x.stop = context.WithCancelCause(ctx)
	x.count.Store(int64(state.Progress.Iterations))
	x.acted.Store(state.Progress.Acted)
	x.unknown = unknownOf(state)
	x.held = of.Facts.Held != nil && of.Facts.Held()
	x.voice.init(x)
	if state.Progress.Sequence > 0 {
		x.kept = counts{len(state.Ended), len(state.Messages)}
	}
	return x
}

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
	ctx, cancel := context.WithTimeoutCause(x.ctx, max(x.w.def.Timeout-x.before, 0), &fault.Error{
		Type: fault.Timeout, Message: "The workflow took too long and was stopped",
	})
	defer cancel()
	x.ctx, x.began = ctx, time.Now()
	x.loop()
	x.finish()
	x.runner.counts.runs.Inc(x.w.def.Name, x.state.Progress.Status)
	x.log("workflow_completed", x.err)
	if x.out.Err != nil {
		return x.result, x.out.Err
	}
	return x.result, x.final(x.err)
}

// final returns the error of a run as its client is to learn of it: where a call was made that
// must not be made twice, or the run continues by itself, nobody must send the same request
// again.
func (x *execution) final(err error) error {
	if err == nil || !x.acted.Load() && !left(err) {
		return err
	}
	if _, bug := errors.AsType[*stream.Panic](err); bug {
		return err // a panic is reported as such, and never as recoverable
	}
	f := *fault.From(err)
	f.Acted = true
	return &f
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
	case x.state.from == nil || !x.state.from.orphaned:
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

// over says whether nothing must begin any more.
//
// It also turns the end of the context (a deadline, a shutdown, a client that left) into
// the run's error, so that it is looked at before each node.
func (x *execution) over() bool {
	if x.err == nil && x.out.Err == nil {
		if cause := fault.Cause(x.ctx); cause != nil {
			x.fail(cause)
		}
	}
	return x.err != nil || x.out.Err != nil
}

// fail ends the run: what works is cancelled.
//
// The first error counts. Those that follow from it, such as cancelled nodes, change
// nothing.
func (x *execution) fail(err error) {
	if x.err == nil {
		x.err = err
		x.stop(err)
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
		n := x.w.byID[o.Node]
		switch {
		case x.asks(n, o):
			x.ask(n, o)
		case o.Decision != nil && rejected(o.Decision):
			x.decided(n, o)
		default:
			n.kind.begin(x, n, o, alone)
		}
	}
}

// work carries a node out on a worker, which calls perform for each round. A node that is
// alone works here, without a goroutine of its own.
func (x *execution) work(n *node, o *Open, alone bool, perform func(*worker) error) {
	if !x.admit() {
		return
	}
	k := x.start(n, o)
	k.perform = perform
	if !alone {
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
		if o.waits() || x.works(o.Node) {
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

// admit counts an execution.
//
// It fails the run with workflow_limit above max_iterations. Rounds of a node that repeats
// itself are counted in worker.work, against the same number: a loop cannot hide inside a
// node.
func (x *execution) admit() bool {
	if x.count.Add(1) > int64(x.w.def.MaxIterations) {
		x.fail(tooMany())
		return false
	}
	x.state.Progress.Iterations = int(x.count.Load())
	return true
}

func tooMany() error {
	return limit("The workflow ran more nodes than its max_iterations allows")
}

// start opens an execution of a node that works.
//
// The event is flushed before the node works: a client sees what runs while the model still
// thinks.
func (x *execution) start(n *node, o *Open) *worker {
	k := newWorker(x, n, *o)
	x.working = append(x.working, k)
	x.emitNode(n, o, stream.NodeStarted)
	x.out.Flush()
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
	// Waits: the run, before it ends (`workflow/execution.go`: loop).
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

// pass emits an event or a text of a node.
//
// A delta comes as a text and becomes an event here, since its sender uses its own event
// again.
func (x *execution) pass(it *run.Item[*worker]) {
	switch {
	case it.Event != nil:
		x.out.Emit(it.Event)
	case it.Inner:
		x.voice.inner(it.Of, it.Text)
	default:
		x.voice.Text(x.voice.line[it.Of.n], it.Text)
	}
}

// event is a node's event without what only some of them have.
func (x *execution) event(n *node, o *Open, status stream.NodeStatus) *stream.NodeRun {
	return &stream.NodeRun{NodeID: n.ID, Type: string(n.Type), Status: status, Attempt: o.Attempt}
}

// emitNode emits such an event.
func (x *execution) emitNode(n *node, o *Open, status stream.NodeStatus) {
	x.out.Emit(x.event(n, o, status))
}

// save keeps a checkpoint. Where that fails nothing begins any more.
//
// While the end of a node is withheld nothing is saved, so that no checkpoint has the text
// that was not sent. Without records only the number continues, as questions carry it.
func (x *execution) save(status string) {
	if x.err != nil || len(x.withheld) > 0 {
		return
	}
	x.voice.keep()
	if x.records == nil {
		x.state.Progress.Sequence++
		return
	}
	c := x.state.checkpoint(x.kept, status, x.before+time.Since(x.began))
	if err := x.records.Save(x.ctx, c); err != nil {
		x.lost = true
		x.fail(err)
		return
	}
	x.kept = counts{c.EndedCount, c.MessageCount}
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
			x.result.Settle = x.settle
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
			Str("workflow", x.w.def.Name).AnErr("cause", err)).Msg("checkpoint_lost")
	}
}

// left says whether err means that another process, or this one later, continues the run.
func left(err error) bool {
	if err == nil {
		return false
	}
	switch fault.From(err).Type {
	case fault.ShuttingDown, fault.StoreUnavailable, fault.TurnLost:
		return true
	}
	return false
}

// lastSave bounds the saving of a failure.
const lastSave = 2 * time.Second

// log writes one line about the run, without any text of it.
func (x *execution) log(what string, err error) {
	details := zerolog.Dict().Str("workflow", x.w.def.Name).Str("status", x.state.Progress.Status)
	if err != nil {
		details.Str("error_type", string(fault.From(err).Type))
	}
	zerolog.Ctx(x.ctx).Info().Dict("details", details).Msg(what)
}

// logNode writes one line for the end of a node; ev.Millis is set.
func (x *execution) logNode(ev *stream.NodeRun) {
	zerolog.Ctx(x.ctx).Info().Int64("duration_ms", *ev.Millis).Dict("details", zerolog.Dict().
		Str("node_id", ev.NodeID).Str("type", ev.Type).Str("status", string(ev.Status)).Int("attempt", ev.Attempt)).Msg("node_completed")
}

// now is in UTC, as all times of a run are stored.
func now() time.Time { return time.Now().UTC() }
