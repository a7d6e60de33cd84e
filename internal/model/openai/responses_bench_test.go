package openai

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// responsesDelta is what OpenAI sends for each piece of text, byte for byte but for
// the text, which is that of gemini's BenchmarkDecode.
const responsesDelta = `{"type":"response.output_text.delta","content_index":0,"delta":"The sum of 2 and 3 is\n 5","item_id":"msg_0fabc13af1ee0049006a691dfebdc881a1ae18d027c313d8ce","logprobs":[],"obfuscation":"RvoJ43TaUvnCS8e","output_index":1,"sequence_number":6}`

func BenchmarkResponsesDelta(b *testing.B) {
	data := []byte(responsesDelta)
	a := newResponses(model.Spec{}, nil).NewAnswer().(*responsesAnswer)
	var c chat.Chunk
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		c.Parts = c.Parts[:0]
		a.budget.Size = 0
		if err := a.Decode("response.output_text.delta", data, &c); err != nil || len(c.Parts) != 1 {
			b.Fatal(err)
		}
	}
}

// BenchmarkResponsesSkip is the first event, which repeats the request.
func BenchmarkResponsesSkip(b *testing.B) {
	data := []byte(`{"type":"response.created","response":{"id":"resp_1","instructions":"` + strings.Repeat("Be kind. ", 1000) + `","output":[]}}`)
	a := newResponses(model.Spec{}, nil).NewAnswer()
	var c chat.Chunk
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Decode("response.created", data, &c); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResponsesAnswer reads a whole recorded answer.
func BenchmarkResponsesAnswer(b *testing.B) {
	var events [][]byte
	var size int64
	for _, rec := range responsesRecordings(b) {
		if rec.Name == "responses-openai-reasoning-gpt5-2" {
			for line := range strings.Lines(string(rec.Wire)) {
				if data, ok := strings.CutPrefix(line, "data: "); ok {
					events = append(events, []byte(strings.TrimSpace(data)))
					size += int64(len(data))
				}
			}
		}
	}
	a := newResponses(model.Spec{}, nil).NewAnswer()
	var c chat.Chunk
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		a.Reset()
		for _, data := range events {
			c.Parts = c.Parts[:0]
			if err := a.Decode("", data, &c); err != nil {
				b.Fatal(err)
			}
		}
		if err := a.End(&c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}

func BenchmarkResponsesRender(b *testing.B) {
	codec := newResponses(model.Spec{Key: "fast", Model: "gpt-5", Generation: model.Generation{Thinking: model.Thinking{Word: "summary"}}}, nil)
	set := &tool.Set{}
	for range 20 {
		set.Specs = append(set.Specs, tool.Spec{Name: "add", Description: "Adds.", InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)})
	}
	req := &chat.ModelRequest{System: strings.Repeat("Be kind. ", 100), Tools: set, Messages: []chat.Message{
		{Role: chat.RoleUser, Parts: []chat.Part{{Text: strings.Repeat("hello ", 100)}}},
		{Role: chat.RoleModel, Maker: codec.maker, Parts: []chat.Part{
			{Kept: `{"type":"reasoning","encrypted_content":"` + strings.Repeat("gAAA", 79) + `","summary":[]}`},
			{Call: &tool.Call{ID: "id", Name: "add", Arguments: jsontext.Value(`{"a":1}`)}},
		}},
		{Role: chat.RoleUser, Parts: []chat.Part{{Result: &tool.Result{ID: "id", Name: "add", Text: strings.Repeat("result ", 100)}}}},
	}}
	b.ReportAllocs()
	for b.Loop() {
		codec.Render(nil, req, nil)
	}
}
