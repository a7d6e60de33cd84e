package tool

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A schema is used as far as possible: a null is as absent, and a keyword that cannot be used goes
// alone. The rest still counts.
func TestSchemasAreUsedAsFarAsPossible(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`null`: `{"type":"object"}`,
		``:     `{"type":"object"}`,
		`{"type":"object","properties":null,"description":null,"required":null}`:                                `{"type":"object"}`,
		`{"type":null,"properties":{"a":null,"b":{"type":"string","items":null}}}`:                              `{"properties":{"b":{"type":"string"}}}`,
		`{"properties":{"a":{"anyOf":[null,{"type":"string","title":null}]},"b":{"allOf":[null]}}}`:             `{"properties":{"a":{"anyOf":[{"type":"string"}]},"b":{}}}`,
		`{"properties":{"a":{"items":{"x-y":{"z":null}}}},"$defs":{"d":null},"required":["a",null]}`:            `{"$defs":{},"properties":{"a":{"items":{"x-y":{}}}},"required":["a"]}`,
		`{"properties":{"a":{"default":null,"enum":[null,"x"]},"b":{"const":null}}}`:                            `{"properties":{"a":{"default":null,"enum":[null,"x"]},"b":{"const":null}}}`,
		`{"properties":{"n":{"type":"integer","exclusiveMinimum":true,"minimum":1}}}`:                           `{"properties":{"n":{"minimum":1,"type":"integer"}}}`,
		`{"properties":[],"type":"object"}`:                                                                     `{"type":"object"}`,
		`{"type":"object","required":"title"}`:                                                                  `{"type":"object"}`,
		`{"type":"objekt"}`:                                                                                     `{}`,
		`{"type":7}`:                                                                                            `{}`,
		`{"type":["object","null"]}`:                                                                            `{"type":"object"}`,
		`{"properties":{"a":{"type":"text","maxLength":"9"},"b":"string","c":{"required":true,"enum":"x"}}}`:    `{"properties":{"a":{},"c":{}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"strin"},{"minLength":-1}]}}}`:                                    `{"properties":{"a":{"anyOf":[{},{}]}}}`,
		`{"required":["a",7],"properties":{"a":{"type":["string",5]}}}`:                                         `{"properties":{"a":{}}}`,
		`{"properties":{"a":{"$ref":"#/$defs/none"},"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`: `{"$defs":{"b":{"type":"string"}},"properties":{"a":{},"b":{"$ref":"#/$defs/b"}}}`,
		`{"$schema":"https://example.com/dialect","type":"object"}`:                                             `{"type":"object"}`,
		`{"type":"object","properties":{"z":{"type":"string"},"a":{}}}`:                                         `{"type":"object","properties":{"z":{"type":"string"},"a":{}}}`,
	} {
		s, used, work, err := CompileLenient(jsontext.Value(schema), Room)
		if err != nil || s == nil || work <= 0 {
			t.Errorf("%s: %v, work %d", schema, err, work)
		}
		if string(used) != want {
			t.Errorf("%s is used as %s, want %s", schema, used, want)
		}
	}
	for _, schema := range []string{`[]`, `true`, `{"type":"string"}`, `{"type":"object","type":"object"}`, `{"properties":{"a":{"$ref":"file:///etc/hostname"}}}`, `{"$dynamicRef":"#x","$dynamicAnchor":"x"}`} {
		if s, _, _, err := CompileLenient(jsontext.Value(schema), Room); s != nil || err == nil {
			t.Errorf("%s is used", schema)
		}
	}
	if _, _, _, err := CompileLenient(jsontext.Value(`{"properties":{"a":null}}`), 1); !errors.Is(err, ErrNoRoom) {
		t.Errorf("without room: %v", err)
	}
}

// What stays of a schema is checked.
func TestRestOfASchemaIsChecked(t *testing.T) {
	t.Parallel()
	s, _, _, err := CompileLenient(jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":true,"description":null}},"required":["n"]}`), Room)
	if err != nil {
		t.Fatal(err)
	}
	for args, fits := range map[string]bool{`{"n":1}`: true, `{"n":"x"}`: false, `{}`: false} {
		if _, f := s.Check(t.Context(), "t", jsontext.Value(args)); (f == nil) != fits {
			t.Errorf("%s: %v", args, f)
		}
	}
}
