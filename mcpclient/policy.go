package mcpclient

import (
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"sluice/tool"
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
	u.event(u.log.Warn(), "mcp_policy_without_tool", func(d *zerolog.Event) {
		d.Str("key", key).Str("tool_name", clipped(tool.Clean(name), 128))
	})
}

// offersTool reports whether the server offers a tool of this name, as the server
// spells it.
func (c *catalogue) offersTool(name string) bool {
	return slices.ContainsFunc(c.offers, func(o *offer) bool { return o.name == name })
}

// fallbacks gives each tool of v its fallbacks, and warns of those that no server
// offers. It says nothing of a server whose tools are not known yet.
func (c *Client) fallbacks(v *view, bound []*boundTool) {
	for _, t := range bound {
		for _, target := range t.up.Policy.Fallback[t.offer.name] {
			if target == "" {
				continue
			}
			found, all := fallbackOf(t, target, bound, v.made, c.upstreams)
			switch {
			case found != nil:
				t.fallbacks = append(t.fallbacks, found)
			case all:
				t.up.warnOf("fallback", target)
			}
		}
	}
}

// fallbackOf finds the tool that target names. all says that every server that
// could have it was looked at.
func fallbackOf(t *boundTool, target string, bound []*boundTool, made []condition, ups []*upstream) (found *boundTool, all bool) {
	server, name, qualified := strings.Cut(target, "/")
	qualified = qualified && slices.ContainsFunc(ups, func(u *upstream) bool { return u.Name == server })
	if !qualified {
		name = target
	}
	for i, u := range ups {
		if made[i].offers == nil && (!qualified || u.Name == server) {
			return nil, false
		}
	}
	for _, other := range bound {
		switch {
		case other == t || other.offer.name != name || qualified && other.up.Name != server:
		case qualified || other.up != t.up:
			return other, true
		case found == nil:
			found = other
		}
	}
	return found, true
}
