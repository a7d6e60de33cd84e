package wholetest

import (
	"fmt"
	"strings"

	"sluice/internal/base/telemetry/trace/tracetest"
)

// Names returns a tree without attributes, but for links and how a run ended.
func Names(tree *tracetest.Tree) string {
	var b strings.Builder
	for line := range strings.Lines(tree.String()) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		b.WriteString(line[:indent])
		for _, word := range strings.Fields(line) {
			key, value, isAttribute := strings.Cut(word, "=")
			switch {
			case !isAttribute:
				b.WriteString(word + " ")
			case key == "link":
				fmt.Fprintf(&b, "after %s ", strings.TrimLeft(strings.Split(value, "-")[2], "0"))
			case key == "sluice.workflow.status":
				b.WriteString(value + " ")
			}
		}
		b.WriteString("\n")
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}
