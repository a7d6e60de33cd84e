package openai

import (
	"slices"
	"strconv"

	"sluice/chat"
	"sluice/model"
)

// Render appends the body of a request. It is valid JSON whatever req holds: text that
// is not UTF-8 gets replacement characters, and arguments that are no JSON object
// become {}. What extra says of it is the frame's to merge.
func (c *responsesCodec) Render(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	tools := c.tools.of(req.Tools, omit.Has("strict"))
	b = slices.Grow(b, responsesSize(req)+len(tools.json))
	b = responsesString(append(b, `{"model":`...), c.spec.Model)
	if req.System != "" {
		b = responsesString(append(b, `,"instructions":`...), req.System)
	}
	b = append(b, `,"input":[`...)
	b = c.appendInput(b, req.Messages, tools)
	b = append(b, ']')
	b = appendResponsesTools(b, req, tools, omit)
	b = c.appendResponsesOptions(b, req, omit)
	return append(b, `,"store":false,"stream":true}`...)
}

// appendResponsesTools appends the tools and what is said about their use. Where tools
// are forbidden to a provider that takes no tool_choice, none are offered.
func appendResponsesTools(b []byte, req *chat.ModelRequest, tools *responsesTools, omit model.Omit) []byte {
	choice := !omit.Has("tool_choice")
	if len(tools.json) == 0 || req.NoTools && !choice {
		return b
	}
	b = append(append(b, `,"tools":`...), tools.json...)
	switch {
	case !choice:
	case req.NoTools:
		b = append(b, `,"tool_choice":"none"`...)
	case req.ForceTool:
		b = responsesString(append(b, `,"tool_choice":{"type":"function","name":`...), tools.fit(req.Tools.Specs[0].Name))
		b = append(b, '}')
	}
	return b
}

// appendResponsesOptions appends what is asked of the answer.
func (c *responsesCodec) appendResponsesOptions(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	if n := lowest(c.spec.MaxTokens, req.MaxTokens); n > 0 {
		b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), int64(c.spec.Thinking.WireLimit(n)), 10)
	}
	temperature := c.spec.Temperature
	if req.Temperature != nil {
		temperature = req.Temperature
	}
	if temperature != nil && !c.spec.NoTemperature && !omit.Has("temperature") {
		b = strconv.AppendFloat(append(b, `,"temperature":`...), *temperature, 'f', -1, 64)
	}
	b = appendResponsesReasoning(b, c.spec.Thinking.For(req.Thinking).Word, omit)
	if !omit.Has("include") {
		b = append(b, `,"include":["reasoning.encrypted_content"]`...)
	}
	return appendResponsesForm(b, &req.Form, omit)
}

// lowest returns the lower of two limits, of which 0 is none.
func lowest(a, b int) int {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// appendResponsesReasoning appends how the model is to think (docs/models.md, "Thinking").
func appendResponsesReasoning(b []byte, word string, omit model.Omit) []byte {
	effort, summary := "", word != "" && word != "off"
	switch word {
	case "off":
		effort = "none"
	case "low", "medium", "high":
		effort = word
	}
	if omit.Has("reasoning") {
		return b
	}
	if omit.Has("reasoning.effort") {
		effort = ""
	}
	summary = summary && !omit.Has("reasoning.summary")
	switch {
	case effort != "" && summary:
		b = append(append(append(b, `,"reasoning":{"effort":"`...), effort...), `","summary":"auto"}`...)
	case effort != "":
		b = append(append(append(b, `,"reasoning":{"effort":"`...), effort...), `"}`...)
	case summary:
		b = append(b, `,"reasoning":{"summary":"auto"}`...)
	}
	return b
}

func appendResponsesForm(b []byte, form *chat.Form, omit model.Omit) []byte {
	if omit.Has("text.format") {
		return b
	}
	switch form.Kind {
	case chat.FormJSON:
		b = append(b, `,"text":{"format":{"type":"json_object"}}`...)
	case chat.FormSchema:
		b = responsesString(append(b, `,"text":{"format":{"type":"json_schema","name":`...), form.Name)
		b = append(b, `,"schema":`...)
		if form.Schema.Kind() == '{' && form.Schema.IsValid() {
			b = append(b, form.Schema...)
		} else {
			b = append(b, `{}`...)
		}
		if !omit.Has("strict") && responsesStrict(form.Schema, 1) {
			b = append(b, `,"strict":true`...)
		}
		b = append(b, `}}`...)
	}
	return b
}

// responsesSize is about the size of req's body, without tools.
func responsesSize(req *chat.ModelRequest) int {
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
