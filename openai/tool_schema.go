package openai

import (
	"bytes"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// errNoObject is why a tool is left out: its arguments can be no object.
var errNoObject = errors.New("its schema allows no object")

// errUnreadableSchema is why a tool is left out.
var errUnreadableSchema = errors.New("its schema is no JSON")

// maxRootNodes is how many schemas the root of one may be put together of.
const maxRootNodes = 256

// parameters returns a tool's input schema as providers take it: an object with
// properties, and none of the forms at the root that are refused there (anyOf, oneOf,
// allOf, $ref, enum, not). What stands below the root stays as the server wrote it.
func parameters(schema jsontext.Value) (jsontext.Value, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = jsontext.Value(`{}`)
	}
	if !schema.IsValid() {
		return nil, errUnreadableSchema
	}
	switch schema.Kind() {
	case 't':
		schema = jsontext.Value(`{}`)
	case '{':
	default:
		return nil, errNoObject
	}
	r := rootResolver{schema: schema, refs: []string{"#"}}
	root, err := r.resolve(members(schema))
	if err != nil {
		return nil, err
	}
	root.set("type", jsontext.Value(`"object"`))
	if root.get("properties").Kind() != '{' {
		root.set("properties", jsontext.Value(`{}`))
	}
	return root.append(nil), nil
}

// rootResolver resolves what may not stand at the root of a schema.
type rootResolver struct {
	schema jsontext.Value
	refs   []string // the $refs that the node at hand was reached through
	nodes  int
}

// resolve returns n without $ref, allOf, anyOf and oneOf, or errNoObject.
func (r *rootResolver) resolve(n object) (object, error) {
	if n.has("$ref") {
		target, err := r.follow(unquote(n.get("$ref")))
		if err != nil {
			return nil, err
		}
		n = n.without("$ref")
		n.merge(target)
	}
	if !allowsObject(n.get("type")) {
		return nil, errNoObject
	}
	for _, v := range elements(n.get("allOf")) {
		part, err := r.resolveValue(v)
		if err != nil {
			return nil, err
		}
		n = n.without("allOf")
		n.merge(part)
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		branches := elements(n.get(name))
		n = n.without(name)
		if len(branches) == 0 {
			continue
		}
		either, err := r.either(branches)
		if err != nil {
			return nil, err
		}
		n.merge(either)
	}
	return n.without("allOf", "enum", "const", "not"), nil
}

func (r *rootResolver) resolveValue(v jsontext.Value) (object, error) {
	switch v.Kind() {
	case '{':
		if r.nodes++; r.nodes > maxRootNodes {
			return nil, errNoObject
		}
		return r.resolve(members(v))
	case 't':
		return nil, nil
	}
	return nil, errNoObject
}

// follow returns what a local reference points to ("#/$defs/Todo"), itself resolved.
func (r *rootResolver) follow(ref string) (object, error) {
	fragment, err := url.PathUnescape(ref)
	path, local := strings.CutPrefix(fragment, "#/")
	if r.nodes++; err != nil || !local || r.nodes > maxRootNodes || slices.Contains(r.refs, ref) {
		return nil, errNoObject
	}
	target := r.schema
	for token := range jsontext.Pointer("/" + path).Tokens() {
		target = members(target).get(token)
	}
	r.refs = append(r.refs, ref)
	o, err := r.resolveValue(target)
	r.refs = r.refs[:len(r.refs)-1]
	return o, err
}

// either returns one schema for branches: the properties of all of those that allow an
// object; required is what all of them require.
func (r *rootResolver) either(branches []jsontext.Value) (object, error) {
	var all object
	var required []string
	found := false
	for _, v := range branches {
		branch, err := r.resolveValue(v)
		if err != nil {
			continue
		}
		names := strs(branch.get("required"))
		if !found {
			all, required, found = branch, names, true
			continue
		}
		all = all.without("additionalProperties") // what one branch forbids another may have
		all.merge(branch.without("additionalProperties"))
		required = slices.DeleteFunc(required, func(name string) bool { return !slices.Contains(names, name) })
	}
	if !found {
		return nil, errNoObject
	}
	all = all.without("required", "type")
	if len(required) > 0 {
		all.set("required", stringArray(required))
	}
	return all, nil
}

// allowsObject says whether a type, which may be missing, lets an object through.
func allowsObject(typ jsontext.Value) bool {
	switch typ.Kind() {
	case '"':
		return unquote(typ) == "object"
	case '[':
		return slices.Contains(strs(typ), "object")
	}
	return true
}

// strs returns the strings of an array.
func strs(v jsontext.Value) (list []string) {
	for _, el := range elements(v) {
		if el.Kind() == '"' {
			list = append(list, unquote(el))
		}
	}
	return list
}

func stringArray(list []string) jsontext.Value {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}
