package openai

import (
	"strconv"
	"strings"
	"sync/atomic"

	"sluice/tool"
)

// Warn is told of a tool that is left out of requests, with the reason. It may be nil.
type Warn func(name, reason string)

// maxRendered is how many sets of tools are kept rendered. Several are in use at the
// same time where not every turn may call everything.
const maxRendered = 4

// toolCache keeps the rendered tools of the sets that were asked for last. Sets never
// change and are replaced seldom, so a few are enough, and nothing piles up.
type toolCache struct {
	render func(specs []tool.Spec, names *toolNames) []byte
	recent atomic.Pointer[[]*renderedTools] // the newest first; never changed in place
}

type renderedTools struct {
	set   *tool.Set
	json  []byte // the value of the member tools; empty: no tools
	names *toolNames
}

// get returns what is rendered of set.
func (c *toolCache) get(set *tool.Set) *renderedTools {
	if set == nil || len(set.Specs) == 0 {
		return &renderedTools{}
	}
	known := c.known()
	for _, r := range known {
		if r.set == set {
			return r
		}
	}
	r := &renderedTools{set: set, names: fitNames(set.Specs)}
	r.json = c.render(set.Specs, r.names)
	kept := append([]*renderedTools{r}, known[:min(len(known), maxRendered-1)]...)
	c.recent.Store(&kept) // if another call does so now, one of the two renders again
	return r
}

func (c *toolCache) known() []*renderedTools {
	if p := c.recent.Load(); p != nil {
		return *p
	}
	return nil
}

// names returns the names of set's tools; of the set that was rendered last if set is
// nil.
func (c *toolCache) names(set *tool.Set) *toolNames {
	if set != nil {
		return c.get(set).names
	}
	if known := c.known(); len(known) > 0 {
		return known[0].names
	}
	return nil
}

// toolNames are the names under which tools are sent. Nil changes none.
type toolNames struct{ sent, own map[string]string } // only those that differ

// maxName is how long a function's name may be.
const maxName = 64

// fitNames makes the names of tools fit [A-Za-z0-9_-] and 64 bytes. One that clashes
// with another gets a number.
func fitNames(specs []tool.Spec) *toolNames {
	var n *toolNames
	taken := map[string]bool{}
	for i := range specs {
		if name := specs[i].Name; fitName(name) == name {
			taken[name] = true
		}
	}
	for i := range specs {
		name := specs[i].Name
		fit := fitName(name)
		if fit == name {
			continue
		}
		for number := 2; taken[fit]; number++ {
			suffix := "_" + strconv.Itoa(number)
			fit = fitName(name)
			fit = fit[:min(len(fit), maxName-len(suffix))] + suffix
		}
		taken[fit] = true
		if n == nil {
			n = &toolNames{map[string]string{}, map[string]string{}}
		}
		n.sent[name], n.own[fit] = fit, name
	}
	return n
}

// fitName replaces what does not fit in a name, and cuts it.
func fitName(name string) string {
	fit := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if fit == "" {
		return "_"
	}
	return fit[:min(len(fit), maxName)]
}

// fit returns the name to send; also of tools that are not there any more.
func (n *toolNames) fit(name string) string {
	if n != nil {
		if sent, ok := n.sent[name]; ok {
			return sent
		}
	}
	return fitName(name)
}

// ours returns the tool's own name.
func (n *toolNames) ours(sent string) string {
	if n != nil {
		if name, ok := n.own[sent]; ok {
			return name
		}
	}
	return sent
}
