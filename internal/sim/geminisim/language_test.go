package geminisim

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The two languages side by side: what each of them says of a schema of parameters. "" is no fault.
func TestLanguages(t *testing.T) {
	t.Parallel()
	const at = "* GenerateContentRequest.p"
	unknown := func(name, path string) string {
		return `Invalid JSON payload received. Unknown name "` + name + `" at 'p` + path + `': Cannot find field.`
	}
	for _, tt := range []struct{ schema, openAPI, jsonSchema string }{
		{`{"type":"object"}`, "", ""},
		{`{"type":"OBJECT"}`, "", at + ".type: parameters must be of type OBJECT\n"},
		{`{"type":6}`, "", at + ".type: parameters must be of type OBJECT\n"},
		{`{"type":"STRING"}`, at + ".type: parameters must be of type OBJECT\n", at + ".type: parameters must be of type OBJECT\n"},
		{`{}`, at + ".type: parameters must be of type OBJECT\n", at + ".type: parameters must be of type OBJECT\n"},
		{`[]`, "Invalid value at 'p'", "Invalid value at 'p'"},
		{`true`, "Invalid value at 'p'", "Invalid value at 'p'"},
		{`{"type":"object","a":1,"b":2}`, unknown("a", ""), unknown("a", "")},
		{`{"type":"object","properties":{"b":{"type":"string"},"a":{"x":1}}}`, unknown("x", ".properties[0].value"), unknown("x", ".properties[0].value")},
		{`{"type":"object","properties":{"properties":{"type":"object","properties":{"z":{},"q":{"x":1}}}}}`, unknown("x", ".properties[0].value.properties[0].value"), unknown("x", ".properties[0].value.properties[0].value")},
		{`{"type":"object","anyOf":[{},{"type":"object","x":1}]}`, unknown("x", ".any_of[1]"), unknown("x", ".any_of[1]")},
		{`{"type":"object","oneOf":[]}`, unknown("oneOf", ""), ""},
		{`{"type":"object","title":"t"}`, unknown("title", ""), ""},
		{`{"type":"object","nullable":true}`, "", unknown("nullable", "")},
		{`{"type":"object","minProperties":1}`, "", unknown("minProperties", "")},
		{`{"type":"object","required":[]}`, "", ""},
		{`{"type":"object","required":[1]}`, at + ".required[0]: invalid value (TYPE_STRING)\n", at + ".required[0]: invalid value (TYPE_STRING)\n"},
		{`{"type":"object","propertyOrdering":"a"}`, "Invalid value at 'p.property_ordering'", "Invalid value at 'p.property_ordering'"},
		{`{"type":"object","properties":{"a":{"type":"array"}}}`, at + ".properties[0].value.items: missing field.\n", ""},
		{`{"type":"object","properties":{"a":{"type":5,"items":{}}}}`, "", "Invalid value at 'p.properties[0].value.type'"},
		{`{"type":"object","items":{"type":"array"}}`, at + ".items.items: missing field.\n", ""},
		{`{"type":"object","properties":{"a":{"properties":{}}}}`, at + ".properties[0].value.properties: only allowed for OBJECT type\n", ""},
		{`{"type":"object","properties":{"a":{"required":[]}}}`, at + ".properties[0].value.required: only allowed for OBJECT type\n", ""},
		{`{"type":"object","properties":{"a":{"enum":["x"]}}}`, at + ".properties[0].value.enum: only allowed for STRING type\n", ""},
		{`{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}`, "", ""},
		{`{"type":"object","properties":{"a":{"type":"string","format":"date-time"}}}`, "", ""},
		{`{"type":"object","properties":{"a":{"type":"string","format":""}}}`, "", ""},
		{`{"type":"object","properties":{"a":{"type":"string","format":"date"}}}`, at + ".properties[0].value.format: only 'enum' and 'date-time' are supported for STRING type\n", ""},
		{`{"type":"object","properties":{"a":{"type":"integer","format":"int64"}}}`, "", ""},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, "Proto field is not repeating, cannot start list. Invalid value at 'p.properties[0].value.type'", ""},
		{`{"type":"object","properties":{"a":{"type":["string","x"]}}}`, "Proto field is not repeating, cannot start list. Invalid value at 'p.properties[0].value.type'", "Invalid value at 'p.properties[0].value.type[1]'"},
		{`{"type":"object","properties":{"a":{"type":8}}}`, "Invalid value at 'p.properties[0].value.type'", "Invalid value at 'p.properties[0].value.type'"},
		{`{"type":"object","additionalProperties":false}`, unknown("additionalProperties", ""), ""},
		{`{"type":"object","additionalProperties":{"x":1}}`, unknown("additionalProperties", ""), unknown("x", ".additional_properties")},
		{`{"type":"object","additionalProperties":1}`, unknown("additionalProperties", ""), "Invalid value at 'p.additional_properties'"},
		{`{"type":"object","default":1}`, unknown("default", ""), unknown("default", "")},
		{`{"type":"object","pattern":"a"}`, "", unknown("pattern", "")},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}`, unknown("$defs", ""), ""},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"x":1}}}`, unknown("$defs", ""), unknown("x", ".$defs[0].value")},
		{`{"$ref":"#/$defs/b","$defs":{"a":{}}}`, unknown("$defs", ""), at + ": reference to an undefined schema\n"},
		{`{"type":"object","properties":{"a":{"$ref":"other.json"}}}`, unknown("$ref", ".properties[0].value"), at + ".properties[0].value.$ref: reference to an undefined schema\n"},
		{`{"type":"object","$defs":{"a":{}},"properties":{"a":{"$ref":"#/$defs/a","title":"t"}}}`, unknown("$defs", ""), at + `.properties[0].value: $ref must not have siblings, found "title"` + "\n"},
	} {
		for name, judged := range map[string]struct {
			l    language
			want string
		}{"OpenAPI": {openAPISubset(), tt.openAPI}, "JSON Schema": {jsonSchemaSubset(), tt.jsonSchema}} {
			got := ""
			if err := judged.l.checkParameters("p", jsontext.Value(tt.schema)); err != nil {
				got = err.Message
			}
			if got != judged.want && (judged.want == "" || !strings.HasPrefix(judged.want, "Invalid value") || !strings.HasPrefix(got, judged.want)) {
				t.Errorf("%s of %s:\ngot  %q\nwant %q", name, tt.schema, got, judged.want)
			}
		}
	}
}

