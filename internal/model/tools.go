package model

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/internal/turn/tool"
)

// maxRendered is how many sets of tools are kept rendered. Several are in use at the
// same time where not every turn may call everything. As many of single turns are kept apart:
// each of their turns needs its own for all its steps.
const maxRendered = 4

// Tools keeps the rendered tools of the sets that were asked for last. Sets never change
// and are replaced seldom, so a few are enough, and nothing piles up. It is safe for
// concurrent use.
type Tools struct {
	// Append appends one tool as JSON, with its fitted name and the schema from toolSchema. omitted
	// leaves out the members of a tool that the protocol may learn to drop.
	Append func(b []byte, name, description string, schema jsontext.Value, omitted bool) []byte
	// LeftOut is called with a tool that is not offered, because its schema allows no arguments
	// as an object: it would fail every request. It may be called by several goroutines, and
	// again for a set that is rendered again. Nil: it is not reported.
	LeftOut func(name, reason string)
	// Most is how many tools the protocol takes; the last of more are left out. 0: any number.
	Most int
	// FitKeys says that the names of properties must fit, too: see fitSchema.
	FitKeys bool

	// The newest first; never changed in place.
	staying, passing atomic.Pointer[[]*RenderedTools]
}

// RenderedTools are the tools of a set as a protocol takes them.
type RenderedTools struct {
	// JSON holds the tools with commas between them; empty: none.
	JSON []byte
	// Names are those of all tools of the set; nil changes none.
	Names *ToolNames
	// Sent are our names of the tools in JSON, in order.
	Sent []string

	set     *tool.Set
	omitted bool
}

// Of returns the rendered tools of set, also for nil.
func (t *Tools) Of(set *tool.Set, omitted bool) *RenderedTools {
	if set == nil || len(set.Specs) == 0 {
		return &RenderedTools{}
	}
	recent := t.recentSets(set)
	known := loadRendered(recent)
	for _, r := range known {
		if r.set == set && r.omitted == omitted {
			return r
		}
	}
	r := &RenderedTools{set: set, omitted: omitted, Names: fitNames(set.Specs)} // render adds names of properties
	t.renderSet(r)
	kept := append([]*RenderedTools{r}, known[:min(len(known), maxRendered-1)]...)
	recent.Store(&kept) // if another call does so now, one of the two renders again
	return r
}

// recentSets returns the list that keeps a set.
func (t *Tools) recentSets(set *tool.Set) *atomic.Pointer[[]*RenderedTools] {
	if set.Passing {
		return &t.passing
	}
	return &t.staying
}

// loadRendered returns the sets that were rendered lately. The slice is never changed,
// only replaced.
func loadRendered(recent *atomic.Pointer[[]*RenderedTools]) []*RenderedTools {
	if p := recent.Load(); p != nil {
		return *p
	}
	return nil
}

// Names returns the names of the tools of set, also for nil.
func (t *Tools) Names(set *tool.Set) *ToolNames {
	if set == nil {
		return nil
	}
	for _, r := range loadRendered(t.recentSets(set)) {
		if r.set == set {
			return r.Names
		}
	}
	return t.Of(set, false).Names
}

// SentTools returns the names of the tools of a set, in the order of the request.
func (t *Tools) SentTools(set *tool.Set) []SentTool {
	r := t.Of(set, false)
	list := make([]SentTool, len(r.Sent))
	for i, name := range r.Sent {
		list[i] = SentTool{Name: name, Sent: r.Names.Fit(name)}
	}
	return list
}

// SentTool is a tool by our name and its name in requests.
type SentTool struct{ Name, Sent string }

