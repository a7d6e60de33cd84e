package servers

import (
	"strings"

	"sluice/internal/base/check"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
)

// expandNode returns a string with the environment's values in place of ${NAME}. They are
// added to used unless that is nil.
//
// Our own key is refused: it never goes to an MCP server or a child process.
func (f *reader) expandNode(n *file.Node, used *[]config.Secret) (string, bool) {
	if _, ok := stringOf(n); !ok {
		return "", false
	}
	if f.lookup != nil { // else they are put in already
		n.Expand(f.lookupVariable, expandVariables)
	}
	for name, value := range n.Variables() {
		if neverPassedOn(name) {
			n.Fault(name + " is never passed on")
		}
		if used != nil && value != "" {
			*used = append(*used, value)
		}
	}
	return n.Text()
}

// expandVariables puts values in place of ${NAME}. "$${" stands for "${" itself.
func expandVariables(s string, variable func(name string) string) (value, fault string) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			b.WriteString(s)
			return b.String(), ""
		}
		if escaped, is := strings.CutSuffix(before, "$"); is {
			b.WriteString(escaped + "${")
			s = after
			continue
		}
		b.WriteString(before)
		name, rest, closed := strings.Cut(after, "}")
		if !closed || !check.VariableName(name) {
			return "", "${ must be followed by a variable's name and }; write $${ for a plain ${"
		}
		b.WriteString(variable(name))
		s = rest
	}
}

// lookupVariable returns the value of an environment variable that a file names. A variable with an
// empty value is as good as any.
func (f *reader) lookupVariable(name string) (value string, ok bool) {
	if neverPassedOn(name) {
		return "", true // that is a fault of its own
	}
	return f.lookup(name)
}

// neverPassedOn are the keys of the model: no server and no child process gets
// them, whatever a file says.
func neverPassedOn(name string) bool { return name == "GEMINI_API_KEY" || name == "GOOGLE_API_KEY" }
