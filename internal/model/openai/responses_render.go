// This file writes the body of a request to the Responses API.

package openai

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// Render appends the body of a request. It is valid JSON for every req: invalid UTF-8 becomes
// replacement characters, and arguments that are not an object become {}. The frame merges extra
// afterwards.
func (c *responsesCodec) Render(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	tools := c.tools.Of(req.Tools, omit.Has("strict"))
	b = slices.Grow(b, sizeHint(req)+len(tools.JSON))
	b = model.AppendString(append(b, `{"model":`...), c.spec.Model)
	var exact marks
	if c.exact {
		exact = marksOf(c.spec.Cache, req, omit)
	}
	if req.System != "" && !exact.texts { // instructions take no mark
		b = model.AppendString(append(b, `,"instructions":`...), req.System)
	}
	b = append(b, `,"input":[`...)
	b = c.appendInput(b, req, tools, exact)
	b = append(b, ']')
	b = appendTools(b, req, tools, omit, responsesNamedTool)
	b = c.appendResponsesOptions(b, req, omit)
	b = appendCache(b, &c.spec, c.openAI, exact.options, req, omit)
	return append(b, `,"store":false,"stream":true}`...)
}

// appendResponsesTool renders a tool. Unlike Chat Completions this API assumes that a schema is
// strict unless it is set otherwise, and then refuses most of those that MCP servers have.
func appendResponsesTool(b []byte, name, description string, schema jsontext.Value, omitStrict bool) []byte {
	b = model.AppendString(append(b, `{"type":"function","name":`...), name)
	if description != "" {
		b = model.AppendString(append(b, `,"description":`...), description)
	}
	b = append(append(b, `,"parameters":`...), schema...)
	if !omitStrict {
		b = append(b, `,"strict":false`...) // it is true where it is not said
	}
	return append(b, '}')
}

// appendResponsesOptions appends the options of the answer.
func (c *responsesCodec) appendResponsesOptions(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	if n := req.LimitOf(lowestLimit(c.spec.MaxTokens, req.MaxTokens)); n > 0 {
		silent := c.spec.Thinking.For(req.Thinking).Off() && !omit.Has("reasoning") && !omit.Has("reasoning.effort")
		b = appendInt(append(b, `,"max_output_tokens":`...), c.spec.Thinking.Room(n, silent))
	}
	b = appendTemperature(b, &c.spec, req, omit)
	b = appendResponsesReasoning(b, c.spec.Thinking.For(req.Thinking).Word, omit)
	if !omit.Has("include") {
		b = append(b, `,"include":["reasoning.encrypted_content"]`...)
	}
	return appendResponsesForm(b, &req.Form, omit)
}

// appendResponsesReasoning appends how the model is to think (docs/models.md, "Thinking").
//
// The two members are learned apart, as some servers take an effort and no summary. Words
// are checked by the configuration; others say nothing here.
func appendResponsesReasoning(b []byte, word string, omit model.Omit) []byte {
	if omit.Has("reasoning") {
		return b
	}
	effort := effortOf(word, omit)
	summary := wantsSummary(word, omit)
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

// effortOf returns the effort that a word of the configuration asks for, empty if none.
func effortOf(word string, omit model.Omit) string {
	switch {
	case omit.Has("reasoning.effort"):
		return ""
	case word == "off":
		return "none"
	case word == "low" || word == "medium" || word == "high":
		return word
	}
	return ""
}

// wantsSummary reports whether a word of the configuration asks for thoughts that are shown.
func wantsSummary(word string, omit model.Omit) bool {
	return word != "" && word != "off" && !omit.Has("reasoning.summary")
}

// appendResponsesForm asks for JSON. A schema that is not an object becomes one that allows
// everything: the value is checked on our side anyhow.
func appendResponsesForm(b []byte, form *chat.Form, omit model.Omit) []byte {
	switch form.Kind {
	case chat.FormJSON:
		b = append(b, `,"text":{"format":{"type":"json_object"}}`...)
	case chat.FormSchema:
		b = model.AppendString(append(b, `,"text":{"format":{"type":"json_schema","name":`...), formName(form.Name))
		b = append(b, `,"schema":`...)
		if form.Schema.Kind() == '{' && form.Schema.IsValid() {
			b = append(b, form.Schema...)
		} else {
			b = append(b, `{}`...)
		}
		if !omit.Has("strict") && allowsStrict(form.Schema) {
			b = append(b, `,"strict":true`...)
		}
		b = append(b, `}}`...)
	}
	return b
}
