// This file is the kind condition: a node that takes one of its edges, and does nothing
// else.

package engine

import (
	"sluice/internal/engine/workflow/graph"
	"sluice/stream"
)

// ConditionNode is the type of nodes that choose an edge.
const ConditionNode graph.NodeType = "condition"

type conditionKind struct{ graph.Plain }

func (conditionKind) Name() graph.NodeType { return ConditionNode }
func (conditionKind) Keys() []string       { return []string{"expression"} }
func (conditionKind) Chooses() bool        { return true }

func (conditionKind) Check(n *graph.Vertex) []graph.Problem {
	if n.IsEnd() {
		return []graph.Problem{{Text: "a condition needs an edge that leads on"}}
	}
	return nil
}

// beginNode evaluates the expression on the goroutine of the run, as an evaluation is bounded
// to 50 ms.
//
// If the expression fails, the run ends: no edge could continue without a result.
func (conditionKind) beginNode(x *execution, n *graph.Vertex, o *Open, _ bool) {
	if !x.countExecution() {
		return
	}
	x.emitNode(n, o, stream.NodeStarted)
	out := o.Decision.outcomeAt(n)
	var err error
	if out.value, err = n.Value(x.ctx, x.state.decidedView(n, o.Decision)); err != nil {
		x.failNode(n, o, err, 0)
		return
	}
	x.closeNode(n, *o, out, 0)
}

func (conditionKind) Draw(*graph.Node) (left, label, right string) { return "{", "", "}" }
