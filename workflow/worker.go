// This file has one execution of one node that works: its rounds, and the stream of events
// that comes out of its agent. It is a stream.Sink for the agent. It never touches the Run:
// what it knows of it is a snapshot (seen), and what it has to say goes through post to the
// goroutine of the run.

package workflow

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
	"sluice/trace"
)

// worker is one execution of a node of type agent or tool. All of it belongs to the
// goroutine that works, but for what only the run's own uses.
//
// With queue nil it is on the goroutine of the run, because no other node works; then post
// emits directly.
type worker struct {
	x       *execution
	n       *node
	open    Open
	ctx     context.Context
	cancel  context.CancelFunc
	unwatch func() bool // nil: the worker is on the goroutine of the run
	began   time.Time
	queue   *queue // nil: the worker is on the goroutine of the run
	seen    *Run   // as it was when the execution began

	round    int
	draft    int        // of the text that comes; 0: it is said
	text     []string   // that is in no message yet
	size     int        // bytes of it
	messages []Message  // of the round
	feedback string     // of the critic, on last
	last     string     // the text of the round before
	calls    []ToolCall // of the step at hand
	results  []string   // of the calls
	critic   any        // of the round
	base     *Entry     // where the session was kept last; nil: nowhere
	fatal    bool       // the error is the run's, not the node's
	span     trace.Span
	took     stream.Result
}

// waiting is the error of a node whose calls wait for a person.
//
// It is no failure: the node stays in the frontier with the question, and entry says where
// to go on; nil: at the beginning of the node.
type waiting struct {
	question *Question
	entry    *Entry
}

func (*waiting) Error() string { return "calls wait for a person" }

// The run's lists are shared and only ever grow, so the worker may read the part that it
// was given. The index at changes in place and is copied. The caller calls finish when the
// worker has ended.
func newWorker(x *execution, n *node, o Open) *worker {
	run := x.state
	k := &worker{x: x, n: n, open: o, began: time.Now(), round: o.Round,
		seen: &Run{Header: run.Header, Ended: run.Ended, Messages: run.Messages, w: run.w, at: slices.Clone(run.at)}}
	var ctx context.Context
	ctx, k.span = nodeSpan(x.ctx, n, &o)
	k.ctx, k.cancel = context.WithCancel(ctx)
	if n.Timeout > 0 {
		k.ctx, k.cancel = context.WithTimeoutCause(ctx, n.Timeout, &fault.Error{
			Type: fault.Timeout, Message: "It took too long and was stopped",
		})
	}
	k.ctx = withRecorder(k.ctx, k)
	return k
}

// finish lets go of the worker, on the goroutine of the run.
func (k *worker) finish() {
	if k.unwatch != nil {
		k.unwatch()
	}
	k.cancel()
}

// work runs the node until it need not be repeated. A panic is its failure alone.
//
// A context that has ended explains every other error, so its cause replaces them. Each
// round counts as an execution for max_iterations.
func (k *worker) work() (out *outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = stream.NewPanic(p)
		}
		if cause := fault.Cause(k.ctx); cause != nil && err != nil {
			err = cause
		}
	}()
	if e := k.open.Entry; e != nil {
		k.round, k.last, k.feedback = e.Round, e.Draft, e.Feedback
	}
	for {
		again, err := k.once()
		if err != nil {
			return nil, err
		}
		if !again {
			return k.outcome(), nil
		}
		k.round++
		if k.x.count.Add(1) > int64(k.x.w.def.MaxIterations) {
			return nil, k.end(tooMany())
		}
	}
}

// end marks an error as the run's own.
//
// No edge can go on from such an error (see forgive).
func (k *worker) end(err error) error {
	k.fatal = true
	return err
}

// outcome returns what the last round came to.
func (k *worker) outcome() *outcome {
	return &outcome{messages: k.messages, result: len(k.messages) - 1, rounds: k.round, critic: k.critic}
}

// once makes one round and says whether there is another.
//
// A round that may not be the last is a draft: its text is shown as inner and not as the
// answer, and is said afterwards if it turns out to be good. The last round that Max allows
// is said as it comes, whatever the critic says.
func (k *worker) once() (again bool, err error) {
	r := k.n.Repeat
	k.critic, k.draft = nil, 0
	k.text, k.size, k.messages = nil, 0, nil
	live := r == nil || k.round >= r.Max // what comes is said whatever is found
	if r != nil && (!live || !k.n.speaks) {
		k.draft = k.round
	}
	if k.n.Type == ToolNode {
		err = k.tool()
	} else {
		err = k.agent()
	}
	if err != nil || r == nil {
		return false, err
	}
	text := k.whole()
	k.feedback = ""
	if r.Critic != "" {
		if err := k.judge(text); err != nil {
			return false, err
		}
	}
	done, err := k.n.until.test(k.ctx, k.view())
	if err != nil {
		return false, k.end(inNode(k.n, err))
	}
	if !done && !live {
		k.last = text
		return true, nil
	}
	if k.draft > 0 && k.n.speaks {
		k.draft = 0
		return false, k.post(item{text: text})
	}
	return false, nil
}

// view returns what an expression of the node sees, with what the round came to.
func (k *worker) view() *view {
	v := k.seen.view(k.n)
	out := k.outcome()
	own := out.record(k.n, len(k.seen.Messages))
	v.own, v.added, v.round = &own, out.messages, k.round
	return v
}

// before returns what an expression sees before the round.
func (k *worker) before() *view {
	v := k.seen.view(k.n)
	v.round = k.round
	return v
}

