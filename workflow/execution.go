// This file carries a run on from where it stands to its end or to the next question to
// people. It is the only place that changes a Run while it is going on, and the only one
// that emits its events.
//
// For each change there is one order: the Run changes in memory, the checkpoint is saved,
// then the event is emitted. So a client never hears of something that a process after a
// crash would not know. What one node does is in worker.go, and how items come from its
// goroutine in queue.go.

package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/fault"
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
	w       *Workflow
	state   *Run
	records Records // nil: there are none
	ctx     context.Context
	stop    context.CancelCauseFunc
	began   time.Time
	before  time.Duration // that the run had run before
	kept    counts        // what the records have of the run

	sink    stream.Sink
	sinkErr error // the sink's first error; nothing is emitted after it
	result  stream.Result
	voice   voice

	queue   *queue // nil: no node has a goroutine of its own
	working []*worker
	running sync.WaitGroup
	count   atomic.Int64 // of executions, also by workers
	err     error        // that ends the run
	lost    bool         // the records are not ours any more, or away

	caller   context.Context // of who is given the Result
	held     bool            // the answer is, until it was checked
	withheld []*node         // that have ended, and of which no checkpoint tells yet
}

// run belongs to the execution from here on. The caller must call stop in the end, or the
// context leaks.
func newExecution(ctx context.Context, r *Runner, run *Run, sink stream.Sink) *execution {
	x := &execution{runner: r, w: r.cfg.Workflow, state: run, sink: sink, caller: ctx, began: time.Now(), before: run.Progress.Elapsed}
	x.ctx, x.stop = context.WithCancelCause(ctx)
	x.count.Store(int64(run.Progress.Iterations))
	x.held = stream.Held(ctx)
	x.voice.init(x)
	if run.Progress.Sequence > 0 {
		x.kept = counts{len(run.Ended), len(run.Messages)}
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
	if x.sinkErr != nil {
		return x.result, x.sinkErr
	}
	return x.result, x.err
}

// enter waits until the run may work. What has failed by now need not.
//
// leave is nil if there is no limit, or if the run may not work; then x.err says why.
func (x *execution) enter() (leave func()) {
	if x.runner.cfg.Enter == nil || x.err != nil {
		return nil
	}
	x.flush() // who waits hears that the run is there
	leave, err := x.runner.cfg.Enter(x.ctx)
	if err != nil {
		x.fail(err)
	}
	return leave
}

// keep saves where the run stands, before anything is done.
//
// A run that has failed before, whose caller did not hear of it, fails again with the same
// fault: no node runs, nothing is written. A run that was taken over is not saved here: its
// claim is in the record already.
func (x *execution) keep() {
	x.log("workflow_started", nil)
	p := &x.state.Progress
	switch {
	case p.Failure != nil: // and nobody was told
		x.lost = true
		x.fail(&fault.Error{Type: p.Failure.Type, Message: p.Failure.Message})
	case p.Sequence == 0:
		x.save(CheckpointCreated)
	case x.state.from == nil || !x.state.from.taken:
		x.save(CheckpointResumed)
	}
}

// loop works until nothing can be done any more.
//
// It ends with an error, with the end of the run, or with a question that has gone out.
// pause returns false where nobody can be asked: then the refused calls go on, and the loop
// with them.
func (x *execution) loop() {
	defer x.running.Wait()
	for {
		x.launch()
		switch {
		case len(x.working) > 0:
			x.receive()
		case x.err != nil || x.sinkErr != nil || x.state.over() || x.pause():
			return
		}
	}
}

// over says whether nothing must begin any more.
//
// It also turns the end of the context (a deadline, a shutdown, a client that left) into
// the run's error, so that it is looked at before each node.
func (x *execution) over() bool {
	if x.err == nil && x.sinkErr == nil {
		if cause := fault.Cause(x.ctx); cause != nil {
			x.fail(cause)
		}
	}
	return x.err != nil || x.sinkErr != nil
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

// launch begins what can begin. A node that is alone works here, without a goroutine of
// its own.
//
// A node that must be asked about is asked first; a person's decision that lets nothing run
// closes the node at once. Neither needs a worker. Conditions are evaluated here too, as an
// evaluation is bounded to 50 ms.
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
		case o.Decision != nil && (n.Type == HumanNode || rejected(o.Decision)):
			x.decided(n, o)
		case !x.admit():
		case n.Type == ConditionNode:
			x.condition(n, o)
		default:
			k := x.start(n, o)
			if alone {
				out, err := k.work()
				x.end(k, out, err)
			} else {
				x.spawn(k)
			}
		}
	}
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

