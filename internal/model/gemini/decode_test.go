package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

var compareRaw = cmp.AllowUnexported(rawChunk{}, rawPart{}, rawCall{}, rawArg{})

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     rawChunk
	}{
		{"empty", `{}`, rawChunk{}},
		{"all", `{"candidates":[{"index":0,"content":{"role":"model","parts":[
			{"text":"a\né"},{"thought":true,"text":"hm","thoughtSignature":"c2ln"},
			{"functionCall":{"name":"f","id":"i","args":{ "x" : 1.0 }}},{"inlineData":{"data":"AA=="}},{"newScalar":1}]},"finishReason":"STOP"}],
			"usageMetadata":{"promptTokenCount":1,"toolUsePromptTokenCount":2,"candidatesTokenCount":3,"thoughtsTokenCount":4,"totalTokenCount":10}}`,
			rawChunk{finish: "STOP", hasUsage: true, usage: chat.Usage{InputTokens: 3, OutputTokens: 3, ThinkingTokens: 4}, candidates: 1, parts: []rawPart{
				{text: "a\né"}, {text: "hm", thought: true, signature: "c2ln"},
				{call: &rawCall{id: "i", name: "f", args: jsontext.Value(`{ "x" : 1.0 }`)}}, {foreign: true, image: true}, {},
			}}},
		{"nulls", `{"candidates":[{"content":{"parts":[{"text":null,"functionCall":null,"thought":null}]},"finishReason":null}],"usageMetadata":null,"error":null,"promptFeedback":null}`,
			rawChunk{candidates: 1, parts: []rawPart{{}}}},
		{"null content", `{"candidates":[{"content":null}]}`, rawChunk{candidates: 1}},
		{"usage without figures", `{"usageMetadata":{"trafficType":"ON_DEMAND"}}`, rawChunk{}},
		{"second candidate", `{"candidates":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]},"finishReason":"SAFETY"}]}`,
			rawChunk{candidates: 2, parts: []rawPart{{text: "a"}}}},
		{"blocked", `{"promptFeedback":{"blockReasonMessage":"no","blockReason":"SAFETY"}}`, rawChunk{block: "SAFETY"}},
		{"blocked without reason", `{"promptFeedback":{"blockReasonMessage":"no"}}`, rawChunk{block: "OTHER"}},
		{"not blocked", `{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED","safetyRatings":[{"blocked":false}]}}`, rawChunk{}},
		{"pieces of a call", `{"candidates":[{"content":{"parts":[{"functionCall":{"willContinue":true,"partialArgs":[
			{"jsonPath":"$.s","stringValue":"x","willContinue":true},{"jsonPath":"$.n","numberValue":1.50},{"jsonPath":"$.b","boolValue":true},{"jsonPath":"$.z","nullValue":"NULL_VALUE"}]}}]}}]}`,
			rawChunk{candidates: 1, parts: []rawPart{{call: &rawCall{willContinue: true, partial: []rawArg{
				{path: "$.s", value: jsontext.Value(`"x"`), willContinue: true}, {path: "$.n", value: jsontext.Value("1.50")},
				{path: "$.b", value: jsontext.Value("true")}, {path: "$.z", value: jsontext.Value("null")},
			}}}}}},
		{"an array", `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}]`, rawChunk{candidates: 1, parts: []rawPart{{text: "a"}}}},
	}
	var d decoder
	got := rawChunk{finish: "old", block: "old", parts: []rawPart{{text: "old"}}}
	for _, tt := range tests {
		if err := d.decode([]byte(tt.in), &got); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if len(got.parts) == 0 {
			got.parts = nil
		}
		if diff := cmp.Diff(tt.want, got, compareRaw); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDecodeUnreadable(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		``, `x`, `"SECRET"`, `{`, `{}{}`, `[]x`, `{"candidates":"SECRET"}`, `{"candidates":[1]}`, `{"candidates":{}}`,
		`{"candidates":[{"content":"SECRET"}]}`, `{"candidates":[{"content":{"parts":{}}}]}`, `{"candidates":[{"content":{"parts":["SECRET"]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":1}]}}]}`, `{"candidates":[{"content":{"parts":[{"thought":"yes"}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"\ud83d"}]}}]}`, "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xff\"}]}}]}",
		`{"candidates":[{"content":{"parts":[{"functionCall":{"args":"SECRET"}}]}}]}`, `{"candidates":[{"content":{"parts":[{"functionCall":[]}]}}]}`,
		`{"candidates":[{"finishReason":1}]}`, `{"usageMetadata":{"promptTokenCount":}}`, `{"usageMetadata":[1}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"id":1,"id":2}}}]}}]}`, `{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"a":{"id":1,"id":2}}}}]}}]}`,
	} {
		var d decoder
		err := d.decode([]byte(in), new(rawChunk))
		if !errors.Is(err, model.ErrUnreadable) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: error = %v, want ErrUnreadable without a word of the chunk", in, err)
		}
	}
}

