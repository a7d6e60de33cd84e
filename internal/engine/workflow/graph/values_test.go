package graph_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
)

// seen is a run in which variables have these values. What is not set is as in a run in which
// nothing has happened.
type seen map[string]any

func (s seen) ResolveName(name string) (any, bool) {
	if v, ok := s[name]; ok {
		return v, true
	}
	switch name {
	case "input", "routing_key", "next_action", "current_agent":
		return "", true
	case "iteration":
		return 1, true
	case "messages":
		return []map[string]string{}, true
	case "metadata", "result", "critic", "decision":
		return map[string]any{}, true
	}
	return nil, false
}

// compiled returns a definition of these nodes and edges, of which a is the entry.
func compiled(t *testing.T, nodes []graph.Node, edges ...graph.Edge) *graph.Workflow {
	t.Helper()
	w, problems := graph.Compile(graph.Definition{Name: "w", Entry: "a", MaxIterations: 9, Nodes: nodes, Edges: edges}, engine.Kinds())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return w
}

// agent is a node in which an agent answers.
func agent(id string) graph.Node {
	return graph.Node{ID: id, Type: graph.AgentNode, Agent: "writer"}
}

// wantFault checks the type of an error, and that its message has a text; no type: there is no
// error.
func wantFault(t *testing.T, what string, err error, kind fault.Type, text string) {
	t.Helper()
	if kind == "" {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	if f := fault.From(err); f == nil || f.Type != kind || !strings.Contains(f.Message, text) {
		t.Errorf("%s: got %v, want %s with %q", what, err, kind, text)
	}
}

func TestAssign(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1024)
	tests := map[string]struct {
		field, expression string
		want              any
		fault             fault.Type
	}{
		"a text":                     {"routing_key", "'left'", "left", ""},
		"a number is a text":         {"next_action", "1.5", "1.5", ""},
		"true is a text":             {"routing_key", "true", "true", ""},
		"null takes a key back":      {"routing_key", "null", "", ""},
		"a list is no text":          {"routing_key", "[1]", nil, fault.WorkflowExpression},
		"an object is no text":       {"next_action", "{'a': 1}", nil, fault.WorkflowExpression},
		"as long as it may be":       {"routing_key", "input", long, ""},
		"too long":                   {"routing_key", "input + 'x'", nil, fault.WorkflowExpression},
		"metadata as a whole":        {"metadata", "{'a': 1}", map[string]any{"a": int64(1)}, ""},
		"metadata is an object":      {"metadata", "'a'", nil, fault.WorkflowExpression},
		"a key of metadata":          {"metadata.k", "[1, 'x']", []any{int64(1), "x"}, ""},
		"a member that is not there": {"metadata.k", "metadata.b", nil, fault.WorkflowExpression},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := agent("a")
			n.Output = []graph.Assignment{{Field: tt.field, Expression: tt.expression}}
			got, err := compiled(t, []graph.Node{n}).Node("a").Assign(t.Context(), seen{"input": long})
			wantFault(t, tt.expression, err, tt.fault, "An expression of node a failed: "+tt.expression)
			if diff := cmp.Diff([]graph.Wrote{{Field: tt.field, Value: tt.want}}, got); diff != "" && tt.fault == "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An assignment does not see the one before it in the same node, and the first that fails ends
// all.
func TestAssignIsAtOnce(t *testing.T) {
	t.Parallel()
	n := agent("a")
	n.Output = []graph.Assignment{{Field: "routing_key", Expression: "'new'"}, {Field: "metadata.k", Expression: "routing_key"}}
	got, err := compiled(t, []graph.Node{n}).Node("a").Assign(t.Context(), seen{"routing_key": "old"})
	if diff := cmp.Diff([]graph.Wrote{{Field: "routing_key", Value: "new"}, {Field: "metadata.k", Value: "old"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := compiled(t, []graph.Node{agent("a")}).Node("a").Assign(t.Context(), seen{}); got != nil || err != nil {
		t.Errorf("of no output: %v, %v", got, err)
	}
}

func TestFieldsAreWritten(t *testing.T) {
	t.Parallel()
	whole := map[string]any{"a": 1}
	f := graph.Fields{Metadata: map[string]any{"old": true}}
	for _, w := range []graph.Wrote{
		{Field: graph.FieldRouting, Value: "left"}, {Field: graph.FieldAction, Value: "next"}, {Field: graph.FieldAction, Value: 7},
		{Field: graph.FieldMetadata, Value: whole}, {Field: "metadata.b.c", Value: 2},
	} {
		f.Write(w)
	}
	want := graph.Fields{Routing: "left", Metadata: map[string]any{"a": 1, "b.c": 2}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(whole) != 1 {
		t.Errorf("the value of the run was changed: %v", whole)
	}
	f.Write(graph.Wrote{Field: graph.FieldMetadata})
	f.Write(graph.Wrote{Field: "metadata.x", Value: 1})
	if diff := cmp.Diff(map[string]any{"x": 1}, f.Metadata); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of a node all edges are followed whose condition holds; a condition takes the first that
// fits, and its default if none does.
func TestFollow(t *testing.T) {
	t.Parallel()
	condition := graph.Node{ID: "a", Type: engine.ConditionNode}
	choice := condition
	choice.Expression = "routing_key"
	edge := func(to, condition string) graph.Edge { return graph.Edge{From: "a", To: to, Condition: condition} }
	tests := map[string]struct {
		node  graph.Node
		edges []graph.Edge
		value any
		want  []int
		fault fault.Type
	}{
		"each without a condition":   {agent("a"), []graph.Edge{edge("b", ""), edge("c", "")}, nil, []int{0, 1}, ""},
		"each that holds":            {agent("a"), []graph.Edge{edge("b", "input == 'x'"), edge("c", "input == 'y'"), edge("d", "true")}, nil, []int{0, 2}, ""},
		"none holds":                 {agent("a"), []graph.Edge{edge("b", "false")}, nil, nil, ""},
		"one fails":                  {agent("a"), []graph.Edge{edge("b", "true"), edge("c", "metadata.x")}, nil, nil, fault.WorkflowExpression},
		"it is neither":              {agent("a"), []graph.Edge{edge("b", "metadata.text")}, nil, nil, fault.WorkflowExpression},
		"the first of a condition":   {condition, []graph.Edge{edge("b", "false"), edge("c", "true"), edge("d", "true")}, nil, []int{1}, ""},
		"its default":                {condition, []graph.Edge{edge("b", ""), edge("c", "false")}, nil, []int{0}, ""},
		"a fit before the default":   {condition, []graph.Edge{edge("b", ""), edge("c", "true")}, nil, []int{1}, ""},
		"no branch":                  {condition, []graph.Edge{edge("b", "false")}, nil, nil, fault.WorkflowNoBranch},
		"one of a condition fails":   {condition, []graph.Edge{edge("b", "metadata.x"), edge("c", "")}, nil, nil, fault.WorkflowExpression},
		"the value of a map":         {choice, mapped(t, "b", "left", "c", "", "d", "default"), "left", []int{0}, ""},
		"the empty value of a map":   {choice, mapped(t, "b", "left", "c", "", "d", "default"), "", []int{1}, ""},
		"the default of a map":       {choice, mapped(t, "b", "left", "c", "", "d", "default"), "right", []int{2}, ""},
		"a number is found as text":  {choice, mapped(t, "b", "7"), int64(7), []int{0}, ""},
		"no branch of a map":         {choice, mapped(t, "b", "left"), "right", nil, fault.WorkflowNoBranch},
		"a value that is not a text": {choice, mapped(t, "b", "true", "c", "false"), false, []int{1}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := []graph.Node{tt.node}
			for _, e := range tt.edges {
				nodes = append(nodes, agent(e.To))
			}
			got, err := compiled(t, nodes, tt.edges...).Node("a").Follow(t.Context(), seen{"input": "x", "metadata": map[string]any{"text": "t"}}, tt.value)
			wantFault(t, name, err, tt.fault, "")
			if !slices.Equal(got, tt.want) {
				t.Errorf("followed %v, want %v", got, tt.want)
			}
		})
	}
}

// mapped returns the edges of a map of node a: pairs of a node and the value that leads there.
func mapped(t *testing.T, pairs ...string) (list []graph.Edge) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		form := map[string]any{"from": "a", "to": pairs[i], "match": pairs[i+1]}
		if pairs[i+1] == "default" {
			delete(form, "match")
			form["default"] = true
		}
		text, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		var e graph.Edge
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// A rejection is accepted by an edge that looks at the decision and holds, and by one that
// leads to a condition which looks at it.
func TestAccepts(t *testing.T) {
	t.Parallel()
	const rejected = "decision.action == 'reject'"
	edge := func(from, to, condition string) graph.Edge {
		return graph.Edge{From: from, To: to, Condition: condition}
	}
	tests := map[string]struct {
		edges      []graph.Edge
		expression string // of the condition if
		want       bool
		fault      fault.Type
	}{
		"an edge on the decision":       {[]graph.Edge{edge("a", "b", rejected)}, "", true, ""},
		"which does not hold":           {[]graph.Edge{edge("a", "b", "decision.action == 'approve'")}, "", false, ""},
		"the second of two":             {[]graph.Edge{edge("a", "b", "decision.action == 'approve'"), edge("a", "c", rejected)}, "", true, ""},
		"an edge":                       {[]graph.Edge{edge("a", "b", "")}, "", false, ""},
		"an edge on something else":     {[]graph.Edge{edge("a", "b", "true")}, "", false, ""},
		"a condition behind it":         {[]graph.Edge{edge("a", "if", ""), edge("if", "b", rejected)}, "", true, ""},
		"a condition on something else": {[]graph.Edge{edge("a", "if", ""), edge("if", "b", "true")}, "", false, ""},
		"an expression that fails":      {[]graph.Edge{edge("a", "b", "decision.input.x == 1")}, "", false, fault.WorkflowExpression},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := []graph.Node{agent("a")}
			for _, e := range tt.edges {
				if e.To == "if" {
					nodes = append(nodes, graph.Node{ID: "if", Type: engine.ConditionNode, Expression: tt.expression})
				} else {
					nodes = append(nodes, agent(e.To))
				}
			}
			view := seen{"decision": map[string]any{"action": "reject", "input": map[string]any{}}}
			got, err := compiled(t, nodes, tt.edges...).Node("a").Accepts(t.Context(), view)
			wantFault(t, name, err, tt.fault, "node a")
			if got != tt.want && tt.fault == "" {
				t.Errorf("accepts %v, want %v", got, tt.want)
			}
		})
	}
}

// The texts of a node are filled with what it sees; what fails names the node.
func TestTextsOfANode(t *testing.T) {
	t.Parallel()
	n := agent("a")
	n.Input, n.Repeat = "say {{input}}{{metadata.x}}", &graph.Repeat{Until: "iteration >= 2", Max: 3}
	call := graph.Node{ID: "c", Type: engine.ToolNode, Tool: "s/t", Arguments: []graph.Argument{
		{Name: "x", Expression: "iteration + 1"}, {Name: "y", Value: []byte(`{"as":"it is"}`)}, {Name: "z", Expression: "metadata.x"},
	}}
	human := graph.Node{ID: "h", Type: "human", Prompt: "{{input}}?"}
	w := compiled(t, []graph.Node{n, call, human}, graph.Edge{From: "a", To: "c"}, graph.Edge{From: "c", To: "h"})
	full := seen{"input": "hi", "metadata": map[string]any{"x": true}}
	if got, err := w.Node("a").FillInput(t.Context(), full); got != "say hitrue" || err != nil {
		t.Errorf("input %q, %v", got, err)
	}
	_, err := w.Node("a").FillInput(t.Context(), seen{})
	wantFault(t, "input", err, fault.WorkflowExpression, "node a failed: metadata.x")
	if got, err := w.Node("h").FillPrompt(t.Context(), full); got != "hi?" || err != nil {
		t.Errorf("prompt %q, %v", got, err)
	}
	for i, want := range []string{"2", `{"as":"it is"}`, "true"} {
		got, err := w.Node("c").Argument(t.Context(), full, i)
		if text, _ := json.Marshal(got); string(text) != want || err != nil {
			t.Errorf("argument %d: %s, %v", i, text, err)
		}
	}
	_, err = w.Node("c").Argument(t.Context(), seen{}, 2)
	wantFault(t, "argument", err, fault.WorkflowExpression, "node c failed: metadata.x")
	for round, want := range map[int]bool{1: false, 2: true} {
		if got, err := w.Node("a").Enough(t.Context(), seen{"iteration": round}); got != want || err != nil {
			t.Errorf("round %d: %v, %v", round, got, err)
		}
	}
	if got, err := w.Node("a").Value(t.Context(), full); got != nil || err != nil {
		t.Errorf("a node without an expression: %v, %v", got, err)
	}
}

// A text that grows beyond 1 MiB while it is filled is refused.
func TestFilledTextIsBounded(t *testing.T) {
	t.Parallel()
	n := agent("a")
	n.Input = "{{input}}{{input}}"
	for size, kind := range map[int]fault.Type{graph.MaxText / 2: "", graph.MaxText/2 + 1: fault.WorkflowExpression} {
		_, err := compiled(t, []graph.Node{n}).Node("a").FillInput(t.Context(), seen{"input": strings.Repeat("x", size)})
		wantFault(t, "a long text", err, kind, "node a")
	}
}

// A node can be decided once all nodes before it have ended: it is open if an edge to it was
// followed.
func TestDecided(t *testing.T) {
	t.Parallel()
	w := compiled(t, []graph.Node{agent("a"), agent("b"), agent("c"), agent("d")},
		graph.Edge{From: "a", To: "b"}, graph.Edge{From: "a", To: "c"}, graph.Edge{From: "b", To: "d"}, graph.Edge{From: "c", To: "d"})
	for name, tt := range map[string]struct {
		ended       map[string][]int
		known, open bool
	}{
		"nothing has ended": {map[string][]int{"a": {0, 1}}, false, false},
		"one has ended":     {map[string][]int{"a": {0, 1}, "b": {2}}, false, false},
		"both lead here":    {map[string][]int{"b": {2}, "c": {3}}, true, true},
		"one leads here":    {map[string][]int{"b": nil, "c": {3}}, true, true},
		"none leads here":   {map[string][]int{"b": nil, "c": nil}, true, false},
	} {
		known, open := w.Node("d").Decided(func(from *graph.Vertex) ([]int, bool) {
			followed, ok := tt.ended[from.ID]
			return followed, ok
		})
		if known != tt.known || open != tt.open {
			t.Errorf("%s: known %v, open %v", name, known, open)
		}
	}
	if known, open := w.Entry().Decided(nil); !known || open {
		t.Errorf("the entry: known %v, open %v", known, open)
	}
	if d := w.Node("d"); !d.DependsOn(w.Node("a")) || !d.DependsOn(w.Node("b")) || w.Node("b").DependsOn(w.Node("c")) || d.DependsOn(d) {
		t.Error("ways of the graph are not what edges say")
	}
	if !w.Node("d").IsEnd() || w.Node("b").IsEnd() || w.Node("nobody") != nil || w.Entry().ID != "a" {
		t.Error("entry, ends or names are wrong")
	}
	for i, n := range w.Nodes() {
		if n.Order != i {
			t.Errorf("%s has the number %d, want %d", n.ID, n.Order, i)
		}
	}
}
