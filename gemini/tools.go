package gemini

import (
	"sync/atomic"

	"sluice/tool"
)

// maxRendered is how many sets of tools are kept rendered. Several are in use at the
// same time where not every turn may call everything.
const maxRendered = 4

// toolCache keeps the rendered tools of the sets that were asked for last. Sets
// never change and are replaced seldom, so a few are enough, and nothing piles up.
type toolCache struct {
	recent atomic.Pointer[[]*renderedTools] // the newest first; never changed in place
}

type renderedTools struct {
	set  *tool.Set
	json []byte
}

// render returns the tools member of a request, or nothing if there are no tools.
func (c *toolCache) render(set *tool.Set) []byte {
	if set == nil || len(set.Specs) == 0 {
		return nil
	}
	var known []*renderedTools
	if p := c.recent.Load(); p != nil {
		known = *p
	}
	for _, r := range known {
		if r.set == set {
			return r.json
		}
	}
	r := &renderedTools{set: set, json: renderTools(set.Specs)}
	kept := append([]*renderedTools{r}, known[:min(len(known), maxRendered-1)]...)
	c.recent.Store(&kept) // if another call does so now, one of the two renders again
	return r.json
}

func renderTools(specs []tool.Spec) []byte {
	b := []byte(`"tools":[{"functionDeclarations":[`)
	for i := range specs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"name":`...), specs[i].Name)
		b = appendString(append(b, `,"description":`...), specs[i].Description)
		if parameters := convertSchema(specs[i].InputSchema); parameters != nil {
			b = append(append(b, `,"parametersJsonSchema":`...), parameters...)
		}
		b = append(b, '}')
	}
	return append(b, `]}]`...)
}
