package file

import (
	"strings"

	"sluice/internal/base/check"
)

// use is a variable that stands in a string.
type use struct {
	name  string
	value string
	set   bool // value is the environment's, not the file's default
}

// expandVariables puts the environment's values in place of ${NAME}, and of ${NAME:-x} if NAME is
// set and not empty, else x. "$$" stands for "$"; a "$" before anything else is itself. Inserted
// values are not expanded again.
func expandVariables(text string, lookup func(string) (string, bool)) (value string, used []use, fault string) {
	if !strings.Contains(text, "$") {
		return text, nil, ""
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), used, fault
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			text = after[1:]
			continue
		case !strings.HasPrefix(after, "{"):
			b.WriteByte('$')
			text = after
			continue
		}
		inside, rest, closed := strings.Cut(after[1:], "}")
		name, otherwise, hasDefault := strings.Cut(inside, ":-")
		if !closed || !check.VariableName(name) {
			return "", used, "${ must be followed by a variable's name and }, or :- and a default between them; write $$ for a plain $"
		}
		u := use{name: name}
		u.value, u.set = lookup(name)
		switch {
		case hasDefault && u.value == "":
			u.value, u.set = otherwise, false
		case !u.set:
			fault = "the variable " + name + " is not set"
		}
		used = append(used, u)
		b.WriteString(u.value)
		text = rest
	}
}
