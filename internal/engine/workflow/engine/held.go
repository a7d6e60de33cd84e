package engine

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
)

// While the answer is held for its check, no checkpoint has it: the nodes that end with it are
// saved with the verdict, with the sent text in place of their own. A process that takes the run
// over before that runs them again. The texts of their agents next to calls are part of the same
// answer: the journal has the calls and their results, without those texts. A text that other nodes
// continue from is part of the run's state and is stored.

// holdsText reports whether the text of a node is held.
//
// The text of a node with successors is not held: their requests contain it, and a run without it
// could not continue.
func (x *execution) holdsText(n *graph.Vertex) bool { return x.held && n.Speaks && n.IsEnd() }

// hideWords makes the entry one whose words are not kept. session is its State without them.
func (e *Entry) hideWords(session jsontext.Value) {
	silent := *e
	silent.Session, silent.Text, silent.Messages = session, "", slices.Clone(e.Messages)
	for i := range silent.Messages {
		if m := &silent.Messages[i]; m.Role == RoleAssistant {
			m.Content = ""
		}
	}
	e.silent = &silent
}

// withholdNode adds a node that has ended with a held text.
func (x *execution) withholdNode(n *graph.Vertex) {
	if x.holdsText(n) {
		x.withheld = append(x.withheld, n)
	}
}

// discloseHeld lets checkpoints have the held text: the turn ends with a question, so the text is
// sent unchanged.
func (x *execution) discloseHeld() {
	if len(x.withheld) > 0 {
		x.withheld = nil
		x.state.Progress.Status = StatusRunning
		x.saveCheckpoint(CheckpointCreated)
	}
}

// saveEnd is stream.Result.StoreAnswer: it saves the end of the run after its stream.
//
// It is called once, after the stream, with the text that the client got; an empty text was not
// sent. It has a time limit of its own, since the request is over.
func (x *execution) saveEnd(sent string) error {
	x.replaceHeld(sent)
	if x.records == nil || sent == "" && continuesLater(fault.Cause(x.caller)) { // then another process continues
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), lastSave)
	defer cancel()
	return x.records.Save(ctx, x.state.nextCheckpoint(x.savedCounts, CheckpointCreated, x.before+time.Since(x.began)))
}

// replaceHeld puts the sent text in the place of the held one; sent is empty if no text was sent.
// The messages that it changes are in no checkpoint yet.
//
// If several nodes are withheld, the last one gets the whole text and the others an empty one: the
// sent text is one text and no longer theirs.
func (x *execution) replaceHeld(sent string) {
	nodes := x.withheld
	x.withheld = nil
	if len(nodes) == 0 || len(nodes) == 1 && x.state.answerTextOf(nodes[0]) == sent {
		return
	}
	for i, n := range nodes {
		for j := range x.state.Messages {
			if m := &x.state.Messages[j]; m.Node == n.ID && m.Role == RoleAssistant {
				m.Content = ""
			}
		}
		e := x.state.endOf(n)
		e.Wrote, e.Critic = nil, nil // they may quote it
		if i == len(nodes)-1 && e.Result >= 0 {
			x.state.Messages[e.Result].Content = sent
		}
	}
}
