package geminisim

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/sim/geminisim/simtest"
)

// recorder is a model that keeps what it was asked.
type recorder struct {
	mu    sync.Mutex // guards asked
	asked []Question
}

func (*recorder) Version() string { return "recorder" }

func (r *recorder) Answer(q Question) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q)
	return Answer{Text: "Noted."}
}

// A request is the same question in both spellings of its names.
func TestQuestion(t *testing.T) {
	t.Parallel()
	call := signed("f", "c1", `{"a":1}`)
	want := Question{
		System: "Be\nbrief.",
		Messages: []Message{
			{Text: "hi\nthere"},
			{Model: true, Text: "yes", Calls: []Call{{ID: "c1", Name: "f", Args: jsontext.Value(`{"a":1}`)}}},
			{Results: []Result{{ID: "c1", Name: "f", Response: jsontext.Value(`{"output":"ok"}`)}}},
		},
		Functions: []Function{{Name: "f", Parameters: jsontext.Value(`{"type":"object"}`)}, {Name: "g", Parameters: jsontext.Value(`{"type":"OBJECT"}`)}, {Name: "h"}},
		MayCall:   true,
	}
	contents := `[{"role":"user","parts":[{"text":"hi"},{"text":""},{"text":"there"}]},{"role":"model","parts":[{"text":"yes"},` + call + `]},{"role":"user","parts":[` + answered("f", "c1") + `]}]`
	for name, body := range map[string]string{
		"camel": `{"contents":` + contents + `,"systemInstruction":{"parts":[{"text":"Be"},{"text":"brief."}]},"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}},{"name":"g","parameters":{"type":"OBJECT"}}]},{"functionDeclarations":[{"name":"h"}]}]}`,
		"snake": `{"contents":` + strings.NewReplacer("functionCall", "function_call", "functionResponse", "function_response", "thoughtSignature", "thought_signature").Replace(contents) +
			`,"system_instruction":{"parts":[{"text":"Be"},{"text":"brief."}]},"tools":[{"function_declarations":[{"name":"f","parameters_json_schema":{"type":"object"}},{"name":"g","parameters":{"type":"OBJECT"}}]},{"function_declarations":[{"name":"h"}]}]}`,
	} {
		r := new(recorder)
		_, url := serve(t, Config{Model: r})
		resp, text := simtest.Post(t, url+streamPath, body)
		if resp.StatusCode != 200 || len(r.asked) != 1 {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
			continue
		}
		if diff := cmp.Diff(want, r.asked[0], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// What may be called, what must be, and what is to be answered in JSON.
func TestWhatARequestAsksFor(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},{"name":"g"}]}]`
	mode := func(fields string) string { return tools + `,"toolConfig":{"functionCallingConfig":{` + fields + `}}` }
	for _, tt := range []struct{ name, fields, want string }{
		{"nothing", `"generationConfig":{}`, "may call"},
		{"auto", mode(`"mode":"AUTO"`), "may call"},
		{"none", mode(`"mode":"NONE"`), "may not call"},
		{"none, as a number", mode(`"mode":3`), "may not call"},
		{"any", mode(`"mode":"ANY"`), "may call"},
		{"any of two", mode(`"mode":"ANY","allowedFunctionNames":["f","g"]`), "may call"},
		{"any of the only one", `"tools":[{"functionDeclarations":[{"name":"g"}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`, `called g {}`},
		{"one", mode(`"mode":"ANY","allowedFunctionNames":["f"]`), `called f {"n":0}`},
		{"one, as a number", mode(`"mode":2,"allowedFunctionNames":["g"]`), `called g {}`},
		{"one that is not declared", mode(`"mode":"ANY","allowedFunctionNames":["x"]`), "may call"},
		{"validated forces none", mode(`"mode":"VALIDATED","allowedFunctionNames":["f"]`), "may call"},
		{"JSON of any kind", `"generationConfig":{"responseMimeType":"application/json"}`, `said {}`},
		{"JSON by a schema", `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"array","items":{"type":"string"},"minItems":1}}`, `said [""]`},
		{"in the other language", `"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"INTEGER","minimum":2}}`, `said 2`},
		{"plain text", `"generationConfig":{"responseMimeType":"text/plain"}`, "may call"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := new(recorder)
			_, url := serve(t, Config{Model: r})
			resp, body := simtest.Post(t, url+streamPath, `{"contents":[{"parts":[{"text":"hi"}]}],`+tt.fields+`}`)
			if resp.StatusCode != 200 {
				t.Fatal(body)
			}
			got, a := "", gather(t, body)
			switch {
			case len(r.asked) == 1 && r.asked[0].MayCall:
				got = "may call"
			case len(r.asked) == 1:
				got = "may not call"
			case len(a.calls) == 1:
				name, args := calledIn(t, a.calls[0])
				got = "called " + name + " " + args
			default:
				got = "said " + a.text
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// calledIn reads a part with a call.
func calledIn(t *testing.T, part string) (name, args string) {
	t.Helper()
	known := partsOf(jsontext.Value(`{"candidates":[{"content":{"parts":[` + part + `]}}]}`))
	if len(known) != 1 || known[0].FunctionCall == nil {
		t.Fatalf("no call in %s", part)
	}
	v := known[0].FunctionCall.Args.Clone()
	if err := v.Compact(); err != nil {
		t.Fatal(err)
	}
	return known[0].FunctionCall.Name, string(v)
}

// A text travels in pieces whose sum it is: a word at first, then four.
func TestFewWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "",
		"one":                 "one",
		"one two":             "one |two",
		"one two three":       "one |two three",
		"1 2 3 4 5 6":         "1 |2 3 4 5 |6",
		"1 2 3 4 5 6 7 8 9 0": "1 |2 3 4 5 |6 7 8 9 |0",
		"  a  b":              "  |a  b",
		"a\n\nb ":             "a\n\n|b ",
		"ä ö":                 "ä |ö",
	} {
		pieces := fewWords(text)
		if got := strings.Join(pieces, "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "ääää": 1} {
		if got := estimateTokens(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
	}
}

// The tokens of a prompt grow with everything that is sent.
func TestPromptTokensGrow(t *testing.T) {
	t.Parallel()
	count := func(fields string) int {
		req, err := decodeRequest([]byte(`{"contents":[{"role":"user","parts":[{"text":"hello you"}]}` + fields + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return promptTokens(req)
	}
	least := count(`]`)
	for _, fields := range []string{
		`],"systemInstruction":{"parts":[{"text":"s"}]}`,
		`,{"role":"model","parts":[` + unsigned("f", "", `{}`) + `]}]`,
		`,{"role":"user","parts":[` + answered("f", "") + `]}]`,
		`],"tools":[{"functionDeclarations":[{"name":"f"}]}]`,
	} {
		if n := count(fields); n <= least {
			t.Errorf("%s: %d tokens, without it %d", fields, n, least)
		}
	}
	if a, b := count(`],"tools":[{"functionDeclarations":[{"name":"f","description":"long enough"}]}]`), count(`],"tools":[{"functionDeclarations":[{"name":"f"}]}]`); a <= b {
		t.Errorf("a description costs %d, none %d", a, b)
	}
	for _, schema := range []string{`"parameters":{"type":"OBJECT"}`, `"parametersJsonSchema":{"type":"object"}`} {
		if a, b := count(fmt.Sprintf(`],"tools":[{"functionDeclarations":[{"name":"f",%s}]}]`, schema)), count(`],"tools":[{"functionDeclarations":[{"name":"f"}]}]`); a <= b {
			t.Errorf("%s costs %d, none %d", schema, a, b)
		}
	}
}

// A schema in a prompt is the last object that looks like one.
func TestSchemaInPrompt(t *testing.T) {
	t.Parallel()
	const none = `{"type":"object"}`
	for _, tt := range []struct {
		name string
		q    Question
		want string
	}{
		{"nothing", Question{}, none},
		{"in the system instruction", Question{System: `By {"type":"string"}.`}, `{"type":"string"}`},
		{"in a message", Question{System: `By {"type":"string"}.`, Messages: []Message{{Text: `{"anyOf":[{}]}`}}}, `{"anyOf":[{}]}`},
		{"not the model's", Question{Messages: []Message{{Text: `{"type":"string"}`}, {Model: true, Text: `{"type":"null"}`}}}, `{"type":"string"}`},
		{"the last", Question{System: `{"type":"string"} or {"$ref":"#"} {"a":1}`}, `{"$ref":"#"}`},
		{"data is none", Question{System: `{"a":{"type":"string"}}`}, none},
		{"within what is no JSON", Question{System: `{x {"properties":{}} }`}, `{"properties":{}}`},
		{"cut off", Question{System: `{"type":"string"`}, none},
	} {
		if got := string(schemaInPrompt(tt.q)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
