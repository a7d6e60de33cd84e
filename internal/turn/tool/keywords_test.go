package tool

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/internal/base/fault"
)

// plain says whether a value fits a schema, by the library alone: without our copies of the
// schema, which count.
func plain(t *testing.T, schema, value string) bool {
	t.Helper()
	read := func(text string) any {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaURL, read(schema)); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(read(value)) == nil
}

// Each keyword that holds another schema still does in the copy that counts. Each schema has
// a value that fits it, and behind the bar one that does not.
func TestEachKeywordCounts(t *testing.T) {
	t.Parallel()
	const draft4, draft7 = `"$schema":"http://json-schema.org/draft-04/schema#",`, `"$schema":"http://json-schema.org/draft-07/schema#",`
	for _, tt := range []struct{ schema, fits, not string }{
		{`"$ref":"#/$defs/x","$defs":{"x":{"required":["a"]}}`, `{"a":1}`, `{}`},
		{`"not":{"required":["a"]}`, `{}`, `{"a":1}`},
		{`"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}`, `{"a":1,"b":1}`, `{"a":1}`},
		{`"if":{"required":["a"]},"else":{"required":["c"]}`, `{"c":1}`, `{"b":1}`},
		{`"allOf":[{"required":["a"]},{"required":["b"]}]`, `{"a":1,"b":2}`, `{"a":1}`},
		{`"anyOf":[{"required":["a"]},{"required":["b"]}]`, `{"b":1}`, `{"c":1}`},
		{`"oneOf":[{"required":["a"]},{"required":["b"]}]`, `{"b":1}`, `{"a":1,"b":1}`},
		{`"properties":{"a":{"type":"string"}}`, `{"a":"x"}`, `{"a":1}`},
		{`"patternProperties":{"^a":{"type":"string"}}`, `{"ab":"x","b":1}`, `{"ab":1}`},
		{`"additionalProperties":{"type":"string"}`, `{"a":"x"}`, `{"a":1}`},
		{`"additionalProperties":false`, `{}`, `{"a":1}`},
		{`"propertyNames":{"maxLength":2}`, `{"ab":1}`, `{"abc":1}`},
		{`"properties":{"a":true},"unevaluatedProperties":false`, `{"a":1}`, `{"b":1}`},
		{`"unevaluatedProperties":{"type":"string"}`, `{"a":"x"}`, `{"a":1}`},
		{`"dependentRequired":{"a":["b"]}`, `{"a":1,"b":1}`, `{"a":1}`},
		{`"dependentSchemas":{"a":{"required":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{`"properties":{"a":{"items":{"type":"string"}}}`, `{"a":["x"]}`, `{"a":["x",1]}`},
		{`"properties":{"a":{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}}`, `{"a":["x",1]}`, `{"a":["x","y"]}`},
		{`"properties":{"a":{"prefixItems":[{"type":"string"}]}}`, `{"a":["x",1]}`, `{"a":[1]}`},
		{`"properties":{"a":{"prefixItems":[true],"unevaluatedItems":false}}`, `{"a":[1]}`, `{"a":[1,2]}`},
		{`"properties":{"a":{"contains":{"type":"string"}}}`, `{"a":[1,"x"]}`, `{"a":[1]}`},
		{`"properties":{"a":{"contains":{"type":"string"},"minContains":2}}`, `{"a":["y","x"]}`, `{"a":["x"]}`},
		{`"properties":{"a":{"uniqueItems":true}}`, `{"a":[1,"1",{"b":[1]}]}`, `{"a":[{"b":[1]},2,{"b":[1.0]}]}`},
		{`"properties":{"a":{"pattern":"^x$"}}`, `{"a":"x"}`, `{"a":"xx"}`},
		{`"properties":{"a":{"enum":[1,"x",{"b":[null]}]}}`, `{"a":{"b":[null]}}`, `{"a":{"b":[]}}`},
		{`"properties":{"a":{"const":{"b":[1]}}}`, `{"a":{"b":[1]}}`, `{"a":{"b":[2]}}`},
		{draft7 + `"dependencies":{"a":["b"],"c":{"required":["d"]}}`, `{"a":1,"b":1,"c":1,"d":1}`, `{"c":1}`},
		{draft7 + `"dependencies":{"a":["b"]}`, `{"b":1}`, `{"a":1}`},
		{draft7 + `"properties":{"a":{"items":[{"type":"string"}],"additionalItems":{"type":"number"}}}`, `{"a":["x",1]}`, `{"a":["x","y"]}`},
		{draft7 + `"properties":{"a":{"items":[{"type":"string"}]}}`, `{"a":["x","y"]}`, `{"a":[1]}`},
		{draft7 + `"definitions":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/x"}}`, `{"a":"x"}`, `{"a":1}`},
		{draft4 + `"properties":{"a":{"maximum":2,"exclusiveMaximum":true}}`, `{"a":1}`, `{"a":2}`},
	} {
		schema := "{" + tt.schema + "}"
		if !plain(t, schema, tt.fits) || plain(t, schema, tt.not) {
			t.Errorf("%s: the example is none", schema)
		}
		s := mustCompile(t, schema)
		for range 2 { // the second check uses the run of the first one
			if args, f := s.Check(t.Context(), "t", jsontext.Value(tt.fits)); f != nil || string(args) != tt.fits {
				t.Errorf("%s refuses %s: %v", schema, tt.fits, f)
			}
			if args, f := s.Check(t.Context(), "t", jsontext.Value(tt.not)); f == nil || f.Type != fault.ToolFailed || f.Err != nil || args != nil {
				t.Errorf("%s accepts %s: %v", schema, tt.not, f)
			}
		}
	}
}

// A schema is paid for wherever it stands: in each place forks of references are too costly.
func TestEachPlaceIsPaidFor(t *testing.T) {
	t.Parallel()
	_, defs, _ := strings.Cut(forks(40, `{"const":"no"}`), ",")
	const ref = `{"$ref":"#/$defs/d0"}`
	for place, args := range map[string]string{
		`"not":` + ref: `{}`, `"if":` + ref: `{}`, `"allOf":[` + ref + `]`: `{}`, `"propertyNames":` + ref: `{"a":1}`,
		`"additionalProperties":` + ref: `{"a":1}`, `"patternProperties":{"a":` + ref + `}`: `{"a":1}`, `"dependentSchemas":{"a":` + ref + `}`: `{"a":1}`,
		`"unevaluatedProperties":` + ref: `{"a":1}`, `"properties":{"a":{"items":` + ref + `}}`: `{"a":[1]}`, `"properties":{"a":{"contains":` + ref + `}}`: `{"a":[1]}`,
		`"properties":{"a":{"prefixItems":[` + ref + `]}}`: `{"a":[1]}`, `"properties":{"a":{"unevaluatedItems":` + ref + `}}`: `{"a":[1]}`,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // without a price it takes hours
		if _, f := mustCompile(t, "{"+place+","+defs).Check(ctx, "t", jsontext.Value(args)); f == nil || !errors.Is(f, errCostly) {
			t.Errorf("%s: %v", place, f)
		}
		cancel()
	}
}

// What a model wrote goes to the server byte for byte; nothing at all is an empty object.
func TestArgumentsGoAsTheyCame(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{}`)
	for args, want := range map[string]string{"": "{}", " \n": "{}", " { \"a\" : 1.50 } ": " { \"a\" : 1.50 } "} {
		if got, f := s.Check(t.Context(), "t", jsontext.Value(args)); f != nil || string(got) != want {
			t.Errorf("%q goes as %q, %v", args, got, f)
		}
	}
}

// Values that no validator should see are refused with the reason, at the bound.
func TestValuesThatAreNotChecked(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{}`)
	nested := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name, args, want string
		err              error
	}{
		{"as deep as may be", nested(maxArgumentDepth - 1), "", nil},
		{"deeper", nested(maxArgumentDepth), "nested too deeply", errDeep},
		{"deeper in objects", strings.Repeat(`{"a":`, maxArgumentDepth) + "{}" + strings.Repeat("}", maxArgumentDepth), "nested too deeply", errDeep},
		{"a large exponent", `{"a":1e400}`, "", nil},
		{"a larger one", `{"a":[{"b":1e401}]}`, "a number in them is too large", errNumber},
		{"a small one", `{"a":1E-401}`, "a number in them is too large", errNumber},
		{"many digits", `{"a":` + strings.Repeat("1", digits+1) + `}`, "a number in them is too large", errNumber},
	} {
		_, f := s.Check(t.Context(), "t", jsontext.Value(tt.args))
		if (f == nil) != (tt.err == nil) || f != nil && (!strings.Contains(f.Hint, tt.want) || !errors.Is(f, tt.err)) {
			t.Errorf("%s: %v", tt.name, f)
		}
	}
	// The context is looked at now and then, so a small value is checked all the same.
	if _, f := s.Check(ended, "t", jsontext.Value(`{}`)); f != nil {
		t.Errorf("a small value, when the turn has ended: %v", f)
	}
	large := mustCompile(t, `{"additionalProperties":{"type":"array","items":{"type":"number"}}}`)
	if _, f := large.Check(ended, "t", jsontext.Value(`{"a":[`+strings.Repeat("1,", 5000)+`1]}`)); f == nil || !errors.Is(f, context.Canceled) || !strings.Contains(f.Hint, "they cannot be checked") {
		t.Errorf("a large value, when the turn has ended: %v", f)
	}
}

