// This file advances a Run: it takes the outcome of one node into the run and finds the nodes that
// come next. It starts no goroutine, emits no event and writes to no store: execution.go does
// these. All of it runs on the goroutine that owns the Run.
//
// The order within endNode is a rule: first the bounds, then the fields that the node writes,
// then its edges, which see these fields. Only then the run changes, so that a node that
// fails in one of these steps leaves the run as it was.

package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
)

// outcome is how an execution of a node ended.
type outcome struct {
	messages []Message
	result   int // the number of the message with its text; -1 without a text
	rounds   int
	value    any // of a condition's expression
	critic   any
	decision *Decision
	failed   *fault.Error // an edge continues from there; nil: it did not fail
	unknown  []string     // calls with an unknown outcome
}

// endRecord returns the outcome as the run keeps it, without edges and fields. before is how
// many messages there are without its own.
//
// The result's number counts from the begin of the run's messages, not of the node's:
// o.result is the place among the node's own.
func (o *outcome) endRecord(n *graph.Vertex, before int) Ended {
	e := Ended{Node: n.ID, Outcome: outcomeCompleted, Rounds: o.rounds, Result: -1, Value: o.value, Critic: o.critic, Decision: o.decision, Unknown: o.unknown}
	if o.failed != nil {
		e.Outcome = outcomeFailed
	}
	if o.result >= 0 {
		e.Result = before + o.result
	}
	return e
}

// endNode takes the outcome of a node into the run: fields, edges, messages, and which nodes
// are next. It returns those that are skipped for good. With an error nothing has
// changed.
//
// The caller has taken care that n is in the frontier. A condition's expression was
// evaluated before; o.value has its result.
func (r *Run) endNode(ctx context.Context, n *graph.Vertex, o *outcome) (skipped []*graph.Vertex, err error) {
	e := o.endRecord(n, len(r.Messages))
	v := r.viewOf(n)
	v.ownEnd, v.added, v.round = &e, o.messages, max(o.rounds, 1)
	if err := r.checkRoom(o); err != nil {
		return nil, err
	}
	if e.Outcome == outcomeCompleted {
		if e.Wrote, err = v.assignFields(ctx, n); err != nil {
			return nil, err
		}
		e.Wrote = append(o.decision.writtenFields(), e.Wrote...)
	}
	v.cachedFields = nil // the node's own fields count for its edges
	if e.Followed, err = n.Follow(ctx, v, o.value); err != nil {
		return nil, err
	}
	r.Messages = append(r.Messages, o.messages...)
	r.appendEnd(n, e)
	r.Progress.Frontier = slices.DeleteFunc(r.Progress.Frontier, func(x Open) bool { return x.Node == n.ID })
	r.Progress.Position = n.ID
	return r.openNodes(), nil
}

// checkRoom refuses messages that exceed a bound.
//
// Both bounds are in bytes: graph.MaxText for one text, maxMessages for all that the run holds,
// arguments of calls included. The run fails with workflow_limit; nothing is cut, because a node
// that reads half a text would continue from something that nobody said.
func (r *Run) checkRoom(o *outcome) error {
	size := 0
	for _, m := range o.messages {
		if len(m.Content) > graph.MaxText {
			return limitFault("A text of the workflow is longer than 1 MiB")
		}
		size += messageSize(&m)
	}
	if size == 0 {
		return nil
	}
	for i := range r.Messages {
		size += messageSize(&r.Messages[i])
	}
	if size > maxMessages {
		return limitFault("The messages of the workflow are longer than 8 MiB")
	}
	return nil
}

// messageSize is what counts of a message for maxMessages: its text and the arguments of
// its calls. Ids, names and times are short and do not count.
func messageSize(m *Message) int {
	size := len(m.Content)
	for _, c := range m.ToolCalls {
		size += len(c.Arguments)
	}
	return size
}

// assignFields returns the values of a node's output. The bound on metadata is on the whole object
// as the node sees it afterwards.
func (v *view) assignFields(ctx context.Context, n *graph.Vertex) ([]graph.Wrote, error) {
	list, err := n.Assign(ctx, v)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	v.ownEnd.Wrote, v.cachedFields = list, nil
	if text, err := json.Marshal(v.visibleFields().Metadata); err != nil || len(text) > maxMetadata {
		return nil, limitFault("The metadata of the workflow is longer than 64 KiB")
	}
	return list, nil
}

