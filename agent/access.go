package agent

import (
	"slices"

	"sluice/tool"
)

// narrowed is a set of tools, and what of it a turn may call that must change
// nothing.
type narrowed struct{ whole, readOnly *tool.Set }

// readOnly returns the tools of a set that only read. Turns that were given the same
// set share the result, because a driver caches what it renders by the pointer.
func (a *Agent) readOnly(whole *tool.Set) *tool.Set {
	if n := a.narrowed.Load(); n != nil && n.whole == whole {
		return n.readOnly
	}
	n := &narrowed{whole, readOnlyOf(whole)}
	a.narrowed.Store(n)
	return n.readOnly
}

// readOnlyOf returns the read-only part of a set. A fallback that does more than read
// is none; a tool whose server is unavailable and that has no other is left out, as if it
// had never had one.
func readOnlyOf(whole *tool.Set) *tool.Set {
	part := &tool.Set{Unavailable: whole.Unavailable}
	for _, spec := range whole.Specs {
		if !spec.Annotations.ReadOnly {
			continue
		}
		if f := whole.Lookup(spec.Fallback); f == nil || !f.Annotations.ReadOnly {
			spec.Fallback = ""
		}
		if spec.Fallback != "" || !away(whole, spec.Server) {
			part.Specs = append(part.Specs, spec)
		}
	}
	return part
}

// away says whether a server of the set cannot be called.
func away(tools *tool.Set, server string) bool {
	return slices.ContainsFunc(tools.Unavailable, func(u tool.UnavailableServer) bool { return u.Server == server })
}