// asks says whether a person is to be asked before the node.
//
// It is asked once for each node of a run: a decision, or a question under way, answers it.
func (x *execution) asks(n *node, o *Open) bool {
	return o.Decision == nil && o.Asks == nil && (n.Type == HumanNode || n.checkpoint)
}

// ask leaves a node waiting for a person.
//
// The question itself goes out in pause, when nothing else can work: so all questions of
// parallel branches come together. The checkpoint is saved before that, because other
// branches may go on for long.
func (x *execution) ask(n *node, o *Open) {
	q := &Question{Kind: chat.AskHuman, Prompt: "Go on with " + n.ID + "?"}
	if n.Type == HumanNode {
		if !x.admit() {
			return
		}
		var err error
		if q.Prompt, err = n.prompt.fill(x.ctx, x.state.view(n)); err != nil {
			x.fail(inNode(n, err))
			return
		}
		q.Schema = n.Schema
		q.Expires = time.Now().Add(n.Timeout).UTC()
	}
	o.Asks = q
	x.state.Progress.Position = n.ID
	x.tell(n, o, stream.NodeStarted)
	x.tell(n, o, stream.NodeWaiting)
	x.save(CheckpointAwaiting)
	x.flush()
}

func rejected(d *Decision) bool { return d.Action == string(chat.Reject) }

// decided goes on with a node whose person has decided, and that runs nothing itself: of
// type human, or one that was not allowed to run.
//
// A rejection ends the run unless an edge takes it (accepts). Of a wait that ran out
// on_timeout decides: fail ends the run also where an edge would take a rejection.
func (x *execution) decided(n *node, o *Open) {
	d := o.Decision
	if rejected(d) {
		ok, err := x.state.accepts(x.ctx, n, d)
		if err == nil && (!ok || d.Late && n.OnTimeout == FailOnTimeout) {
			message := "The person who was asked has refused"
			if d.Late {
				message = "Nobody has answered in time"
			}
			err = &fault.Error{Type: fault.ApprovalRejected, Message: message}
		}
		if err != nil {
			x.tell(n, o, stream.NodeStarted)
			x.failed(n, o, fault.From(err).Type, 0)
			x.fail(err)
			return
		}
	}
	x.tell(n, o, stream.NodeStarted)
	x.close(n, *o, &outcome{result: -1, decision: d, messages: d.said(n)}, 0)
}

// accepts says whether an edge takes a rejection: one whose condition looks at the
// decision and holds, or one that leads to a condition that does.
//
// An expression that fails is the error. v.own is the node as it would end, so that the
// edge sees the decision before the run has it.
func (r *Run) accepts(ctx context.Context, n *node, d *Decision) (bool, error) {
	v := r.view(n)
	v.own = &Ended{Node: n.ID, Outcome: outcomeCompleted, Result: -1, Decision: d}
	for _, e := range n.out {
		if e.condition == nil {
			if e.to.Type == ConditionNode && e.to.looksAtDecision() {
				return true, nil
			}
			continue
		}
		if !e.condition.decision {
			continue
		}
		if yes, err := e.condition.test(ctx, v); yes || err != nil {
			return yes, inNode(n, err)
		}
	}
	return false, nil
}

// looksAtDecision says of a condition whether its expression or one of its edges' uses the
// variable decision.
func (n *node) looksAtDecision() bool {
	return n.expression != nil && n.expression.decision ||
		slices.ContainsFunc(n.out, func(e *edge) bool { return e.condition != nil && e.condition.decision })
}

// condition carries a condition out, which takes no time.
//
// An expression that fails ends the run: there is no result on which an edge could go on.
func (x *execution) condition(n *node, o *Open) {
	x.tell(n, o, stream.NodeStarted)
	out := &outcome{result: -1}
	if n.expression != nil {
		var err error
		if out.value, err = n.expression.eval(x.ctx, x.state.view(n)); err != nil {
			err = inNode(n, err)
			x.failed(n, o, fault.From(err).Type, 0)
			x.fail(err)
			return
		}
	}
	x.close(n, *o, out, 0)
}

