package model

import (
	"crypto/sha256"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Bounds of the refused tools.
const (
	maxRefusedTools = 1024 // of one model
	maxToolsACall   = 64   // learned by one call, each by a request that is refused
	maxFiltered     = 4    // sets that are remembered without them
)

// toolNamer is a Codec that says which tools of a set it sends, in order.
type toolNamer interface {
	SentTools(set *tool.Set) []SentTool
}

// refusedTools are the tools that a model's provider does not take. A tool that its server changes
// is another one. The zero value is ready, and it is safe for concurrent use.
type refusedTools struct {
	mu   sync.Mutex // guards the fields below
	sums map[[sha256.Size]byte]bool
	sets []filteredSet // the latest first
}

// filteredSet is a set without the refused tools.
type filteredSet struct{ full, allowed *tool.Set }

// toolSum identifies a tool as its server describes it.
func toolSum(s *tool.Spec) [sha256.Size]byte {
	h := sha256.New()
	for _, text := range []string{s.Server, s.Name, s.Description, string(s.InputSchema)} {
		h.Write(strconv.AppendInt(nil, int64(len(text)), 10))
		h.Write([]byte(":" + text))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// addTool records a refused tool. news is true if no other call was faster. ok is false without
// room for it.
func (r *refusedTools) addTool(s *tool.Spec) (news, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := toolSum(s)
	if r.sums[sum] || len(r.sums) >= maxRefusedTools {
		return false, r.sums[sum]
	}
	if r.sums == nil {
		r.sums = map[[sha256.Size]byte]bool{}
	}
	r.sums[sum], r.sets = true, nil
	return true, true
}

// filterSet returns set without the refused tools. It returns set itself if it has none of them.
func (r *refusedTools) filterSet(set *tool.Set) *tool.Set {
	if set == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sums) == 0 {
		return set
	}
	for _, f := range r.sets {
		if f.full == set {
			return f.allowed
		}
	}
	rest := *set
	rest.Specs = slices.DeleteFunc(slices.Clone(set.Specs), func(s tool.Spec) bool { return r.sums[toolSum(&s)] })
	f := filteredSet{set, &rest}
	if len(rest.Specs) == len(set.Specs) {
		f.allowed = set
	}
	r.sets = append([]filteredSet{f}, r.sets[:min(len(r.sets), maxFiltered-1)]...)
	return f.allowed
}

// withoutRefusedTools returns req without the tools that the provider has refused.
func (m *Model) withoutRefusedTools(req *chat.ModelRequest) *chat.ModelRequest {
	set := m.refused.filterSet(req.Tools)
	if set == req.Tools {
		return req
	}
	other := *req
	other.Tools = set
	if len(set.Specs) == 0 || req.Tool != "" && set.Lookup(req.Tool) == nil {
		other.ForceTool, other.Tool = false, ""
	}
	return &other
}

// dropTool reports whether the request is to be sent once more without a tool that the provider
// does not take. Only a server's tool is left out: a client that declares a bad one learns of it.
func (c *call) dropTool(r *Refusal) bool {
	if c.dropped >= maxToolsACall {
		return false
	}
	spec := c.refusedTool(r)
	if spec == nil || spec.Server == "" {
		return false
	}
	news, ok := c.m.refused.addTool(spec)
	if c.dropped++; !news {
		return ok
	}
	zerolog.Ctx(c.parent).Warn().Dict("details", zerolog.Dict().
		Str("key", c.m.cfg.Key).Str("server", spec.Server).Str("tool_name", spec.Name).
		Str("reason", "the model's provider refuses it")).
		Msg("mcp_tool_dropped")
	return true
}

// refusedTool returns the one tool that a refusal names, or nil. A place in the request counts, and
// a message that cannot quote what somebody has said.
func (c *call) refusedTool(r *Refusal) *tool.Spec {
	namer, ok := c.m.cfg.Codec.(toolNamer)
	if !ok || !r.badRequest() || r.Kind != KindStatus && r.Kind != KindRejected || c.req.Tools == nil {
		return nil
	}
	sent := namer.SentTools(c.req.Tools)
	at := toolPlace(r.Place)
	if at < 0 && !r.mayQuote(c.req) {
		if at = toolPlace(r.Message); at < 0 {
			at = toolNamed(r.Message, sent)
		}
	}
	if at < 0 || at >= len(sent) {
		return nil
	}
	return c.req.Tools.Lookup(sent[at].Name)
}

// placeOfTool finds the place of a tool: tools[1], tools.1.custom, function_declarations[1].
var placeOfTool = regexp.MustCompile(`(?i)\b(function_?declarations|tools)(?:\[(\d{1,4})\]|\.(\d{1,4})\b)`)

// toolPlace returns the place of the one tool that a text names so, or -1. Gemini's declarations
// stand in a tool of their own.
func toolPlace(text string) int {
	at, declared := -1, strings.Contains(strings.ReplaceAll(strings.ToLower(text), "_", ""), "functiondeclarations")
	for _, m := range placeOfTool.FindAllStringSubmatch(text, -1) {
		if declared == strings.EqualFold(m[1], "tools") {
			continue
		}
		n, err := strconv.Atoi(m[2] + m[3])
		if err != nil || at >= 0 && at != n {
			return -1
		}
		at = n
	}
	return at
}

// aboutTool finds that a text is about the declaration of a tool.
var aboutTool = regexp.MustCompile(`(?i)schema|parameter|propert|declaration|definition|description`)

// toolNamed returns the place of the one tool whose name stands in a text in quotes, or -1.
func toolNamed(text string, sent []SentTool) int {
	at := -1
	if !aboutTool.MatchString(text) {
		return at
	}
	for i, s := range sent {
		for _, quote := range []string{"'", `"`, "`"} {
			if !strings.Contains(text, quote+s.Sent+quote) {
				continue
			}
			if at >= 0 && at != i {
				return -1
			}
			at = i
		}
	}
	return at
}
