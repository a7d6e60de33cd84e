package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/model"
)

// responsesCodec is OpenAI's Responses API, which Azure, LM Studio, DeepSeek, vLLM and
// others speak as well. Nothing is stored at the provider: all that a model needs of
// what it said before goes along with each request.
type responsesCodec struct {
	spec  model.Spec
	maker string // what Message.Maker is of this codec's answers
	tools responsesToolCache
}

// The codec keeps to the frame's interfaces.
var (
	_ model.Codec  = (*responsesCodec)(nil)
	_ model.Answer = (*responsesAnswer)(nil)
)

func newResponses(spec model.Spec) *responsesCodec {
	return &responsesCodec{spec: spec, maker: spec.Key + " " + spec.Model}
}

// NewAnswer returns a reader of answers, of one at a time.
func (c *responsesCodec) NewAnswer() model.Answer {
	return &responsesAnswer{stored: c.stored(), name: c.tools.ours}
}

// stored says that extra makes the provider keep the answers, so that a reasoning item
// is found there by its id alone.
func (c *responsesCodec) stored() bool {
	return responsesMember(c.spec.Extra, "store").Kind() == 't'
}

// responsesMember returns the value of the named member of an object, or nil.
func responsesMember(object jsontext.Value, name string) jsontext.Value {
	for _, m := range responsesMembers(object) {
		if m.name == name {
			return m.value
		}
	}
	return nil
}