// start opens an execution of a node that works.
//
// The event is flushed before the node works: a client sees what runs while the model still
// thinks.
func (x *execution) start(n *node, o *Open) *worker {
	k := newWorker(x, n, *o)
	x.working = append(x.working, k)
	x.tell(n, o, stream.NodeStarted)
	x.flush()
	return k
}

// spawn gives a node a goroutine of its own.
//
// The worker sees the run as it was when it began, so that it needs no lock. unwatch wakes
// it from a full queue if its context ends while it waits there.
func (x *execution) spawn(k *worker) {
	if x.queue == nil {
		x.queue = newQueue()
	}
	k.queue = x.queue
	k.unwatch = context.AfterFunc(k.ctx, x.queue.wake)
	x.running.Go(func() {
		out, err := k.work()
		x.queue.end(k, &ending{out, err})
	})
}

// receive takes what the nodes have handed over.
//
// It waits until there is something. After an error of the run texts and events are
// dropped, but ends are taken, for else loop would wait for ever. A sink that fails closes
// the queue, so that no worker waits for room that never comes.
func (x *execution) receive() {
	for _, it := range x.queue.take() {
		if it.over != nil {
			x.end(it.k, it.over.out, it.over.err)
		} else if x.err == nil {
			x.take(&it)
		}
	}
	x.flush()
	if x.sinkErr != nil { // nobody listens any more
		x.queue.close(x.sinkErr)
		x.stop(x.sinkErr)
	}
}

// take emits an event or a text of a node.
//
// A delta comes as a text and becomes an event here, since its sender uses its own event
// again.
func (x *execution) take(it *item) {
	switch {
	case it.ev != nil:
		x.emit(it.ev)
	case it.draft > 0 || !it.k.n.speaks:
		x.voice.inner(it.k, it.text)
	default:
		x.voice.text(it.k.n, it.text)
	}
}

// end takes the end of a node that worked.
//
// It runs on the goroutine of the run for every worker exactly once. Either the node waits
// with a question, or its outcome is taken into the run, or the run fails. What it took is
// counted in each case.
func (x *execution) end(k *worker, out *outcome, err error) {
	x.working = slices.DeleteFunc(x.working, func(other *worker) bool { return other == k })
	k.finish()
	k.endSpan(err)
	took := time.Since(k.began)
	x.runner.counts.ended(k.n.Type, took)
	x.state.Progress.Iterations = int(x.count.Load())
	x.figures(k)
	o := x.state.find(k.n.ID)
	if o == nil { // cannot happen
		return
	}
	if waits, ok := errors.AsType[*waiting](err); ok && x.err == nil {
		o.Asks, o.Entry = waits.question, waits.entry
		if o.Asks.Kind == chat.AskTools { // what was decided before was about other calls
			o.Calls = nil
		}
		if o.Entry != nil {
			o.Round = o.Entry.Round
		}
		x.state.Progress.Position = k.n.ID
		x.tell(k.n, o, stream.NodeWaiting)
		x.save(CheckpointAwaiting)
		x.flush()
		return
	}
	if err != nil {
		if out, err = x.forgive(k, err); err != nil {
			x.failed(k.n, o, fault.From(err).Type, took)
			x.fail(err)
			return
		}
	}
	if x.err != nil { // another node has ended the run
		x.failed(k.n, o, fault.From(x.err).Type, took)
		return
	}
	x.close(k.n, *o, out, took)
}

// forgive makes an outcome of a failure if an edge of the node goes on from there; else
// the failure is the run's.
//
// Never forgiven are faults of the run itself (fatal), our own bugs (internal_error) and
// our own lack of room (overloaded): an edge for failures is meant for upstreams and tools.
// A forgiven failure is told as an error event that does not end the stream, and becomes a
// message that later nodes read.
func (x *execution) forgive(k *worker, err error) (*outcome, error) {
	if cause := fault.Cause(x.ctx); cause != nil {
		return nil, cause
	}
	if k.fatal {
		return nil, err
	}
	f := fault.From(err)
	failed := &fault.Error{Type: fault.WorkflowNodeFailed, Message: "Node " + k.n.ID + " failed: " + f.Message,
		Service: f.Service, RetryAfter: f.RetryAfter, Err: err}
	if !k.n.forgiving || f.Type == fault.Internal || f.Type == fault.Overloaded {
		return nil, failed
	}
	ev := stream.NewError(failed, false)
	ev.NodeID = k.n.ID
	x.emit(ev)
	out := &outcome{rounds: k.round, failed: f, messages: k.messages}
	if n := len(out.messages); n == 0 || out.messages[n-1].Role != roleTool || k.n.Type != ToolNode {
		out.messages = append(out.messages, Message{Role: roleSystem, Content: f.ForModel(), Timestamp: now(), Node: k.n.ID})
	}
	out.result = len(out.messages) - 1
	return out, nil
}

