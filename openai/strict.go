package openai

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// strictKeyword says whether name is one that a schema may have beside strict: true (OpenAI's guide to
// structured outputs, "Supported schemas").
func strictKeyword(name string) bool {
	switch name {
	case "$defs", "$ref", "additionalProperties", "anyOf", "const", "definitions", "description", "enum",
		"exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum",
		"multipleOf", "pattern", "properties", "required", "title", "type":
		return true
	}
	return false
}

// maxStrictDepth is how deep a strict schema may be nested.
const maxStrictDepth = 10

// allowsStrict says whether a schema may be sent with strict: true: its root is an object,
// each object lists all its properties as required and allows no others.
func allowsStrict(schema jsontext.Value) bool {
	root := members(schema)
	return schema.IsValid() && unquote(root.get("type")) == "object" && !root.has("anyOf") && strictNode(schema, 0)
}

func strictNode(v jsontext.Value, depth int) bool {
	if v.Kind() != '{' || depth > maxStrictDepth {
		return false
	}
	n := members(v)
	for _, m := range n {
		if !strictKeyword(m.name) || !strictMember(m, depth) {
			return false
		}
	}
	if n.has("properties") || isType(n, "object") {
		return strictObject(n)
	}
	return n.has("type") || n.has("$ref") || n.has("anyOf") || n.has("enum") || n.has("const")
}

// strictMember checks the schemas below a keyword.
func strictMember(m member, depth int) bool {
	all := func(list []jsontext.Value) bool {
		return !slices.ContainsFunc(list, func(v jsontext.Value) bool { return !strictNode(v, depth+1) })
	}
	switch m.name {
	case "$ref":
		return strings.HasPrefix(unquote(m.value), "#")
	case "items":
		return strictNode(m.value, depth+1)
	case "anyOf":
		return all(elements(m.value))
	case "properties", "$defs", "definitions":
		var list []jsontext.Value
		for _, p := range members(m.value) {
			list = append(list, p.value)
		}
		return all(list)
	}
	return true
}

func strictObject(n object) bool {
	if string(n.get("additionalProperties")) != "false" {
		return false
	}
	required := strs(n.get("required"))
	for _, p := range members(n.get("properties")) {
		if !slices.Contains(required, p.name) {
			return false
		}
	}
	return true
}

func isType(n object, name string) bool {
	typ := n.get("type")
	return unquote(typ) == name || slices.Contains(strs(typ), name)
}