// post hands an event or a text over.
//
// It waits while the queue is full. The error is that of a sink which takes nothing any
// more. An empty text is dropped.
func (k *worker) post(it item) error {
	it.k = k
	if it.ev == nil {
		if it.text == "" {
			return nil
		}
		it.draft = k.draft
	}
	if k.queue != nil {
		return k.queue.put(it)
	}
	k.x.take(&it)
	return k.x.sinkErr
}

// attribution says whose an event is.
func (k *worker) attribution() stream.Attribution {
	return stream.Attribution{NodeID: k.n.ID, AgentID: k.n.Agent}
}

// Emit implements stream.Sink for the node's agent.
//
// Start, Done and events of nodes are the run's own: an agent that emits one breaks the
// grammar. A delta becomes a text of the node, and ids of calls become unique in the run.
func (k *worker) Emit(ev stream.Event) error {
	switch e := ev.(type) {
	case *stream.Delta:
		return k.say(e.Text)
	case *stream.InnerDelta:
		if !stream.Inner(ev) {
			return fmt.Errorf("%w: %T of an agent in a workflow", stream.ErrGrammar, ev)
		}
	case *stream.NodeRun, *stream.Start, *stream.Done:
		return fmt.Errorf("%w: %T of an agent in a workflow", stream.ErrGrammar, ev)
	}
	ev = stream.Attributed(ev, k.attribution())
	if id := stream.CallIDOf(ev); id != nil {
		*id = k.callID(*id)
		if !stream.Inner(ev) {
			k.note(ev)
		}
	}
	return k.post(item{ev: ev})
}

// Flush implements stream.Sink. What is queued is emitted as soon as the client takes it.
func (k *worker) Flush() error {
	if k.queue == nil {
		k.x.flush()
		return k.x.sinkErr
	}
	return nil
}

// say takes a piece of the agent's text.
//
// The bound is on the whole text of a round, in bytes; beyond it the run ends. A text after
// calls begins a new step.
func (k *worker) say(text string) error {
	if k.size += len(text); k.size > maxState {
		return k.end(limit("A text of the workflow is longer than 1 MiB"))
	}
	k.seal()
	k.text = append(k.text, text)
	return k.post(item{text: text})
}

// callID returns the id that the events of a call carry. It is made of the node and the
// agent's own, so that it does not depend on what runs beside it.
//
// An id that is too long is cut; agents number their calls, so the begin is what differs.
func (k *worker) callID(own string) string {
	return k.callPrefix() + own[:min(len(own), maxCallID-len(k.callPrefix()))]
}

// callPrefix is n3-, n3r2- or n3r2a2-: the node's order, its round and its attempt, each
// left out while it is 1.
func (k *worker) callPrefix() string {
	p := "n" + strconv.Itoa(k.n.order)
	if k.round > 1 {
		p += "r" + strconv.Itoa(k.round)
	}
	if k.open.Attempt > 1 {
		p += "a" + strconv.Itoa(k.open.Attempt)
	}
	return p + "-"
}

// maxCallID is the longest id that an event may carry.
const maxCallID = 64

// note keeps what an event tells of a call.
func (k *worker) note(ev stream.Event) {
	switch e := ev.(type) {
	case *stream.ToolStarted:
		k.calls = append(k.calls, ToolCall{e.ID, e.Server, e.Tool, e.Arguments})
		k.results = append(k.results, "")
	case *stream.ToolCompleted:
		k.answered(e.ID, e.Result)
	case *stream.ToolFailed:
		k.answered(e.ID, e.Message)
	case *stream.ToolUnknown:
		k.answered(e.ID, e.Message)
	}
}

// answered puts the result of a call in its place among those of the step.
func (k *worker) answered(id, text string) {
	if i := slices.IndexFunc(k.calls, func(c ToolCall) bool { return c.ID == id }); i >= 0 {
		k.results[i] = text
	}
}

// leave takes calls out of the step within which somebody waits: they are told again when
// they go on, and become messages then. nil: there are none.
func (k *worker) leave(q *chat.Question) {
	if q == nil {
		return
	}
	for _, c := range q.Calls {
		if i := slices.IndexFunc(k.calls, func(made ToolCall) bool { return c.Within != "" && made.ID == k.callID(c.Within) }); i >= 0 {
			k.calls, k.results = slices.Delete(k.calls, i, i+1), slices.Delete(k.results, i, i+1)
		}
	}
}

// seal makes messages of a step that asked for calls: one of the assistant, then the
// results in the order of the calls.
func (k *worker) seal() {
	if len(k.calls) == 0 {
		return
	}
	k.add(Message{Role: roleAssistant, Content: k.unsealed(), ToolCalls: k.calls})
	for _, text := range k.results {
		k.add(Message{Role: roleTool, Content: text})
	}
	k.calls, k.results = nil, nil
}

// unsealed returns the text that is in no message yet, and takes it.
func (k *worker) unsealed() string {
	text := strings.Join(k.text, "")
	k.text = nil
	return text
}

// whole returns all that was said in the round.
//
// Of a tool node it is the result, which is the last message. There is one by then.
func (k *worker) whole() string {
	if k.n.Type == ToolNode {
		return k.messages[len(k.messages)-1].Content
	}
	var b strings.Builder
	for _, m := range k.messages {
		if m.Role == roleAssistant {
			b.WriteString(m.Content)
		}
	}
	return b.String()
}

// add adds a message of the node to those of the round.
func (k *worker) add(m Message) {
	m.Timestamp, m.Node = now(), k.n.ID
	k.messages = append(k.messages, m)
}