// Of a member that comes twice the last counts, and what is passed over may hold what it likes.
func TestDecodeNameTwice(t *testing.T) {
	t.Parallel()
	var d decoder
	var got rawChunk
	in := `{"x":{"a":1,"a":[2,{"b":3,"b":4}]},"candidates":[{"content":{"parts":[{"text":"a","text":"b"}]},"finishReason":"MAX_TOKENS","finishReason":"STOP"}]}`
	if err := d.decode([]byte(in), &got); err != nil || len(got.parts) != 1 || got.parts[0].text != "b" || got.finish != "STOP" {
		t.Errorf("%+v, %v, want the text b and STOP", got, err)
	}
}

// oddFigures are values that no token count has.
var oddFigures = []string{
	`1.5`, `5.0`, `"7"`, `-5`, `-0`, `1e300`, `1e3`, `2147483648`, strings.Repeat("9", 10_000), `[]`, `[7]`, `{}`, `{"a":[1]}`, `true`, `null`,
}

// A figure that cannot be read is left out; those next to it are used.
func TestDecodeOddUsage(t *testing.T) {
	t.Parallel()
	var d decoder
	var got rawChunk
	for _, odd := range oddFigures {
		in := `{"usageMetadata":{"promptTokenCount":` + odd + `,"toolUsePromptTokenCount":2,"candidatesTokenCount":3,"thoughtsTokenCount":` + odd + `}}`
		want := chat.Usage{InputTokens: 2, OutputTokens: 3}
		if err := d.decode([]byte(in), &got); err != nil || got.usage != want || !got.hasUsage {
			t.Errorf("%.80s: %+v (%v), %v, want %+v", in, got.usage, got.hasUsage, err, want)
		}
		for _, in := range []string{`{"usageMetadata":` + odd + `}`, `{"usageMetadata":{"promptTokenCount":` + odd + `}}`} {
			if err := d.decode([]byte(in), &got); err != nil || got.hasUsage {
				t.Errorf("%.80s: %+v (%v), %v, want none", in, got.usage, got.hasUsage, err)
			}
		}
	}
	if err := d.decode([]byte(`{"usageMetadata":{"promptTokenCount":2147483647}}`), &got); err != nil || got.usage.InputTokens != 2147483647 {
		t.Errorf("the largest figure: %d, %v", got.usage.InputTokens, err)
	}
}

