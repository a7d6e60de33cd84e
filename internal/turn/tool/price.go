package tool

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Work of checking a value against one part of a schema. The validator calls a part's format only
// after it has compared its type, const and enum. So the part that leads there pays for this, for
// all values that it may lead to.
const (
	reachWork = 4
	enterWork = 12
)

// price is the work of checking a value against one part of a schema. It leaves out the work that
// the formats of deeper parts count themselves.
type price struct {
	any    int // of each value
	object int // of an object, besides any
	member int // of each member of an object
	list   int // of a list, besides any
	item   int // of each item of a list
	// here is how many parts are held against the same value.
	here   int
	unique bool // the items must differ
}

// priceOf estimates the work of a schema, in units of about one comparison. It has a price for any
// value, for each member of an object, and for each item of a list.
func priceOf(s *jsonschema.Schema) price {
	here := slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	p := price{any: enterWork + reachPrice(here...), unique: s.UniqueItems}
	for _, part := range here {
		if part != nil {
			p.here++
		}
	}
	p.addObjects(s)
	p.addLists(s)
	return p
}

// addObjects adds the work for an object itself and for each of its members.
func (p *price) addObjects(s *jsonschema.Schema) {
	names := len(s.Required) // looked up in each object
	for _, list := range s.DependentRequired {
		names += 1 + len(list)
	}
	for _, v := range s.Dependencies {
		list, _ := v.([]string)
		names += 1 + len(list)
		p.object += reachPrice(schemasIn(v)...)
	}
	p.here += len(s.Dependencies) + len(s.DependentSchemas)
	p.object += names/4 + reachPrice(slices.Collect(maps.Values(s.DependentSchemas))...)
	for _, part := range s.Properties { // each is held against one member at most
		p.object += choicesPrice(part)
	}
	p.member = reachWork + reachPrice(slices.Collect(maps.Values(s.PatternProperties))...) +
		3*reachPrice(s.PropertyNames) + reachPrice(s.UnevaluatedProperties)
	for _, part := range schemasIn(s.AdditionalProperties) {
		p.member += choicesPrice(part)
	}
}

// addLists adds the work for each item. An item falls under either prefixItems or items, so not all
// their prices are added.
func (p *price) addLists(s *jsonschema.Schema) {
	for _, part := range slices.Concat(s.PrefixItems, schemasIn(s.Items)) {
		p.list += choicesPrice(part)
	}
	p.item = reachWork + reachPrice(s.Contains, s.UnevaluatedItems)
	for _, part := range slices.Concat(schemasIn(s.Items), schemasIn(s.AdditionalItems), []*jsonschema.Schema{s.Items2020}) {
		p.item += choicesPrice(part)
	}
}

// priceFor returns the price of holding the part against v.
func (p *price) priceFor(v any, r *run) int {
	n := p.any
	switch v := v.(type) {
	case string:
		n += textWork(v)
	case json.Number:
		n += sizeOf(v)
	case map[string]any:
		n += p.object + p.member*len(v) + p.spreadPrice(len(v), r)
	case []any:
		n += p.list + p.item*len(v) + p.spreadPrice(len(v), r)
		if p.unique {
			n += r.uniqueWork(v)
		}
	}
	return n
}

// spreadPrice returns the price of passing on which of so many parts were looked at.
func (p *price) spreadPrice(parts int, r *run) int {
	if !r.spread {
		return 0
	}
	return (1 + p.here) * parts / 2
}

// reachPrice returns the work to reach parts, some of which may be nil.
func reachPrice(parts ...*jsonschema.Schema) int {
	n := 0
	for _, part := range parts {
		if part != nil {
			n += reachWork + choicesPrice(part)
		}
	}
	return n
}

// choicesPrice returns the work to compare a value with the enum and the const of a part, which may
// be nil.
func choicesPrice(part *jsonschema.Schema) int {
	n := 0
	if part != nil && part.Enum != nil {
		n += deepSize(part.Enum.Values)
	}
	if part != nil && part.Const != nil {
		n += deepSize(*part.Const)
	}
	return n
}

// deepSize is the size of a value with all within it. The depth of a document
// is bounded when it is read.
func deepSize(v any) int {
	n := sizeOf(v)
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += deepSize(item)
		}
	case map[string]any:
		for _, member := range v {
			n += deepSize(member)
		}
	}
	return n
}
