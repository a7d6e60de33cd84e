package gemini

import (
	stdjson "encoding/json"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// anyChunk is a chunk as the JSON libraries take it: the members that decoder reads.
type anyChunk struct {
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text             string `json:"text"`
				Thought          bool   `json:"thought"`
				ThoughtSignature string `json:"thoughtSignature"`
				FunctionCall     *struct {
					ID   string             `json:"id"`
					Name string             `json:"name"`
					Args stdjson.RawMessage `json:"args"`
				} `json:"functionCall"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	PromptFeedback *struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata struct {
		PromptTokenCount, CandidatesTokenCount, ThoughtsTokenCount, ToolUsePromptTokenCount int
	} `json:"usageMetadata"`
	Error stdjson.RawMessage `json:"error"`
}

// BenchmarkDecodeRivals decodes one chunk with our decoder and with the libraries that
// would do instead.
func BenchmarkDecodeRivals(b *testing.B) {
	data := []byte(usualChunk)
	var d decoder
	var raw rawChunk
	for _, rival := range []struct {
		name   string
		decode func() error
	}{
		{"ours", func() error { return d.decode(data, &raw) }},
		{"encoding-json", func() error { var c anyChunk; return stdjson.Unmarshal(data, &c) }},
		{"json-experiment", func() error {
			var c anyChunk
			return json.Unmarshal(data, &c, json.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(true))
		}},
	} {
		b.Run(rival.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := rival.decode(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
