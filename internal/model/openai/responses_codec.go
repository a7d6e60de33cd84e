// This file is the codec of the Responses API for the frame. The provider stores nothing (store is
// false) unless the configuration asks for it, so that a conversation can continue with any gateway
// and any model.

package openai

import (
	"net/http"

	"sluice/internal/model"
	"sluice/internal/turn/tool"
)

// responsesCodec is OpenAI's Responses API, which Azure, LM Studio, DeepSeek, vLLM and others speak
// as well. The provider stores nothing: each request carries the earlier parts that the model
// needs.
//
// It does not change after newResponses and may be used at the same time.
type responsesCodec struct {
	spec      model.Spec
	maker     string // what Message.Maker is of this codec's answers
	openAI    bool   // the endpoint is OpenAI's own
	exact     bool   // see hasExactMarks
	stored    bool   // extra makes the provider keep the answers, so that an item's id is enough
	learnable []string
	tools     model.Tools
}

// The codec keeps to the frame's interfaces.
var (
	_ model.Codec  = (*responsesCodec)(nil)
	_ model.Answer = (*responsesAnswer)(nil)
	_ model.Asker  = (*responsesAnswer)(nil)
)

// newResponses returns a codec. leftOut is called with each tool that cannot be sent.
func newResponses(spec model.Spec, leftOut func(name, reason string)) *responsesCodec {
	return &responsesCodec{
		spec:      spec,
		maker:     spec.Maker(),
		openAI:    hostOf(&spec).openAI,
		exact:     hasExactMarks(&spec),
		stored:    model.Members(spec.Extra).Get("store").Kind() == 't',
		learnable: unsetMembers(spec.Extra, responsesLearnable()),
		tools:     model.Tools{Append: appendResponsesTool, LeftOut: leftOut, Most: mostTools},
	}
}

// NewAnswer returns a reader of answers, of one at a time.
func (c *responsesCodec) NewAnswer() model.Answer { return &responsesAnswer{codec: c} }

// responsesLearnable are the members that are sent of our own accord, by the names that
// Omit has for them; of those that one begins with, the longer first.
func responsesLearnable() []string {
	return []string{
		"reasoning.effort", "reasoning.summary", "reasoning", "include", "temperature", "tool_choice", "text.format", "strict",
		cacheKey, cacheRetention, cacheMark, cacheOptions,
	}
}

// Refuse implements model.Codec.
func (c *responsesCodec) Refuse(status int, _ http.Header, body []byte) *model.Refusal {
	return readRefusal(status, body, c.learnable)
}

// SentTools returns the tools of a set in the order of the request.
func (c *responsesCodec) SentTools(set *tool.Set) []model.SentTool { return c.tools.SentTools(set) }
