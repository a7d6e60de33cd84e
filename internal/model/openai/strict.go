// This file decides whether a schema may be sent with strict: true. OpenAI refuses a schema outside
// the subset, so an uncertain schema is not strict. We check the value in any case.

package openai

import (
	"slices"
	"strings"

	"sluice/internal/model"

	"github.com/go-json-experiment/json/jsontext"
)

// strictKeyword reports whether name is one that a schema may have with strict: true
// (OpenAI's guide to structured outputs, "Supported schemas").
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

// allowsStrict reports whether a schema may be sent with strict: true: its root is an object,
// each object lists all its properties as required and allows no others.
func allowsStrict(schema jsontext.Value) bool {
	root := model.Members(schema)
	return schema.IsValid() && model.Unquote(root.Get("type")) == "object" && !root.Has("anyOf") && strictNode(schema, 0)
}

// strictNode reports whether one schema keeps to the subset that strict mode takes. It returns
// false for a schema that is nested deeper than maxStrictDepth.
func strictNode(v jsontext.Value, depth int) bool {
	if v.Kind() != '{' || depth > maxStrictDepth {
		return false
	}
	n := model.Members(v)
	if slices.ContainsFunc(n, func(m model.Member) bool { return !strictKeyword(m.Name) || !strictMember(m, depth) }) {
		return false
	}
	if n.Has("properties") || isType(n, "object") {
		return strictObject(n)
	}
	return slices.ContainsFunc([]string{"type", "$ref", "anyOf", "enum", "const"}, n.Has)
}

// strictMember checks the schemas below a keyword.
//
// A reference must stay within the schema. Definitions are checked like properties.
func strictMember(m model.Member, depth int) bool {
	all := func(list []jsontext.Value) bool {
		return !slices.ContainsFunc(list, func(v jsontext.Value) bool { return !strictNode(v, depth+1) })
	}
	switch m.Name {
	case "$ref":
		return strings.HasPrefix(model.Unquote(m.Value), "#")
	case "items":
		return strictNode(m.Value, depth+1)
	case "anyOf":
		return all(model.Elements(m.Value))
	case "properties", "$defs", "definitions":
		var list []jsontext.Value
		for _, p := range model.Members(m.Value) {
			list = append(list, p.Value)
		}
		return all(list)
	}
	return true
}

// strictObject wants what strict mode wants of objects: no other properties, and all
// of them required.
func strictObject(n model.Object) bool {
	if string(n.Get("additionalProperties")) != "false" {
		return false
	}
	required := model.Strings(n.Get("required"))
	for _, p := range model.Members(n.Get("properties")) {
		if !slices.Contains(required, p.Name) {
			return false
		}
	}
	return true
}

// isType reports whether a schema's type is name, or a list that has it.
func isType(n model.Object, name string) bool {
	typ := n.Get("type")
	return model.Unquote(typ) == name || slices.Contains(model.Strings(typ), name)
}
