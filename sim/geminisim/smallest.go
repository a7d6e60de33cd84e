package geminisim

import (
	"fmt"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting is how deep a smallest value goes: a schema that asks for more is
// recursive without an end.
const maxNesting = 40

// smallest returns the smallest value that a JSON Schema allows, or null if none
// was found: required members only, the first of the alternatives, the first of an
// enum, the fewest items, the shortest string. It knows the keywords that requests
// for structured output use (and the upper-case types of Gemini's own language),
// not every contradiction that can be written.
func smallest(schema jsontext.Value) jsontext.Value {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return jsontext.Value("null")
	}
	value, ok := filler{root}.fill(root, maxNesting)
	if !ok {
		return jsontext.Value("null")
	}
	b, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return jsontext.Value("null")
	}
	return b
}

// filler fills the schemas of one document.
type filler struct{ root any }

// fill returns the smallest value of a schema, which is an object or a boolean.
func (f filler) fill(schema any, depth int) (any, bool) {
	node, ok := schema.(map[string]any)
	if !ok || depth == 0 {
		return nil, schema == true
	}
	if c, ok := node["const"]; ok {
		return c, true
	}
	if list, ok := node["enum"].([]any); ok && len(list) > 0 {
		return list[0], true
	}
	if name, ok := node["$ref"].(string); ok {
		target, found := lookup(f.root, jsontext.Pointer(strings.TrimPrefix(name, "#")))
		if !found {
			return nil, false
		}
		return f.merged(node, "$ref", []any{target}, depth)
	}
	if all, ok := node["allOf"].([]any); ok {
		return f.merged(node, "allOf", all, depth)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, ok := node[key].([]any)
		if !ok {
			continue
		}
		for _, branch := range list {
			if v, ok := f.merged(node, key, []any{branch}, depth); ok {
				return v, true
			}
		}
		return nil, false
	}
	return f.fillType(node, depth)
}

// merged fills node without key, together with schemas that hold as well.
func (f filler) merged(node map[string]any, key string, also []any, depth int) (any, bool) {
	sum := maps.Clone(node)
	delete(sum, key)
	for _, s := range also {
		if s == true {
			continue
		}
		more, ok := s.(map[string]any)
		if !ok {
			return nil, false
		}
		for k, v := range more {
			sum[k] = both(sum[k], v)
		}
	}
	return f.fill(sum, depth-1)
}

// both joins the values of one keyword: members and lists are united, of all else
// the second holds.
func both(a, b any) any {
	switch b := b.(type) {
	case map[string]any:
		if a, ok := a.(map[string]any); ok {
			sum := maps.Clone(a)
			maps.Copy(sum, b)
			return sum
		}
	case []any:
		if a, ok := a.([]any); ok {
			return append(slices.Clone(a), b...)
		}
	}
	return b
}

// fillType returns the smallest value of a schema's type; ok is false if there
// is none within the depth.
func (f filler) fillType(node map[string]any, depth int) (any, bool) {
	switch typeOf(node) {
	case "object":
		return f.object(node, depth)
	case "array":
		return f.array(node, depth)
	case "string":
		return smallestString(node), true
	case "integer", "number":
		return smallestNumber(node), true
	case "boolean":
		return false, true
	}
	return nil, true
}

// typeOf returns the type of a node, or what its keywords suggest.
func typeOf(node map[string]any) string {
	switch t := node["type"].(type) {
	case string:
		return strings.ToLower(t)
	case []any:
		if len(t) > 0 {
			return strings.ToLower(fmt.Sprint(t[0]))
		}
	}
	for key, name := range map[string]string{
		"properties": "object", "required": "object", "items": "array", "prefixItems": "array",
		"minLength": "string", "pattern": "string", "format": "string", "minimum": "number", "maximum": "number",
	} {
		if _, ok := node[key]; ok {
			return name
		}
	}
	return "object"
}

// object fills in what is required, and as many others as minProperties asks
// for.
func (f filler) object(node map[string]any, depth int) (any, bool) {
	properties, _ := node["properties"].(map[string]any)
	value := map[string]any{}
	names, _ := node["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) { // for minProperties
		names = append(names, name)
	}
	required, _ := node["required"].([]any)
	for i, n := range names {
		name := fmt.Sprint(n)
		if i >= len(required) && float64(len(value)) >= number(node, "minProperties", 0) {
			break
		}
		schema, ok := properties[name]
		if !ok {
			schema = node["additionalProperties"]
			if schema == nil {
				schema = true
			}
		}
		v, ok := f.fill(schema, depth-1)
		if !ok {
			return nil, false
		}
		value[name] = v
	}
	return value, true
}

