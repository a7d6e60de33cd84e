package gemini

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// usualChunk is what Gemini 3 sends, byte for byte but for the text.
const usualChunk = `{"candidates": [{"content": {"parts": [{"text": "The sum of 2 and 3 is\n 5"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 161,"candidatesTokenCount": 32,"totalTokenCount": 238,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 161}],"thoughtsTokenCount": 45},"modelVersion": "gemini-3-flash-preview","responseId": "aiS5abqwJJf7nsEPuIy3wQQ"}`

func BenchmarkDecode(b *testing.B) {
	data := []byte(usualChunk)
	var d decoder
	var raw rawChunk
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := d.decode(data, &raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeAlike is a chunk that is like the one before it but for its text and its figures.
func BenchmarkDecodeAlike(b *testing.B) {
	var list [2][]byte
	for i, figures := range []string{"32", "41"} {
		list[i] = []byte(strings.Replace(usualChunk, "32", figures, 1))
	}
	c := newCodec(generation{})
	var raw rawChunk
	var p pattern
	b.SetBytes(int64(len(list[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := c.decodeEvent(list[i%2], &raw, &p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeCall is a chunk with a function call and its signature.
func BenchmarkDecodeCall(b *testing.B) {
	data := []byte(`{"candidates": [{"content": {"parts": [{"functionCall": {"name": "sum","args": {"b": 3,"a": 2},"id": "3ae8iwca"},"thoughtSignature": "` +
		strings.Repeat("EukB", 79) + `"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 161}}`)
	var d decoder
	var raw rawChunk
	b.ReportAllocs()
	for b.Loop() {
		if err := d.decode(data, &raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRenderRequest(b *testing.B) {
	c := defaultCodec(b)
	set := &tool.Set{}
	for range 20 {
		set.Specs = append(set.Specs, tool.Spec{Name: "add", Description: "Adds.", InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)})
	}
	req := &chat.ModelRequest{System: strings.Repeat("Be kind. ", 100), Tools: set, Messages: []chat.Message{
		user(chat.Part{Text: strings.Repeat("hello ", 100)}),
		byModel(chat.Part{Call: callOf("id", "add", `{"a":1}`), Signature: strings.Repeat("EukB", 79)}),
		user(chat.Part{Result: &tool.Result{ID: "id", Name: "add", Text: strings.Repeat("result ", 100)}}),
	}}
	b.ReportAllocs()
	for b.Loop() {
		c.Render(nil, req, nil)
	}
}

func BenchmarkConvertSchema(b *testing.B) {
	schema := jsontext.Value(`{"type":"object","properties":{"title":{"type":"string","format":"x"},"due":{"anyOf":[{"$ref":"#/$defs/Due"},{"type":"null"}],"default":null}},` +
		`"required":["title"],"$defs":{"Due":{"type":"string","format":"date-time"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		convertSchema(schema)
	}
}
