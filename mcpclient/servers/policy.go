package servers

import (
	"iter"
	"slices"

	"sluice/internal/base/config/file"
)

// membersOf yields the members of an object. otherwise is the fault of any other value.
func membersOf(n *file.Node, otherwise string) iter.Seq[*file.Node] {
	if n.Kind() != '{' {
		n.Fault(otherwise)
		return func(func(*file.Node) bool) {}
	}
	return n.Members()
}

// checkFallbacks checks an object of tool names, or lists of them. Whether the tools exist is known
// to their servers alone.
func checkFallbacks(n *file.Node, server string) {
	for m := range membersOf(n, `must be an object of strings, such as {"search": "archive/search"}`) {
		if m.Kind() != '[' {
			checkFallback(m, nil, server, m.Name())
			continue
		}
		list := elementsOf(m)
		if len(list) == 0 {
			m.Fault("must name a tool, or be left out")
		}
		before := m.Texts()
		for i, e := range list {
			checkFallback(e, before[:min(i, len(before))], server, m.Name())
		}
	}
}

// checkFallback checks one fallback of a tool; before holds the previous ones.
func checkFallback(n *file.Node, before []string, server, tool string) {
	to, ok := stringOf(n)
	switch {
	case !ok:
	case tool == "" || to == "":
		n.Fault("must not be empty")
	case to == server+"/"+tool:
		n.Fault("must be another tool")
	case slices.Contains(before, to):
		n.Fault("is named twice")
	}
}

// checkConfirm checks an object of tool names with always or never.
func checkConfirm(n *file.Node) {
	for m := range membersOf(n, `must be an object of always and never, such as {"refund": "always"}`) {
		how, ok := stringOf(m)
		switch {
		case !ok:
		case m.Name() == "":
			m.Fault("must not be empty")
		case how != "always" && how != "never":
			m.Fault("must be always or never")
		}
	}
}

// checkAgreement refuses a tool that is said to be two things that exclude one another. The policy
// would treat it as destructive, perhaps against the intention.
func checkAgreement(n *file.Node) {
	readOnly := n.Get("readOnly").Texts()
	for m := range n.Get("destructive").Members() {
		if name, ok := m.Text(); ok && name != "" && slices.Contains(readOnly, name) {
			m.Fault("is in readOnly, too")
		}
	}
}