// array fills in as many items as minItems asks for.
func (f filler) array(node map[string]any, depth int) (any, bool) {
	first, _ := node["prefixItems"].([]any)
	items, ok := node["items"]
	if !ok {
		items = true
	}
	value := []any{}
	for i := range int(number(node, "minItems", 0)) {
		schema := items
		if i < len(first) {
			schema = first[i]
		}
		v, ok := f.fill(schema, depth-1)
		if !ok {
			return nil, false
		}
		value = append(value, distinct(node, schema, v, i))
	}
	return value, true
}

// distinct makes the items of a list differ that must: the next of an enum, a
// higher number, a longer string.
func distinct(list map[string]any, schema, v any, i int) any {
	if list["uniqueItems"] != true || i == 0 {
		return v
	}
	node, _ := schema.(map[string]any)
	if enum, ok := node["enum"].([]any); ok && i < len(enum) {
		return enum[i]
	}
	switch v := v.(type) {
	case float64:
		return v + float64(i)*number(node, "multipleOf", 1)
	case string:
		return v + strings.Repeat("x", i)
	}
	return v
}

// smallestString returns a text that keeps to format, length and pattern, as
// far as they are simple; the caller checks it against the schema.
func smallestString(node map[string]any) string {
	formats := map[string]string{
		"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00Z", "duration": "PT0S",
		"email": "a@example.com", "hostname": "example.com", "ipv4": "127.0.0.1", "ipv6": "::1",
		"uri": "http://example.com", "uuid": "00000000-0000-0000-0000-000000000000",
	}
	format, _ := node["format"].(string)
	s := formats[format]
	least := int(number(node, "minLength", 0))
	if pattern, ok := node["pattern"].(string); ok {
		if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			return longer(re, least)
		}
	}
	return s + strings.Repeat("x", max(0, least-len([]rune(s))))
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
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(shortest(re.Sub[0]), re.Min)
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(shortest(sub))
		}
		return b.String()
	case syntax.OpAlternate:
		return shortest(re.Sub[0])
	}
	return ""
}

// longer returns a text of at least n runes that matches re, if one of its parts
// may be repeated; else one that may be too short.
func longer(re *syntax.Regexp, n int) string {
	missing := n - len([]rune(shortest(re)))
	if missing <= 0 {
		return shortest(re)
	}
	for _, sub := range parts(re) {
		switch sub.Op {
		case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
			if piece := shortest(sub.Sub[0]); piece != "" {
				least := sub.Min // of a repeat; 0 for the others
				if sub.Op == syntax.OpPlus {
					least = 1
				}
				sub.Op, sub.Min = syntax.OpRepeat, least+missing
				return shortest(re)
			}
		}
	}
	return shortest(re)
}

// parts takes an expression apart into what stands side by side in it.
func parts(re *syntax.Regexp) []*syntax.Regexp {
	if re.Op == syntax.OpConcat || re.Op == syntax.OpCapture {
		var all []*syntax.Regexp
		for _, sub := range re.Sub {
			all = append(all, parts(sub)...)
		}
		return all
	}
	return []*syntax.Regexp{re}
}

// smallestNumber is the number nearest to 0 from the lower limit on.
func smallestNumber(node map[string]any) float64 {
	step := number(node, "multipleOf", 1)
	low := max(number(node, "minimum", math.Inf(-1)), number(node, "exclusiveMinimum", math.Inf(-1)))
	high := min(number(node, "maximum", math.Inf(1)), number(node, "exclusiveMaximum", math.Inf(1)))
	n := 0.0
	switch {
	case low > 0 || low == 0 && node["exclusiveMinimum"] != nil:
		n = math.Ceil(low/step) * step
		if n == node["exclusiveMinimum"] {
			n += step
		}
	case high < 0 || high == 0 && node["exclusiveMaximum"] != nil:
		n = math.Floor(high/step) * step
		if n == node["exclusiveMaximum"] {
			n -= step
		}
	}
	if typeOf(node) == "number" && node["multipleOf"] == nil && (n < low || n > high || n == node["exclusiveMaximum"]) {
		n = (low + high) / 2
	}
	return n
}

// number returns a keyword's number, or otherwise if it has none.
func number(node map[string]any, key string, otherwise float64) float64 {
	if n, ok := node[key].(float64); ok {
		return n
	}
	return otherwise
}
