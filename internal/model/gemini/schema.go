package gemini

import (
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// Limits on one tool's schema, so that no server can blow up every request.
const (
	maxSchemaDepth = 24
	maxSchemaNodes = 5000
)

// anyObject stands for a cycle, or for a schema beyond a limit.
const anyObject = `{"type":"object"}`

// convertSchema returns a tool's input schema in the subset of JSON Schema that
// parametersJsonSchema takes. It returns nil if the tool takes no arguments. A single schema that
// the API does not take would fail every request, so the result has only keywords that it is known
// to take. Other keywords that a model can heed go into the description.
//
// The list is that of the API's own comment on responseJsonSchema, because the same engine reads
// both. $ref is resolved, because the API takes it only in some places.
func convertSchema(schema jsontext.Value) []byte {
	root, ok := schemaMembers(schema)
	if !ok {
		return nil
	}
	c := &converter{root: schema, refs: []string{"#"}, targets: map[string]jsontext.Value{}}
	node := c.resolveNode(root)
	if !hasArguments(node) {
		return nil
	}
	node.Set("type", jsontext.Value(`"object"`)) // the API answers 400 to anything else
	return c.appendNode(nil, node)
}

// hasArguments reports whether a schema allows an model.Object with members. A
// declaration without parameters stands for the others: the API refuses an
// object without properties.
func hasArguments(n model.Object) bool {
	if properties := model.Members(n.Get("properties")); len(properties) > 0 {
		return true
	}
	if k := n.Get("additionalProperties").Kind(); k == 't' || k == '{' {
		return true
	}
	return slices.ContainsFunc([]string{"properties", "anyOf", "oneOf"}, func(name string) bool { return n.Get(name).Kind() == '[' })
}

// converter converts one schema.
type converter struct {
	root    jsontext.Value
	targets map[string]jsontext.Value // of the $refs that were looked up
	refs    []string                  // the $refs that the node at hand was reached through
	depth   int
	nodes   int
}

// appendSchema appends the conversion of the schema v. A value that is not a schema allows
// anything.
func (c *converter) appendSchema(b []byte, v jsontext.Value) []byte {
	n, ok := schemaMembers(v)
	if !ok {
		return append(b, `{}`...)
	}
	c.nodes++
	if c.depth >= maxSchemaDepth || c.nodes > maxSchemaNodes {
		return append(b, anyObject...)
	}
	c.depth++
	refs := len(c.refs)
	b = c.appendNode(b, c.resolveNode(n))
	c.refs = c.refs[:refs]
	c.depth--
	return b
}

// appendNode appends a schema without $ref and allOf.
func (c *converter) appendNode(b []byte, n model.Object) []byte {
	w := writer{b: append(b, '{'), c: c}
	w.writeType(n)
	w.writeDescription(n)
	for _, m := range n {
		w.writeKeyword(n, m)
	}
	if hasType(n, "array") && (!n.Has("items") || n.Get("items").Kind() == '[') {
		w.writeRaw("items", jsontext.Value(`{}`))
	}
	return append(w.b, '}')
}

// resolveNode returns n with its $ref replaced by the target and its allOf merged into it. The
// members next to a $ref win.
func (c *converter) resolveNode(n model.Object) model.Object {
	n, ok := c.inlineRefs(n)
	if !ok || !n.Has("allOf") {
		return n
	}
	all := model.Elements(n.Get("allOf"))
	n = n.Without("allOf")
	for _, v := range all {
		if c.nodes++; c.nodes > maxSchemaNodes {
			break
		}
		if part, ok := schemaMembers(v); ok {
			mergeSchema(&n, c.resolveNode(part))
		}
	}
	return n
}

// inlineRefs replaces $ref. ok is false for an endless reference: n then allows any object.
func (c *converter) inlineRefs(n model.Object) (_ model.Object, ok bool) {
	for n.Has("$ref") {
		ref := model.Unquote(n.Get("$ref"))
		n = n.Without("$ref")
		if slices.Contains(c.refs, ref) || len(c.refs) > maxSchemaDepth {
			n.Set("type", jsontext.Value(`"object"`))
			return n, false
		}
		c.refs = append(c.refs, ref)
		target := model.Members(c.lookupRef(ref))
		mergeSchema(&n, target)
	}
	return n, true
}

// lookupRef returns the target of a local $ref ("#/$defs/Todo"), or nil.
func (c *converter) lookupRef(ref string) jsontext.Value {
	if target, known := c.targets[ref]; known {
		return target
	}
	var target jsontext.Value
	fragment, err := url.PathUnescape(ref)
	if path, ok := strings.CutPrefix(fragment, "#/"); ok && err == nil {
		target = c.root
		for token := range jsontext.Pointer("/" + path).Tokens() {
			n := model.Members(target)
			target = n.Get(token)
		}
	}
	c.targets[ref] = target
	return target
}
