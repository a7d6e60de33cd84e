package geminisim

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The types below are GenerateContentResponse with the order of fields of the
// recorded streams.

// chunk is a GenerateContentResponse, as far as it is ever sent.
type chunk struct {
	Candidates    []candidate `json:"candidates,omitempty"`
	UsageMetadata *usage      `json:"usageMetadata,omitempty"`
	ModelVersion  string      `json:"modelVersion"`
	ResponseID    string      `json:"responseId"`
}

// candidate is the one answer of a chunk.
type candidate struct {
	Content       modelContent `json:"content"`
	FinishReason  string       `json:"finishReason,omitzero"`
	Index         int          `json:"index"`
	FinishMessage string       `json:"finishMessage,omitzero"`
}

// modelContent is the content of a candidate. Role is always "model".
type modelContent struct {
	Parts []outPart `json:"parts"`
	Role  string    `json:"role"`
}

// outPart is one part of an answer. Raw, when set, is written in place of all else.
type outPart struct {
	Text             *string        `json:"text,omitzero"`
	Thought          bool           `json:"thought,omitzero"`
	FunctionCall     *outCall       `json:"functionCall,omitzero"`
	ThoughtSignature string         `json:"thoughtSignature,omitzero"`
	Raw              jsontext.Value `json:"-"`
}

// outCall is a functionCall that is sent. Newer models send an id, older ones
// none.
type outCall struct {
	Name string         `json:"name"`
	Args jsontext.Value `json:"args,omitzero"`
	ID   string         `json:"id,omitzero"`
}

// It writes a raw part exactly as in the script, even a faulty one.
func (p outPart) MarshalJSONTo(enc *jsontext.Encoder) error {
	if p.Raw != nil {
		return enc.WriteValue(p.Raw)
	}
	type plain outPart
	return json.MarshalEncode(enc, plain(p))
}

// textPart is a part of the answer's text; the empty one is sent with a finish
// reason.
func textPart(text string) outPart { return outPart{Text: &text} }

// thoughtPart is a part of a summary of thoughts.
func thoughtPart(text string) outPart { return outPart{Text: &text, Thought: true} }

// plainText reports whether p is a piece of the answer's text and nothing else.
func (p outPart) plainText() bool {
	return p.Raw == nil && p.Text != nil && !p.Thought && p.ThoughtSignature == ""
}

// usage is usageMetadata. It stands on every chunk; candidates grow.
type usage struct {
	PromptTokenCount     int            `json:"promptTokenCount"`
	CandidatesTokenCount int            `json:"candidatesTokenCount,omitzero"`
	TotalTokenCount      int            `json:"totalTokenCount"`
	PromptTokensDetails  []modalityCost `json:"promptTokensDetails"`
	ThoughtsTokenCount   int            `json:"thoughtsTokenCount,omitzero"`
	ServiceTier          string         `json:"serviceTier"`
}

// modalityCost is how many tokens of one modality were counted.
type modalityCost struct {
	Modality   string `json:"modality"`
	TokenCount int    `json:"tokenCount"`
}

// newUsage returns usage as the service counts it: the total includes thoughts.
func newUsage(prompt, candidates, thoughts int) *usage {
	return &usage{
		PromptTokenCount:     prompt,
		CandidatesTokenCount: candidates,
		TotalTokenCount:      prompt + candidates + thoughts,
		PromptTokensDetails:  []modalityCost{{Modality: "TEXT", TokenCount: prompt}},
		ThoughtsTokenCount:   thoughts,
		ServiceTier:          "standard",
	}
}

// mergeChunk adds the candidate of a later chunk to c, as a unary answer holds all
// that a streamed one brings in pieces.
func (c *chunk) mergeChunk(next chunk) {
	if c.Candidates == nil {
		*c = next
		return
	}
	into, from := &c.Candidates[0], next.Candidates[0]
	for _, p := range from.Content.Parts {
		into.Content.addPart(p)
	}
	into.FinishReason, into.FinishMessage = from.FinishReason, from.FinishMessage
	c.UsageMetadata = next.UsageMetadata
}

// isEmpty reports whether a part is the empty text, without a signature.
func (p outPart) isEmpty() bool { return p.Text != nil && *p.Text == "" && p.ThoughtSignature == "" }

// addPart joins neighbouring plain texts, as a client must that sends an answer
// back.
func (m *modelContent) addPart(p outPart) {
	if p.isEmpty() && len(m.Parts) > 0 {
		return
	}
	if n := len(m.Parts); n > 0 && p.plainText() && m.Parts[n-1].plainText() {
		m.Parts[n-1] = textPart(*m.Parts[n-1].Text + *p.Text)
		return
	}
	m.Parts = append(m.Parts, p)
}
