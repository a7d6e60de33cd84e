package gemini

import (
	"iter"
	"sync/atomic"

	"sluice/internal/model"
	"sluice/internal/turn/tool"
)

// maxRendered is how many sets of tools are kept rendered. Several are in use at the
// same time where not every turn may call everything. As many of single turns are kept apart:
// each of their turns needs its own for all its steps.
const maxRendered = 4

// toolCache keeps the rendered tools of the sets that were asked for last. Sets
// never change and are replaced seldom, so a few are enough, and nothing piles up.
type toolCache struct {
	// The newest first; never changed in place.
	staying, passing atomic.Pointer[[]*renderedTools]
}

// renderedTools is a tool set in the form of the API. It is made once for a
// set, found by the set's pointer, and shared by turns that run at the same
// time; it never changes.
type renderedTools struct {
	set  *tool.Set
	json []byte
	// renamed holds our names of the tools that have another name for the API, by that name; nil
	// without such tools.
	renamed map[string]string
}

// renderSet returns the tools member of a request, or nil without tools.
func (c *toolCache) renderSet(set *tool.Set) []byte {
	if set == nil || len(set.Specs) == 0 {
		return nil
	}
	recent := &c.staying
	if set.Passing {
		recent = &c.passing
	}
	known := loadRendered(recent)
	for _, r := range known {
		if r.set == set {
			return r.json
		}
	}
	r := &renderedTools{set: set, json: renderTools(set.Specs), renamed: renamedTools(set.Specs)}
	kept := append([]*renderedTools{r}, known[:min(len(known), maxRendered-1)]...)
	recent.Store(&kept) // if another call does so now, one of the two renders again
	return r.json
}

func loadRendered(recent *atomic.Pointer[[]*renderedTools]) []*renderedTools {
	if p := recent.Load(); p != nil {
		return *p
	}
	return nil
}

// recentSets yields the sets that were rendered lately.
func (c *toolCache) recentSets() iter.Seq[*renderedTools] {
	return func(yield func(*renderedTools) bool) {
		for _, recent := range [...]*atomic.Pointer[[]*renderedTools]{&c.staying, &c.passing} {
			for _, r := range loadRendered(recent) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// renderTools renders a set as the member tools. Names and schemas are made to
// fit; a schema that allows nothing becomes a declaration without parameters.
func renderTools(specs []tool.Spec) []byte {
	b := []byte(`"tools":[{"functionDeclarations":[`)
	for i := range specs {
		if i > 0 {
			b = append(b, ',')
		}
		b = model.AppendString(append(b, `{"name":`...), fitName(specs[i].Name))
		b = model.AppendString(append(b, `,"description":`...), specs[i].Description)
		if parameters := convertSchema(specs[i].InputSchema); parameters != nil {
			b = append(append(b, `,"parametersJsonSchema":`...), parameters...)
		}
		b = append(b, '}')
	}
	return append(b, `]}]`...)
}

// renamedTools returns the names that do not fit, by their fitted names.
func renamedTools(specs []tool.Spec) (owns map[string]string) {
	for i := range specs {
		own := specs[i].Name
		if fitted := fitName(own); fitted != own {
			if owns == nil {
				owns = map[string]string{}
			}
			owns[fitted] = own
		}
	}
	return owns
}

// SentTools returns the tools of a set in the order of the request.
func (c *codec) SentTools(set *tool.Set) []model.SentTool {
	list := make([]model.SentTool, len(set.Specs))
	for i := range set.Specs {
		list[i] = model.SentTool{Name: set.Specs[i].Name, Sent: fitName(set.Specs[i].Name)}
	}
	return list
}
