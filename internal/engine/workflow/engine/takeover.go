// This file reconciles a run with what its clients have received. A process that dies may have sent
// more than its last checkpoint has (text of a node under way) or less (an end that was saved and
// not sent). The log of the turn shows the difference. The process that continues sends the missing
// events, so that a client that reconnects reads one consistent stream.
//
// It reads events and changes the run's Progress. It emits nothing itself and writes
// nothing.

package engine

import (
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// TakeOver continues a run of a dead process: the nodes that may have run there begin another
// attempt, each with the last journal entry of its session. A node that waits for a person did not
// run, and stays as it is.
//
// emitted are the events in the log of the run's last turn; nil without a log. before is how many
// nodes had ended when that turn began. TakeOver returns the events that the log lacks: the ends of
// attempts that were cut, and of nodes whose end was never sent. An attempt without a sent event
// keeps its number, since a client never saw it.
func (r *Run) TakeOver(kept func(node string) *Entry, emitted []stream.Event, before int) []stream.Event {
	attempts := make([]int, len(r.Progress.Frontier))
	for i := range r.Progress.Frontier {
		o := &r.Progress.Frontier[i]
		attempts[i] = o.Attempt
		if o.Waits() {
			continue
		}
		if e := kept(o.Node); e != nil {
			o.Entry, o.Round = e, e.Round
		}
		o.Attempt++
	}
	if emitted == nil {
		return nil
	}
	t := runTrace{nodes: map[string]*nodeTrace{}, before: before}
	for _, ev := range emitted {
		t.observeEvent(ev)
	}
	for i := range r.Progress.Frontier { // an attempt that was never reported is the same one
		o := &r.Progress.Frontier[i]
		if n := t.nodes[o.Node]; n == nil || n.attempt == 0 {
			o.Attempt = attempts[i]
		} else if !o.Waits() {
			o.Attempt = n.attempt + 1
		}
	}
	t.catchUp(r)
	r.overdone = t.overdone
	return t.lacks
}

// Overdone says that the run cannot go on: its answer was begun again as often as may be, and text
// of it does not count.
func (r *Run) Overdone() bool { return r.overdone }

// runTrace is the state of a run by its log.
type runTrace struct {
	nodes  map[string]*nodeTrace
	text   run.Join
	answer []byte // the text
	// joint says that answer ends with the text that joins the next node's to it; that text begins
	// at gap.
	joint  bool
	gap    int
	resets int // times that text was taken back
	// overdone says that more is to be taken back, and was often enough.
	overdone bool
	// before is how many nodes had ended when the turn of the log began; plain says that
	// text was sent that belongs to no node, such as the form of a channel.
	before int
	plain  bool
	lacks  []stream.Event
}

// nodeTrace is the state of one node by the log.
//
// attempt is 0 without an event of the node in the log. open: its start was sent and its end was
// not.
type nodeTrace struct {
	attempt int // the last one
	open    bool
	skipped bool
	text    strings.Builder
	from    int // where the text, with what joins it to the one before, begins in the answer
}

// traceOf returns the trace of a node, at first an empty nodeTrace.
func (t *runTrace) traceOf(node string) *nodeTrace {
	if t.nodes[node] == nil {
		t.nodes[node] = new(nodeTrace)
	}
	return t.nodes[node]
}

// observeEvent takes one event, in the order of the log.
func (t *runTrace) observeEvent(ev stream.Event) {
	switch e := ev.(type) {
	case *stream.NodeRun:
		n := t.traceOf(e.NodeID)
		n.attempt, n.open, n.skipped = max(n.attempt, e.Attempt), e.Status == stream.NodeStarted, e.Status == stream.NodeSkipped
	case *stream.Reset:
		t.observeReset(e)
	case *stream.Delta:
		t.observeText(e)
	}
}

// observeText adds a piece of the text.
func (t *runTrace) observeText(ev *stream.Delta) {
	if ev.NodeID == "" {
		t.plain, t.joint, t.gap = true, true, len(t.answer)
	} else {
		n := t.traceOf(ev.NodeID)
		if n.text.Len() == 0 {
			if n.from = len(t.answer); t.joint {
				n.from = t.gap
			}
		}
		n.text.WriteString(ev.Text)
		t.joint = false
	}
	t.text.Add(ev.Text)
	t.answer = append(t.answer, ev.Text...)
}

// observeReset removes the end of the text. The end belongs to the node that the event names.
func (t *runTrace) observeReset(ev *stream.Reset) {
	back := max(0, len(t.answer)-len(ev.Accumulated))
	t.answer = t.answer[:len(t.answer)-back]
	t.joint, t.resets = false, t.resets+1
	t.text = run.Join{}
	t.text.Add(ev.Accumulated)
	if n := t.nodes[ev.NodeID]; n != nil {
		said := n.text.String()
		n.text.Reset()
		n.text.WriteString(said[:max(0, len(said)-back)])
	}
}

// addMissing adds a node's event to the missing ones, and returns it so that the caller can
// complete it. Attempts count from 1.
func (t *runTrace) addMissing(n *graph.Vertex, attempt int, status stream.NodeStatus) *stream.NodeRun {
	ev := &stream.NodeRun{NodeID: n.ID, Type: string(n.Type), Status: status, Attempt: max(attempt, 1)}
	t.lacks = append(t.lacks, ev)
	return ev
}

// catchUp finds the events that the log lacks, and brings the run up to the sent text.
//
// Nodes are visited in the graph's order: a process without a crash would most likely have used it.
// Sent text always counts as a block of its own: its begin is no longer known.
func (t *runTrace) catchUp(run *Run) {
	p := &run.Progress
	for _, n := range run.w.Nodes() {
		said, o, e := t.traceOf(n.ID), run.openNode(n.ID), run.endOf(n)
		switch {
		case e != nil && run.at[n.Order] < t.before: // of an earlier turn, whose log is whole
		case e != nil && e.Outcome == outcomeSkipped:
			if !said.skipped {
				t.addMissing(n, 1, stream.NodeSkipped)
			}
		case e != nil:
			t.completeNode(run, n, e, said)
		case o == nil:
		case o.Waits():
			if said.attempt < o.Attempt {
				t.addMissing(n, o.Attempt, stream.NodeStarted)
				said.open = true
			}
			if said.open {
				t.addMissing(n, o.Attempt, stream.NodeWaiting)
			}
		default:
			if said.open {
				t.addMissing(n, said.attempt, stream.NodeFailed).ErrorType = fault.TurnLost
			}
			t.retractAttempt(p, n, o, said)
		}
	}
	switch {
	case len(t.answer) > 0:
		p.Long, p.Tail, p.Block = max(p.Long, t.text.Length), string(t.text.Tail), true
	case t.resets > 0 && t.before == 0:
		p.Long, p.Tail, p.Block = 0, "", false
	}
}

// retractAttempt takes the text of a cut attempt back, except the text of the saved steps.
//
// If readers cannot be shown a reset, the text stays, and the next attempt's text follows. If they
// have been shown as many resets as allowed, the run ends.
func (t *runTrace) retractAttempt(p *Progress, n *graph.Vertex, o *Open, said *nodeTrace) {
	spoken, stays := said.text.String(), said.from
	if o.Entry != nil && o.Entry.Text != "" {
		if !strings.HasPrefix(spoken, o.Entry.Text) {
			return
		}
		stays = len(t.answer) - len(spoken) + len(o.Entry.Text)
	}
	if !p.Retracts || stays >= len(t.answer) || !strings.HasSuffix(string(t.answer), spoken) {
		return
	}
	if t.resets >= stream.MaxResets {
		t.overdone = true
		return
	}
	back := t.answer[stays:]
	ev := &stream.Reset{Accumulated: string(t.answer[:stays]), Reason: stream.ResetTakenOver, Back: len(back), Runes: utf8.RuneCount(back)}
	ev.NodeID, ev.AgentID = n.ID, n.Agent
	t.lacks = append(t.lacks, ev)
	t.observeEvent(ev)
}

// completeNode adds the end of a node, and the remaining text if some of it was sent.
//
// The remaining text is added only if the sent text is the beginning of the stored one. Otherwise
// the text came from another attempt and stays as it was sent.
func (t *runTrace) completeNode(run *Run, n *graph.Vertex, e *Ended, said *nodeTrace) {
	p := &run.Progress
	if head := said.text.String(); n.Speaks && head != "" {
		if whole := run.answerTextOf(n); len(whole) > len(head) && strings.HasPrefix(whole, head) {
			ev := &stream.Delta{Text: whole[len(head):]}
			ev.NodeID, ev.AgentID = n.ID, n.Agent
			t.lacks = append(t.lacks, ev)
			t.observeEvent(ev)
		}
		p.markSent(n.ID)
	} else if n.Speaks && !t.plain {
		p.unmarkSent(n.ID)
	}
	if said.attempt == 0 {
		t.addMissing(n, 1, stream.NodeStarted)
		said.open = true
	}
	if !said.open {
		return
	}
	ev := t.addMissing(n, said.attempt, stream.NodeCompleted)
	if e.Outcome == outcomeFailed {
		ev.Status, ev.ErrorType = stream.NodeFailed, fault.WorkflowNodeFailed
	}
	if e.Result >= 0 && e.Result < len(run.Messages) {
		ev.Output, _ = chat.Truncate(run.Messages[e.Result].Content, maxOutput)
	}
}

// markSent records once that a node's text was sent.
func (p *Progress) markSent(node string) {
	for _, id := range p.Sent {
		if id == node {
			return
		}
	}
	p.Sent = append(p.Sent, node)
}

// unmarkSent says that nothing of a node's text was sent: it was stored first.
func (p *Progress) unmarkSent(node string) {
	p.Sent = slices.DeleteFunc(p.Sent, func(id string) bool { return id == node })
	if len(p.Sent) == 0 {
		p.Long, p.Tail, p.Block = 0, "", false
	}
}

// answerTextOf returns the part of the answer that a node has added at its end.
func (r *Run) answerTextOf(n *graph.Vertex) string {
	var b strings.Builder
	for _, m := range r.Messages {
		if isSpoken(n, &m) {
			b.WriteString(m.Content)
		}
	}
	return b.String()
}
