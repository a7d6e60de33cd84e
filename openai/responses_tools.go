package openai

import (
	"strconv"
	"sync/atomic"

	"sluice/tool"
)

// maxResponsesSets is how many sets of tools are kept rendered. Several are in use at
// the same time where not every turn may call everything.
const maxResponsesSets = 4

// responsesToolCache keeps the rendered tools of the sets that were asked for last.
// Sets never change and are replaced seldom.
type responsesToolCache struct {
	recent atomic.Pointer[[]*responsesTools] // the newest first; never changed in place
}

// responsesTools is a set of tools as the API sees it.
type responsesTools struct {
	set    *tool.Set
	loose  bool   // without the member strict
	json   []byte // empty: no tools
	fitted map[string]string
	ours   map[string]string
}

// of returns the tools of set; with no tools its json is empty.
func (c *responsesToolCache) of(set *tool.Set, loose bool) *responsesTools {
	if set == nil || len(set.Specs) == 0 {
		return &responsesTools{}
	}
	var known []*responsesTools
	if p := c.recent.Load(); p != nil {
		known = *p
	}
	for _, t := range known {
		if t.set == set && t.loose == loose {
			return t
		}
	}
	t := newResponsesTools(set, loose)
	kept := append([]*responsesTools{t}, known[:min(len(known), maxResponsesSets-1)]...)
	c.recent.Store(&kept) // if another call does so now, one of the two renders again
	return t
}

// ours returns our name of a tool of set that a model calls by its fitted one; of the
// set that was rendered last, if set is nil.
func (c *responsesToolCache) ours(set *tool.Set, name string) string {
	if p := c.recent.Load(); p != nil {
		for _, t := range *p {
			if set != nil && t.set != set {
				continue
			}
			if s, ok := t.ours[name]; ok {
				return s
			}
			break
		}
	}
	return name
}

func newResponsesTools(set *tool.Set, loose bool) *responsesTools {
	t := &responsesTools{set: set, loose: loose, fitted: map[string]string{}, ours: map[string]string{}}
	for i := range set.Specs {
		if name := set.Specs[i].Name; responsesFit(name) == name {
			t.fitted[name], t.ours[name] = name, name
		}
	}
	t.json = []byte{'['}
	for i := range set.Specs {
		spec := &set.Specs[i]
		t.add(spec.Name)
		if i > 0 {
			t.json = append(t.json, ',')
		}
		t.json = responsesString(append(t.json, `{"type":"function","name":`...), t.fitted[spec.Name])
		if spec.Description != "" {
			t.json = responsesString(append(t.json, `,"description":`...), spec.Description)
		}
		t.json = append(append(t.json, `,"parameters":`...), responsesParameters(spec.InputSchema)...)
		if !loose {
			t.json = append(t.json, `,"strict":false`...) // it is true where it is not said
		}
		t.json = append(t.json, '}')
	}
	t.json = append(t.json, ']')
	return t
}

// add gives a tool a name that fits and that no other tool has.
func (t *responsesTools) add(name string) {
	if _, known := t.fitted[name]; known {
		return
	}
	fitted := responsesFit(name)
	for n := 2; t.ours[fitted] != ""; n++ {
		number := "_" + strconv.Itoa(n)
		fitted = responsesFit(name)
		fitted = fitted[:min(len(fitted), 64-len(number))] + number
	}
	t.fitted[name], t.ours[fitted] = fitted, name
}

// fit returns a tool's name for the API; a tool that is not on offer any more may still
// have been called.
func (t *responsesTools) fit(name string) string {
	if s, ok := t.fitted[name]; ok {
		return s
	}
	return responsesFit(name)
}
