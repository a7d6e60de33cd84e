package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// The members that a provider may be learned not to take. A request gives way in steps
// where it has a twin for a member: each time that memberThinking is learned, it asks
// for thinking in the next older way.
const (
	memberThinking     = "thinking"
	memberEffort       = "output_config.effort"
	memberFormat       = "output_config.format"
	memberTemperature  = "temperature"
	memberToolChoice   = "tool_choice"
	memberCacheControl = "cache_control"
)

// Marks of the cache. Each ends a part of the request that a later one has in common with it. The
// API takes four.
const (
	cacheControl = `,"cache_control":{"type":"ephemeral"}`
	cacheForHour = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
)

// cacheMark returns the mark at the ends of cached parts, or "" to set no mark. An API that refuses
// the hour is asked without it, then for nothing.
func (c *codec) cacheMark(omit model.Omit) string {
	ways := []string{cacheControl, ""}
	switch c.cache {
	case model.CacheOff:
		return ""
	case model.CacheLong:
		ways = []string{cacheForHour, cacheControl, ""}
	}
	return ways[min(omit.Times(memberCacheControl), len(ways)-1)]
}

// withMark puts a mark into the object that b ends with.
func withMark(b []byte, mark string) []byte {
	if mark == "" {
		return b
	}
	return append(append(b[:len(b)-1], mark...), '}')
}

// fallbackBudget is the thinking budget in tokens for models without adaptive thinking.
const fallbackBudget = 2048

// Render appends req as the body of a request. It is valid JSON whatever req holds.
func (c *codec) Render(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	mark := c.cacheMark(omit)
	tools := c.tools.Of(req.Tools, false)
	turns := c.arrangeTurns(req.Messages)
	b = slices.Grow(b, sizeHint(req)+len(tools.JSON))
	b = model.AppendString(append(b, `{"model":`...), c.model)
	b = append(b, `,"stream":true,"max_tokens":`...)
	b = strconv.AppendInt(b, int64(c.thinking.Room(c.visibleLimit(req), c.thinking.For(req.Thinking).Off())), 10)
	b = appendSystem(b, req.System, mark)
	b = appendTools(b, tools, turns, mark)
	b = appendToolChoice(b, req, tools, omit)
	b = c.appendThinking(b, c.thinkingMode(req, turns, omit), req, omit)
	b = append(b, `,"messages":[`...)
	b = c.appendTurns(b, turns, tools, marksOf(req, turns, mark))
	return append(b, `]}`...)
}

// visibleLimit is how many tokens the visible part of the answer may have.
func (c *codec) visibleLimit(req *chat.ModelRequest) int {
	if req.MaxTokens > 0 {
		return req.LimitOf(min(req.MaxTokens, c.maxTokens))
	}
	return req.LimitOf(c.maxTokens)
}

// sizeHint is about the size of req's body, without tools.
func sizeHint(req *chat.ModelRequest) int {
	n := 512 + len(req.System)
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			n += 96 + partSize(&req.Messages[i].Parts[j])
		}
	}
	return n + n/8 // escapes
}

// partSize estimates how many bytes a part takes in the request, so that its buffer
// grows once.
func partSize(p *chat.Part) int {
	n := len(p.Text) + len(p.Kept)
	if p.Call != nil {
		n += len(p.Call.Name) + len(p.Call.Arguments)
	}
	if p.Result != nil {
		n += len(p.Result.Name) + len(p.Result.Text)
	}
	return n
}

// appendSystem renders the system prompt. It ends with a mark for the provider's
// cache: tools and system prompt are the same from turn to turn.
func appendSystem(b []byte, system, mark string) []byte {
	if isBlank(system) {
		return b
	}
	b = model.AppendString(append(b, `,"system":[{"type":"text","text":`...), system)
	return append(append(b, mark...), `}]`...)
}

// appendTools appends the tools, the last of them with the end of a cache. A conversation
// with calls must declare tools, if only one that was called.
func appendTools(b []byte, tools *model.RenderedTools, turns []turn, mark string) []byte {
	start := len(b)
	b = append(append(b, `,"tools":[`...), tools.JSON...)
	if len(tools.JSON) == 0 {
		name := anyCall(turns)
		if name == "" {
			return b[:start]
		}
		b = appendTool(b, tools.Names.Fit(name), "", jsontext.Value(`{"type":"object","properties":{}}`), false)
	}
	b = append(withMark(b, mark), ']') // in the last tool
	if len(tools.JSON) == 0 {
		b = append(b, `,"tool_choice":{"type":"none"}`...)
	}
	return b
}

