package openai

import (
	"encoding/json"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// benchDelta is a delta as OpenAI sends it.
const benchDelta = `{"id":"chatcmpl-CkMdZ0lXTBFLOCnQwKTJlBr7Xm7Ng","object":"chat.completion.chunk","created":1775700000,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_560af6e559","choices":[{"index":0,"delta":{"content":" several words of an answer"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"Zx0QbTz"}`

// rivalChunk is what an Unmarshal would read.
type rivalChunk struct {
	Model   string
	Choices []struct {
		Index int
		Delta struct {
			Content          *string
			Refusal          *string
			ReasoningContent *string `json:"reasoning_content"`
			Reasoning        *string
			ToolCalls        []struct {
				Index    *int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct{ PromptTokens int }
	Error json.RawMessage
}

func BenchmarkChatDelta(b *testing.B) {
	data := []byte(benchDelta)
	b.Run("tokens", func(b *testing.B) {
		answer := testChat(b, model.Spec{}).NewAnswer().(*chatAnswer)
		var c chat.Chunk
		b.ReportAllocs()
		for b.Loop() {
			answer.budget.Size = 0
			if err := answer.Decode("", data, &c); err != nil || len(c.Parts) != 1 {
				b.Fatal(err, c)
			}
			c.Parts = c.Parts[:0]
		}
	})
	b.Run("unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c rivalChunk
			if err := json.Unmarshal(data, &c); err != nil || c.Choices[0].Delta.Content == nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unmarshal v2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c rivalChunk
			if err := jsonv2.Unmarshal(data, &c, jsonv2.MatchCaseInsensitiveNames(true)); err != nil || c.Choices[0].Delta.Content == nil {
				b.Fatal(err)
			}
		}
	})
}

// A delta costs one allocation, its text, whatever form it has; a piece of a call none
// but the growth of the call.
func TestChatDeltaAllocations(t *testing.T) {
	for name, delta := range map[string]string{
		"text":              benchDelta,
		"reasoning":         says(`"content":"","reasoning_content":"thinking about it"`),
		"reasoning details": says(`"content":"","reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","format":"x","index":0}]`),
		"a part":            says(`"content":[{"type":"text","text":"abc \u00e4"}]`),
	} {
		answer := testChat(t, model.Spec{}).NewAnswer()
		c := chat.Chunk{Parts: make([]chat.Part, 0, 4)}
		var data []byte
		got := testing.AllocsPerRun(500, func() {
			data = append(data[:0], delta...)
			if err := answer.Decode("", data, &c); err != nil || len(c.Parts) != 1 {
				t.Fatal(err, len(c.Parts))
			}
			c.Parts = c.Parts[:0]
		})
		if got > 1 {
			t.Errorf("%s: %v allocations, want 1", name, got)
		}
	}
}
