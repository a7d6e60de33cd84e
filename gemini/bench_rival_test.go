package gemini

import (
	"bufio"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
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
		{"json-experiment", func() error { var c anyChunk; return json.Unmarshal(data, &c, json.MatchCaseInsensitiveNames(true)) }},
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

// BenchmarkWindowRivals reads the lines of one answer: with window, with bufio's reader
// of a stream of its own, and with one that is used again. held-B is what each keeps
// while the stream waits for its next chunk.
func BenchmarkWindowRivals(b *testing.B) {
	for _, chunks := range []int{1, 50} {
		body := strings.Repeat("data: "+usualChunk+"\r\n\r\n", chunks)
		lines := func(b *testing.B, next func() error) {
			n := 0
			for next() == nil {
				n++
			}
			if n != 2*chunks {
				b.Fatalf("%d lines", n)
			}
		}
		ofBufio := func(r *bufio.Reader) func() error {
			return func() error { _, err := r.ReadSlice('\n'); return err }
		}
		var w window
		again := bufio.NewReader(nil)
		for _, rival := range []struct {
			name string
			held int
			next func(*strings.Reader) func() error
		}{
			{"window", smallWindow, func(src *strings.Reader) func() error {
				w.reset(src)
				return func() error { _, err := w.line(maxChunk); return err }
			}},
			{"bufio", 4096, func(src *strings.Reader) func() error { return ofBufio(bufio.NewReader(src)) }},
			{"bufio-reset", 4096, func(src *strings.Reader) func() error { again.Reset(src); return ofBufio(again) }},
		} {
			b.Run(fmt.Sprintf("%s/chunks=%d", rival.name, chunks), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					lines(b, rival.next(strings.NewReader(body)))
				}
				b.ReportMetric(float64(rival.held), "held-B")
			})
		}
		w.release()
	}
}
