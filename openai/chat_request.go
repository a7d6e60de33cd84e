package openai

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/model"
	"sluice/tool"
)

// The limit of tokens has two names, and no server knows both.
const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// Render implements model.Codec.
func (c *Chat) Render(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	tools := c.tools.get(req.Tools)
	b = slices.Grow(b, sizeHint(req)+len(tools.json))
	b = appendString(append(b, `{"model":`...), c.spec.Model)
	b = append(b, `,"messages":[`...)
	b = c.appendMessages(b, req, tools.names)
	b = append(b, ']')
	if len(tools.json) > 0 {
		b = append(append(b, `,"tools":`...), tools.json...)
		b = appendToolChoice(b, req, tools.names, omit)
	}
	b = append(b, `,"stream":true`...)
	if !omit.Has("stream_options") {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	b = c.appendLimit(b, req, omit)
	b = c.appendTemperature(b, req, omit)
	b = c.appendEffort(b, req.Thinking, omit)
	b = appendForm(b, &req.Form, omit)
	return append(b, '}')
}

// sizeHint is about the size of req's body, without tools.
func sizeHint(req *chat.ModelRequest) int {
	n := 512 + len(req.System) + len(req.Form.Schema)
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			p := &req.Messages[i].Parts[j]
			n += 96 + len(p.Text) + len(p.Kept)
			if p.Call != nil {
				n += len(p.Call.Name) + len(p.Call.Arguments)
			}
			if p.Result != nil {
				n += len(p.Result.Text)
			}
		}
	}
	return n + n/8 // escapes
}

func appendToolChoice(b []byte, req *chat.ModelRequest, names *toolNames, omit model.Omit) []byte {
	switch {
	case omit.Has("tool_choice"):
	case req.NoTools:
		return append(b, `,"tool_choice":"none"`...)
	case req.ForceTool:
		b = append(b, `,"tool_choice":{"type":"function","function":{"name":`...)
		b = appendString(b, names.fit(req.Tools.Specs[0].Name))
		return append(b, `}}`...)
	}
	return b
}

// appendLimit appends the limit of tokens, the lower one of the model's and the caller's.
func (c *Chat) appendLimit(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	visible := req.MaxTokens
	if own := c.spec.MaxTokens; visible <= 0 || own > 0 && own < visible {
		visible = own
	}
	if visible <= 0 {
		return b
	}
	name, twin := maxTokens, maxCompletionTokens
	if c.host.openAI || c.host.azure {
		name, twin = twin, name
	}
	switch {
	case !omit.Has(name):
	case !omit.Has(twin):
		name = twin
	default:
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return appendInt(b, c.spec.Thinking.WireLimit(visible))
}

func (c *Chat) appendTemperature(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	t := c.spec.Temperature
	if req.Temperature != nil {
		t = req.Temperature
	}
	if t == nil || c.spec.NoTemperature || omit.Has("temperature") {
		return b
	}
	return strconv.AppendFloat(append(b, `,"temperature":`...), *t, 'f', -1, 64)
}

// appendEffort says how much the model may think. To a server that has never heard of
// it, nothing is said unless someone asked for it; the caller's level alone is no such
// word.
func (c *Chat) appendEffort(b []byte, level string, omit model.Omit) []byte {
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
	return appendString(append(b, `,"reasoning_effort":`...), effort)
}

func appendForm(b []byte, form *chat.Form, omit model.Omit) []byte {
	switch {
	case form.Kind == chat.FormText || omit.Has("response_format"):
		return b
	case form.Kind == chat.FormSchema && form.Schema.IsValid():
		b = appendString(append(b, `,"response_format":{"type":"json_schema","json_schema":{"name":`...), formName(form.Name))
		b = append(append(b, `,"schema":`...), form.Schema...)
		if !omit.Has("strict") && allowsStrict(form.Schema) {
			b = append(b, `,"strict":true`...)
		}
		return append(b, `}}`...)
	}
	return append(b, `,"response_format":{"type":"json_object"}`...)
}

func formName(name string) string {
	if name == "" {
		return "answer"
	}
	return fitName(name)
}

// chatTools returns what renders the tools of a set. A tool whose schema allows no
// arguments as an object is left out: it would fail every request.
func chatTools(warn Warn) func([]tool.Spec, *toolNames) []byte {
	return func(specs []tool.Spec, names *toolNames) []byte {
		var b []byte
		for i := range specs {
			schema, err := parameters(specs[i].InputSchema)
			if err != nil {
				if warn != nil {
					warn(specs[i].Name, err.Error())
				}
				continue
			}
			b = append(b, "[,"[min(len(b), 1)])
			b = appendTool(b, names.fit(specs[i].Name), specs[i].Description, schema)
		}
		if b == nil {
			return nil
		}
		return append(b, ']')
	}
}

func appendTool(b []byte, name, description string, schema jsontext.Value) []byte {
	b = appendString(append(b, `{"type":"function","function":{"name":`...), name)
	if description != "" {
		b = appendString(append(b, `,"description":`...), description)
	}
	b = append(append(b, `,"parameters":`...), schema...)
	return append(b, `}}`...)
}
