package model

import (
	"bytes"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// errNotObject is the reason to leave a tool out: its arguments can never be an object.
var errNotObject = errors.New("its schema allows no object")

// errUnreadableSchema is the reason to leave a tool with invalid JSON out.
var errUnreadableSchema = errors.New("its schema is no JSON")

// maxRootNodes bounds the schemas that form the root of one.
const maxRootNodes = 256

// toolSchema returns a tool's input schema as providers take it: an object with properties, and
// none of the forms at the root that are refused there (anyOf, oneOf, allOf, $ref, enum, not).
// Below the root the schema stays as the server wrote it. An error gives the reason without quoting
// the schema.
func toolSchema(schema jsontext.Value) (jsontext.Value, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = jsontext.Value(`{}`)
	}
	if !schema.IsValid() {
		return nil, errUnreadableSchema
	}
	switch schema.Kind() {
	case 't', 'n':
		schema = jsontext.Value(`{}`)
	case '{':
	default:
		return nil, errNotObject
	}
	r := rootResolver{schema: schema, refs: []string{"#"}}
	root, err := r.resolveObject(Members(schema))
	if err != nil {
		return nil, err
	}
	root.Set("type", jsontext.Value(`"object"`))
	if root.Get("properties").Kind() != '{' {
		root.Set("properties", jsontext.Value(`{}`))
	}
	return root.JSON(), nil
}

// rootResolver resolves the forms that providers refuse at the root of a schema.
type rootResolver struct {
	schema jsontext.Value
	refs   []string // the $refs that the node at hand was reached through
	nodes  int
}

// resolveObject returns n without $ref, allOf, anyOf and oneOf, or errNotObject.
func (r *rootResolver) resolveObject(n Object) (Object, error) {
	if n.Has("$ref") {
		target, err := r.resolveRef(Unquote(n.Get("$ref")))
		if err != nil {
			return nil, err
		}
		n = n.Without("$ref")
		n.mergeSchema(target)
	}
	if !allowsObject(n.Get("type")) {
		return nil, errNotObject
	}
	for _, v := range Elements(n.Get("allOf")) {
		part, err := r.resolveValue(v)
		if err != nil {
			return nil, err
		}
		n = n.Without("allOf")
		n.mergeSchema(part)
	}
	n, err := r.resolveBranches(n)
	if err != nil {
		return nil, err
	}
	return n.Without("allOf", "enum", "const", "not"), nil
}

// resolveBranches returns n without anyOf and oneOf.
func (r *rootResolver) resolveBranches(n Object) (Object, error) {
	for _, name := range []string{"anyOf", "oneOf"} {
		branches := Elements(n.Get(name))
		n = n.Without(name)
		if len(branches) == 0 {
			continue
		}
		either, err := r.joinBranches(branches)
		if err != nil {
			return nil, err
		}
		n.mergeSchema(either)
	}
	return n, nil
}

// resolveValue resolves a schema. true is one that allows everything and so
// adds nothing, false and all else cannot describe an object. The number of
// nodes is bounded because references may fork.
func (r *rootResolver) resolveValue(v jsontext.Value) (Object, error) {
	switch v.Kind() {
	case '{':
		if r.nodes++; r.nodes > maxRootNodes {
			return nil, errNotObject
		}
		return r.resolveObject(Members(v))
	case 't':
		return nil, nil
	}
	return nil, errNotObject
}

// resolveRef returns the resolved target of a local reference ("#/$defs/Todo").
func (r *rootResolver) resolveRef(ref string) (Object, error) {
	fragment, err := url.PathUnescape(ref)
	path, local := strings.CutPrefix(fragment, "#/")
	if r.nodes++; err != nil || !local || r.nodes > maxRootNodes || slices.Contains(r.refs, ref) {
		return nil, errNotObject
	}
	target := r.schema
	for token := range jsontext.Pointer("/" + path).Tokens() {
		target = Members(target).Get(token)
	}
	r.refs = append(r.refs, ref)
	o, err := r.resolveValue(target)
	r.refs = r.refs[:len(r.refs)-1]
	return o, err
}

// joinBranches returns one schema for branches: the properties of all of those that allow an
// object; required is what all of them require.
func (r *rootResolver) joinBranches(branches []jsontext.Value) (Object, error) {
	var all Object
	var required []string
	found := false
	for _, v := range branches {
		branch, err := r.resolveValue(v)
		if err != nil {
			continue
		}
		names := Strings(branch.Get("required"))
		if !found {
			all, required, found = branch, names, true
			continue
		}
		all = all.Without("additionalProperties") // a property that one branch forbids may be allowed in another
		all.widenProperties(branch)
		all.mergeSchema(branch.Without("additionalProperties"))
		required = slices.DeleteFunc(required, func(name string) bool { return !slices.Contains(names, name) })
	}
	if !found {
		return nil, errNotObject
	}
	all = all.Without("required", "type")
	if len(required) > 0 {
		all.Set("required", stringArray(required))
	}
	return all, nil
}

// allowsObject reports whether a type, or a missing type, allows an object.
func allowsObject(typ jsontext.Value) bool {
	switch typ.Kind() {
	case '"':
		return Unquote(typ) == "object"
	case '[':
		return slices.Contains(Strings(typ), "object")
	}
	return true
}

// mergeSchema adds to o the properties and required names of other. Of the other members it adds
// those that o lacks.
func (o *Object) mergeSchema(other Object) {
	for _, m := range other {
		have := o.Get(m.Name)
		switch {
		case have == nil:
			o.Set(m.Name, m.Value)
		case (m.Name == "properties" || m.Name == "$defs") && have.Kind() == '{':
			o.Set(m.Name, withMembers(have, m.Value))
		case m.Name == "required":
			o.Set(m.Name, withStrings(have, m.Value))
		}
	}
}

// withMembers adds to an object the members of another one that it does not have.
func withMembers(object, other jsontext.Value) jsontext.Value {
	both := Members(object)
	for _, p := range Members(other) {
		if !both.Has(p.Name) {
			both.Set(p.Name, p.Value)
		}
	}
	return both.JSON()
}

// withStrings adds to a list of strings those of another one that it does not have.
func withStrings(list, other jsontext.Value) jsontext.Value {
	names := Strings(list)
	for _, name := range Strings(other) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return stringArray(names)
}

// widenProperties makes the properties of o allow also the values that those of other allow.
func (o *Object) widenProperties(other Object) {
	mine, theirs := Members(o.Get("properties")), Members(other.Get("properties"))
	for _, p := range theirs {
		if have := mine.Get(p.Name); have != nil && !bytes.Equal(have, p.Value) {
			p.Value = slices.Concat(jsontext.Value(`{"anyOf":[`), have, jsontext.Value(`,`), p.Value, jsontext.Value(`]}`))
		}
		mine.Set(p.Name, p.Value)
	}
	if len(mine) > 0 {
		o.Set("properties", mine.JSON())
	}
}

// stringArray renders a JSON array of strings.
func stringArray(list []string) jsontext.Value {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}