// What a schema asks for that is written in another way, or not to be had.
func TestSmallestOfUnusualSchemas(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, want string }{
		{`{"type":["null","string"]}`, `""`},
		{`{"type":"null"}`, `null`},
		{`{"type":"boolean"}`, `false`},
		{`{"type":"INTEGER","minimum":2}`, `2`},
		{`{"type":"ARRAY","items":{"type":"STRING"},"minItems":1}`, `[""]`},
		{`{"type":"integer","exclusiveMaximum":0}`, `-1`},
		{`{"type":"integer","exclusiveMinimum":2.5}`, `3`},
		{`{"type":"integer","maximum":-4,"multipleOf":3}`, `-6`},
		{`{"type":"number","minimum":0.5}`, `0.5`},
		{`{"type":"string","format":"email"}`, `"a@example.com"`},
		{`{"type":"string","format":"uuid"}`, `"00000000-0000-0000-0000-000000000000"`},
		{`{"type":"string","format":"unheard-of"}`, `""`},
		{`{"type":"string","pattern":"^(?!x)a"}`, `""`},
		{`{"type":"string","pattern":"^(yes|no).?$"}`, `"yes"`},
		{`{"type":"string","pattern":"."}`, `"x"`},
		{`{"type":"array","items":{"type":"string"},"minItems":3,"uniqueItems":true}`, `["","x","xx"]`},
		{`{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},"minItems":2}`, `[{"a":0},{"a":0}]`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"dependentRequired":{"a":["b"]}}`, `{"a":"","b":{}}`},
		{`{"type":"object","properties":{"a":{},"b":{},"c":{}},"required":["b"],"minProperties":2}`, `{"a":{},"b":{}}`},
		{`{"type":"object","required":["a"],"properties":{"a":{"enum":["x","y"]},"b":{}},"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]}}`, `{"a":"x","b":{}}`},
		{`{"anyOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}},{"type":"string"}],"type":"object"}`, `{"a":0}`},
		{`{"type":"object","properties":{"1":{"enum":["x","y"]}},"required":["1"]}`, `{"1":"y"}`},
	} {
		got := smallestValue(jsontext.Value(tt.schema))
		if string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.schema, got, tt.want)
		}
		if !strings.Contains(tt.schema, "(?!") && !strings.Contains(tt.schema, "INTEGER") && !strings.Contains(tt.schema, "ARRAY") {
			judge(t, tt.schema, got)
		}
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"not":{}}},"required":["a"]}`, `{"type":"string","maxLength":1,"minLength":2}`, `{"$ref":"http://127.0.0.1:1/x.json"}`,
		`{"type":"object","properties":{"l":{"$ref":"#"},"r":{"$ref":"#"}},"required":["l","r"]}`, `{"required":"a"}`,
	} {
		if got := smallestValue(jsontext.Value(schema)); string(got) != "null" {
			t.Errorf("%s: got %s", schema, got)
		}
	}
}
