package gemini

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// writer appends the members of one converted schema, which it leaves open.
type writer struct {
	b    []byte
	c    *converter
	some bool // a member was written
}

// key writes a member's name, and the comma in front of it.
func (w *writer) key(name string) {
	if w.some {
		w.b = append(w.b, ',')
	}
	w.some = true
	w.b = append(appendString(w.b, name), ':')
}

// raw writes a member as it came.
func (w *writer) raw(name string, v jsontext.Value) {
	w.key(name)
	w.b = append(w.b, v...)
}

// typ writes the type, one name or several.
func (w *writer) typ(n object) {
	switch v := n.get("type"); {
	case v.Kind() == '"', v.Kind() == '[':
		w.raw("type", v)
	case n.has("properties"):
		w.raw("type", jsontext.Value(`"object"`))
	}
}

// hints are the keywords that the API does not take, or is not documented to take,
// but a model can heed.
func hints() [8]string {
	return [...]string{"format", "pattern", "minLength", "maxLength", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "default"}
}

// maxHint is the longest hint in bytes: a default may be a whole document.
const maxHint = 200

// description writes the description, with hints behind it.
func (w *writer) description(n object) {
	s := unquote(n.get("description"))
	if got := hintsOf(n); len(got) > 0 {
		s = strings.TrimSpace(s + " (" + strings.Join(got, ", ") + ")")
	}
	if s != "" {
		w.key("description")
		w.b = appendString(w.b, s)
	}
}

// hintsOf returns what n says by keywords that the API does not take.
func hintsOf(n object) (got []string) {
	for _, name := range hints() {
		v := n.get(name)
		switch k := v.Kind(); {
		case len(v) > maxHint:
		case k == '"':
			got = append(got, name+": "+unquote(v))
		case k == '0', name == "default" && len(v) > 0 && k != 'n':
			got = append(got, name+": "+string(v))
		}
	}
	return got
}

// keyword writes m, a member of n, if the API takes it.
func (w *writer) keyword(n object, m member) {
	kind := m.value.Kind()
	switch m.name {
	case "title":
		w.rawIf(kind == '"', m)
	case "minItems", "maxItems", "minimum", "maximum":
		w.rawIf(kind == '0', m)
	case "propertyOrdering":
		w.rawIf(kind == '[', m)
	case "enum":
		w.enum(m.value, elements(m.value))
	case "const":
		if !n.has("enum") {
			w.enum(nil, []jsontext.Value{m.value})
		}
	case "anyOf", "oneOf", "prefixItems":
		w.schemas(m.name, elements(m.value))
	case "items":
		w.items(n, m.value)
	case "properties", "required", "additionalProperties":
		if admits(n, "object") {
			w.objectKeyword(n, m)
		}
	}
}

// rawIf writes a member that is of the right type, and else leaves it out: a
// wrong one would cost the whole request.
func (w *writer) rawIf(ok bool, m member) {
	if ok {
		w.raw(m.name, m.value)
	}
}

// enum writes the values that are allowed. The API refuses an empty string among them, and an empty
// list. v is the list as the server wrote it, or nil.
func (w *writer) enum(v jsontext.Value, list []jsontext.Value) {
	kept := slices.DeleteFunc(slices.Clone(list), func(v jsontext.Value) bool { return string(v) == `""` })
	switch {
	case len(kept) == 0:
	case v != nil && len(kept) == len(list):
		w.raw("enum", v)
	default:
		w.raw("enum", array(kept))
	}
}

// schemas writes a list of schemas, unless it is empty.
func (w *writer) schemas(name string, list []jsontext.Value) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	for i, v := range list {
		if i == 0 {
			w.b = append(w.b, '[')
		} else {
			w.b = append(w.b, ',')
		}
		w.b = w.c.schema(w.b, v)
	}
	w.b = append(w.b, ']')
}

// items writes what an array holds; a list is the prefixItems of older drafts.
func (w *writer) items(n object, v jsontext.Value) {
	switch {
	case !admits(n, "array"):
	case v.Kind() != '[':
		w.key("items")
		w.b = w.c.schema(w.b, v)
	case !n.has("prefixItems"):
		w.schemas("prefixItems", elements(v))
	}
}

// objectKeyword writes a keyword of objects. What no longer has a property to
// refer to is left out of required.
func (w *writer) objectKeyword(n object, m member) {
	switch kind := m.value.Kind(); {
	case m.name == "required":
		w.required(n, elements(m.value))
	case m.name == "additionalProperties" && (kind == 't' || kind == 'f'):
		w.raw(m.name, m.value)
	case kind != '{':
	case m.name == "additionalProperties":
		w.key(m.name)
		w.b = w.c.schema(w.b, m.value)
	default:
		w.properties(m.value)
	}
}

// properties writes the schemas of the members, each converted.
func (w *writer) properties(v jsontext.Value) {
	properties, _ := members(v)
	w.key("properties")
	w.b = append(w.b, '{')
	for i, p := range properties {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(appendString(w.b, p.name), ':')
		w.b = w.c.schema(w.b, p.value)
	}
	w.b = append(w.b, '}')
}

// required writes the names of those required properties that there are.
func (w *writer) required(n object, names []jsontext.Value) {
	properties, _ := members(n.get("properties"))
	var known []jsontext.Value
	for _, name := range names {
		if name.Kind() == '"' && properties.has(unquote(name)) {
			known = append(known, name)
		}
	}
	if len(known) > 0 {
		w.raw("required", array(known))
	}
}

// is says whether n's type names kind; admits, whether it does not rule it out.
func is(n object, kind string) bool {
	t := n.get("type")
	if unquote(t) == kind {
		return true
	}
	for _, e := range elements(t) {
		if unquote(e) == kind {
			return true
		}
	}
	return false
}

// admits says whether values of that kind are allowed. A schema without a type
// allows all.
func admits(n object, kind string) bool { return !n.has("type") || is(n, kind) }
