package mcpclient

import (
	"context"
	"slices"
	"sync/atomic"

	"sluice/internal/turn/tool"
)

// Selection is some of the tools of a Client. The other tools are hidden from its users, and never
// run for them. It is safe for concurrent use.
type Selection struct {
	client  *Client
	entries []string
	last    atomic.Pointer[selected] // the last one made
}

// selected is the part of a view that a Selection chose.
type selected struct {
	of  *view
	set *tool.Set
}

// Select returns the tools that entries name: "<server>" for all of a server's,
// "<server>/<tool>" for one, by the name that its server gives it.
func (c *Client) Select(entries []string) *Selection {
	return &Selection{client: c, entries: entries}
}

// Named returns the name in the Set of a server's tool; empty if the server has no such tool or is
// unavailable.
func (c *Client) Named(ctx context.Context, server, name string) string {
	c.reconnectServers(ctx, func(s string) bool { return s == server })
	for _, t := range c.currentView().tools {
		if t.up.Name == server && t.offer.name == name {
			return t.name
		}
	}
	return ""
}

// Tools returns the tools that can be called now, as Client.Tools does. It does not wait for
// servers without a selected tool. A fallback that is not selected is never called.
func (s *Selection) Tools(ctx context.Context) *tool.Set {
	s.client.reconnectServers(ctx, s.hasServer)
	return s.selectSet(s.client.currentView())
}

// Call runs a tool, as Client.Call does.
func (s *Selection) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	v := s.client.currentView()
	if t := v.tools[call.Name]; t == nil || !s.hasTool(t) {
		return tool.Result{}, unknownTool(call.Name, s.selectSet(v))
	}
	return s.client.Call(ctx, call)
}

// selectSet returns the selected part of a view. Calls of the same view share the result, because a
// model caches its rendering by the pointer.
func (s *Selection) selectSet(v *view) *tool.Set {
	if last := s.last.Load(); last != nil && last.of == v {
		return last.set
	}
	set := &tool.Set{}
	for _, u := range v.set.Unavailable {
		if s.hasServer(u.Server) {
			set.Unavailable = append(set.Unavailable, u)
		}
	}
	for _, spec := range v.set.Specs {
		t := v.tools[spec.Name]
		if !s.hasTool(t) {
			continue
		}
		own := boundTool{name: t.name, offer: t.offer, up: t.up}
		for _, f := range t.fallbacks {
			if s.hasTool(f) {
				own.fallbacks = append(own.fallbacks, f)
			}
		}
		if spec, offered := s.client.specIn(v, &own); offered {
			set.Specs = append(set.Specs, spec)
		}
	}
	s.last.Store(&selected{v, set})
	return set
}

// hasTool reports whether a tool is selected, by its server's name or by its own.
func (s *Selection) hasTool(t *boundTool) bool {
	return slices.Contains(s.entries, t.up.Name) || slices.Contains(s.entries, t.up.Name+"/"+t.offer.name)
}

// hasServer reports whether any tool of a server is selected.
func (s *Selection) hasServer(name string) bool {
	return slices.ContainsFunc(s.entries, func(e string) bool {
		return e == name || len(e) > len(name) && e[:len(name)] == name && e[len(name)] == '/'
	})
}
