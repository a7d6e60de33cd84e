package gemini

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// TestConvertSchema holds what the API was measured to take. Each case is the schema of the
// property x, and what becomes of it.
func TestConvertSchema(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"additionalProperties false", `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`},
		{"additionalProperties schema", `{"type":"object","additionalProperties":{"type":"string","$id":"x"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`},
		{"dropped keywords", `{"$schema":"s","$id":"i","$comment":"c","type":"string","examples":["a"],"discriminator":{},"readOnly":true}`, `{"type":"string"}`},
		{"kept keywords", `{"type":"array","title":"T","items":{},"minItems":1,"maxItems":2}`, `{"type":"array","title":"T","items":{},"minItems":1,"maxItems":2}`},
		{"default", `{"type":"array","items":{"type":"string","default":"a b"},"default":[1]}`, `{"type":"array","description":"(default: [1])","items":{"type":"string","description":"(default: a b)"}}`},
		{"long default", `{"type":"string","default":"` + strings.Repeat("x", 300) + `"}`, `{"type":"string"}`},
		{"const", `{"const":"a"}`, `{"enum":["a"]}`},
		{"const beside enum", `{"const":"a","enum":["a","b"]}`, `{"enum":["a","b"]}`},
		{"enum of numbers", `{"type":"integer","enum":[1,2]}`, `{"type":"integer","enum":[1,2]}`},
		{"empty enum", `{"enum":[]}`, `{}`},
		{"exclusive bounds become a hint", `{"type":"number","exclusiveMinimum":0,"maximum":5}`, `{"type":"number","description":"(exclusiveMinimum: 0)","maximum":5}`},
		{"format becomes a hint", `{"type":"string","format":"date-time","description":"When."}`, `{"type":"string","description":"When. (format: date-time)"}`},
		{"pattern becomes a hint", `{"type":"string","pattern":"^a$","minLength":1}`, `{"type":"string","description":"(pattern: ^a$, minLength: 1)"}`},
		{"nullable type", `{"type":["string","null"]}`, `{"type":["string","null"]}`},
		{"anyOf", `{"anyOf":[{"type":"string","format":"uuid"},{"type":"null"}],"default":null}`, `{"anyOf":[{"type":"string","description":"(format: uuid)"},{"type":"null"}]}`},
		{"empty oneOf", `{"oneOf":[]}`, `{}`},
		{"array without items", `{"type":"array"}`, `{"type":"array","items":{}}`},
		{"array, old tuple", `{"type":"array","items":[{"type":"string"},{"type":"number"}]}`, `{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":{}}`},
		{"array with a prefix alone", `{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","prefixItems":[{"type":"string"}],"items":{}}`},
		{"empty string in an enum", `{"enum":["","a"]}`, `{"enum":["a"]}`},
		{"enum of the empty string", `{"type":"string","enum":[""]}`, `{"type":"string"}`},
		{"const of the empty string", `{"const":""}`, `{}`},
		{"array in an array", `{"type":"array","items":{"type":"array"}}`, `{"type":"array","items":{"type":"array","items":{}}}`},
		{"properties of a string", `{"type":"string","properties":{"a":{}},"required":["a"]}`, `{"type":"string"}`},
		{"properties without a type", `{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"required but not there", `{"type":"object","properties":{"a":{}},"required":["b","a",1]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`},
		{"boolean schema", `true`, `{}`},
		{"wrong types", `{"title":1,"minimum":"x","enum":1,"anyOf":{},"items":3,"properties":[],"required":{},"description":[]}`, `{"type":"object","items":{}}`},
		{"$ref", `{"$ref":"#/$defs/Day"}`, `{"type":"string","enum":["mon","tue"]}`},
		{"$ref with siblings", `{"$ref":"#/$defs/Day","description":"which","default":"mon"}`, `{"type":"string","description":"which (default: mon)","enum":["mon","tue"]}`},
		{"$ref to a $ref", `{"$ref":"#/$defs/Also"}`, `{"type":"string","enum":["mon","tue"]}`},
		{"$ref escaped", `{"$ref":"#/$defs/a~1b%20c"}`, `{"type":"boolean"}`},
		{"$ref in a cycle", `{"$ref":"#/$defs/Tree"}`, `{"type":"object","properties":{"kids":{"type":"array","items":{"type":"object"}}}}`},
		{"$ref to the whole", `{"$ref":"#"}`, `{"type":"object"}`},
		{"$ref undefined", `{"$ref":"#/definitions/None","description":"d"}`, `{"description":"d"}`},
		{"$ref to elsewhere", `{"$ref":"http://169.254.169.254/x"}`, `{}`},
		{"allOf", `{"allOf":[{"$ref":"#/$defs/Day"}],"description":"d"}`, `{"type":"string","description":"d","enum":["mon","tue"]}`},
		{"allOf of objects", `{"allOf":[{"type":"object","properties":{"a":{}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{},"b":{"type":"string"}},"required":["a","b"]}`},
	}
	const defs = `"$defs":{"Day":{"type":"string","enum":["mon","tue"]},"Also":{"$ref":"#/$defs/Day"},"a/b c":{"type":"boolean"},` +
		`"Tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/Tree"}}}}}`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := convertSchema(jsontext.Value(`{"type":"object","properties":{"x":` + tt.in + `},` + defs + `}`))
			want := `{"type":"object","properties":{"x":` + tt.want + `}}`
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConvertWholeSchema(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"no arguments", `{"type":"object","properties":{}}`, ``},
		{"no properties", `{"type":"object"}`, ``},
		{"closed and empty", `{"type":"object","properties":{},"additionalProperties":false}`, ``},
		{"any arguments", `{"type":"object","additionalProperties":true}`, `{"type":"object","additionalProperties":true}`},
		{"no type", `{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"another type", `{"type":"string","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"a $ref at the top", `{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":{}}}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"alternatives", `{"anyOf":[{"properties":{"a":{}}}]}`, `{"type":"object","anyOf":[{"type":"object","properties":{"a":{}}}]}`},
		{"not an object", `true`, ``},
		{"not JSON", `{"type":`, ``},
		{"nothing", ``, ``},
	}
	for _, tt := range tests {
		if got := string(convertSchema(jsontext.Value(tt.in))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestSchemaBombs: references that double at each step, and a schema nested
// without end, stay small.
func TestSchemaBombs(t *testing.T) {
	t.Parallel()
	bomb := `{"type":"object","properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{`
	for i := range 20 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i+1)
		bomb += fmt.Sprintf(`"a%d":{"type":"object","properties":{"l":%s,"r":%s}},`, i, next, next)
	}
	bomb += `"a20":{"type":"string"}}}`
	deep := `{"type":"object","properties":{"x":` + strings.Repeat(`{"items":`, 5000) + `{}` + strings.Repeat(`}`, 5000) + `}}`
	for name, schema := range map[string]string{"doubling": bomb, "deep": deep} {
		got := convertSchema(jsontext.Value(schema))
		if len(got) > 1<<20 || !json.Valid(got) {
			t.Errorf("%s: %d bytes, valid: %t", name, len(got), json.Valid(got))
		}
	}
}

// TestRecordedSchemas: what the real API took stays what it is.
func TestRecordedSchemas(t *testing.T) {
	t.Parallel()
	n := 0
	for _, f := range corpusFiles(t, ".req.json") {
		var req struct {
			Tools []struct {
				FunctionDeclarations []struct{ ParametersJsonSchema json.RawMessage }
			}
		}
		mustUnmarshal(t, readFile(t, f), &req)
		for _, tool := range req.Tools {
			for _, d := range tool.FunctionDeclarations {
				if d.ParametersJsonSchema == nil {
					continue
				}
				n++
				var want, got any
				mustUnmarshal(t, string(d.ParametersJsonSchema), &want)
				mustUnmarshal(t, string(convertSchema(jsontext.Value(d.ParametersJsonSchema))), &got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", filepath.Base(f), diff)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no recorded schema found")
	}
}

// allowed are the members that a converted schema may have.
var allowed = map[string]bool{
	"type": true, "title": true, "description": true, "enum": true, "items": true, "prefixItems": true, "minItems": true,
	"maxItems": true, "minimum": true, "maximum": true, "anyOf": true, "oneOf": true, "properties": true, "additionalProperties": true,
	"required": true, "propertyOrdering": true,
}

func FuzzConvertSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"const":1}}}`)
	f.Add(`{"allOf":[{"$ref":"#"},{"properties":{"b":true}}],"anyOf":[{}]}`)
	f.Add(`{"properties":{"a":{"items":[{}],"format":"x","required":["y"]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		got := convertSchema(jsontext.Value(schema))
		if got == nil {
			return
		}
		var v any
		if err := json.Unmarshal(got, &v); err != nil || !jsontext.Value(got).IsValid() {
			t.Fatalf("not JSON: %s", got)
		}
		if v.(map[string]any)["type"] != "object" {
			t.Errorf("not of type object: %s", got)
		}
		checkSchema(t, v)
	})
}

func checkSchema(t *testing.T, v any) {
	node, ok := v.(map[string]any)
	if !ok {
		t.Errorf("schema %v", v)
	}
	for name, v := range node {
		if !allowed[name] {
			t.Errorf("keyword %s", name)
		}
		switch name {
		case "items":
			checkSchema(t, v)
		case "anyOf", "oneOf", "prefixItems":
			for _, e := range v.([]any) {
				checkSchema(t, e)
			}
		case "properties":
			for _, e := range v.(map[string]any) {
				checkSchema(t, e)
			}
		}
	}
}
