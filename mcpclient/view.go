package mcpclient

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// view is the set of tools at one moment, with the conditions that it was made of.
type view struct {
	set        *tool.Set
	tools      map[string]*boundTool // all that is known, also of servers that are unavailable
	conditions []condition
}

// atomicView holds the last view. A view never changes, so readers need no lock.
type atomicView = atomic.Pointer[view]

// boundTool is a tool under the name that the model knows.
type boundTool struct {
	name  string
	offer *offer
	up    *upstream
	// fallbacks are the tools to run when up is unavailable, in order.
	fallbacks []*boundTool
	// standIn is true if the list of up is unknown. The offer is then that of a fallback, which
	// runs in any case.
	standIn bool
}

// withHint returns f with a hint for the model if the text for a person does not name the tool or
// the next step.
func (t *boundTool) withHint(f *fault.Error) *fault.Error {
	if f.Hint != "" || f.Type != fault.MCPUnavailable && f.Type != fault.ToolFailed && f.Type != fault.Timeout {
		return f
	}
	hinted := *f
	switch {
	case f.Type == fault.MCPUnavailable && f.NoEffect:
		hinted.Hint = f.Message + "; " + t.name + " was not executed"
	case f.Unknown: // the agent explains that to the model
		return f
	case t.isRepeatable():
		hinted.Hint = f.Message + ". It may be called again."
	case f.Type == fault.Timeout:
		hinted.Hint = f.Message + ". It was not executed."
	}
	return &hinted
}

// isRepeatable reports whether a call may be sent again after its outcome was lost.
func (t *boundTool) isRepeatable() bool { return t.offer.spec.Annotations.Repeatable() }

// condition holds the facts about one server that a view depends on. Equal conditions give equal
// views.
type condition struct {
	offers *catalogue
	// err is why the server's tools cannot be called; nil if they can.
	err *fault.Error
	// open is the rest of an open breaker's recovery time, in whole seconds, rounded
	// up; 0 if it is not open.
	open time.Duration
}

// currentCondition returns the condition of the server now.
func (u *upstream) currentCondition() condition {
	c := condition{offers: u.catalogue.Load()}
	if wait := u.Breaker.OpenFor(); wait > 0 {
		c.open = (wait + time.Second - 1).Truncate(time.Second)
	} else if u.current.Load() == nil {
		c.err = u.down.Load()
	}
	return c
}

// unavailableBecause returns why the server's tools cannot be called, or nil.
func (u *upstream) unavailableBecause(c condition) *fault.Error {
	if c.open > 0 {
		return u.unavailableError(&breaker.OpenError{Service: u.service, RetryAfter: c.open})
	}
	return c.err
}

// currentView returns the last view if nothing changed since, else a new one.
func (c *Client) currentView() *view {
	if v := c.view.Load(); v != nil && c.isCurrent(v) {
		return v
	}
	c.viewing.Lock()
	defer c.viewing.Unlock()
	if v := c.view.Load(); v != nil && c.isCurrent(v) {
		return v
	}
	v := c.makeView()
	c.view.Store(v)
	return v
}

// isCurrent reports whether nothing has changed since v was made.
func (c *Client) isCurrent(v *view) bool {
	for i, u := range c.upstreams {
		if u.currentCondition() != v.conditions[i] {
			return false
		}
	}
	return true
}

// makeView makes a view. Names are given among all tools that are known, so that they
// stay the same while a server is unavailable.
func (c *Client) makeView() *view {
	v := &view{set: &tool.Set{}, tools: map[string]*boundTool{}}
	var known []named
	var bound []*boundTool
	for _, u := range c.upstreams {
		now := u.currentCondition()
		v.conditions = append(v.conditions, now)
		if f := u.unavailableBecause(now); f != nil {
			v.set.Unavailable = append(v.set.Unavailable, tool.UnavailableServer{Server: u.Name, Err: f})
		}
		if now.offers == nil {
			continue
		}
		for _, o := range now.offers.offers {
			known = append(known, named{o, u.Name})
			bound = append(bound, &boundTool{offer: o, up: u})
		}
	}
	for _, t := range c.standIns(v, bound) {
		known = append(known, named{t.offer, t.up.Name})
		bound = append(bound, t)
	}
	for i, name := range assignNames(known) {
		bound[i].name = name
		v.tools[name] = bound[i]
	}
	c.bindFallbacks(v, bound)
	for _, t := range bound {
		if spec, offered := c.specIn(v, t); offered {
			v.set.Specs = append(v.set.Specs, spec)
		}
	}
	c.sortSpecs(v.set.Specs)
	return v
}

// sortSpecs puts tools into the order in which models get them: servers as the configuration has
// them, their tools by name. Every gateway and every session then sends the same bytes, with
// which providers' caches begin.
func (c *Client) sortSpecs(specs []tool.Spec) {
	place := make(map[string]int, len(c.upstreams))
	for i, u := range c.upstreams {
		place[u.Name] = i
	}
	slices.SortStableFunc(specs, func(a, b tool.Spec) int {
		return cmp.Or(place[a.Server]-place[b.Server], strings.Compare(a.Name, b.Name))
	})
}

// specIn returns a tool as the model sees it. If its server is unavailable, it is offered only
// while a fallback of it can be called.
func (c *Client) specIn(v *view, t *boundTool) (spec tool.Spec, offered bool) {
	spec = t.offer.spec
	spec.Name, spec.Timeout = t.name, t.up.Timeout
	offered = !c.unavailableIn(v, t.up)
	for i, f := range t.fallbacks {
		if i == 0 {
			spec.Fallback = f.name
		} else {
			spec.More = append(spec.More, f.name)
		}
		offered = offered || !c.unavailableIn(v, f.up)
	}
	return spec, offered
}

// unavailableIn reports whether v shows u as unavailable.
func (c *Client) unavailableIn(v *view, u *upstream) bool {
	return slices.ContainsFunc(v.set.Unavailable, func(a tool.UnavailableServer) bool { return a.Server == u.Name })
}
