package engine

import (
	"context"
	"encoding/json"
	"strings"

	"sluice/internal/engine/workflow/graph"
)

// view is a run as one node sees it: the messages and fields of its ancestors, in the graph's
// order. So parallel branches change nothing of one another. Variables are made on demand; a single
// goroutine uses it.
//
// It is valid until the run changes, as it caches computed values. Code that changes ownEnd sets
// cachedFields to nil.
type view struct {
	run    *Run
	n      *graph.Vertex // nil: all nodes are seen
	ownEnd *Ended        // the node's own end; nil before it
	added  []Message     // by the node itself
	round  int

	// What was made.
	cachedFields *fields
	messages     any
	result       map[string]any
	critic       map[string]any
	decision     map[string]any
}

// fields are the fields of the State.
type fields struct {
	graph.Fields
	agent string
}

func (r *Run) viewOf(n *graph.Vertex) *view { return &view{run: r, n: n, round: 1} }

// eachSeen calls f for each node that has ended and is seen, in the graph's order, and for the
// node itself.
//
// The order does not depend on when nodes ended. If two nodes wrote a field, the later one in the
// graph wins; Compile refuses pairs whose order would be random.
func (v *view) eachSeen(f func(n *graph.Vertex, e *Ended)) {
	for _, n := range v.run.w.Nodes() {
		if v.n != nil && !v.n.DependsOn(n) {
			continue
		}
		if e := v.run.endOf(n); e != nil {
			f(n, e)
		}
	}
	if v.n != nil && v.ownEnd != nil {
		f(v.n, v.ownEnd)
	}
}

// visibleFields returns the fields as they are seen.
func (v *view) visibleFields() *fields {
	if v.cachedFields != nil {
		return v.cachedFields
	}
	k := &fields{Fields: graph.Fields{Metadata: map[string]any{}}}
	v.eachSeen(func(n *graph.Vertex, e *Ended) {
		if n.Agent != "" && e.Outcome != outcomeSkipped {
			k.agent = n.Agent
		}
		for _, w := range e.Wrote {
			k.Write(w)
		}
	})
	v.cachedFields = k
	return k
}

// visibleMessages returns the messages that are seen, that of the request first. keep, if it is not
// nil, selects the nodes.
//
// Messages of one node stay in their order.
func (v *view) visibleMessages(keep func(*graph.Vertex) bool) (list []Message) {
	of := make([][]Message, len(v.run.w.Nodes()))
	for _, m := range v.run.Messages {
		if m.Node == "" {
			list = append(list, m)
			continue
		}
		if n := v.run.w.Node(m.Node); n != nil {
			of[n.Order] = append(of[n.Order], m)
		}
	}
	v.eachSeen(func(n *graph.Vertex, _ *Ended) {
		if keep == nil || keep(n) {
			list = append(list, of[n.Order]...)
		}
	})
	return append(list, v.added...)
}

// ResolveName implements graph.View.
//
// A value is made at most once for a view.
func (v *view) ResolveName(name string) (any, bool) {
	switch name {
	case "input":
		return v.run.Header.Request.Input, true
	case "messages":
		if v.messages == nil {
			list := []map[string]string{}
			for _, m := range v.visibleMessages(nil) {
				list = append(list, map[string]string{"role": m.Role, "content": m.Content, "node": m.Node})
			}
			v.messages = list
		}
		return v.messages, true
	case "routing_key":
		return v.visibleFields().Routing, true
	case "next_action":
		return v.visibleFields().Action, true
	case "current_agent":
		return v.visibleFields().agent, true
	case "metadata":
		return v.visibleFields().Metadata, true
	case "iteration":
		return v.round, true
	case "result":
		v.findLatest()
		return v.result, true
	case "critic":
		v.findLatest()
		return v.critic, true
	case "decision":
		v.findLatest()
		return v.decision, true
	}
	return nil, false
}

// findLatest finds the last result, judgement and decision that are seen.
//
// They may be of three different nodes. A missing one stays an empty object: an expression on its
// members fails, and has() is false.
func (v *view) findLatest() {
	if v.result != nil {
		return
	}
	v.result, v.critic, v.decision = map[string]any{}, map[string]any{}, map[string]any{}
	var last *Ended
	v.eachSeen(func(_ *graph.Vertex, e *Ended) {
		if e.Result >= 0 {
			last = e
		}
		if e.Critic != nil {
			v.critic = map[string]any{"text": graph.Text(e.Critic), "json": e.Critic}
		}
		if d := e.Decision; d != nil {
			v.decision = map[string]any{"action": d.Action, "message": d.Message, "input": map[string]any{}}
			if d.Input != nil {
				v.decision["input"] = d.Input
			}
		}
	})
	if last == nil {
		return
	}
	if text, ok := v.resultTextOf(last); ok {
		failed := last.Outcome == outcomeFailed
		v.result = map[string]any{"text": text, "is_error": failed, "unknown": failed && len(last.Unknown) > 0}
		if value, ok := jsonValueOf(text); ok {
			v.result["json"] = value
		}
	}
}

// resultTextOf returns the text of a node's result.
//
// It is false without a result. A number beyond the run's messages counts among those that the node
// has added itself.
func (v *view) resultTextOf(e *Ended) (string, bool) {
	switch {
	case e.Result < 0:
		return "", false
	case e.Result < len(v.run.Messages):
		return v.run.Messages[e.Result].Content, true
	case e == v.ownEnd && e.Result-len(v.run.Messages) < len(v.added):
		return v.added[e.Result-len(v.run.Messages)].Content, true
	}
	return "", false
}

// jsonValueOf returns the JSON value of a text; ok is false if the text is not exactly one value.
//
// The first character is checked before the parser runs, as most results are prose. null counts as
// no value.
func jsonValueOf(text string) (value any, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || !strings.ContainsRune("{[\"-0123456789tfn", rune(text[0])) {
		return nil, false
	}
	return value, json.Unmarshal([]byte(text), &value) == nil && value != nil
}

// State returns the public view of the run. It does not depend on the order in which parallel nodes
// ended.
func (r *Run) State() State {
	v := r.viewOf(nil)
	s := State{Messages: v.visibleMessages(nil), NextAction: v.visibleFields().Action, CurrentAgent: v.visibleFields().agent, RoutingKey: v.visibleFields().Routing, Metadata: v.visibleFields().Metadata}
	return s
}

// Input returns the input of a node's agent, as the run is now. It is empty for a node without an
// agent, or if its template fails.
//
// The definition is pinned, so this is the input of a first round; iteration is 1 here.
func (r *Run) Input(ctx context.Context, node string) string {
	n := r.w.Node(node)
	switch {
	case n == nil || n.Agent == "":
		return ""
	case n.Input == "":
		return r.Header.Request.Input
	}
	text, err := n.FillInput(ctx, r.viewOf(n))
	if err != nil {
		return ""
	}
	return text
}
