package engine

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
)

// While an answer is held back until it was checked, nothing of it is kept: the nodes that end
// with it are checkpointed with the verdict, as what was sent in their place. A process that
// takes the run over before that runs them again. What their agents say next to their calls is
// part of the same answer: the journal has the calls and what came of them, without those
// words. A text that other nodes continue from is part of the run's state and is kept.

// holdsText says whether the text of a node is held back.
//
// That of a node that others continue from is not: it is in their requests, and a run that
// forgot it could not be continued.
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

// withholdNode notes that a node has ended whose text is held back.
func (x *execution) withholdNode(n *graph.Vertex) {
	if x.holdsText(n) {
		x.withheld = append(x.withheld, n)
	}
}

// discloseHeld lets checkpoints have what was held back: the turn ends with a question, and so
// it is sent as it is.
func (x *execution) discloseHeld() {
	if len(x.withheld) > 0 {
		x.withheld = nil
		x.state.Progress.Status = StatusRunning
		x.saveCheckpoint(CheckpointCreated)
	}
}

// saveEnd is stream.Result.Settle: it keeps the end of the run, whose stream has ended.
//
// It is called once, after the stream, with what the client got; empty means nothing. It
// has a time limit of its own, since the request is over.
func (x *execution) saveEnd(sent string) error {
	x.replaceHeld(sent)
	if x.records == nil || sent == "" && continuesLater(fault.Cause(x.caller)) { // then another process continues
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), lastSave)
	defer cancel()
	return x.records.Save(ctx, x.state.nextCheckpoint(x.savedCounts, CheckpointCreated, x.before+time.Since(x.began)))
}

// replaceHeld puts what was sent in the place of what was held back; empty: nothing was sent.
// The messages that it changes are in no checkpoint yet.
//
// Of several withheld nodes the last gets the whole text and the others none: what was sent
// is one text and no longer theirs.
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
