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
}

func newExecution(ctx context.Context, r *Runner, run *Run, sink stream.Sink) *execution {
	x := &execution{runner: r, w: r.cfg.Workflow, state: run, sink: sink, began: time.Now(), before: run.Progress.Elapsed}
	x.ctx, x.stop = context.WithCancelCause(ctx)
	x.count.Store(int64(run.Progress.Iterations))
	x.voice.init(x)
	if run.Progress.Sequence > 0 {
		x.kept = counts{len(run.Ended), len(run.Messages)}
	}
	return x
}

func (x *execution) run() (stream.Result, error) {
	defer x.stop(nil)
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
	x.loop()
	x.finish()
	x.runner.counts.runs.Inc(x.w.def.Name, x.state.Progress.Status)
	x.log("workflow_completed", x.err)
	if x.sinkErr != nil {
		return x.result, x.sinkErr
	}
	return x.result, x.err
}

// loop works until nothing can be done any more.
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
func (x *execution) over() bool {
	if x.err == nil && x.sinkErr == nil {
		if cause := fault.Cause(x.ctx); cause != nil {
			x.fail(cause)
		}
	}
	return x.err != nil || x.sinkErr != nil
}

// fail ends the run: what works is cancelled.
func (x *execution) fail(err error) {
	if x.err == nil {
		x.err = err
		x.stop(err)
	}
}

// launch begins what can begin. A node that is alone works here, without a goroutine of
// its own.
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

func (x *execution) works(node string) bool {
	return slices.ContainsFunc(x.working, func(k *worker) bool { return k.n.ID == node })
}

// admit counts an execution.
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
func (x *execution) asks(n *node, o *Open) bool {
	return o.Decision == nil && o.Asks == nil && (n.Type == HumanNode || n.checkpoint)
}

// ask leaves a node waiting for a person.
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

func (n *node) looksAtDecision() bool {
	return n.expression != nil && n.expression.decision ||
		slices.ContainsFunc(n.out, func(e *edge) bool { return e.condition != nil && e.condition.decision })
}

// condition carries a condition out, which takes no time.
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
func (x *execution) start(n *node, o *Open) *worker {
	k := newWorker(x, n, *o)
	x.working = append(x.working, k)
	x.tell(n, o, stream.NodeStarted)
	x.flush()
	return k
}

// spawn gives a node a goroutine of its own.
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
func (x *execution) end(k *worker, out *outcome, err error) {
	x.working = slices.DeleteFunc(x.working, func(other *worker) bool { return other == k })
	k.finish()
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
	x.save(CheckpointCreated)
	ev := x.event(n, &o, stream.NodeCompleted)
	if out.failed != nil {
		ev.Status, ev.ErrorType = stream.NodeFailed, out.failed.Type
	}
	if n.Repeat != nil {
		ev.Iteration = out.rounds
	}
	millis := took.Milliseconds()
	ev.Millis, ev.Output = &millis, outputOf(out)
	x.emit(ev)
	x.logNode(ev)
	for _, s := range skipped {
		x.emit(&stream.NodeRun{NodeID: s.ID, Type: string(s.Type), Status: stream.NodeSkipped, Attempt: 1})
	}
	x.voice.advance()
	x.flush()
}

// outputOf returns what a node's event tells of its result.
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

func (x *execution) event(n *node, o *Open, status stream.NodeStatus) *stream.NodeRun {
	return &stream.NodeRun{NodeID: n.ID, Type: string(n.Type), Status: status, Attempt: o.Attempt}
}

func (x *execution) tell(n *node, o *Open, status stream.NodeStatus) { x.emit(x.event(n, o, status)) }

// save keeps a checkpoint. Where that fails nothing begins any more.
func (x *execution) save(status string) {
	if x.err != nil {
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
	}
}

// saveFailure keeps that a run has failed, unless another process will go on with it.
func (x *execution) saveFailure() {
	if x.records == nil || x.lost || Left(x.err) {
		return
	}
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
func (x *execution) pause() bool {
	x.voice.rest()
	x.flush()
	x.state.Progress.Status = StatusWaiting
	x.voice.keep()
	x.state.Progress.Elapsed = x.before + time.Since(x.began)
	var of any = x.state
	if x.records != nil && x.runner.cfg.Load != nil {
		of = handle{Header: x.state.Header.short(), Kept: true}
	}
	state, err := json.Marshal(of)
	if err == nil && x.records != nil {
		err = x.records.Wait(x.ctx, &x.state.Progress)
		x.lost = err != nil
	}
	if err != nil {
		x.fail(err)
		return true
	}
	p := &chat.Paused{By: chat.PausedWorkflow, State: state, Usage: x.state.Progress.Usage}
	for _, o := range x.state.Progress.Frontier {
		n := x.w.byID[o.Node]
		p.Questions = append(p.Questions, chat.Question{Kind: o.Asks.Kind, Prompt: o.Asks.Prompt, Calls: o.Asks.Calls,
			Node: o.Node, Schema: o.Asks.Schema, Expires: o.Asks.Expires, Approvers: n.Approvers})
	}
	if refusal := stream.Pause(x.ctx, p); refusal != "" {
		x.refuse(refusal)
		return false
	}
	x.result.Reason, x.result.Paused = stream.ApprovalRequired, p
	return true
}

// short returns what a handle has of a Header.
func (h Header) short() Header {
	h.Asked = Asked{}
	return h
}

// refuse answers questions that nobody can be asked.
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

func (x *execution) emit(ev stream.Event) {
	if x.sinkErr == nil {
		x.sinkErr = x.sink.Emit(ev)
	}
}

func (x *execution) flush() {
	if x.sinkErr == nil {
		x.sinkErr = x.sink.Flush()
	}
}

func (x *execution) log(what string, err error) {
	details := zerolog.Dict().Str("workflow", x.w.def.Name).Str("status", x.state.Progress.Status)
	if err != nil {
		details.Str("error_type", string(fault.From(err).Type))
	}
	zerolog.Ctx(x.ctx).Info().Dict("details", details).Msg(what)
}

func (x *execution) logNode(ev *stream.NodeRun) {
	zerolog.Ctx(x.ctx).Info().Int64("duration_ms", *ev.Millis).Dict("details", zerolog.Dict().
		Str("node_id", ev.NodeID).Str("type", ev.Type).Str("status", string(ev.Status)).Int("attempt", ev.Attempt)).Msg("node_completed")
}

func now() time.Time { return time.Now().UTC() }

// voice tells the texts of the nodes that speak, one after the other in the graph's
// order, the first of those that have not ended as it comes.
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
// that are held back; which round a draft is of its node has told.
func (v *voice) inner(k *worker, text string) {
	if text == "" {
		return
	}
	v.draft.NodeID, v.draft.AgentID, v.draft.Delta = k.n.ID, k.n.Agent, text
	v.x.emit(&v.draft)
}

// advance moves on to the first node that has not ended, and tells what was kept.
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
