package gemini

import (
	"sync/atomic"

	"sluice/chat"
)

// toolCache keeps the rendered tools of the set that was asked for last. Sets
// never change and are replaced seldom, so one is enough, and nothing piles up.
type toolCache struct {
	last atomic.Pointer[renderedTools]
}

type renderedTools struct {
	set  *chat.ToolSet
	json []byte
}

// render returns the tools member of a request, or nothing if there are no tools.
func (c *toolCache) render(set *chat.ToolSet) []byte {
	if set == nil || len(set.Specs) == 0 {
		return nil
	}
	if r := c.last.Load(); r != nil && r.set == set {
		return r.json
	}
	r := &renderedTools{set: set, json: renderTools(set.Specs)}
	c.last.Store(r)
	return r.json
}

func renderTools(specs []chat.ToolSpec) []byte {
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
