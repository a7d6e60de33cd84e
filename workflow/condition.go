// This file is the kind condition: a node that takes one of its edges, and does nothing
// else.

package workflow

import (
	"context"
	"slices"

	"sluice/fault"
	"sluice/stream"
)

// ConditionNode is the type of nodes that choose an edge.
const ConditionNode NodeType = "condition"

type conditionKind struct{ plain }

func (conditionKind) name() NodeType { return ConditionNode }
func (conditionKind) keys() []string { return []string{"expression"} }
func (conditionKind) chooses() bool  { return true }

func (conditionKind) check(c *compiler, n *node) {
	if len(n.out) == 0 {
		c.problem(at(n), "a condition needs an edge that leads on")
	}
}

func (conditionKind) compile(c *compiler, n *node) {
	if n.Expression != "" {
		n.expression = c.expression(at(n, "expression"), n.Expression, false)
	}
}

// begin evaluates the expression on the goroutine of the run, as an evaluation is bounded
// to 50 ms.
//
// An expression that fails ends the run: there is no result on which an edge could continue.
func (conditionKind) begin(x *execution, n *node, o *Open, _ bool) {
	if !x.admit() {
		return
	}
	x.emitNode(n, o, stream.NodeStarted)
	out := o.Decision.outcome(n)
	if n.expression != nil {
		var err error
		if out.value, err = n.expression.eval(x.ctx, x.state.decided(n, o.Decision)); err != nil {
			x.failed(n, o, inNode(n, err), 0)
			return
		}
	}
	x.close(n, *o, out, 0)
}

func (conditionKind) draw(*Node) (left, label, right string) { return "{", "", "}" }

// choices checks the edges of a condition, which takes one.
//
// An edge without a condition and the default of a map mean the same, so that there is one
// of them at most. More than one would hide all but the first.
func (c *compiler) choices(n *node) {
	var always *edge
	seen := map[string]bool{}
	mapped := false
	for _, e := range n.out {
		mapped = mapped || e.mapped
		switch {
		case e.mapped && !e.Default:
			if seen[e.Match] {
				c.problem(e.at, "this value leads elsewhere already")
			}
			seen[e.Match] = true
		case e.condition != nil || e.Condition != "":
		case always != nil:
			c.problem(toAt(e), "is never taken: another edge of this condition is taken where nothing else fits")
		default:
			always = e
		}
	}
	switch {
	case mapped && n.Expression == "":
		c.problem(at(n, "expression"), "is required, as the to of an edge is an object")
	case !mapped && n.Expression != "" && len(n.out) > 0:
		c.problem(at(n, "expression"), "is never used: no to of its edges is an object")
	}
}

// choose returns the edge that a condition takes.
//
// Edges are tried in the order of the file and the first that fits wins; the default counts
// last, wherever it stands. No edge that fits is a fault of the run (workflow_no_branch)
// and not a quiet end.
func (v *view) choose(ctx context.Context, n *node, o *outcome) (*edge, error) {
	var otherwise *edge
	for _, e := range n.out {
		switch {
		case e.mapped && !e.Default:
			if textOf(o.value) == e.Match {
				return e, nil
			}
		case e.condition != nil:
			yes, err := e.condition.test(ctx, v)
			if yes || err != nil {
				return e, err
			}
		default:
			otherwise = e
		}
	}
	if otherwise == nil {
		return nil, &fault.Error{Type: fault.WorkflowNoBranch, Message: "No edge of condition " + n.ID + " fits"}
	}
	return otherwise, nil
}

// looksAtDecision says of a condition whether its expression or one of its edges' uses the
// variable decision.
func (n *node) looksAtDecision() bool {
	return n.expression != nil && n.expression.decision ||
		slices.ContainsFunc(n.out, func(e *edge) bool { return e.condition != nil && e.condition.decision })
}
