// This file has one execution of one node that works: its rounds, and the stream of events that
// comes out of its agent. It is the branch of the agent. It never touches the Run: it reads a
// snapshot (seen), and hands its items through postItem to the goroutine of the run.

package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// worker is one execution of a node that takes time. All of it belongs to the goroutine that works,
// except the fields that only the run's goroutine uses.
//
// With queue nil it is on the goroutine of the run, because no other node works; then postItem
// emits directly.
type worker struct {
	run.Branch
	x       *execution
	n       *graph.Vertex
	open    Open
	ctx     context.Context
	cancel  context.CancelFunc
	unwatch func() bool // nil: the worker is on the goroutine of the run
	began   time.Time
	queue   *run.Queue[*worker] // nil: the worker is on the goroutine of the run
	seen    *Run                // as it was when the execution began

	progress
	base       *Entry              // where the session was stored last; nil: nowhere
	fatal      bool                // the error is the run's, not the node's
	perform    func(*worker) error // makes one round
	repeatable bool                // a round that failed may be made again
	span       trace.Span
	result     stream.Result
	recorder   recorder
}

// progress is the state of a worker's rounds.
type progress struct {
	round    int
	draft    int          // number of the draft at hand; 0: the text is emitted as the answer
	text     []string     // that is in no message yet
	messages []Message    // of the round
	feedback string       // of the critic, on last
	last     string       // the text of the round before
	calls    stream.Calls // since the last step was complete
	critic   any          // of the round
}

// waiting is the error of a node whose calls wait for a person.
//
// It is not a failure: the node stays in the frontier with the question, and entry says where
// to continue; nil: at the beginning of the node.
type waiting struct {
	question *Question
	entry    *Entry
}

func (*waiting) Error() string { return "calls wait for a person" }

// rejection is the error of a node whose call a person has not allowed. It is not a failure of
// the node: the run continues where an edge accepts the decision, or ends.
type rejection struct{ decision *Decision }

func (*rejection) Error() string { return "a person has not allowed the call" }

// newWorker returns a worker for a node. The run's lists are shared and only ever grow, so the
// worker may read the part that it was given. The index at changes in place and is copied. The
// caller calls releaseWorker when the worker has ended.
func newWorker(x *execution, n *graph.Vertex, o Open) *worker {
	state := x.state
	k := &worker{x: x, n: n, open: o, began: time.Now(), progress: progress{round: o.Round},
		seen: &Run{Header: state.Header, Ended: state.Ended, Messages: state.Messages, w: state.w, at: slices.Clone(state.at)}}
	k.Branch = run.Branch{
		Owner: k, Attribution: stream.Attribution{NodeID: n.ID, AgentID: n.Agent}, Max: graph.MaxText, Long: limitFault("A text of the workflow is longer than 1 MiB"),
	}
	var ctx context.Context
	ctx, k.span = nodeSpan(x.ctx, n, &o)
	if n.Timeout > 0 {
		k.ctx, k.cancel = context.WithTimeoutCause(ctx, n.Timeout, &fault.Error{
			Type: fault.Timeout, Message: "It took too long and was stopped",
		})
	} else {
		k.ctx, k.cancel = context.WithCancel(ctx)
	}
	k.recorder.worker, k.recorder.callCounts = k, map[string]int{}
	return k
}

// releaseWorker ends the worker's context, on the goroutine of the run.
func (k *worker) releaseWorker() {
	if k.unwatch != nil {
		k.unwatch()
	}
	k.cancel()
}

// runRounds runs the node until it need not be repeated. A panic is its failure alone.
//
// Each round counts as an execution for max_iterations.
func (k *worker) runRounds() (out *outcome, err error) {
	defer func() { err = k.endCause(err) }()
	defer run.Recover(&err)
	if e := k.open.Entry; e != nil {
		k.round, k.last, k.feedback = e.Round, e.Draft, e.Feedback
	}
	for {
		again, err := k.runRound()
		if err != nil {
			return nil, err
		}
		if !again {
			return k.lastOutcome(), nil
		}
		k.round++
		if k.x.count.Add(1) > int64(k.x.w.Definition().MaxIterations) {
			return nil, k.fatalError(tooMany())
		}
	}
}

// endCause returns why the node ended with err. A context that has ended explains every other
// error, so its cause is returned in place of them; but a question to a person outlives the
// node's time.
func (k *worker) endCause(err error) error {
	cause := fault.Cause(k.ctx)
	if err == nil || cause == nil {
		return err
	}
	if _, asks := errors.AsType[*waiting](err); asks && k.x.ctx.Err() == nil {
		return err
	}
	return cause
}

