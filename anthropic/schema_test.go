package anthropic

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/chat"
	"sluice/model"
	"sluice/tool"
)

func TestInputSchemas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", ``, `{"type":"object","properties":{}}`},
		{"null", `null`, `{"type":"object","properties":{}}`},
		{"anything", `true`, `{"type":"object","properties":{}}`},
		{"no members", `{}`, `{"type":"object","properties":{}}`},
		{"below the root as it is", `{"type":"object","properties":{"a":{"oneOf":[{"$ref":"#/$defs/A"}],"format":"x"}},"required":["a"],"$defs":{"A":{}}}`,
			`{"type":"object","properties":{"a":{"oneOf":[{"$ref":"#/$defs/A"}],"format":"x"}},"required":["a"],"$defs":{"A":{}}}`},
		{"no properties", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"},"properties":{}}`},
		{"several types", `{"type":["null","object"]}`, `{"type":"object","properties":{}}`},
		{"a reference", `{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":{}},"required":["a"]}}}`, `{"$defs":{"A":{"properties":{"a":{}},"required":["a"]}},"properties":{"a":{}},"required":["a"],"type":"object"}`},
		{"all of", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`, `{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`},
		{"any of", `{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{},"k":{"const":1}},"required":["a","k"]},{"type":"object","properties":{"b":{},"k":{"const":2}},"required":["k"],"additionalProperties":false}]}`,
			`{"type":"object","properties":{"a":{},"k":{"anyOf":[{"const":1},{"const":2}]},"b":{}},"required":["k"]}`},
		{"one of, beside properties", `{"properties":{"x":{}},"oneOf":[{"required":["x"]},{"properties":{"y":{}}}]}`, `{"properties":{"x":{},"y":{}},"type":"object"}`},

		{"a text", `{"type":"string"}`, ""},
		{"never", `false`, ""},
		{"no schema", `"object"`, ""},
		{"no JSON", `{"type":`, ""},
		{"a remote reference", `{"$ref":"https://example.com/schema.json"}`, ""},
		{"a reference to nothing", `{"$ref":"#/$defs/A"}`, ""},
		{"a reference to itself", `{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}`, ""},
		{"a bomb", `{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/A"}]}}}`, ""},
		{"no alternative is an object", `{"oneOf":[{"type":"string"},{"type":"null"}]}`, ""},
	} {
		got, ok := inputSchema(jsontext.Value(tt.in))
		if ok != (tt.want != "") {
			t.Errorf("%s: taken: %v (%s)", tt.name, ok, got)
			continue
		}
		if ok {
			if diff := cmp.Diff(parse(t, tt.want), parse(t, string(got))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}

// A tool whose schema the API would refuse stays away, which somebody is told once.
func TestToolsLeftOut(t *testing.T) {
	t.Parallel()
	var told []string
	c := NewCodec(&model.Spec{Key: "k", Model: "m"}, func(name string) { told = append(told, name) })
	set := setOf("a", "b", "c")
	set.Specs[1].InputSchema = jsontext.Value(`{"type":"array"}`)
	for range 2 {
		body := string(c.Render(nil, &chat.ModelRequest{Tools: set, Messages: []chat.Message{user(text("hi"))}}, nil))
		if strings.Contains(body, `"name":"b"`) || !strings.Contains(body, `"name":"c"`) {
			t.Error(body)
		}
	}
	if diff := cmp.Diff([]string{"b"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	none := &tool.Set{Specs: set.Specs[1:2]}
	if body := string(c.Render(nil, &chat.ModelRequest{Tools: none, NoTools: true, ForceTool: true}, nil)); strings.Contains(body, "tool") {
		t.Error(body)
	}
}

func FuzzInputSchema(f *testing.F) {
	f.Add(`{"$ref":"#/$defs/A","$defs":{"A":{"anyOf":[{"$ref":"#"},{"allOf":[{}]}]}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		got, ok := inputSchema(jsontext.Value(in))
		if !ok {
			return
		}
		root, _ := parse(t, string(got)).(map[string]any)
		_, hasProperties := root["properties"].(map[string]any)
		if root["type"] != "object" || !hasProperties {
			t.Fatalf("%s", got)
		}
		for _, refused := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
			if _, has := root[refused]; has {
				t.Fatalf("%s in %s", refused, got)
			}
		}
	})
}
