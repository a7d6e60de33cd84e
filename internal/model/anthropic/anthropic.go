// Package anthropic is the codec of the Messages protocol: it renders requests and reads answers.
// Package model has the part that all protocols share.
//
// An answer is a list of blocks that open, grow and close by index. Text and thinking are reported
// while they grow; a call is reported when it is whole. Thinking has a signature and must come back
// first in its message, and only to the model that made it. Without it the API refuses further
// thinking after calls.
//
// The provider's cache stores only marked parts. The marks are behind the parts that later requests
// repeat: tools, system prompt, and the conversation up to its last input and to its end.
package anthropic

import (
	"sync"

	"sluice/internal/model"
	"sluice/internal/turn/tool"
)

// defaultMaxTokens limits the visible part of an answer where nobody else does:
// the API wants a limit in every request.
const defaultMaxTokens = 8192

// codec is the Messages protocol, set up for one model.
type codec struct {
	model     string
	maker     string // Message.Maker in messages of this model
	maxTokens int    // of the visible part
	cache     string // use of the provider's cache: model.CacheAuto and others
	thinking  model.Thinking

	temperature   *float64
	noTemperature bool
	extra         model.Object // members of the configuration; the frame adds them

	tools    model.Tools
	decoders sync.Pool // of *decoder; an answer has one only while it decodes
}

// Preset returns the protocol's name in the configuration, its endpoint and the variables of its
// key.
func Preset() model.Preset {
	return model.Preset{Name: model.Anthropic, Protocol: model.Anthropic, Endpoint: "https://api.anthropic.com/v1", End: "/messages", Keys: []string{"ANTHROPIC_API_KEY"}}
}

// New returns the Model that spec configures. An error is about spec and holds no
// secret.
func New(spec model.Spec, opts model.Options) (*model.Model, error) {
	return model.New(spec, newWire(), newCodec(&spec, opts.ToolLeftOut(spec.Key)), opts)
}

// newWire returns the headers that all requests share.
func newWire() model.Wire {
	return model.Wire{KeyHeader: "X-Api-Key", Header: map[string]string{
		"Content-Type":      "application/json",
		"Accept":            "text/event-stream",
		"Anthropic-Version": "2023-06-01",
	}}
}

// newCodec returns the codec of spec. leftOut, if not nil, is called with each tool that is left
// out because of its schema (model.Tools).
func newCodec(spec *model.Spec, leftOut func(name, reason string)) *codec {
	c := &codec{
		model:         spec.Model,
		maker:         spec.Maker(),
		maxTokens:     spec.MaxTokens,
		cache:         spec.Cache,
		thinking:      spec.Thinking,
		temperature:   spec.Temperature,
		noTemperature: spec.NoTemperature,
		extra:         model.Members(spec.Extra),
		tools:         model.Tools{Append: appendTool, LeftOut: leftOut, FitKeys: true},
	}
	if c.maxTokens == 0 {
		c.maxTokens = defaultMaxTokens
	}
	c.decoders.New = func() any { return new(decoder) }
	return c
}

// NewAnswer returns a reader of answers.
func (c *codec) NewAnswer() model.Answer { return &answer{codec: c} }

// SentTools returns the tools of a set in the order of the request.
func (c *codec) SentTools(set *tool.Set) []model.SentTool { return c.tools.SentTools(set) }
