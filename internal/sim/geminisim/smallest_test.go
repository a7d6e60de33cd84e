package geminisim

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What Smallest makes is what it should be, and passes a validator that is not ours.
func TestSmallest(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, want string }{
		{`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"},"c":{"type":"boolean"}},"required":["a","b"]}`, `{"a":0,"b":""}`},
		{`{"type":"object"}`, `{}`},
		{`true`, `{}`},
		{`{}`, `{}`},
		{`{"enum":["low","high"]}`, `"low"`},
		{`{"const":7}`, `7`},
		{`{"type":["string","null"]}`, `""`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2,"uniqueItems":true}`, `[0,1]`},
		{`{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"number"},"minItems":2}`, `["",0]`},
		{`{"type":"array","items":{"enum":["a","b","c"]},"minItems":3,"uniqueItems":true}`, `["a","b","c"]`},
		{`{"type":"string","minLength":3}`, `"xxx"`},
		{`{"type":"string","format":"date"}`, `"2026-01-01"`},
		{`{"type":"string","pattern":"^[a-z]{3}-\\d+$"}`, `"aaa-0"`},
		{`{"type":"string","pattern":"^id_[a-z]+$","minLength":8}`, `"id_aaaaa"`},
		{`{"type":"integer","minimum":3}`, `3`},
		{`{"type":"integer","exclusiveMinimum":3}`, `4`},
		{`{"type":"integer","maximum":-2}`, `-2`},
		{`{"type":"integer","minimum":4,"multipleOf":3}`, `6`},
		{`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`, `0.5`},
		{`{"$defs":{"n":{"type":"integer","minimum":1}},"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}`, `{"n":1}`},
		{`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `0`},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"oneOf":[{"required":["b"]},{"required":["a"]}]}`, `{"b":""}`},
		{`{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"const":1}},"required":["b"]}]}`, `{"a":0,"b":1}`},
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"minProperties":1}`, `{"a":0}`},
		{`{"type":"object","required":["free"],"additionalProperties":{"type":"boolean"}}`, `{"free":false}`},
		{`{"$defs":{"tree":{"anyOf":[{"$ref":"#/$defs/pair"},{"type":"integer"}]},"pair":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"}},"required":["left"]}},"$ref":"#/$defs/tree"}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.schema, func(t *testing.T) {
			t.Parallel()
			got := smallestValue(jsontext.Value(tt.schema))
			if tt.want != "" && string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			judge(t, tt.schema, got)
		})
	}
}

// A schema without an end and one that cannot be read get null, not a crash.
func TestSmallestGivesUp(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":"object","properties":{"next":{"$ref":"#"}},"required":["next"]}`, `{"$ref":"#"}`, `{"$ref":"#/$defs/none"}`, `{"anyOf":[]}`, `[`, ``, `false`,
	} {
		if got := smallestValue(jsontext.Value(schema)); string(got) != "null" {
			t.Errorf("%s: got %s", schema, got)
		}
	}
}

func judge(t *testing.T, schema string, value []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(v); err != nil {
		t.Errorf("%s is refused: %v", value, err)
	}
}