// fatalError marks an error as the run's own.
//
// No edge can continue from such an error (see forgiveFailure).
func (k *worker) fatalError(err error) error {
	k.fatal = true
	return err
}

// lastOutcome returns the outcome of the last round.
func (k *worker) lastOutcome() *outcome {
	out := k.open.Decision.outcomeAt(k.n)
	out.messages = append(out.messages, k.messages...)
	out.result, out.rounds, out.critic = len(out.messages)-1, k.round, k.critic
	return out
}

// runRound makes one round and reports whether another follows.
//
// A round that may not be the last is a draft. Its text is emitted as inner, and again as the
// answer if it turns out to be good. The last round that Max allows is said as it comes, whatever
// the critic says. A round that failed is followed by another one where that does no harm; the
// failure of the last one is the node's.
func (k *worker) runRound() (again bool, err error) {
	r := k.n.Repeat
	live := k.isLast()
	k.text, k.Size, k.Stopped, k.messages, k.critic, k.draft = nil, 0, nil, nil, nil, 0
	if r != nil && (!live || !k.n.Speaks) {
		k.draft = k.round
	}
	err = k.perform(k)
	k.fatal = k.fatal || k.Stopped != nil
	if err != nil && k.mayRepeat(err) {
		return true, nil
	}
	if err != nil || r == nil {
		return false, err
	}
	text := k.roundText()
	done, err := k.isGoodEnough(text)
	if err != nil {
		return false, err
	}
	if !done && !live {
		k.last = text
		return true, nil
	}
	if k.draft > 0 && k.n.Speaks {
		k.draft = 0
		return false, k.postItem(nil, text)
	}
	return false, nil
}

// isGoodEnough reports whether a draft is good enough: the critic judges it, and the condition of
// the node decides.
func (k *worker) isGoodEnough(draft string) (bool, error) {
	k.feedback = ""
	if k.n.Repeat.Critic != "" {
		if err := k.judgeDraft(draft); err != nil {
			return false, err
		}
	}
	done, err := k.n.Enough(k.ctx, k.roundView())
	if err != nil {
		return false, k.fatalError(err)
	}
	return done, nil
}

// isLast reports whether no round can follow: the text of this one is emitted, whatever the critic
// says.
func (k *worker) isLast() bool { return k.n.Repeat == nil || k.round >= k.n.Repeat.Max }

// mayRepeat reports whether another round may follow a failed one. The failed round must not have
// acted, and its failure must not be the run's, nor a person's answer or question.
func (k *worker) mayRepeat(err error) bool {
	_, asks := errors.AsType[*waiting](err)
	_, refused := errors.AsType[*rejection](err)
	if k.isLast() || asks || refused || k.fatal || k.ctx.Err() != nil || !k.repeatable || k.hasActed() {
		return false
	}
	return isForgivable(fault.From(err))
}

// isForgivable reports whether a failure is of upstreams and tools, and not our own bug, our lack
// of room, or a person's decision.
func isForgivable(f *fault.Error) bool {
	return f.Type != fault.Internal && f.Type != fault.Overloaded && f.Type != fault.ApprovalRejected
}

// roundView returns the view of the node's expressions after the round.
func (k *worker) roundView() *view {
	v := k.seen.viewOf(k.n)
	out := k.lastOutcome()
	own := out.endRecord(k.n, len(k.seen.Messages))
	own.Wrote = k.open.Decision.writtenFields()
	v.ownEnd, v.added, v.round = &own, out.messages, k.round
	return v
}

// viewBefore returns the view of the node's expressions before the round.
func (k *worker) viewBefore() *view {
	v := k.seen.decidedView(k.n, k.open.Decision)
	v.round = k.round
	return v
}

// postItem hands an event or a text over.
//
// It waits while the queue is full. The error is that of a failed sink. An empty text is dropped. A
// text is the answer's unless it is a draft or the node does not speak.
func (k *worker) postItem(ev stream.Event, text string) error {
	if ev == nil && text == "" {
		return nil
	}
	it := run.Item[*worker]{Of: k, Event: ev, Text: text, Inner: k.draft > 0 || !k.n.Speaks}
	if k.queue != nil {
		return k.queue.Put(k.ctx, it)
	}
	k.x.passItem(&it)
	return k.x.out.Err
}

