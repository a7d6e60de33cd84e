// This file is how a run asks people and continues with what they decide: before a node, at a
// node that is a question itself, and about calls of a node that works.
//
// A node that asks stays in the frontier with its question. The questions of all branches
// go out together, when nothing else can work.

package engine

import (
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// asks says whether a person is to be asked before the node.
//
// It is asked once for each node of a run: a decision, or a question under way, answers it.
func (x *execution) asks(n *graph.Vertex, o *Open) bool {
	return o.Decision == nil && o.Asks == nil && (n.Kind.Asks() || n.Checkpoint)
}

// ask leaves a node waiting for a person.
//
// The question itself goes out in pause, when nothing else can work: so all questions of
// parallel branches come together. The checkpoint is saved before that, because other
// branches may continue for long.
func (x *execution) ask(n *graph.Vertex, o *Open) {
	q := &Question{Kind: chat.AskHuman, Prompt: "Go on with " + n.ID + "?"}
	if own, ok := n.Kind.(asking); ok {
		if !x.admit() {
			return
		}
		var err error
		if q, err = own.question(x, n); err != nil {
			x.fail(err)
			return
		}
	}
	x.emitNode(n, o, stream.NodeStarted)
	x.await(n, o, q)
}

// askCalls leaves a node waiting for a person's word on its calls.
func (x *execution) askCalls(n *graph.Vertex, o *Open, w *waiting) {
	o.Entry = w.entry
	if w.question.Kind == chat.AskTools { // what was decided before was about other calls
		o.Calls = nil
	}
	if o.Entry != nil {
		o.Round = o.Entry.Round
	}
	x.await(n, o, w.question)
}

// await keeps that a node waits.
func (x *execution) await(n *graph.Vertex, o *Open, q *Question) {
	q.Key = NewUUID()
	o.Asks = q
	x.state.Progress.Position = n.ID
	x.emitNode(n, o, stream.NodeWaiting)
	x.save(checkpointAwaiting)
	x.out.Flush()
}

func rejected(d *Decision) bool { return d.Action == string(chat.Reject) }

// decided continues with a node whose person has decided, and that runs nothing itself: one
// that is a question, or one that was not allowed to run.
//
// A rejection ends the run unless an edge accepts it. For a wait that ran out
// on_timeout decides: fail ends the run also where an edge would take a rejection.
func (x *execution) decided(n *graph.Vertex, o *Open) {
	x.emitNode(n, o, stream.NodeStarted)
	x.settleDecision(n, o, o.Decision, 0)
}

// settleDecision is the end of a node at which d decides how the run continues.
func (x *execution) settleDecision(n *graph.Vertex, o *Open, d *Decision, elapsed time.Duration) {
	if rejected(d) {
		ok, err := n.Accepts(x.ctx, x.state.decided(n, d))
		if err == nil && (!ok || d.Late && n.OnTimeout == failOnTimeout) {
			message := "The person who was asked has refused"
			if d.Late {
				message = d.Message
			}
			err = &fault.Error{Type: fault.ApprovalRejected, Message: message}
		}
		if err != nil {
			x.failed(n, o, err, elapsed)
			return
		}
	}
	x.close(n, *o, d.outcome(n), elapsed)
}

// pause ends the stream with the questions that wait. It returns false if nobody can be
// asked: then the calls that wait are refused, and the run continues.
//
// It runs when all workers have ended and the frontier has only nodes that wait. It returns
// true if the stream is to end, with a question or an error. The record is written before
// the question goes out, for an answer may come to another process at once. Where the
// answer is held back the record has its words only once it is sure that they are sent: if
// nobody can be asked it is held back further.
func (x *execution) pause() bool {
	x.voice.Rest(x.voice.ended)
	x.out.Flush()
	hidden := x.held && x.records != nil
	if !hidden {
		x.disclose()
	}
	p, err := x.paused()
	if err == nil && !hidden {
		err = x.wait()
	}
	if err == nil {
		if refusal := x.of.Facts.Pause(p); refusal != "" {
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
	waiting, err := x.state.paused(x.records != nil && x.runner.cfg.Load != nil)
	if err != nil {
		return nil, err
	}
	p := &chat.Paused{By: chat.PausedWorkflow, State: waiting.Encode(), Usage: x.state.Progress.Usage}
	for _, o := range x.state.Progress.Frontier {
		n := x.w.Node(o.Node)
		p.Questions = append(p.Questions, chat.Question{Key: o.Asks.Key, Kind: o.Asks.Kind, Prompt: o.Asks.Prompt, Calls: o.Asks.Calls,
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
	x.lost = left(err)
	return err
}

// refuse answers questions that nobody can be asked.
//
// Calls are refused and the agent learns why. A node that asks itself, and a call of unknown
// outcome, cannot continue without an answer: the run fails.
func (x *execution) refuse(why string) {
	x.state.Progress.Status = StatusRunning
	for i := range x.state.Progress.Frontier {
		o := &x.state.Progress.Frontier[i]
		if len(o.Asks.Calls) == 0 || o.Asks.Kind == chat.AskOutcome {
			x.fail(&fault.Error{Type: fault.ApprovalRejected, Message: "Nobody can be asked: " + why})
			return
		}
		for _, c := range o.Asks.Calls {
			o.Calls = append(o.Calls, chat.Decision{CallID: c.ID, Action: chat.Refuse, Message: why})
		}
	}
}