// close takes the outcome of a node into the run, keeps that, and tells it.
//
// A failure to take it is the run's: an assignment, an edge, or a bound. The event comes
// after the save. Its output is left out for a node that speaks while the answer is held
// back, since that would show what the check may refuse.
func (x *execution) close(n *node, o Open, out *outcome, took time.Duration) {
	skipped, err := x.state.end(x.ctx, n, out)
	if err != nil {
		x.failed(n, &o, fault.From(err).Type, took)
		x.fail(err)
		return
	}
	if x.state.over() {
		x.state.Progress.Status = StatusCompleted
	}
	x.withhold(n)
	x.save(CheckpointCreated)
	ev := x.event(n, &o, stream.NodeCompleted)
	if out.failed != nil {
		ev.Status, ev.ErrorType = stream.NodeFailed, out.failed.Type
	}
	if n.Repeat != nil {
		ev.Iteration = out.rounds
	}
	millis := took.Milliseconds()
	ev.Millis = &millis
	if !x.held || !n.speaks {
		ev.Output = outputOf(out)
	}
	x.emit(ev)
	x.logNode(ev)
	for _, s := range skipped {
		x.emit(&stream.NodeRun{NodeID: s.ID, Type: string(s.Type), Status: stream.NodeSkipped, Attempt: 1})
	}
	x.voice.advance()
	x.flush()
}

// outputOf returns what a node's event tells of its result.
//
// It is the text, a condition's value, or the action of a person, whichever there is, cut
// to maxOutput bytes at the end of a character.
func outputOf(out *outcome) string {
	text := ""
	switch {
	case out.result >= 0:
		text = out.messages[out.result].Content
	case out.value != nil:
		text = textOf(out.value)
	case out.decision != nil:
		text = out.decision.Action
	}
	head, _ := chat.Truncate(text, maxOutput)
	return head
}

// failed tells that a node failed for good.
func (x *execution) failed(n *node, o *Open, why fault.Type, took time.Duration) {
	ev := x.event(n, o, stream.NodeFailed)
	millis := took.Milliseconds()
	ev.Millis, ev.ErrorType = &millis, why
	x.emit(ev)
	x.logNode(ev)
}

// event is a node's event without what only some of them have.
func (x *execution) event(n *node, o *Open, status stream.NodeStatus) *stream.NodeRun {
	return &stream.NodeRun{NodeID: n.ID, Type: string(n.Type), Status: status, Attempt: o.Attempt}
}

// tell emits such an event.
func (x *execution) tell(n *node, o *Open, status stream.NodeStatus) { x.emit(x.event(n, o, status)) }

// save keeps a checkpoint. Where that fails nothing begins any more.
//
// While the end of a node is withheld nothing is saved, so that no checkpoint has the text
// that was not sent. Without records only the number goes on, as questions carry it.
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
	case x.err != nil || x.sinkErr != nil:
		x.saveFailure()
	case len(p.Frontier) > 0: // it waits
	default:
		x.voice.rest()
		x.flush()
		if x.result.Reason == "" {
			x.result.Reason = stream.Stop
		}
		if len(x.withheld) > 0 {
			x.result.Settle = x.settle
		}
	}
}

// saveFailure keeps that a run has failed, unless another process will go on with it.
//
// Its context does not end with the request's, which is often why the run has failed. If
// the write fails too the run stays as its last checkpoint has it; another process takes it
// over and tries again.
func (x *execution) saveFailure() {
	if x.records == nil || x.lost || Left(x.err) {
		return
	}
	x.replace("")
	err := x.err
	if err == nil { // nobody listens any more
		err = x.sinkErr
	}
	f := fault.From(err)
	x.state.Progress.Status, x.state.Progress.Failure = StatusFailed, &Failure{f.Type, f.Message}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), lastSave)
	defer cancel()
	if err := x.records.Save(ctx, x.state.checkpoint(x.kept, CheckpointCreated, x.before+time.Since(x.began))); err != nil {
		zerolog.Ctx(x.ctx).Warn().AnErr("cause", err).Msg("checkpoint_lost")
	}
}

