package graph

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// blindRetries finds edges on which a run would repeat a call with an unknown outcome. Such an edge
// leads from a node of a tool on result.is_error to a node of the same tool, and result.unknown is
// not looked at. reporting are the servers about whose calls people are not asked.
func (w *Workflow) blindRetries(reporting []string) (problems []Problem) {
	for _, n := range w.nodes {
		if server, _, _ := strings.Cut(n.Tool, "/"); n.Tool != "" && slices.Contains(reporting, server) {
			for _, e := range n.blindEdges(n.Tool, false) {
				problems = append(problems, Problem{jsontext.Pointer(toAt(e)), "goes on to the same tool after an error of it, and does not look at result.unknown: " +
					"its server says tell, so a call of unknown outcome would be an error like any other"})
			}
		}
	}
	return problems
}

// blindEdges returns the edges of a node, and of the conditions behind it, that lead to a node of
// a tool and have looked at result.is_error, but not at result.unknown. failure says that the
// way here has looked.
func (n *Vertex) blindEdges(tool string, failure bool) (list []*edge) {
	if n.expression.seesUnknown() {
		return nil
	}
	failure = failure || n.expression.seesFailure()
	for _, e := range n.out {
		list = append(list, e.blindEdges(tool, failure)...)
	}
	return list
}

// blindEdges returns the edge if it leads to the node of the tool, and those behind the condition that it
// leads to.
func (e *edge) blindEdges(tool string, failure bool) []*edge {
	if e.condition.seesUnknown() {
		return nil
	}
	failure = failure || e.condition.seesFailure()
	switch {
	case e.to.Kind.Chooses():
		return e.to.blindEdges(tool, failure)
	case failure && e.to.Tool == tool:
		return []*edge{e}
	}
	return nil
}
