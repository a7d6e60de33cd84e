package anthropic

import (
	"strconv"
	"strings"
	"sync/atomic"

	"sluice/tool"
)

const (
	// maxRendered is how many sets of tools are kept rendered. Several are in use at
	// the same time where not every turn may call everything.
	maxRendered = 4
	// maxName is the longest name of a tool, in bytes.
	maxName = 64
)

// toolCache keeps the rendered tools of the sets that were asked for last. Sets never
// change and are replaced seldom, so a few are enough, and nothing piles up.
type toolCache struct {
	recent atomic.Pointer[[]*renderedTools] // the newest first; never changed in place
}

// renderedTools are the tools of a set as the API takes them.
type renderedTools struct {
	set   *tool.Set
	json  []byte // the elements of the array, the last one open; empty: none
	names []name // of the tools that are in it, in order
}

// name is a tool's name, and what the API knows it by.
type name struct{ own, fitted string }

// render returns the tools of set, which may be nil.
func (c *toolCache) render(set *tool.Set, leftOut func(string)) *renderedTools {
	if set == nil || len(set.Specs) == 0 {
		return new(renderedTools)
	}
	var known []*renderedTools
	if p := c.recent.Load(); p != nil {
		known = *p
	}
	for _, r := range known {
		if r.set == set {
			return r
		}
	}
	r := renderTools(set, leftOut)
	kept := append([]*renderedTools{r}, known[:min(len(known), maxRendered-1)]...)
	c.recent.Store(&kept) // if another call does so now, one of the two renders again
	return r
}

// original returns the name that a tool has with us.
func (c *toolCache) original(fitted string) string {
	if p := c.recent.Load(); p != nil {
		for _, r := range *p {
			for _, n := range r.names {
				if n.fitted == fitted {
					return n.own
				}
			}
		}
	}
	return fitted
}

func renderTools(set *tool.Set, leftOut func(string)) *renderedTools {
	r := &renderedTools{set: set}
	for i := range set.Specs {
		spec := &set.Specs[i]
		schema, ok := inputSchema(spec.InputSchema)
		if !ok {
			leftOut(spec.Name)
			continue
		}
		if len(r.names) > 0 {
			r.json = append(r.json, `},`...)
		}
		fitted := r.unused(fitName(spec.Name))
		r.names = append(r.names, name{spec.Name, fitted})
		r.json = appendString(append(r.json, `{"name":`...), fitted)
		if !blank(spec.Description) {
			r.json = appendString(append(r.json, `,"description":`...), spec.Description)
		}
		r.json = append(append(r.json, `,"input_schema":`...), schema...)
	}
	return r
}

// unused returns name, with a number if another tool has it.
func (r *renderedTools) unused(fitted string) string {
	for i, free := 2, fitted; ; i++ {
		if !r.has(free) {
			return free
		}
		suffix := "_" + strconv.Itoa(i)
		free = fitted[:min(len(fitted), maxName-len(suffix))] + suffix
	}
}

func (r *renderedTools) has(fitted string) bool {
	for _, n := range r.names {
		if n.fitted == fitted {
			return true
		}
	}
	return false
}

// fit returns the name that goes to the API, also of tools that are not on offer.
func (r *renderedTools) fit(own string) string {
	for _, n := range r.names {
		if n.own == own {
			return n.fitted
		}
	}
	return fitName(own)
}

// fitName puts an underscore in place of each byte that the API does not take.
func fitName(own string) string {
	if fits(own, maxName) {
		return own
	}
	b := []byte(own[:min(len(own), maxName)])
	for i := range b {
		if strings.IndexByte(letters+"_-", b[i]) < 0 {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return "_"
	}
	return string(b)
}