// appendTool renders a tool. An empty description is refused by the API, a missing
// one is not.
func appendTool(b []byte, name, description string, schema jsontext.Value, _ bool) []byte {
	b = model.AppendString(append(b, `{"name":`...), name)
	if !isBlank(description) {
		b = model.AppendString(append(b, `,"description":`...), description)
	}
	b = append(append(b, `,"input_schema":`...), schema...)
	return append(b, '}')
}

// appendToolChoice forbids tools, or names the tool that must be called. Without a member the model
// decides.
func appendToolChoice(b []byte, req *chat.ModelRequest, tools *model.RenderedTools, omit model.Omit) []byte {
	switch {
	case len(tools.JSON) == 0 || omit.Has(memberToolChoice):
	case req.NoTools:
		b = append(b, `,"tool_choice":{"type":"none"}`...)
	case req.ForceTool:
		name := req.ForcedTool()
		if name == "" {
			return append(b, `,"tool_choice":{"type":"any"}`...)
		}
		b = model.AppendString(append(b, `,"tool_choice":{"type":"tool","name":`...), tools.Names.Fit(name))
		b = append(b, '}')
	}
	return b
}

// mode is how a request asks for thinking.
type mode int

const (
	noThinking mode = iota
	adaptive
	budgeted
)

// thinkingMode returns how to ask for thinking. A forced tool rules it out, and so do last
// calls that were made without: "a final assistant message must start with a thinking
// block", the API answers, which other models' never does.
func (c *codec) thinkingMode(req *chat.ModelRequest, turns []turn, omit model.Omit) mode {
	thinking := c.thinking.For(req.Thinking)
	if thinking.Off() || (req.ForceTool && !req.NoTools) {
		return noThinking
	}
	ways := []mode{adaptive, budgeted, noThinking}
	if thinking.Tokens > 0 {
		ways = []mode{budgeted, noThinking}
	}
	if t := lastCalls(turns); t != nil && !t.thought {
		return noThinking
	}
	return ways[min(omit.Times(memberThinking), len(ways)-1)]
}

// appendThinking appends thinking and the members that depend on it. The API refuses a temperature
// together with thinking, and effort shares a member with the format.
func (c *codec) appendThinking(b []byte, m mode, req *chat.ModelRequest, omit model.Omit) []byte {
	switch m {
	case adaptive:
		b = append(b, `,"thinking":{"type":"adaptive","display":"summarized"}`...)
	case budgeted:
		b = append(b, `,"thinking":{"type":"enabled","budget_tokens":`...)
		b = append(strconv.AppendInt(b, int64(c.thinkingBudget()), 10), '}')
	case noThinking:
		b = c.appendTemperature(b, req, omit)
	}
	return c.appendOutput(b, m, req, omit)
}

// thinkingBudget returns how many tokens of thinking to ask for where a model takes a number
// only.
func (c *codec) thinkingBudget() int {
	if c.thinking.Tokens > 0 {
		return max(c.thinking.Tokens, 1024) // the API's least
	}
	return fallbackBudget
}

// appendTemperature prefers the temperature of the call over the configuration. Values above 1,
// which other providers take, are cut.
func (c *codec) appendTemperature(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	t := req.Temperature
	if t == nil {
		t = c.temperature
	}
	if t == nil || c.noTemperature || omit.Has(memberTemperature) {
		return b
	}
	b = append(b, `,"temperature":`...)
	return strconv.AppendFloat(b, max(0, min(*t, 1)), 'g', -1, 64) // the API's range ends at 1
}

// appendOutput writes output_config, where effort and format share one object. This protocol has
// only a member for a schema: the prompt asks for other forms.
func (c *codec) appendOutput(b []byte, m mode, req *chat.ModelRequest, omit model.Omit) []byte {
	effort := c.thinkingEffort(m, req, omit)
	form := req.Form.Kind == chat.FormSchema && req.Form.Schema.IsValid()
	if effort == "" && !form {
		return b
	}
	b = append(b, `,"output_config":{`...)
	if effort != "" {
		b = model.AppendString(append(b, `"effort":`...), effort)
		if form {
			b = append(b, ',')
		}
	}
	if form {
		b = append(append(b, `"format":{"type":"json_schema","schema":`...), jsontext.Value(req.Form.Schema)...)
		b = append(b, '}')
	}
	return append(b, '}')
}

// thinkingEffort returns the effort to ask for, or "".
func (c *codec) thinkingEffort(m mode, req *chat.ModelRequest, omit model.Omit) string {
	t := c.thinking.For(req.Thinking)
	if m == noThinking || t.Tokens != 0 || t.Word == "summary" || omit.Has(memberEffort) {
		return ""
	}
	return t.Word
}

// isBlank reports whether the API would refuse s as a block of text.
func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
