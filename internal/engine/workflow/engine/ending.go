// This file ends a node: its outcome is taken into the run, saved, and then emitted. All of it is
// on the goroutine of the run.

package engine

import (
	"errors"
	"slices"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// endWorker takes the end of a node that worked.
//
// It runs on the goroutine of the run for every worker exactly once. Either the node waits with a
// question, or its outcome is taken into the run, or the run fails. Its usage counts in each case.
func (x *execution) endWorker(k *worker, out *outcome, err error) {
	x.working = slices.DeleteFunc(x.working, func(other *worker) bool { return other == k })
	k.releaseWorker()
	k.endSpan(err)
	elapsed := time.Since(k.began)
	x.runner.counts.countEnded(k.n.Type, elapsed)
	x.state.Progress.Iterations, x.state.Progress.Acted = int(x.count.Load()), x.acted.Load()
	x.addFigures(k)
	o := x.state.openNode(k.n.ID)
	if o == nil { // cannot happen
		return
	}
	if waits, ok := errors.AsType[*waiting](err); ok && x.err == nil {
		x.askCalls(k.n, o, waits)
		return
	}
	if no, ok := errors.AsType[*rejection](err); ok && x.err == nil {
		x.applyDecision(k.n, o, no.decision, elapsed)
		return
	}
	if err != nil {
		if out, err = x.forgiveFailure(k, err); err != nil {
			x.failNode(k.n, o, err, elapsed)
			return
		}
	}
	if x.err != nil { // another node has ended the run
		x.failNode(k.n, o, x.err, elapsed)
		return
	}
	out.unknown = x.unknown.callsOf(k.n.ID)
	x.closeNode(k.n, *o, out, elapsed)
}

// forgiveFailure makes an outcome of a failure if an edge of the node continues from there; else the
// failure is the run's.
//
// Faults of the run itself (fatal), our own bugs (internal_error) and our lack of room (overloaded)
// are never forgiven: an edge for failures is meant for upstreams and tools. A forgiven failure is
// reported as an error event that does not end the stream, and becomes a message that later nodes
// read.
func (x *execution) forgiveFailure(k *worker, err error) (*outcome, error) {
	if cause := fault.Cause(x.ctx); cause != nil {
		return nil, cause
	}
	if k.fatal {
		return nil, err
	}
	f, unknown := fault.From(err), x.unknown.callsOf(k.n.ID)
	failed := &fault.Error{Type: fault.WorkflowNodeFailed, Message: "Node " + k.n.ID + " failed: " + f.Message,
		Service: f.Service, RetryAfter: f.RetryAfter, Unknown: f.Unknown || len(unknown) > 0, Err: err}
	if !k.n.Forgiving || f.Type == fault.Internal || f.Type == fault.Overloaded {
		return nil, failed
	}
	ev := stream.NewError(failed, false)
	ev.NodeID = k.n.ID
	x.out.Emit(ev)
	out := k.lastOutcome()
	out.failed = f
	if n := len(out.messages); n == 0 || out.messages[n-1].Role != RoleTool || !k.n.Kind.Results() {
		out.messages = append(out.messages, Message{Role: roleSystem, Content: f.ForModel(), Timestamp: nowUTC(), Node: k.n.ID})
	}
	out.result = len(out.messages) - 1
	return out, nil
}

// closeNode takes the outcome of a node into the run, saves the run, and emits the end.
//
// A failure to take it is the run's: an assignment, an edge, or a bound. The event comes after the
// save. While the answer is held, the event of a node that speaks lacks its output: it would show a
// text that the check may refuse.
func (x *execution) closeNode(n *graph.Vertex, o Open, out *outcome, elapsed time.Duration) {
	skipped, err := x.state.endNode(x.ctx, n, out)
	if err != nil {
		x.failNode(n, &o, err, elapsed)
		return
	}
	if x.state.hasEnded() {
		x.state.Progress.Status = StatusCompleted
	}
	x.withholdNode(n)
	x.saveCheckpoint(CheckpointCreated)
	ev := x.nodeEvent(n, &o, stream.NodeCompleted)
	if out.failed != nil {
		ev.Status, ev.ErrorType = stream.NodeFailed, out.failed.Type
	}
	if n.Repeat != nil {
		ev.Iteration = out.rounds
	}
	millis := elapsed.Milliseconds()
	ev.Millis = &millis
	if !x.held || !n.Speaks {
		ev.Output = outputOf(out)
	}
	x.out.Emit(ev)
	x.logNodeEnd(ev)
	for _, s := range skipped {
		x.out.Emit(&stream.NodeRun{NodeID: s.ID, Type: string(s.Type), Status: stream.NodeSkipped, Attempt: 1})
	}
	x.voice.Advance(x.voice.hasEnded)
	x.out.Flush()
}

// outputOf returns the output in a node's event.
//
// It is the text, a condition's value, or a person's action and message, cut to maxOutput bytes at
// the end of a character.
func outputOf(out *outcome) string {
	text := ""
	switch {
	case out.value != nil:
		text = graph.Text(out.value)
	case out.decision != nil && out.rounds == 0: // nothing else ran
		if text = out.decision.Action; out.result >= 0 {
			text += ": " + out.messages[out.result].Content
		}
	case out.result >= 0:
		text = out.messages[out.result].Content
	}
	head, _ := chat.Truncate(text, maxOutput)
	return head
}

// failNode ends a node that failed for good, and the run.
func (x *execution) failNode(n *graph.Vertex, o *Open, why error, elapsed time.Duration) {
	ev := x.nodeEvent(n, o, stream.NodeFailed)
	millis := elapsed.Milliseconds()
	ev.Millis, ev.ErrorType = &millis, fault.From(why).Type
	x.out.Emit(ev)
	x.logNodeEnd(ev)
	x.failRun(why)
}

// addFigures adds the usage, models and tools of a node to those of the run.
//
// The reason is that of a node that speaks, and the first that is not a plain stop stays,
// also if a later node ended with one.
func (x *execution) addFigures(k *worker) {
	x.result.Model = append(x.result.Model, k.result.Model...)
	x.result.Tools = append(x.result.Tools, k.result.Tools...)
	x.result.Keyed = x.result.Keyed || k.result.Keyed
	x.state.Progress.Usage.Add(k.result.Usage)
	for _, key := range k.result.Models {
		if !slices.Contains(x.result.Models, key) {
			x.result.Models = append(x.result.Models, key)
		}
	}
	if k.n.Speaks && k.result.Reason.Success() && (x.result.Reason == "" || x.result.Reason == stream.Stop) {
		x.result.Reason = k.result.Reason
	}
}
