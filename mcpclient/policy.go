package mcpclient

import (
	"maps"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"sluice/internal/turn/tool"
)

// checkPolicy warns, once each, of tools that the policy names and the server does
// not offer: misspelt, denied or gone.
func (u *upstream) checkPolicy(c *catalogue) {
	for key, tools := range u.Policy.Named() {
		for _, name := range tools {
			if !c.offersTool(name) {
				u.warnOf(key, name)
			}
		}
	}
}

// warnOf warns, once each, of a tool that a key of the policy names but the server does not have.
func (u *upstream) warnOf(key, name string) {
	if _, known := u.warned.LoadOrStore(key+" "+name, true); known {
		return
	}
	u.logEvent(u.log.Warn(), "mcp_policy_without_tool", func(d *zerolog.Event) {
		d.Str("key", key).Str("tool_name", clipText(tool.Clean(name), 128))
	})
}

// offersTool reports whether the server offers a tool of this name, as the server
// spells it.
func (c *catalogue) offersTool(name string) bool {
	return slices.ContainsFunc(c.offers, func(o *offer) bool { return o.name == name })
}

// bindFallbacks gives each tool of v its fallbacks, and warns of those that no server
// offers. It says nothing of a server whose tools are not known yet.
func (c *Client) bindFallbacks(v *view, bound []*boundTool) {
	for _, t := range bound {
		for _, target := range t.up.Policy.Fallback[t.offer.name] {
			if target == "" || !t.standIn && c.isUnlisted(v, target) {
				continue
			}
			if found := c.fallbackOf(t, target, bound); found != nil {
				t.fallbacks = append(t.fallbacks, found)
			} else if !t.standIn {
				t.up.warnOf("fallback", target)
			}
		}
	}
}

// standIns returns the tools for servers with an unknown list. Each is a name that the
// configuration maps to fallbacks, with the definition of its first known fallback.
func (c *Client) standIns(v *view, bound []*boundTool) (all []*boundTool) {
	for i, u := range c.upstreams {
		if v.conditions[i].offers != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(u.Policy.Fallback)) {
			t := &boundTool{offer: &offer{name: name}, up: u, standIn: true}
			if u.wantsTool(name) && c.copyFallback(t, bound) {
				all = append(all, t)
			}
		}
	}
	return all
}

// copyFallback gives a stand-in the schema of its first fallback, and reports whether there is one.
func (c *Client) copyFallback(t *boundTool, bound []*boundTool) bool {
	for _, target := range t.up.Policy.Fallback[t.offer.name] {
		if found := c.fallbackOf(t, target, bound); found != nil {
			spec := found.offer.spec
			spec.Name, spec.Server = safeName(t.offer.name), t.up.Name
			t.up.Policy.Override(t.offer.name, &spec.Annotations)
			spec.Confirm = t.up.Policy.Confirm[t.offer.name]
			t.offer.spec, t.offer.schema = spec, found.offer.schema
			return true
		}
	}
	return false
}

// splitTarget returns the server and the tool that target names. An empty server means any.
func (c *Client) splitTarget(target string) (server, name string) {
	server, name, qualified := strings.Cut(target, "/")
	if qualified && slices.ContainsFunc(c.upstreams, func(u *upstream) bool { return u.Name == server }) {
		return server, name
	}
	return "", target
}

// isUnlisted reports whether the tools of a server that could have target are not known.
func (c *Client) isUnlisted(v *view, target string) bool {
	server, _ := c.splitTarget(target)
	for i, u := range c.upstreams {
		if v.conditions[i].offers == nil && (server == "" || u.Name == server) {
			return true
		}
	}
	return false
}

// fallbackOf finds the known tool that target names, preferably of another server if target names
// none. It returns nil if no tool has this name.
func (c *Client) fallbackOf(t *boundTool, target string, bound []*boundTool) (found *boundTool) {
	server, name := c.splitTarget(target)
	for _, other := range bound {
		switch {
		case other == t || other.standIn || other.offer.name != name || server != "" && other.up.Name != server:
		case server != "" || other.up != t.up:
			return other
		case found == nil:
			found = other
		}
	}
	return found
}
