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

// Bounds of an invented value: a schema that exceeds them is endlessly recursive.
const (
	maxRepairs = 1000
	maxNesting = 40
	lastNested = 6 // from here on the last of the alternatives is chosen, which ends most recursions
)

// smallestValue returns a small value that a JSON Schema allows, or null if none was found.
//
// It begins with {} and repairs the last place that a validator complains of, over and over. It
// adds required members, and chooses the first alternative and the first value of an enum. So it
// knows the keywords that the validator knows, but for those that forbid.
func smallestValue(schema jsontext.Value) jsontext.Value {
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
		fault := slices.MaxFunc(causesOf(invalid), func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
		if len(fault.InstanceLocation) > maxNesting {
			break
		}
		value = changeAt(value, fault.InstanceLocation, func(v any) any { return repairValue(compiler, v, fault) })
	}
	return jsontext.Value("null")
}

// compileWanted compiles the schema of a structured answer, or returns nil. The schema may have the
// upper-case types of Gemini's own language.
func compileWanted(schema jsontext.Value) (*jsonschema.Compiler, *jsonschema.Schema) {
	const url = "wanted:///schema.json"
	var doc any
	if json.Unmarshal(schema, &doc) != nil {
		return nil, nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // nothing is ever fetched
	compiler.AssertFormat()
	if compiler.AddResource(url, readableSchema(doc)) != nil {
		return nil, nil
	}
	compiled, err := compiler.Compile(url)
	if err != nil {
		return nil, nil
	}
	return compiler, compiled
}

// readableSchema makes a schema one that the validator reads: with types in lower case, and without the
// patterns of other languages, such as those that look ahead.
func readableSchema(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = readableSchema(member)
			if text, ok := member.(string); ok && key == "type" {
				v[key] = strings.ToLower(text)
			} else if _, err := regexp.Compile(text); key == "pattern" && err != nil {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = readableSchema(v[i])
		}
	}
	return v
}

// causesOf returns the faults that a validator found, of alternatives those of one.
func causesOf(e *jsonschema.ValidationError) (all []*jsonschema.ValidationError) {
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
		all = append(all, causesOf(cause)...)
	}
	return all
}

// changeAt changes the value at a place of v.
func changeAt(v any, place []string, change func(any) any) any {
	if len(place) == 0 {
		return change(v)
	}
	switch v := v.(type) {
	case map[string]any:
		v[place[0]] = changeAt(v[place[0]], place[1:], change)
	case []any:
		i := itemNumber(place[:1])
		v[i] = changeAt(v[i], place[1:], change)
	}
	return v
}

// itemNumber is the number of a place in its list; 0: it is in none.
func itemNumber(place []string) (i int) {
	if len(place) > 0 {
		i, _ = strconv.Atoi(place[len(place)-1]) // the name of a member is not a number
	}
	return max(i, 0)
}

// repairValue returns v without a fault, or nearer to that. A fault that it cannot repair stays.
func repairValue(compiler *jsonschema.Compiler, v any, fault *jsonschema.ValidationError) any {
	switch k := fault.ErrorKind.(type) {
	case *kind.Type:
		return zeroOfType(v, k.Want)
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
		return nearerValue(v, k)
	}
	return v
}

// zeroOfType returns the smallest value of a type: of several types, not null.
func zeroOfType(v any, types []string) any {
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

// nearerValue returns a string or a number that is nearer to the schema. A number moves to its
// bound or the next multiple away from 0. A text becomes an example of its format, or repeats its
// last letter.
func nearerValue(v any, fault jsonschema.ErrorKind) any {
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
			return shortestMatch(re)
		}
	case *kind.MinLength:
		runes := []rune("x" + v.(string))
		return v.(string) + strings.Repeat(string(runes[len(runes)-1]), k.Want-k.Got)
	}
	return v
}

// shortestMatch returns a text that matches re, as short as it goes.
func shortestMatch(re *syntax.Regexp) string {
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
		return shortestMatch(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(shortestMatch(re.Sub[0]), re.Min)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(shortestMatch(sub))
		}
		return b.String()
	}
	return ""
}
