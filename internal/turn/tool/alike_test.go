package tool

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// plainly compiles a schema as it stands.
func plainly(t *testing.T, raw string) *Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := compileDocument(doc, &patterns{compiled: map[string]jsonschema.Regexp{}, room: maxProgram})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSchema(compiled)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is shared checks what the whole schema would, with the same words.
func TestAlikePropertiesCheckTheSame(t *testing.T) {
	t.Parallel()
	many := members(60, `"p%d":{"type":"string","description":"the %d."}`)
	for name, tt := range map[string]struct {
		schema string
		args   []string
	}{
		"flat": {`{"type":"object","additionalProperties":false,"required":["p59"],"properties":{` + many + `,"n":{"type":"integer"},"m":{"type":"integer","minimum":3}}}`, []string{
			`{"p59":"x"}`, `{}`, `{"p59":1}`, `{"p59":"x","p1":2,"p2":"y"}`, `{"p59":"x","q":1}`, `{"p59":"x","n":1,"m":2}`, `{"p59":"x","n":"1","m":3}`,
		}},
		"nested": {`{"properties":{` + many + `,"a":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"array","items":{"properties":{"z":{"type":"string"},"w":{"const":1}},"required":["w"]}}}},
			"b":{"anyOf":[{"type":"null"},{"properties":{"x":{"type":"string"},"v":{"enum":[1,"1"]}},"additionalProperties":{"properties":{"x":{"type":"string"}},"required":["x"]}}]},
			"c":{"title":"as a","type":"object","properties":{"x":{"type":"string"},"y":{"type":"array","items":{"properties":{"z":{"type":"string"},"w":{"const":1}},"required":["w"]}}}}}}`, []string{
			`{"a":{"x":"1","y":[{"z":"a","w":1}]}}`, `{"a":{"x":1}}`, `{"a":{"y":[{"z":1,"w":1}]}}`, `{"c":{"y":[{"w":2}]}}`, `{"c":{"x":1,"y":[{}]}}`, `{"b":null}`, `{"b":{"x":1}}`, `{"b":{"v":"1"}}`,
			`{"b":{"v":2}}`, `{"b":{"other":{"x":"1"}}}`, `{"b":{"other":{"x":1}}}`, `{"b":{"other":{}}}`, `{"p1":1,"p2":2}`,
		}},
		"an older dialect": {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{` + many + `,"l":{"items":{"properties":{"x":{"type":"string"}}}},"k":{"items":[{"type":"string"}]}}}`, []string{
			`{"l":[{"x":1}]}`, `{"l":[{"x":"1"}]}`, `{"k":[1]}`, `{"p3":1}`,
		}},
		"data that looks like a schema": {`{"properties":{` + many + `,"c":{"const":{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}}`, []string{
			`{"c":{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}}`, `{"c":{"properties":{"a":{"type":"string"}}}}`,
		}},
		"references": {`{"$defs":{"s":{"type":"string"}},"properties":{` + many + `,"r":{"$ref":"#/properties/p7"},"s":{"$ref":"#/$defs/s"}}}`, []string{`{"r":1}`, `{"r":"1","s":1}`, `{"p7":1}`}},
		"numbers and words": {`{"properties":{` + many + `,"a":{"const":1},"b":{"const":"1"},"c":{"const":true},"d":{"const":"true"},"e":{"const":null},"f":{"const":[]},"g":{"const":{}},"h":{"const":["1,2"]},"i":{"const":["1","2"]},"j":{"const":{"title":"x"}},"k":{"const":{"title":"y"}}}}`, []string{
			`{"a":1,"b":"1","c":true,"d":"true","e":null,"f":[],"g":{},"h":["1,2"],"i":["1","2"]}`, `{"a":"1"}`, `{"b":1}`, `{"c":"true"}`, `{"d":true}`, `{"e":0}`, `{"f":{}}`, `{"g":[]}`, `{"h":["1","2"]}`, `{"i":["1,2"]}`, `{"j":{"title":"y"}}`, `{"k":{"title":"y"}}`,
		}},
	} {
		shared, _, err := Compile(jsontext.Value(tt.schema), maxToolWork)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		whole := plainly(t, tt.schema)
		for _, args := range tt.args {
			_, want := whole.Check(t.Context(), "t", jsontext.Value(args))
			_, got := shared.Check(t.Context(), "t", jsontext.Value(args))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-whole +shared):\n%s", name, args, diff)
			}
		}
	}
}

// Properties that are alike take the work of one, and what the schema says to a model stays.
func TestAlikePropertiesAreCheap(t *testing.T) {
	t.Parallel()
	raw := jsontext.Value(properties(members(1000, `"p%d":{"type":"string","description":"the %d."}`)))
	before := bytes.Clone(raw)
	_, work, err := Compile(raw, maxToolWork)
	if err != nil || work > 20 || !bytes.Equal(before, raw) {
		t.Errorf("%d units, %v", work, err)
	}
	if _, work, _ := Compile(jsontext.Value(properties(members(1000, `"p%d":{"type":"string","minLength":%d}`))), maxToolWork); work < 4000 {
		t.Errorf("what differs takes %d units", work)
	}
}