// An answer whose usage cannot be read is a good one, to the caller and to the
// breaker. The figures of an earlier chunk stay.
func TestUnreadableUsageIsNoFailure(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for _, odd := range oddFigures {
			u := serve(t, stream(textChunk("good"), event(`{"usageMetadata":{"promptTokenCount":4}}`),
				event(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":`+odd+`}}`)))
			m := open(t, Config{BaseURL: u.URL})
			got, err := ask(t.Context(), m)
			if err != nil || got.Text != "good" || got.Usage.InputTokens != 4 {
				t.Errorf("%.40s: %+v, %v", odd, got, err)
			}
			wantFailures(t, m, 0)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		textChunk("hello"), finishChunk("STOP"), `data: {"error":{"code":503,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]}}`,
		`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":[1]},"willContinue":true,"partialArgs":[{"jsonPath":"$.a[0]","stringValue":"x"}]}}]}}]}`,
	} {
		f.Add(strings.TrimSpace(strings.TrimPrefix(s, "data:")))
	}
	f.Fuzz(func(t *testing.T, in string) {
		var d decoder
		a := assembler{tools: new(toolCache)}
		var raw rawChunk
		if d.decode([]byte(in), &raw) != nil {
			return
		}
		var doc any
		if err := json.Unmarshal([]byte(in), &doc); err != nil {
			t.Fatalf("decoded, but is not JSON: %v", err)
		}
		if m, ok := doc.(map[string]any); ok {
			want := new(strings.Builder)
			for _, p := range firstParts(m) {
				if s, ok := p.(map[string]any)["text"].(string); ok {
					want.WriteString(s)
				}
			}
			got := new(strings.Builder)
			for _, p := range raw.parts {
				got.WriteString(p.text)
			}
			if want.String() != got.String() {
				t.Errorf("text %q, want %q", got, want)
			}
		}
		var c chat.Chunk
		if a.addChunk(&raw, &c) == nil {
			a.completeAnswer(&c)
		}
		for _, p := range c.Parts {
			if p.Call != nil && (p.Call.Arguments.Kind() != '{' || !p.Call.Arguments.IsValid()) {
				t.Errorf("arguments %s", p.Call.Arguments)
			}
		}
	})
}

func firstParts(doc map[string]any) []any {
	candidates, _ := doc["candidates"].([]any)
	if len(candidates) == 0 {
		return nil
	}
	candidate, _ := candidates[0].(map[string]any)
	content, _ := candidate["content"].(map[string]any)
	parts, _ := content["parts"].([]any)
	return parts
}

// assemble feeds pieces of one call to an assembler and returns the whole.
func assemble(pieces ...rawCall) (*tool.Call, error) {
	a := assembler{tools: new(toolCache)}
	var c chat.Chunk
	for i := range pieces {
		if err := a.addChunk(&rawChunk{parts: []rawPart{{call: &pieces[i]}}}, &c); err != nil {
			return nil, err
		}
	}
	if len(c.Parts) == 0 {
		return nil, io.ErrNoProgress
	}
	return c.Parts[0].Call, nil
}

func TestPartialCall(t *testing.T) {
	t.Parallel()
	arg := func(path, value string, more ...bool) rawArg {
		return rawArg{path: path, value: jsontext.Value(value), willContinue: len(more) > 0}
	}
	tests := []struct {
		name string
		args []rawArg
		want string // empty: an error
	}{
		{"none", nil, `{}`},
		{"kinds", []rawArg{arg("$.s", `"x"`), arg("$.n", "1.50"), arg("$.b", "true"), arg("$.z", "null")}, `{"s":"x","n":1.50,"b":true,"z":null}`},
		{"a string in pieces", []rawArg{arg("$.s", `"a\n"`, true), arg("$.s", `"\u00e9"`, true), arg("$.s", `""`)}, `{"s":"a\né"}`},
		{"nested", []rawArg{arg("$.a[0].b", "1"), arg("$.a[1][0]", "2"), arg("$.a[0].c", "3")}, `{"a":[{"b":1,"c":3},[2]]}`},
		{"quoted names", []rawArg{arg("$['a.b']", "1"), arg(`$["c]"].d`, "2")}, `{"a.b":1,"c]":{"d":2}}`},
		{"given twice", []rawArg{arg("$.a", "1"), arg("$.a", "2")}, ``},
		{"object and value", []rawArg{arg("$.a.b", "1"), arg("$.a", "2")}, ``},
		{"value and object", []rawArg{arg("$.a", "1"), arg("$.a.b", "2")}, ``},
		{"element left out", []rawArg{arg("$.a[1]", "1")}, ``},
		{"huge index", []rawArg{arg("$.a[4294967295]", "1")}, ``},
		{"negative index", []rawArg{arg("$.a[-1]", "1")}, ``},
		{"no path", []rawArg{arg("", "1")}, ``},
		{"the root", []rawArg{arg("$", "1")}, ``},
		{"array at the root", []rawArg{arg("$[0]", "1")}, ``},
		{"no dot", []rawArg{arg("$a", "1")}, ``},
		{"empty name", []rawArg{arg("$..a", "1")}, ``},
		{"open bracket", []rawArg{arg("$[0", "1")}, ``},
		{"open quote", []rawArg{arg("$['a", "1")}, ``},
		{"too deep", []rawArg{arg("$"+strings.Repeat(".a", 100), "1")}, ``},
		{"half a code point", []rawArg{arg("$.s", `"\ud83d"`)}, ``},
	}
	for _, tt := range tests {
		got, err := assemble(rawCall{name: "f", id: "i", willContinue: true}, rawCall{partial: tt.args, willContinue: true}, rawCall{})
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s: no error, but %s", tt.name, got.Arguments)
			}
			continue
		}
		if err != nil || string(got.Arguments) != tt.want || got.Name != "f" || got.ID != "i" {
			t.Errorf("%s: %+v, %v, want %s", tt.name, got, err, tt.want)
		}
	}
	many, want := make([]rawArg, 0, 100), make([]string, 0, 100)
	for i := range cap(many) { // each comes twice, in pieces
		name := fmt.Sprintf("n%d", i%50)
		many = append(many, arg("$."+name, `"x"`, i < 50))
		want = append(want, `"`+name+`":"xx"`)
	}
	if got, err := assemble(rawCall{name: "f", partial: many}); err != nil || string(got.Arguments) != "{"+strings.Join(want[:50], ",")+"}" {
		t.Errorf("many members: %+v, %v", got, err)
	}
	if _, err := assemble(rawCall{name: "f", willContinue: true}, rawCall{name: "g"}); !errors.Is(err, model.ErrMalformedCall) {
		t.Errorf("a call inside another: %v", err)
	}
	if got, err := assemble(rawCall{name: "f", willContinue: true}, rawCall{args: jsontext.Value(`{"a":1}`)}); err != nil || string(got.Arguments) != `{"a":1}` {
		t.Errorf("whole arguments in a later piece: %+v, %v", got, err)
	}
}
