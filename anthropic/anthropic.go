// Package anthropic is the codec of the Messages protocol: it renders requests and
// reads answers. What all protocols have in common is in package model.
package anthropic

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/model"
)

// defaultMaxTokens limits the visible part of an answer where nobody else does:
// the API wants a limit in every request.
const defaultMaxTokens = 8192

// Codec is the Messages protocol, set up for one model.
type Codec struct {
	model     string
	maker     string // what Message.Maker is in messages that this model made
	maxTokens int    // of the visible part
	thinking  model.Thinking

	temperature   *float64
	noTemperature bool
	extra         object // what the configuration adds, which the frame does

	tools    toolCache
	leftOut  func(tool string)
	decoders sync.Pool // of *decoder; an answer has one only while it decodes
}

// New returns the Model that spec configures.
func New(spec model.Spec, opts model.Options) (*model.Model, error) {
	log := opts.Log
	codec := NewCodec(&spec, func(tool string) {
		log.Warn().Str("key", spec.Key).Str("tool", tool).Msg("model_tool_left_out")
	})
	return model.New(spec, wire(), codec, opts)
}

// wire is what all requests have in common.
func wire() model.Wire {
	return model.Wire{KeyHeader: "X-Api-Key", Header: map[string]string{
		"Content-Type":      "application/json",
		"Accept":            "text/event-stream",
		"Anthropic-Version": "2023-06-01",
	}}
}

// NewCodec returns the codec of spec. leftOut, if it is not nil, is told the name of
// each tool that cannot be offered, because the API would refuse its schema; it may be
// called by several goroutines, and again for a tool that is rendered again.
func NewCodec(spec *model.Spec, leftOut func(tool string)) *Codec {
	c := &Codec{
		model:         spec.Model,
		maker:         spec.Maker(),
		maxTokens:     spec.MaxTokens,
		thinking:      spec.Thinking,
		temperature:   spec.Temperature,
		noTemperature: spec.NoTemperature,
		leftOut:       leftOut,
	}
	if c.maxTokens == 0 {
		c.maxTokens = defaultMaxTokens
	}
	if c.leftOut == nil {
		c.leftOut = func(string) {}
	}
	c.extra, _ = members(spec.Extra)
	c.decoders.New = func() any { return new(decoder) }
	return c
}

// NewAnswer returns a reader of answers.
func (c *Codec) NewAnswer() model.Answer { return &answer{codec: c} }

// appendString appends s as a JSON string. The error would tell of bytes that are
// not UTF-8 and were replaced.
func appendString[Bytes ~[]byte | ~string](b []byte, s Bytes) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