// A list must differ in its items at a price that a small schema cannot hide.
func TestDifferingItemsHaveAPrice(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"properties":{"a":{"items":{"uniqueItems":true}}}}`)
	item := `[{"x":[` + strings.Repeat(`"y",`, 400) + `1]},` + strings.Repeat("1,", 18) + `1],`
	if _, f := s.Check(t.Context(), "t", jsontext.Value(`{"a":[`+strings.Repeat(item, 2)+`[]]}`)); f == nil || f.Err != nil {
		t.Errorf("a few lists, with items that are the same: %v", f)
	}
	if _, f := s.Check(t.Context(), "t", jsontext.Value(`{"a":[`+strings.Repeat(item, 60)+`[]]}`)); f == nil || !errors.Is(f, errCostly) {
		t.Errorf("many lists: %v", f)
	}
}

// An expression that Go cannot read lets everything pass, and says what it is.
func TestUnknownPattern(t *testing.T) {
	t.Parallel()
	programs := patterns{compiled: map[string]jsonschema.Regexp{}, room: maxProgram}
	for text, matches := range map[string]bool{`^(?!x)`: true, `^(?<=a)b`: true, `^a$`: false} {
		re, err := programs.compilePattern(text)
		if err != nil || re.String() != text || re.MatchString("x") != matches {
			t.Errorf("%s: %v, %v", text, re, err)
		}
		before := programs.size
		if again, _ := programs.compilePattern(text); again != re || programs.size != before {
			t.Errorf("%s is compiled twice", text)
		}
	}
}
