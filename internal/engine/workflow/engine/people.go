// This file asks people and continues with their decisions: before a node, at a node that is a
// question itself, and about calls of a node that works.
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

// needsPerson reports whether a person must be asked before the node.
//
// It is asked once for each node of a run: a decision, or a question under way, answers it.
func (x *execution) needsPerson(n *graph.Vertex, o *Open) bool {
	return o.Decision == nil && o.Asks == nil && (n.Kind.Asks() || n.Checkpoint)
}

// askBefore leaves a node waiting for a person.
//
// The question itself goes out in pauseRun, when nothing else can work: so all questions of
// parallel branches come together. The checkpoint is saved before that, because other
// branches may continue for long.
func (x *execution) askBefore(n *graph.Vertex, o *Open) {
	q := &Question{Kind: chat.AskHuman, Prompt: "Go on with " + n.ID + "?"}
	if own, ok := n.Kind.(asking); ok {
		if !x.countExecution() {
			return
		}
		var err error
		if q, err = own.makeQuestion(x, n); err != nil {
			x.failRun(err)
			return
		}
	}
	x.emitNode(n, o, stream.NodeStarted)
	x.awaitAnswer(n, o, q)
}

// askCalls leaves a node waiting for a person's word on its calls.
func (x *execution) askCalls(n *graph.Vertex, o *Open, w *waiting) {
	o.Entry = w.entry
	if w.question.Kind == chat.AskTools { // the previous decisions were about other calls
		o.Calls = nil
	}
	if o.Entry != nil {
		o.Round = o.Entry.Round
	}
	x.awaitAnswer(n, o, w.question)
}

// awaitAnswer saves that a node waits.
func (x *execution) awaitAnswer(n *graph.Vertex, o *Open, q *Question) {
	q.Key = NewUUID()
	o.Asks = q
	x.state.Progress.Position = n.ID
	x.emitNode(n, o, stream.NodeWaiting)
	x.saveCheckpoint(checkpointAwaiting)
	x.out.Flush()
}

func isRejection(d *Decision) bool { return d.Action == string(chat.Reject) }

// continueDecided ends a node after a person's decision without running it: it is a question, or
// the person has refused it.
//
// A rejection ends the run unless an edge accepts it. For a wait that ran out
// on_timeout decides: fail ends the run also where an edge would take a rejection.
func (x *execution) continueDecided(n *graph.Vertex, o *Open) {
	x.emitNode(n, o, stream.NodeStarted)
	x.applyDecision(n, o, o.Decision, 0)
}

// applyDecision ends a node at which d decides how the run continues.
func (x *execution) applyDecision(n *graph.Vertex, o *Open, d *Decision, elapsed time.Duration) {
	if isRejection(d) {
		ok, err := n.Accepts(x.ctx, x.state.decidedView(n, d))
		if err == nil && (!ok || d.Late && n.OnTimeout == failOnTimeout) {
			message := "The person who was asked has refused"
			if d.Late {
				message = d.Message
			}
			err = &fault.Error{Type: fault.ApprovalRejected, Message: message}
		}
		if err != nil {
			x.failNode(n, o, err, elapsed)
			return
		}
	}
	x.closeNode(n, *o, d.outcomeAt(n), elapsed)
}

// pauseRun ends the stream with the questions that wait. It returns false if nobody can be
// asked: then the calls that wait are refused, and the run continues.
//
// It runs when all workers have ended and the frontier has only nodes that wait. It returns true if
// the stream is to end, with a question or an error. The record is written before the question goes
// out, for an answer may come to another process at once. While the answer is held, the record gets
// its texts only when they are certain to be sent: if nobody can be asked, they stay held.
func (x *execution) pauseRun() bool {
	x.voice.FlushEnded(x.voice.hasEnded)
	x.out.Flush()
	hidden := x.held && x.records != nil
	if !hidden {
		x.discloseHeld()
	}
	p, err := x.makePaused()
	if err == nil && !hidden {
		err = x.saveWait()
	}
	if err == nil {
		if refusal := x.of.Facts.Pause(p); refusal != "" {
			x.refuseQuestions(refusal)
			return false
		}
		if hidden {
			x.discloseHeld()
			err = x.saveWait()
		}
	}
	if err != nil {
		x.failRun(err)
		return true
	}
	x.result.Reason, x.result.Paused = stream.ApprovalRequired, p
	return true
}

// makePaused returns the questions and the state with which the stream of the run ends.
func (x *execution) makePaused() (*chat.Paused, error) {
	x.state.Progress.Status = StatusWaiting
	x.voice.saveProgress()
	x.state.Progress.Elapsed = x.before + time.Since(x.began)
	waiting, err := x.state.pausedRun(x.records != nil && x.runner.cfg.Load != nil)
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

// saveWait stores that the run waits.
func (x *execution) saveWait() error {
	if x.err != nil || x.records == nil { // a checkpoint before may have failed
		return x.err
	}
	x.state.Progress.Status = StatusWaiting
	err := x.records.Wait(x.ctx, &x.state.Progress)
	x.lost = continuesLater(err)
	return err
}

// refuseQuestions answers questions that nobody can be asked.
//
// Calls are refused and the agent learns why. A node that asks itself, and a call of unknown
// outcome, cannot continue without an answer: the run fails.
func (x *execution) refuseQuestions(why string) {
	x.state.Progress.Status = StatusRunning
	for i := range x.state.Progress.Frontier {
		o := &x.state.Progress.Frontier[i]
		if len(o.Asks.Calls) == 0 || o.Asks.Kind == chat.AskOutcome {
			x.failRun(&fault.Error{Type: fault.ApprovalRejected, Message: "Nobody can be asked: " + why})
			return
		}
		for _, c := range o.Asks.Calls {
			o.Calls = append(o.Calls, chat.Decision{CallID: c.ID, Action: chat.Refuse, Message: why})
		}
	}
}
