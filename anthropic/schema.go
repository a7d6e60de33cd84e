package anthropic

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxRefs bounds how many schemas are put together for a tool's root.
const maxRefs = 64

// inputSchema returns a tool's schema as the API takes it, and says whether there is
// such a one: the root must be of type object and must not be a choice or a reference;
// what is below goes as it is.
func inputSchema(schema jsontext.Value) (jsontext.Value, bool) {
	if len(bytes.TrimSpace(schema)) == 0 || schema.Kind() == 't' || schema.Kind() == 'n' {
		schema = jsontext.Value(`{}`)
	}
	n, ok := members(schema)
	if !ok || !schema.IsValid() {
		return nil, false
	}
	r := rootResolver{root: n, left: maxRefs}
	if n, ok = r.resolve(n); !ok {
		return nil, false
	}
	n.set("type", jsontext.Value(`"object"`))
	if n.get("properties").Kind() != '{' {
		n.set("properties", jsontext.Value(`{}`))
	}
	return n.json(), true
}

// rootResolver resolves the root of one schema.
type rootResolver struct {
	root object
	left int // schemas that may still be resolved
}

// resolve returns n as one object schema without $ref, allOf, anyOf and oneOf.
func (r *rootResolver) resolve(n object) (object, bool) {
	if r.left--; r.left < 0 || !mayBeObject(n) {
		return nil, false
	}
	if n.has("$ref") {
		target, ok := r.lookup(unquote(n.get("$ref")))
		if ok {
			target, ok = r.resolve(target)
		}
		if !ok {
			return nil, false
		}
		n = n.without("$ref")
		n.both(target)
	}
	for _, v := range elements(n.get("allOf")) {
		part, ok := members(v)
		if ok {
			part, ok = r.resolve(part)
		}
		if !ok {
			return nil, false
		}
		n = n.without("allOf")
		n.both(part)
	}
	n = n.without("allOf")
	for _, choice := range []string{"anyOf", "oneOf"} {
		if !n.has(choice) {
			continue
		}
		one, ok := r.either(elements(n.get(choice)))
		if !ok {
			return nil, false
		}
		n = n.without(choice)
		n.both(one)
	}
	return n, true
}

// either returns one schema that takes what any of the alternatives takes, without
// those that are no objects.
func (r *rootResolver) either(alternatives []jsontext.Value) (all object, ok bool) {
	for _, v := range alternatives {
		n, isObject := members(v)
		if isObject {
			n, isObject = r.resolve(n)
		}
		switch {
		case !isObject:
		case !ok:
			all, ok = slices.Clone(n), true
		default:
			all.either(n)
		}
	}
	return all, ok
}

// mayBeObject says whether a schema of that type takes objects.
func mayBeObject(n object) bool {
	switch t := n.get("type"); t.Kind() {
	case '"':
		return unquote(t) == "object"
	case '[':
		return slices.ContainsFunc(elements(t), func(v jsontext.Value) bool { return unquote(v) == "object" })
	}
	return true
}

// lookup returns what a local $ref points to ("#/$defs/Todo").
func (r *rootResolver) lookup(ref string) (object, bool) {
	fragment, err := url.PathUnescape(ref)
	path, ok := strings.CutPrefix(fragment, "#/")
	if err != nil || !ok {
		return nil, false
	}
	target := r.root
	for token := range jsontext.Pointer("/" + path).Tokens() {
		if target, ok = members(target.get(token)); !ok {
			return nil, false
		}
	}
	return target, true
}

// both adds to n what only other has: a value must fit both. Properties and required
// names add up; what both have, n says.
func (n *object) both(other object) {
	for _, m := range other {
		have := n.get(m.name)
		switch {
		case have == nil:
			n.set(m.name, m.value)
		case m.name == "properties" || m.name == "$defs":
			mine, _ := members(have)
			theirs, _ := members(m.value)
			mine.both(theirs)
			n.set(m.name, mine.json())
		case m.name == "required":
			n.set(m.name, array(append(elements(have), elements(m.value)...)))
		}
	}
}

// either makes n take what other takes as well: all properties, of which those are
// required that both require.
func (n *object) either(other object) {
	mine, _ := members(n.get("properties"))
	theirs, _ := members(other.get("properties"))
	for _, m := range theirs {
		if have := mine.get(m.name); have != nil && !bytes.Equal(have, m.value) {
			m.value = slices.Concat(jsontext.Value(`{"anyOf":[`), have, jsontext.Value(`,`), m.value, jsontext.Value(`]}`))
		}
		mine.set(m.name, m.value)
	}
	n.set("properties", mine.json())
	required := elements(n.get("required"))
	required = slices.DeleteFunc(required, func(v jsontext.Value) bool {
		return !slices.ContainsFunc(elements(other.get("required")), func(o jsontext.Value) bool { return bytes.Equal(o, v) })
	})
	*n = n.without("additionalProperties").without("required")
	if len(required) > 0 {
		n.set("required", array(required))
	}
}