// nextCheckpoint returns the run as it is now, as the next checkpoint. since is how much of
// it the one before had.
//
// It gives the checkpoint its number and raises Progress.Sequence, so it is called once for
// each checkpoint. The lists are copied: the keeper may hold them while the run continues.
func (r *Run) nextCheckpoint(since counts, status string, elapsed time.Duration) *Checkpoint {
	r.Progress.Elapsed = elapsed
	c := &Checkpoint{
		ID: NewUUID(), TaskID: r.Header.ID, Position: r.Progress.Position, Sequence: r.Progress.Sequence, CreatedAt: time.Now().UTC(),
		AwaitingHuman: status == checkpointAwaiting, Status: status,
		EndedCount: len(r.Ended), MessageCount: len(r.Messages), Header: &r.Header,
		Ended: slices.Clone(r.Ended[since.ended:]), Messages: slices.Clone(r.Messages[since.messages:]),
	}
	r.Progress.Sequence++
	c.Progress = r.Progress
	c.Progress.Frontier = slices.Clone(r.Progress.Frontier)
	for i := range c.Progress.Frontier {
		o := &c.Progress.Frontier[i]
		o.Entry = o.Entry.storableEntry()
	}
	c.Progress.Sent = slices.Clone(r.Progress.Sent)
	return c
}

// counts is how much of a run is kept already.
type counts struct{ ended, messages int }

// updates are the changes that a person may make in the state.
type updates struct {
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	NextAction *string        `json:"next_action"`
	RoutingKey *string        `json:"routing_key"`
	Metadata   map[string]any `json:"metadata"`
}

// stateUpdates reads State; without a Decision or a State it returns the zero value. The handler
// that took the decision has checked its form, so a text that cannot be read changes nothing.
func (d *Decision) stateUpdates() (u updates) {
	if d != nil && len(d.State) > 0 {
		_ = json.Unmarshal(d.State, &u) // it was checked
	}
	return u
}

// outcomeAt returns the outcome of a node that a person has decided. A person's message is its
// result. It stands after the messages that the person adds to the state. A nil Decision gives an
// empty outcome.
func (d *Decision) outcomeAt(n *graph.Vertex) *outcome {
	out := &outcome{result: -1, decision: d, messages: d.addedMessages(n)}
	if d != nil && d.Message != "" && !d.Late {
		out.result = len(out.messages)
		out.messages = append(out.messages, Message{Role: RoleUser, Content: d.Message, Timestamp: nowUTC(), Node: n.ID})
	}
	return out
}

// addedMessages returns the messages that a person adds.
func (d *Decision) addedMessages(n *graph.Vertex) (list []Message) {
	for _, m := range d.stateUpdates().Messages {
		list = append(list, Message{Role: m.Role, Content: m.Content, Timestamp: nowUTC(), Node: n.ID})
	}
	return list
}

// writtenFields returns the fields that a person replaces.
func (d *Decision) writtenFields() (list []graph.Wrote) {
	u := d.stateUpdates()
	if u.NextAction != nil {
		list = append(list, graph.Wrote{Field: graph.FieldAction, Value: *u.NextAction})
	}
	if u.RoutingKey != nil {
		list = append(list, graph.Wrote{Field: graph.FieldRouting, Value: *u.RoutingKey})
	}
	if u.Metadata != nil {
		list = append(list, graph.Wrote{Field: graph.FieldMetadata, Value: u.Metadata})
	}
	return list
}

// decidedView is viewOf for a node that a person has decided: it also sees the person's message and
// changes.
func (r *Run) decidedView(n *graph.Vertex, d *Decision) *view {
	v := r.viewOf(n)
	if d != nil {
		out := d.outcomeAt(n)
		own := out.endRecord(n, len(r.Messages))
		own.Wrote = d.writtenFields()
		v.ownEnd, v.added = &own, out.messages
	}
	return v
}