// Left says of the error of a run that another process, or this one later, goes on with
// it.
func Left(err error) bool {
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

// pause ends the stream with the questions that wait. It returns false if nobody can be
// asked: then the calls that wait are refused, and the run goes on.
//
// It runs when all workers have ended and the frontier has only nodes that wait. It returns
// true if the stream is to end, with a question or an error. The record is written before
// the question goes out, for an answer may come to another process at once. Where the
// answer is held back the record has its words only once it is sure that they are sent: if
// nobody can be asked it is held back further.
func (x *execution) pause() bool {
	x.voice.rest()
	x.flush()
	hidden := x.held && x.records != nil
	if !hidden {
		x.disclose()
	}
	p, err := x.paused()
	if err == nil && !hidden {
		err = x.wait()
	}
	if err == nil {
		if refusal := stream.Pause(x.ctx, p); refusal != "" {
			x.refuse(refusal)
			return false
		}
		if hidden {
			x.disclose()
			err = x.wait()
		}
	}
	if err != nil {
		x.fail(err)
		return true
	}
	x.result.Reason, x.result.Paused = stream.ApprovalRequired, p
	return true
}

// paused returns what the run ends its stream with.
func (x *execution) paused() (*chat.Paused, error) {
	x.state.Progress.Status = StatusWaiting
	x.voice.keep()
	x.state.Progress.Elapsed = x.before + time.Since(x.began)
	var of any = x.state
	if x.records != nil && x.runner.cfg.Load != nil {
		of = handle{Header: x.state.Header.short(), Kept: true}
	}
	state, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	p := &chat.Paused{By: chat.PausedWorkflow, State: state, Usage: x.state.Progress.Usage}
	for _, o := range x.state.Progress.Frontier {
		n := x.w.byID[o.Node]
		p.Questions = append(p.Questions, chat.Question{Kind: o.Asks.Kind, Prompt: o.Asks.Prompt, Calls: o.Asks.Calls,
			Node: o.Node, Schema: o.Asks.Schema, Expires: o.Asks.Expires, Approvers: n.Approvers})
	}
	return p, nil
}

// wait keeps that the run waits.
func (x *execution) wait() error {
	if x.err != nil || x.records == nil { // a checkpoint before may have failed
		return x.err
	}
	x.state.Progress.Status = StatusWaiting
	err := x.records.Wait(x.ctx, &x.state.Progress)
	x.lost = Left(err)
	return err
}

// short returns what a handle has of a Header.
func (h Header) short() Header {
	h.Asked = Asked{}
	return h
}

// refuse answers questions that nobody can be asked.
//
// Calls are refused and the agent hears why. A node that asks itself, and a call of unknown
// outcome, cannot go on without an answer: the run fails.
func (x *execution) refuse(why string) {
	x.state.Progress.Status = StatusRunning
	for i := range x.state.Progress.Frontier {
		o := &x.state.Progress.Frontier[i]
		if len(o.Asks.Calls) == 0 {
			x.fail(&fault.Error{Type: fault.ApprovalRejected, Message: "Nobody can be asked: " + why})
			return
		}
		if o.Asks.Kind == chat.AskOutcome {
			x.fail(&fault.Error{Type: fault.ApprovalRejected, Message: "Nobody can be asked: " + why})
			return
		}
		for _, c := range o.Asks.Calls {
			o.Calls = append(o.Calls, chat.Decision{CallID: c.ID, Action: chat.Refuse, Message: why})
		}
	}
}

// figures adds what a node took to what the run took.
//
// The reason is that of a node that speaks, and the first that is not a plain stop stays,
// also if a later node ended with one.
func (x *execution) figures(k *worker) {
	x.result.Model = append(x.result.Model, k.took.Model...)
	x.result.Tools = append(x.result.Tools, k.took.Tools...)
	x.result.Keyed = x.result.Keyed || k.took.Keyed
	x.state.Progress.Usage.Add(k.took.Usage)
	for _, key := range k.took.Models {
		if !slices.Contains(x.result.Models, key) {
			x.result.Models = append(x.result.Models, key)
		}
	}
	if k.n.speaks && k.took.Reason.Success() && (x.result.Reason == "" || x.result.Reason == stream.Stop) {
		x.result.Reason = k.took.Reason
	}
}

// emit hands an event to the sink. After the sink's first error it does nothing, so callers
// need not look each time; receive and over do.
func (x *execution) emit(ev stream.Event) {
	if x.sinkErr == nil {
		x.sinkErr = x.sink.Emit(ev)
	}
}

// flush does the same for Flush.
func (x *execution) flush() {
	if x.sinkErr == nil {
		x.sinkErr = x.sink.Flush()
	}
}

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

// voice tells the texts of the nodes that speak, one after the other in the graph's
// order, the first of those that have not ended as it comes.
//
// The answer of a run is the texts of its speaking nodes in one order that does not depend
// on which branch is faster. A node whose turn has not come is kept in memory, which
// maxState bounds for each node. It belongs to the goroutine of the run.
type voice struct {
	x       *execution
	nodes   []*node // that speak, in the graph's order
	speaker int     // the first that has not ended
	pending map[*node][]string
	spoke   map[*node]bool
	said    answer
	delta   stream.Delta      // reused for each event
	draft   stream.InnerDelta // reused for each event
}

// Of a run that goes on, what was out is known by its length and its end (Progress), and
// texts of nodes that had ended without being told wait to be told first.
func (v *voice) init(x *execution) {
	v.x, v.pending, v.spoke = x, map[*node][]string{}, map[*node]bool{}
	p := &x.state.Progress
	v.said = answer{length: p.Long, block: p.Block, tail: []byte(p.Tail)}
	for _, n := range x.w.nodes {
		if !n.speaks {
			continue
		}
		v.nodes = append(v.nodes, n)
		if e := x.state.ended(n); e != nil && e.Result >= 0 && !slices.Contains(p.Told, n.ID) {
			for _, m := range x.state.Messages {
				if m.Node == n.ID && (m.Role == roleAssistant || n.Type == ToolNode && m.Role == roleTool) {
					v.pending[n] = append(v.pending[n], m.Content)
				}
			}
		}
	}
	v.advance()
}

// keep notes in the run what is out.
func (v *voice) keep() {
	p := &v.x.state.Progress
	if v.x.held { // nothing is out
		p.Long, p.Block, p.Tail = 0, false, ""
		return
	}
	p.Long, p.Block, p.Tail = v.said.length, v.said.block, string(v.said.tail)
}

// text tells a piece of a node's text, or keeps it until those before have ended.
func (v *voice) text(n *node, text string) {
	if text == "" {
		return
	}
	if v.speaker >= len(v.nodes) || v.nodes[v.speaker] != n {
		v.pending[n] = append(v.pending[n], text)
		return
	}
	v.say(n, text)
}

// say emits a text. Before the first one of a node comes what joins it to the text so far;
// that belongs to no node.
func (v *voice) say(n *node, text string) {
	if !v.spoke[n] {
		v.spoke[n] = true
		v.x.state.Progress.Told = append(v.x.state.Progress.Told, n.ID)
		if joint := v.said.joint(text, true); joint != "" {
			v.said.add(joint)
			v.x.emit(&stream.Delta{Text: joint})
		}
	}
	v.said.add(text)
	v.delta.NodeID, v.delta.AgentID, v.delta.Text = n.ID, n.Agent, text
	v.x.emit(&v.delta)
}

// inner tells a piece of a text that is not the answer. Attempt stays 0, for it is of answers
// that are held back; which round a draft is of its node has told. Of a round that may become
// an answer which is held back nothing is kept.
func (v *voice) inner(k *worker, text string) {
	if text == "" {
		return
	}
	v.draft.NodeID, v.draft.AgentID, v.draft.Delta, v.draft.Unkept = k.n.ID, k.n.Agent, text, v.x.hides(k.n)
	v.x.emit(&v.draft)
}

// advance moves on to the first node that has not ended, and tells what was kept.
//
// It is called after each end of a node. A node that was skipped has ended too and says
// nothing.
func (v *voice) advance() {
	for v.speaker < len(v.nodes) {
		n := v.nodes[v.speaker]
		v.release(n)
		if v.x.state.ended(n) == nil {
			return
		}
		v.speaker++
	}
}

// release tells what was kept of one node.
func (v *voice) release(n *node) {
	kept := v.pending[n]
	delete(v.pending, n)
	for _, text := range kept {
		v.say(n, text)
	}
}

// rest tells what was kept of nodes that have ended: those before them wait.
func (v *voice) rest() {
	for _, n := range v.nodes {
		if v.x.state.ended(n) != nil {
			v.release(n)
		}
	}
}
