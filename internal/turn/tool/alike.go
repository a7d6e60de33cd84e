package tool

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A large schema mostly says the same of many properties, in other words. Compiling takes about 40
// µs a property. So equal properties are compiled once and share the result.

// alikeFrom is the work from which on a document is looked through.
const alikeFrom = 200

// alike removes from a document each property that equals an earlier one. Documents with references
// or names of their own are left alone, as they say where things are.
type alike struct {
	ids   map[string]int // of values, by their content
	first map[int]place  // of the property that is compiled
	// missing are the properties that were left out.
	missing []omittedProperty
}

// place returns the compiled part of the schema that a value became, or nil.
type place func() *jsonschema.Schema

// omittedProperty is a property that was left out of a part, and where its like is.
type omittedProperty struct {
	owner, like place
	name        string
}

// pruneBelow removes the equal properties below a schema whose compiled form at returns. It changes
// node.
func (a *alike) pruneBelow(node any, at place) {
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		a.pruneProperties(properties, at)
	}
	a.pruneBelow(schema["items"], func() *jsonschema.Schema {
		s := at()
		if s != nil && s.Items2020 == nil {
			return asSchema(s.Items)
		}
		return s.Items2020
	})
	a.pruneBelow(schema["additionalProperties"], func() *jsonschema.Schema { return asSchema(at().AdditionalProperties) })
	for name, list := range map[string]func(*jsonschema.Schema) []*jsonschema.Schema{
		"anyOf": func(s *jsonschema.Schema) []*jsonschema.Schema { return s.AnyOf },
		"oneOf": func(s *jsonschema.Schema) []*jsonschema.Schema { return s.OneOf },
		"allOf": func(s *jsonschema.Schema) []*jsonschema.Schema { return s.AllOf },
	} {
		items, _ := schema[name].([]any)
		for i, item := range items {
			a.pruneBelow(item, func() *jsonschema.Schema { return list(at())[i] })
		}
	}
}

// asSchema is a member of a compiled schema that need not be a schema.
func asSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}

// pruneProperties leaves out properties of one part.
func (a *alike) pruneProperties(properties map[string]any, at place) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		id := a.idOf(properties[name], true)
		if like := a.first[id]; like != nil {
			delete(properties, name)
			a.missing = append(a.missing, omittedProperty{at, like, name})
			continue
		}
		here := func() *jsonschema.Schema { return at().Properties[name] }
		a.first[id] = here
		a.pruneBelow(properties[name], here)
	}
}

// restoreMissing gives a compiled schema the properties that were left out.
func (a *alike) restoreMissing() error {
	for _, m := range a.missing {
		owner, like := m.owner(), m.like()
		if owner == nil || like == nil {
			return errors.New("the schema cannot be compiled: a part of it is lost")
		}
		if owner.Properties == nil {
			owner.Properties = map[string]*jsonschema.Schema{}
		}
		owner.Properties[m.name] = like
	}
	return nil
}

// idOf returns the number of a value; equal values have one number. If schema is true, v is a
// schema, and its description and title do not count.
func (a *alike) idOf(v any, schema bool) int {
	var says string
	switch v := v.(type) {
	case map[string]any:
		says = a.objectKey(v, schema)
	case []any:
		says = a.listKey(v)
	case string:
		says = `"` + v
	case json.Number:
		says = "0" + v.String()
	case bool:
		says = strconv.FormatBool(v)
	}
	if known, ok := a.ids[says]; ok {
		return known
	}
	a.ids[says] = len(a.ids)
	return len(a.ids) - 1
}

func (a *alike) listKey(items []any) string {
	parts := make([]string, len(items))
	for i, item := range items {
		parts[i] = strconv.Itoa(a.idOf(item, false))
	}
	return "[" + strings.Join(parts, ",")
}

func (a *alike) objectKey(v map[string]any, schema bool) string {
	var b strings.Builder
	b.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if _, text := v[name].(string); schema && text && (name == "description" || name == "title") {
			continue
		}
		b.WriteString(strconv.Quote(name))
		b.WriteString(strconv.Itoa(a.idOf(v[name], false)))
		b.WriteByte(',')
	}
	return b.String()
}
