package tool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Schemas that are unusual, and fine.
func TestGoodSchemas(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"no type":         `{}`,
		"draft 7":         `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"d":{"type":"string","format":"date-time"}}}`,
		"definitions":     `{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}}}}}`,
		"its own address": `{"$id":"https://example.com/tool","type":"object","properties":{"x":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}}`,
		"lookahead":       `{"type":"object","properties":{"e":{"type":"string","pattern":"^(?!\\.)x$"}}}`,
		"draft 7 pattern": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"e":{"type":"string","pattern":"^(?!\\.)x$"}}}`,
	} {
		s, _, err := Compile(jsontext.Value(schema), maxToolWork)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, f := s.Check(t.Context(), "t", jsontext.Value(`{"d":"tomorrow","e":"x"}`)); f != nil {
			t.Errorf("%s: %v", name, f.Hint)
		}
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object"}`, `{}`)
	f.Add(`{"type":"object","properties":{"x":{"$ref":"#"}}}`, `{"x":{"x":{}}}`)
	f.Add(`{"$dynamicRef":"#a","$dynamicAnchor":"a","allOf":[{"pattern":"("}]}`, `{"a":[1,2]}`)
	f.Add(`{"properties":{"x":{"pattern":"(a{1,9}){9}b"}},"patternProperties":{"^(x|y)+$":{"uniqueItems":true}}}`, `{"x":"aaaaaaaa","y":[1,1e3,"a"]}`)
	f.Add(`{"unevaluatedProperties":false,"allOf":[{"dependentRequired":{"a":["b"]},"required":["a"]}],"if":{"minProperties":2},"else":false}`, `{"a":1,"b":2}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		began := time.Now()
		s, work, err := Compile(jsontext.Value(schema), maxToolWork)
		if elapsed := time.Since(began); elapsed > 20*time.Second || work > maxToolWork+maxProgram/patternUnit {
			t.Errorf("compiling took %v and %d units of work", elapsed, work)
		}
		if err != nil {
			return
		}
		began = time.Now()
		defer func() {
			if elapsed := time.Since(began); elapsed > 20*time.Second { // alone: 0.3 s at most
				t.Errorf("checking took %v", elapsed)
			}
		}()
		if _, fault := s.Check(t.Context(), "tool", jsontext.Value(args)); fault != nil && len(fault.Hint) > 2000 {
			t.Errorf("a hint of %d bytes", len(fault.Hint))
		}
	})
}

// forks returns a schema whose references fork n times.
func forks(n int, leaf string) string {
	defs := []string{fmt.Sprintf(`"d%d":%s`, n, leaf)}
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

func TestValidationIsBounded(t *testing.T) {
	t.Parallel()
	const draft7 = `{"$schema":"http://json-schema.org/draft-07/schema#",`
	for name, schema := range map[string]string{
		"required": forks(40, `{"required":["x"]}`),
		"not":      forks(40, `{"not":{"not":{"required":["x"]}}}`),
		"draft 7":  strings.Replace(forks(40, `{"if":{"required":["x"]},"else":false}`), "{", draft7, 1),
	} {
		s, _, err := Compile(jsontext.Value(schema), maxToolWork)
		if err != nil {
			t.Fatal(err)
		}
		if _, f := s.Check(t.Context(), "t", jsontext.Value(`{}`)); f == nil || f.Err != errCostly {
			t.Errorf("%s: got %v, want %v", name, f, errCostly)
		}
		if _, f := s.Check(t.Context(), "t", jsontext.Value(`{"x":1}`)); f != nil {
			t.Errorf("%s: a value that is quick to check: %v", name, f)
		}
	}
}

func TestValidationOfALargeValue(t *testing.T) {
	t.Parallel()
	s, _, err := Compile(jsontext.Value(`{"properties":{"items":{"items":{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}}}}`), maxToolWork)
	if err != nil {
		t.Fatal(err)
	}
	args := `{"items":[` + strings.Repeat(`{"a":"x","b":1},`, 4999) + `{"a":"x"}]}`
	if _, f := s.Check(t.Context(), "t", jsontext.Value(args)); f != nil {
		t.Error(f)
	}
}

func BenchmarkCheckArguments(b *testing.B) {
	s, _, err := Compile(jsontext.Value(todoSchema), maxToolWork)
	if err != nil {
		b.Fatal(err)
	}
	args := jsontext.Value(`{"title":"milk","priority":"low","due_date":"2026-11-22T15:00:00Z","tags":["a"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, f := s.Check(b.Context(), "create_todo", args); f != nil {
			b.Fatal(f)
		}
	}
}
