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
			label = "<br/>" + escapeLabel(label)
		}
		fmt.Fprintf(&b, "  %s%s\"%s%s\"%s\n", drawnName(n.ID), left, n.ID, label, right)
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
			fmt.Fprintf(&b, "  %s --> %s\n", drawnName(e.From), drawnName(e.To))
		} else {
			fmt.Fprintf(&b, "  %s -->|\"%s\"| %s\n", drawnName(e.From), escapeLabel(label), drawnName(e.To))
		}
	}
	return b.String()
}

// drawnName returns a name that is not a word of Mermaid's, as end is.
func drawnName(id string) string { return "n_" + id }

// escapeLabel writes a text so that it is not part of the drawing's own language.
func escapeLabel(text string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ", "\r", " ").Replace(text)
}
