package mcpclient

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"sluice/chat"
)

// Policy is what the configuration says of a server's tools beside Allow and Deny.
// It names tools as the server gives them. The zero value believes the server.
type Policy struct {
	// ReadOnly, Idempotent and Destructive name tools that are so, whatever the
	// server's own annotations say. A tool that is read-only is not destructive, and
	// the other way round, so none is in both lists.
	ReadOnly, Idempotent, Destructive []string
	// Untrusted ignores the server's own annotations: what the lists do not say is
	// as MCP takes it to be of a tool without annotations.
	Untrusted bool
	// Fallback names, by tool, the one to run when this server is unavailable:
	// "<server>/<tool>", or "<tool>", which is that of the first other server that
	// offers it, or else of this one.
	Fallback map[string]string
}

// faults returns what is wrong with p in itself; whether the tools exist turns out
// later.
func (p Policy) faults() (faults []error) {
	for _, name := range p.ReadOnly {
		if slices.Contains(p.Destructive, name) {
			faults = append(faults, fmt.Errorf("the tool %q cannot be both readOnly and destructive", name))
		}
	}
	for _, from := range slices.Sorted(maps.Keys(p.Fallback)) {
		if to := p.Fallback[from]; from == "" || to == "" {
			faults = append(faults, errors.New("fallback has an empty name"))
		}
	}
	return faults
}

// override makes a, which the server says of a tool, what the policy says of it.
func (p Policy) override(tool string, a *chat.Annotations) {
	if slices.Contains(p.ReadOnly, tool) {
		a.ReadOnly, a.Destructive = true, false
	}
	if slices.Contains(p.Destructive, tool) {
		a.ReadOnly, a.Destructive = false, true
	}
	if slices.Contains(p.Idempotent, tool) {
		a.Idempotent = true
	}
}

// named returns the tools that p says something of, by the key that does so.
func (p Policy) named() map[string][]string {
	return map[string][]string{
		"readOnly": p.ReadOnly, "idempotent": p.Idempotent, "destructive": p.Destructive,
		"fallback": slices.Sorted(maps.Keys(p.Fallback)),
	}
}

// checkPolicy warns, once each, of tools that the policy names and the server does
// not offer: misspelt, denied or gone.
func (u *upstream) checkPolicy(c *catalogue) {
	for key, tools := range u.Policy.named() {
		for _, tool := range tools {
			if !c.offersTool(tool) {
				u.warnOf(key, tool)
			}
		}
	}
}

// warnOf warns, once each, of a tool that a key of the policy names but the server does not have.
func (u *upstream) warnOf(key, tool string) {
	if _, known := u.warned.LoadOrStore(key+" "+tool, true); known {
		return
	}
	u.event(u.log.Warn(), "mcp_policy_without_tool", func(d *zerolog.Event) {
		d.Str("key", key).Str("tool_name", clipped(clean(tool), 128))
	})
}

func (c *catalogue) offersTool(name string) bool {
	return slices.ContainsFunc(c.offers, func(o *offer) bool { return o.name == name })
}

// fallbacks gives each tool of v the name of its fallback, and warns of those that
// no server offers. It says nothing of a server whose tools are not known yet.
func (c *Client) fallbacks(v *view, bound []*boundTool) {
	for _, t := range bound {
		target := t.up.Policy.Fallback[t.offer.name]
		if target == "" {
			continue
		}
		found, all := fallbackOf(t, target, bound, v.made, c.upstreams)
		switch {
		case found != nil:
			t.fallback = found
		case all:
			t.up.warnOf("fallback", target)
		}
	}
}

// fallbackOf finds the tool that target names. all says that every server that
// could have it was looked at.
func fallbackOf(t *boundTool, target string, bound []*boundTool, made []condition, ups []*upstream) (found *boundTool, all bool) {
	server, tool, qualified := strings.Cut(target, "/")
	qualified = qualified && slices.ContainsFunc(ups, func(u *upstream) bool { return u.Name == server })
	if !qualified {
		tool = target
	}
	for i, u := range ups {
		if made[i].offers == nil && (!qualified || u.Name == server) {
			return nil, false
		}
	}
	for _, other := range bound {
		switch {
		case other == t || other.offer.name != tool || qualified && other.up.Name != server:
		case qualified || other.up != t.up:
			return other, true
		case found == nil:
			found = other
		}
	}
	return found, true
}
