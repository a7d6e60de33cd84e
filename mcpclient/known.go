package mcpclient

import (
	"slices"

	"github.com/rs/zerolog"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// KnownTool returns the tool with this name for the model, also if its server is unavailable; nil
// for an unknown name. It waits for nothing.
func (c *Client) KnownTool(name string) *tool.Info {
	t := c.currentView().tools[name]
	if t == nil {
		return nil
	}
	return t.toolInfo()
}

// KnownTool returns a selected tool, as Client.KnownTool does.
func (s *Selection) KnownTool(name string) *tool.Info {
	t := s.client.currentView().tools[name]
	if t == nil || !s.hasTool(t) {
		return nil
	}
	return t.toolInfo()
}

// toolInfo returns the facts of the tool that are known without its server.
func (t *boundTool) toolInfo() *tool.Info {
	return &tool.Info{Server: t.up.Name, Name: t.offer.name, Policy: &t.up.Policy, Annotations: t.offer.spec.Annotations}
}

// checkCache warns, once each, of tools whose results are not kept although the policy
// says so, because they may change something.
func (u *upstream) checkCache(c *catalogue) {
	for name := range u.Policy.Cache {
		changes := slices.ContainsFunc(c.offers, func(o *offer) bool { return o.name == name && !o.spec.Annotations.ReadOnly })
		if !changes {
			continue
		}
		if _, known := u.warned.LoadOrStore("refused "+name, true); known {
			continue
		}
		u.logEvent(u.log.Warn(), "tool_cache_refused", func(d *zerolog.Event) {
			d.Str("tool_name", chat.Clip(tool.Clean(name), 128))
		})
	}
}
