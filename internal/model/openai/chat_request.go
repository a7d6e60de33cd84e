// This file writes the body of a request. It is written in one pass, without a value in between.
// Members that a server has refused (omit) are left out. The frame merges the members of the
// configuration (extra) afterwards.

package openai

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// The limit of tokens has two names, and no server knows both.
const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// Render implements model.Codec.
//
// It cannot fail: text that is not UTF-8 gets replacement characters, and schemas were
// checked when tools were rendered.
func (c *chatCodec) Render(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	tools := c.tools.Of(req.Tools, false)
	b = slices.Grow(b, sizeHint(req)+len(tools.JSON))
	b = model.AppendString(append(b, `{"model":`...), c.spec.Model)
	b = append(b, `,"messages":[`...)
	var exact marks
	if c.exact && !c.host.mistral {
		exact = marksOf(c.spec.Cache, req, omit)
	}
	b = c.appendMessages(b, req, tools.Names, omit, exact)
	b = c.appendPrefill(b, req)
	b = appendTools(b, req, tools, omit, chatNamedTool)
	b = append(b, `,"stream":true`...)
	if !omit.Has("stream_options") {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	b = c.appendLimit(b, req, omit)
	b = appendTemperature(b, &c.spec, req, omit)
	b = c.appendEffort(b, req.Thinking, omit)
	b = appendForm(b, &req.Form, omit)
	b = appendCache(b, &c.spec, c.host.openAI, exact.options, req, omit)
	return append(b, '}')
}

// appendPrefill ends the messages. If the last one is the begin of the answer, it says so in the
// form of the host.
func (c *chatCodec) appendPrefill(b []byte, req *chat.ModelRequest) []byte {
	switch {
	case !req.Prefill:
		return append(b, ']')
	case c.host.mistral, c.host.deepSeek:
		return append(b[:len(b)-len("}")], `,"prefix":true}]`...)
	}
	return append(b, `],"continue_final_message":true,"add_generation_prompt":false`...)
}

// namedTool is an API's form to name the tool that must be called: the text before and behind its
// name.
type namedTool struct{ before, after string }

var (
	chatNamedTool      = namedTool{`,"tool_choice":{"type":"function","function":{"name":`, `}}`}
	responsesNamedTool = namedTool{`,"tool_choice":{"type":"function","name":`, `}`}
)

// appendTools appends the tools and the choice among them. If tools are forbidden and the provider
// does not take tool_choice, the request has no tools.
//
// A forced call is of the first tool in the set.
func appendTools(b []byte, req *chat.ModelRequest, tools *model.RenderedTools, omit model.Omit, named namedTool) []byte {
	choice := !omit.Has("tool_choice")
	if len(tools.JSON) == 0 || req.NoTools && !choice {
		return b
	}
	b = append(append(append(b, `,"tools":[`...), tools.JSON...), ']')
	switch {
	case !choice:
	case req.NoTools:
		b = append(b, `,"tool_choice":"none"`...)
	case req.ForceTool:
		b = named.append(b, req.ForcedTool(), tools)
	}
	return b
}

// append appends that a tool is to be called; an empty name: any tool.
func (n namedTool) append(b []byte, name string, tools *model.RenderedTools) []byte {
	if name == "" {
		return append(b, `,"tool_choice":"required"`...)
	}
	b = model.AppendString(append(b, n.before...), tools.Names.Fit(name))
	return append(b, n.after...)
}

// appendLimit appends the limit of tokens, the lower one of the model's and the caller's.
//
// OpenAI and Azure want max_completion_tokens, others max_tokens; a server that refuses the
// one gets the other. Room is added for thoughts, as they count for the limit, unless the
// model is asked not to think.
func (c *chatCodec) appendLimit(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	visible := req.LimitOf(lowestLimit(c.spec.MaxTokens, req.MaxTokens))
	if visible == 0 {
		return b
	}
	name := c.limitName(omit)
	if name == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	silent := c.host.openAI && c.spec.Thinking.For(req.Thinking).Off() && !omit.Has("reasoning_effort")
	return appendInt(b, c.spec.Thinking.Room(visible, silent))
}

// limitName returns the name of the limit, empty if the server has refused both.
func (c *chatCodec) limitName(omit model.Omit) string {
	name, twin := maxTokens, maxCompletionTokens
	if c.host.openAI || c.host.azure {
		name, twin = twin, name
	}
	switch {
	case !omit.Has(name):
		return name
	case !omit.Has(twin):
		return twin
	}
	return ""
}

// appendEffort appends how much the model may think. A server that does not know the member
// receives it only if someone asked for it; the caller's level alone does not ask for it.
//
// "off" has a word at OpenAI only; elsewhere the server's own default stays.
func (c *chatCodec) appendEffort(b []byte, level string, omit model.Omit) []byte {
	effort := c.spec.Thinking.Word
	if c.host.openAI || effort != "summary" {
		effort = c.spec.Thinking.For(level).Word
	}
	switch effort {
	case "low", "medium", "high":
	case "off":
		if !c.host.openAI {
			return b
		}
		effort = "none"
	default:
		return b
	}
	if omit.Has("reasoning_effort") {
		return b
	}
	return model.AppendString(append(b, `,"reasoning_effort":`...), effort)
}

// appendForm asks for JSON. A schema that cannot be sent becomes json_object;
// that the value fits is checked on our side in either case.
//
// strict is asked for only where the schema keeps to the subset (strict.go), as OpenAI
// refuses others.
func appendForm(b []byte, form *chat.Form, omit model.Omit) []byte {
	switch {
	case form.Kind == chat.FormText:
		return b
	case form.Kind == chat.FormSchema && form.Schema.IsValid():
		b = model.AppendString(append(b, `,"response_format":{"type":"json_schema","json_schema":{"name":`...), formName(form.Name))
		b = append(append(b, `,"schema":`...), form.Schema...)
		if !omit.Has("strict") && allowsStrict(form.Schema) {
			b = append(b, `,"strict":true`...)
		}
		return append(b, `}}`...)
	}
	return append(b, `,"response_format":{"type":"json_object"}`...)
}

// appendChatTool renders a tool. An empty description is left out.
func appendChatTool(b []byte, name, description string, schema jsontext.Value, _ bool) []byte {
	b = model.AppendString(append(b, `{"type":"function","function":{"name":`...), name)
	if description != "" {
		b = model.AppendString(append(b, `,"description":`...), description)
	}
	b = append(append(b, `,"parameters":`...), schema...)
	return append(b, `}}`...)
}
