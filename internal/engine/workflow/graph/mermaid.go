package graph

import (
	"fmt"
	"strings"
)

// Mermaid returns the graph as a text that Mermaid draws.
func (w *Workflow) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i := range w.def.Nodes {
		n := &w.def.Nodes[i]
		left, label, right := w.byID[n.ID].Kind.Draw(n)
		if label != "" {
			label = "<br/>" + escaped(label)
		}
		fmt.Fprintf(&b, "  %s%s\"%s%s\"%s\n", drawn(n.ID), left, n.ID, label, right)
	}
	for _, e := range w.def.Edges {
		label := e.Condition
		switch {
		case e.Default:
			label = "default"
		case e.mapped:
			label = e.Match
		}
		if label == "" {
			fmt.Fprintf(&b, "  %s --> %s\n", drawn(e.From), drawn(e.To))
		} else {
			fmt.Fprintf(&b, "  %s -->|\"%s\"| %s\n", drawn(e.From), escaped(label), drawn(e.To))
		}
	}
	return b.String()
}

// drawn returns a name that is not a word of Mermaid's, as end is.
func drawn(id string) string { return "n_" + id }

// escaped writes a text so that it is not part of the drawing's own language.
func escaped(text string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ", "\r", " ").Replace(text)
}
