package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Deltas as the API sends them, byte for byte but for the text.
const (
	usualDelta    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The sum of 2 and 3 is\n 5"}           }`
	usualThought  = `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" a location parameter. The"}  }`
	usualArgument = `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"F"} }`
)

// BenchmarkDecode reads one delta. It allocates the text that is handed on, and of a call
// nothing but what the pieces grow to.
func BenchmarkDecode(b *testing.B) {
	for _, bench := range []struct{ name, block, delta string }{
		{"text", `{"type":"text","text":""}`, usualDelta},
		{"thinking", `{"type":"thinking","thinking":"","signature":""}`, usualThought},
		{"arguments", `{"type":"tool_use","id":"i","name":"f","input":{}}`, usualArgument},
	} {
		b.Run(bench.name, func(b *testing.B) {
			a := testCodec(nil).NewAnswer().(*answer)
			var c chat.Chunk
			if err := a.Decode("", []byte(blockAt("0", bench.block)), &c); err != nil {
				b.Fatal(err)
			}
			data := []byte(bench.delta)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				c.Parts = c.Parts[:0]
				a.size.Size = 0
				if len(a.open[0].data) > 4096 {
					a.open[0].data = a.open[0].data[:0]
				}
				if err := a.Decode("content_block_delta", data, &c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// anyEvent is an event as the JSON libraries take it: the members that decoder reads.
type anyEvent struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		PartialJSON string `json:"partial_json"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	ContentBlock json.RawMessage `json:"content_block"`
	Message      json.RawMessage `json:"message"`
	Usage        json.RawMessage `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

// BenchmarkDecodeRivals decodes one delta with our decoder and with the libraries that
// would do instead.
func BenchmarkDecodeRivals(b *testing.B) {
	data := []byte(usualDelta)
	var d decoder
	for _, rival := range []struct {
		name   string
		decode func() error
	}{
		{"ours", func() error { return d.decode(data) }},
		{"encoding-json", func() error { var e anyEvent; return json.Unmarshal(data, &e) }},
		{"json-experiment", func() error { var e anyEvent; return jsonv2.Unmarshal(data, &e) }},
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

func BenchmarkRender(b *testing.B) {
	c := testCodec(nil)
	set := new(tool.Set)
	for range 20 {
		set.Specs = append(set.Specs, tool.Spec{Name: "add", Description: "Adds.", InputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)})
	}
	req := &chat.ModelRequest{System: strings.Repeat("Be kind. ", 100), Tools: set, Messages: []chat.Message{
		user(text(strings.Repeat("hello ", 100))),
		said(ours, chat.Part{Kept: `{"type":"thinking","thinking":"hm","signature":"` + strings.Repeat("EukB", 79) + `"}`}, chat.Part{Call: callOf("id", "add", `{"a":1}`)}),
		user(result("id", "add", strings.Repeat("result ", 100))),
	}}
	var body []byte
	b.ReportAllocs()
	for b.Loop() {
		body = c.Render(body[:0], req, nil)
	}
}