// renderSet renders the tools of a set, without the array's brackets. A tool whose
// schema cannot be sent is left out and reported; the turn continues with the others.
func (t *Tools) renderSet(r *RenderedTools) {
	b, beyond, first := []byte(nil), 0, ""
	for i := range r.set.Specs {
		spec := &r.set.Specs[i]
		schema, err := toolSchema(spec.InputSchema)
		if err != nil {
			t.leaveOut(spec.Name, err.Error())
			continue
		}
		if t.Most > 0 && len(r.Sent) == t.Most {
			if beyond++; beyond == 1 {
				first = spec.Name
			}
			continue
		}
		schema, names := fitSchema(schema, t.FitKeys)
		if len(names) > 0 {
			r.Names = r.Names.withProperties(spec.Name, names)
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = t.Append(b, r.Names.Fit(spec.Name), spec.Description, schema, r.omitted)
		r.Sent = append(r.Sent, spec.Name)
	}
	if beyond > 0 {
		t.leaveOut(first, fmt.Sprintf("at most %d tools can be sent: %d are left out from here on", t.Most, beyond))
	}
	r.JSON = b
}

// leaveOut reports a tool that is not offered.
func (t *Tools) leaveOut(name, reason string) {
	if t.LeftOut != nil {
		t.LeftOut(name, reason)
	}
}

// ToolLeftOut returns a function that logs which tools the model of that key is not
// offered.
func (o Options) ToolLeftOut(key string) func(name, reason string) {
	return func(name, reason string) {
		details := zerolog.Dict().Str("key", key).Str("tool", name).Str("reason", reason)
		o.Log.Warn().Dict("details", details).Msg("model_tool_left_out")
	}
}

// ToolNames are the names under which tools are sent. Nil changes none that fits.
type ToolNames struct {
	sent, ours map[string]string // only those that differ
	// The names of properties that differ, by our name of their tool.
	sentKeys, ownKeys map[string]map[string]string
}

// withProperties adds the names that the properties of a tool have in requests. n may be nil.
func (n *ToolNames) withProperties(tool string, names propertyNames) *ToolNames {
	if n == nil {
		n = &ToolNames{}
	}
	if n.sentKeys == nil {
		n.sentKeys, n.ownKeys = map[string]map[string]string{}, map[string]map[string]string{}
	}
	back := make(map[string]string, len(names))
	for own, sent := range names {
		back[sent] = own
	}
	n.sentKeys[tool], n.ownKeys[tool] = names, back
	return n
}

// OurArguments returns the arguments of a call with the server's names of properties. tool is ours.
func (n *ToolNames) OurArguments(tool string, args jsontext.Value) jsontext.Value {
	if n == nil || n.ownKeys == nil {
		return args
	}
	return renameMembers(args, n.ownKeys[tool], 0)
}

// SentArguments returns the arguments of an earlier call with the names of properties that are sent.
func (n *ToolNames) SentArguments(tool string, args jsontext.Value) jsontext.Value {
	if n == nil || n.sentKeys == nil {
		return args
	}
	return renameMembers(args, n.sentKeys[tool], 0)
}

// maxName is how long a tool's name may be, in bytes.
const maxName = 64

// fitNames makes the names of tools fit [A-Za-z0-9_-] and 64 bytes. If two names clash, the later
// gets a number.
func fitNames(specs []tool.Spec) *ToolNames {
	var n *ToolNames
	used := map[string]bool{}
	for i := range specs {
		if name := specs[i].Name; WordOf(name, maxName) {
			used[name] = true
		}
	}
	for i := range specs {
		name := specs[i].Name
		if WordOf(name, maxName) {
			continue
		}
		fit := unusedName(FitName(name), used)
		if n == nil {
			n = &ToolNames{sent: map[string]string{}, ours: map[string]string{}}
		}
		n.sent[name], n.ours[fit] = fit, name
	}
	return n
}

// FitName replaces the characters that do not fit in a name, and cuts it.
func FitName(name string) string {
	if WordOf(name, maxName) {
		return name
	}
	return replaceOthers(name, alphanumeric+"_-")
}

// replaceOthers returns a name, cut, with _ in place of each character but those of allowed.
func replaceOthers(name, allowed string) string {
	fit := strings.Map(func(r rune) rune {
		if r < 0x80 && strings.IndexByte(allowed, byte(r)) >= 0 {
			return r
		}
		return '_'
	}, name)
	if fit == "" {
		return "_"
	}
	return fit[:min(len(fit), maxName)]
}

// unusedName adds a name that fits to used and returns it. If used has it already, it gets a number.
func unusedName(fit string, used map[string]bool) string {
	free := fit
	for number := 2; used[free]; number++ {
		suffix := "_" + strconv.Itoa(number)
		free = fit[:min(len(fit), maxName-len(suffix))] + suffix
	}
	used[free] = true
	return free
}

// Fit returns the name to send; also of tools that are not there any more.
func (n *ToolNames) Fit(name string) string {
	if n != nil {
		if sent, ok := n.sent[name]; ok {
			return sent
		}
	}
	return FitName(name)
}

// Ours returns the tool's own name.
func (n *ToolNames) Ours(sent string) string {
	if n != nil {
		if name, ok := n.ours[sent]; ok {
			return name
		}
	}
	return sent
}
