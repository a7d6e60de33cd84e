package agent

import (
	"slices"

	"sluice/internal/turn/tool"
)

// readOnly returns the tools of a set that only read. Turns with the same set share the result,
// because a driver caches the rendered tools by the pointer.
func (a *Agent) readOnly(whole *tool.Set) *tool.Set {
	if n := a.narrowed.Load(); n != nil && n.full == whole {
		return n.readOnly
	}
	n := &narrowed{whole, readOnlyOf(whole)}
	a.narrowed.Store(n)
	return n.readOnly
}

// readOnlyOf returns the read-only part of a set. A fallback that does more than read is dropped. A
// tool of an unavailable server without a remaining fallback is left out.
func readOnlyOf(whole *tool.Set) *tool.Set {
	part := &tool.Set{Unavailable: whole.Unavailable}
	for _, spec := range whole.Specs {
		if !spec.Annotations.ReadOnly {
			continue
		}
		spec.Fallback, spec.More = readOnlyFallbacks(whole, &spec)
		if spec.Fallback != "" || !isUnavailable(whole, spec.Server) {
			part.Specs = append(part.Specs, spec)
		}
	}
	return part
}

// readOnlyFallbacks returns those fallbacks of a tool that only read.
func readOnlyFallbacks(whole *tool.Set, spec *tool.Spec) (first string, more []string) {
	for i := range 1 + len(spec.More) {
		name := spec.Fallback
		if i > 0 {
			name = spec.More[i-1]
		}
		switch f := whole.Lookup(name); {
		case f == nil || !f.Annotations.ReadOnly:
		case first == "":
			first = name
		default:
			more = append(more, name)
		}
	}
	return first, more
}

// isUnavailable reports whether a server of the set cannot be called.
func isUnavailable(tools *tool.Set, server string) bool {
	return slices.ContainsFunc(tools.Unavailable, func(u tool.UnavailableServer) bool { return u.Server == server })
}
