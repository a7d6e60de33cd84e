package geminisim

import (
	"errors"
	"maps"
	"math"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Bounds of what is made up: a schema that asks for more is recursive without an end.
const (
	maxRepairs = 1000
	maxNesting = 40
	lastNested = 6 // from here on the last of the alternatives is chosen, which ends most recursions
)

// smallest returns a small value that a JSON Schema allows, or null if none was found.
//
// It begins with {} and repairs the last place that a validator complains of, over and over: what is
// required is added, of alternatives the first is chosen, of an enum the first value. So it knows the
// keywords that the validator knows, but for those that forbid.
func smallest(schema jsontext.Value) jsontext.Value {
	compiler, compiled := compileWanted(schema)
	var value any = map[string]any{}
	for range maxRepairs {
		if compiled == nil {
			break
		}
		err := compiled.Validate(value)
		if err == nil {
			b, _ := json.Marshal(value, json.Deterministic(true)) // made of JSON alone
			return b
		}
		invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
		if !ok {
			break
		}
		fault := slices.MaxFunc(causes(invalid), func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
		if len(fault.InstanceLocation) > maxNesting {
			break
		}
		value = changed(value, fault.InstanceLocation, func(v any) any { return repaired(compiler, v, fault) })
	}
	return jsontext.Value("null")
}

// compileWanted compiles the schema of a structured answer, which may have the upper-case types
// of Gemini's own language; nil: it is none.
func compileWanted(schema jsontext.Value) (*jsonschema.Compiler, *jsonschema.Schema) {
	const url = "wanted:///schema.json"
	var doc any
	if json.Unmarshal(schema, &doc) != nil {
		return nil, nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is ever fetched
	compiler.AssertFormat()
	if compiler.AddResource(url, readable(doc)) != nil {
		return nil, nil
	}
	compiled, err := compiler.Compile(url)
	if err != nil {
		return nil, nil
	}
	return compiler, compiled
}

// readable makes a schema one that the validator reads: with types in lower case, and without the
// patterns of other languages, such as those that look ahead.
func readable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = readable(member)
			if text, ok := member.(string); ok && key == "type" {
				v[key] = strings.ToLower(text)
			} else if _, err := regexp.Compile(text); key == "pattern" && err != nil {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = readable(v[i])
		}
	}
	return v
}

// causes returns the faults that a validator found, of alternatives those of one.
func causes(e *jsonschema.ValidationError) (all []*jsonschema.ValidationError) {
	under := e.Causes
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(under) > 0 && len(e.InstanceLocation) >= lastNested {
			under = under[len(under)-1:]
		}
		under = under[:min(len(under), 1)]
	}
	if len(under) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	for _, cause := range under {
		all = append(all, causes(cause)...)
	}
	return all
}

// changed changes what stands at a place of v.
func changed(v any, place []string, change func(any) any) any {
	if len(place) == 0 {
		return change(v)
	}
	switch v := v.(type) {
	case map[string]any:
		v[place[0]] = changed(v[place[0]], place[1:], change)
	case []any:
		i := itemNumber(place[:1])
		v[i] = changed(v[i], place[1:], change)
	}
	return v
}

// itemNumber is the number of a place in its list; 0: it is in none.
func itemNumber(place []string) (i int) {
	if len(place) > 0 {
		i, _ = strconv.Atoi(place[len(place)-1]) // the name of a member is no number
	}
	return max(i, 0)
}

// repaired returns v without a fault, or nearer to that. What it cannot repair stays.
func repaired(compiler *jsonschema.Compiler, v any, fault *jsonschema.ValidationError) any {
	switch k := fault.ErrorKind.(type) {
	case *kind.Type:
		return retyped(v, k.Want)
	case *kind.Const:
		return k.Want
	case *kind.Enum: // items of a list get different values, as they may have to
		return k.Want[itemNumber(fault.InstanceLocation)%len(k.Want)]
	case *kind.Required:
		v.(map[string]any)[k.Missing[0]] = map[string]any{}
	case *kind.DependentRequired:
		v.(map[string]any)[k.Missing[0]] = map[string]any{}
	case *kind.MinProperties:
		node, err := compiler.Compile(fault.SchemaURL)
		if err != nil {
			return v
		}
		for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
			if _, ok := v.(map[string]any)[name]; !ok {
				v.(map[string]any)[name] = map[string]any{}
				break
			}
		}
	case *kind.MinItems:
		return append(v.([]any), map[string]any{})
	case *kind.UniqueItems:
		switch item := v.([]any)[k.Duplicates[1]].(type) {
		case float64:
			v.([]any)[k.Duplicates[1]] = item + 1
		case string:
			v.([]any)[k.Duplicates[1]] = item + "x"
		}
	default:
		return nearer(v, k)
	}
	return v
}

// retyped returns the smallest value of a type: of several types, not null.
func retyped(v any, types []string) any {
	if n, ok := v.(float64); ok && slices.Contains(types, "integer") { // a bound made it a fraction
		return math.Floor(n)
	}
	values := map[string]any{"object": map[string]any{}, "array": []any{}, "string": "", "boolean": false, "integer": 0.0, "number": 0.0}
	for _, name := range types {
		if value, ok := values[name]; ok {
			return value
		}
	}
	return nil
}

// nearer returns a string or a number that is nearer to what a schema asks for: a number at its bound,
// or the next multiple away from 0, an example of a format, the last letter of a text repeated.
func nearer(v any, fault jsonschema.ErrorKind) any {
	at := func(bound *big.Rat) float64 { n, _ := bound.Float64(); return n }
	switch k := fault.(type) {
	case *kind.Minimum:
		return at(k.Want)
	case *kind.Maximum:
		return at(k.Want)
	case *kind.ExclusiveMinimum:
		return math.Floor(at(k.Want)) + 1
	case *kind.ExclusiveMaximum:
		return at(k.Want) - 0.5
	case *kind.MultipleOf:
		step := at(k.Want)
		return math.Copysign(math.Ceil(math.Abs(v.(float64))/step)*step, v.(float64))
	case *kind.Format:
		return map[string]any{
			"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00Z", "duration": "PT0S",
			"email": "a@example.com", "hostname": "example.com", "ipv4": "127.0.0.1", "ipv6": "::1",
			"uri": "http://example.com", "uuid": "00000000-0000-0000-0000-000000000000",
		}[k.Want]
	case *kind.Pattern:
		if re, err := syntax.Parse(k.Want, syntax.Perl); err == nil {
			return shortest(re)
		}
	case *kind.MinLength:
		runes := []rune("x" + v.(string))
		return v.(string) + strings.Repeat(string(runes[len(runes)-1]), k.Want-k.Got)
	}
	return v
}

// shortest returns a text that matches re, as short as it goes.
func shortest(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			return string(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(shortest(re.Sub[0]), re.Min)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(shortest(sub))
		}
		return b.String()
	}
	return ""
}
