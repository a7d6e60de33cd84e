// This file is the table of the kinds of nodes. A new kind is a file like condition.go, and a
// line here.

package engine

import "sluice/internal/engine/workflow/graph"

// kinds lists all kinds, in the order of the file's schema.
var kinds = []kind{
	agentKind{},
	toolKind{},
	conditionKind{},
	humanKind{},
}

// kind is a kind of nodes that can be run.
type kind interface {
	graph.Kind

	// beginNode carries a node out, and reports its end to x. It is called on the goroutine of
	// the run. alone: no other node works, or can begin.
	beginNode(x *execution, n *graph.Vertex, o *Open, alone bool)
}

// asking is a kind whose nodes are a question to a person. Such a node begins when the
// person has decided.
type asking interface {
	// makeQuestion returns the question in the node's texts, at this place of the run.
	makeQuestion(x *execution, n *graph.Vertex) (*Question, error)
}

// Kinds returns the kinds of nodes, for code that reads and compiles definitions.
func Kinds() (list []graph.Kind) {
	for _, k := range kinds {
		list = append(list, k)
	}
	return list
}
