package geminisim

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim/simtest"
)

// A request for structured output gets the smallest value, or what a role says; a
// forced function gets its arguments; a schema may stand in the prompt.
func TestRespond(t *testing.T) {
	t.Parallel()
	schema := jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	router := func(_ jsontext.Value, q Question) (jsontext.Value, bool) {
		return jsontext.Value(`{"n":9}`), strings.Contains(q.System, "router")
	}
	two := []Function{{Name: "f", Parameters: schema}, {Name: "g"}}
	tests := []struct {
		name string
		q    Question
		want Answer
	}{
		{"a text", Question{}, Answer{Text: "OK."}},
		{"smallest", Question{Schema: schema}, Answer{Text: `{"n":0}`}},
		{"role", Question{Schema: schema, System: "You are a router."}, Answer{Text: `{"n":9}`}},
		{"any object", Question{Schema: jsontext.Value("{}")}, Answer{Text: "{}"}},
		{"schema in the prompt", Question{Schema: jsontext.Value("{}"), Messages: []Message{{Text: "Use {x} or {} and follow " + string(schema) + " please"}}}, Answer{Text: `{"n":0}`}},
		{"forced", Question{Forced: "f", Functions: []Function{{Name: "f", Parameters: schema}}}, Answer{Calls: []Call{{Name: "f", Args: jsontext.Value(`{"n":0}`)}}}},
		{"one of two, and the model calls none", Question{OneOf: []string{"g", "f"}, Functions: two}, Answer{Calls: []Call{{Name: "f", Args: jsontext.Value(`{"n":0}`)}}}},
		{"one of two that are not declared", Question{OneOf: []string{"x", "y"}, Functions: two}, Answer{Text: "OK."}},
	}
	for _, tt := range tests {
		got := Respond(wordless{}, []Role{router}, tt.q)
		if got.Text != tt.want.Text || len(got.Calls) != len(tt.want.Calls) ||
			len(got.Calls) > 0 && string(got.Calls[0].Args) != string(tt.want.Calls[0].Args) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// Over the wire: structured output, and members that a model does not take.
func TestStructuredOutputAndRefusedMembers(t *testing.T) {
	t.Parallel()
	_, sim := serve(t, Config{Refuse: []string{"thinkingLevel", "responseJsonSchema"}})
	body := func(generation string) string {
		return `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{` + generation + `}}`
	}
	tests := []struct {
		generation, want string
		status           int
	}{
		{`"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"a":{"type":"STRING"}},"required":["a"]}`, `{\"a\":\"\"}`, 200},
		{`"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}`, `Unknown name \"responseJsonSchema\" at 'generation_config'`, 400},
		{`"responseSchema":{"type":"OBJECT"}`, `response mime type`, 400},
		{`"thinkingConfig":{"thinkingLevel":"low"},"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}`, `Unknown name \"thinkingLevel\" at 'generation_config.thinking_config'`, 400},
	}
	for _, tt := range tests {
		resp, got := simtest.Post(t, sim+streamPath, body(tt.generation))
		if resp.StatusCode != tt.status || !strings.Contains(got, tt.want) {
			t.Errorf("%s: status %d, %s, want %d and %s", tt.generation, resp.StatusCode, got, tt.status, tt.want)
		}
	}
}
