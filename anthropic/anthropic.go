// Package anthropic is the codec of the Messages protocol: it renders requests and
// reads answers. What all protocols have in common is in package model.
package anthropic

import (
	"net/http"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/model"
)

// KeyHeader is the header that the API key goes in, as it is.
const KeyHeader = "X-Api-Key"

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
	extra         object

	tools    toolCache
	leftOut  func(tool string)
	decoders sync.Pool // of *decoder; an answer has one only while it decodes
}

// NewCodec returns the codec of spec. leftOut, if it is not nil, is told the name of
// each tool that cannot be offered, because the API would refuse its schema; it may be
// called by several goroutines, and again for a tool that is rendered again.
func NewCodec(spec *model.Spec, leftOut func(tool string)) *Codec {
	c := &Codec{
		model:         spec.Model,
		maker:         spec.Key + " " + spec.Model,
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

// Headers returns the headers of every request but the key's.
func Headers() http.Header {
	return http.Header{"Anthropic-Version": {"2023-06-01"}}
}

// NewAnswer returns a reader of answers.
func (c *Codec) NewAnswer() model.Answer { return &answer{codec: c} }

// appendString appends s as a JSON string. The error would tell of bytes that are
// not UTF-8 and were replaced.
func appendString[Bytes ~[]byte | ~string](b []byte, s Bytes) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}