// Pass implements run.Owner.
//
// Start, Done and events of nodes are the run's own: an agent that emits one breaks the
// grammar.
func (k *worker) Pass(ev stream.Event, inner bool) error {
	switch ev.(type) {
	case *stream.InnerDelta:
		if !inner {
			return fmt.Errorf("%w: %T of an agent in a workflow", stream.ErrGrammar, ev)
		}
	case *stream.NodeRun, *stream.Start, *stream.Done:
		return fmt.Errorf("%w: %T of an agent in a workflow", stream.ErrGrammar, ev)
	}
	if r, ok := ev.(*stream.Reset); ok {
		k.text = run.Cut(k.text, r.Back)
	}
	if !inner {
		k.calls.Add(ev)
	}
	return k.postItem(ev, "")
}

// Flush implements stream.Sink. Queued events are emitted as soon as the client reads.
func (k *worker) Flush() error {
	if k.queue == nil {
		return k.x.out.Flush()
	}
	return nil
}

// EmitText implements run.Owner. A text after calls begins a new step.
func (k *worker) EmitText(piece *stream.Delta) error {
	k.sealStep()
	k.text = append(k.text, piece.Text)
	return k.postItem(nil, piece.Text)
}

// CallID implements run.Owner. It is made of the node and the agent's own id, so that it does not
// depend on nodes that run at the same time.
func (k *worker) CallID(own string, _ bool) string { return run.CallID(k.callPrefix(), own, "") }

// callPrefix is n3-, n3r2- or n3r2a2-: the node's order, its round and its attempt, each
// left out while it is 1.
func (k *worker) callPrefix() string {
	p := "n" + strconv.Itoa(k.n.Order)
	if k.round > 1 {
		p += "r" + strconv.Itoa(k.round)
	}
	if k.open.Attempt > 1 {
		p += "a" + strconv.Itoa(k.open.Attempt)
	}
	return p + "-"
}

// sealStep makes messages of a step that asked for calls: one of the assistant, then the
// results in the order of the calls.
func (k *worker) sealStep() {
	if len(k.calls) == 0 {
		return
	}
	k.addMessage(Message{Role: RoleAssistant, Content: k.drainUnsealed(), ToolCalls: ToolCalls(k.calls)})
	for _, c := range k.calls {
		k.addMessage(Message{Role: RoleTool, Content: c.Result})
	}
	k.calls = nil
}

// ToolCalls returns the calls of a step as messages have them.
func ToolCalls(calls stream.Calls) (list []ToolCall) {
	for _, c := range calls {
		list = append(list, ToolCall{c.ID, c.Server, c.Tool, c.Arguments})
	}
	return list
}

// drainUnsealed returns the text that is in no message yet, and takes it.
func (k *worker) drainUnsealed() string {
	text := strings.Join(k.text, "")
	k.text = nil
	return text
}

// roundText returns the whole text of the round.
//
// The result of a tool is the last message. There is one by then.
func (k *worker) roundText() string {
	if k.n.Kind.Results() {
		return k.messages[len(k.messages)-1].Content
	}
	var b strings.Builder
	for _, m := range k.messages {
		if m.Role == RoleAssistant {
			b.WriteString(m.Content)
		}
	}
	return b.String()
}

// addMessage adds a message of the node to those of the round.
func (k *worker) addMessage(m Message) {
	m.Timestamp, m.Node = nowUTC(), k.n.ID
	k.messages = append(k.messages, m)
}

// asksOutcome returns the question that a person must answer before the node continues, or the
// error of the run's records; nil without either. No model need learn of that error.
//
// It is asked after each step and call. The error is a *waiting, or one that ends the run.
func (k *worker) asksOutcome() error {
	r := &k.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		return k.fatalError(r.lost)
	}
	if len(r.unsure) == 0 {
		return nil
	}
	if k.base == nil {
		k.base = &Entry{Node: k.n.ID, Attempt: k.open.Attempt, Round: k.round, Draft: k.last, Feedback: k.feedback}
	}
	return &waiting{&Question{Kind: chat.AskOutcome, Prompt: chat.OutcomePrompt,
		Calls: r.unsure}, k.base}
}

// callCounts returns how often each call was made in the round.
func (k *worker) callCounts() map[string]int {
	r := &k.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.callCounts)
}

// restoreCounts continues the counts of the previous process.
//
// Without that the second of two equal calls would get the key of the first, and its
// result.
func (k *worker) restoreCounts(made map[string]int) {
	if r := &k.recorder; made != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.callCounts = maps.Clone(made)
	}
}

// outcomeOf returns a person's answer about a call, or nil.
func (k *worker) outcomeOf(key string) *Outcome {
	for i := range k.open.Outcomes {
		if k.open.Outcomes[i].Key == key {
			return &k.open.Outcomes[i]
		}
	}
	return nil
}

// hasActed reports whether a call of the node's round took effect, or may have.
func (k *worker) hasActed() bool {
	r := &k.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acted
}
