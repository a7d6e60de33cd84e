package gemini

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
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
	w.b = append(model.AppendString(w.b, name), ':')
}

// raw writes a member as it came.
func (w *writer) raw(name string, v jsontext.Value) {
	w.key(name)
	w.b = append(w.b, v...)
}

// typ writes the type, one name or several.
func (w *writer) typ(n model.Object) {
	switch v := n.Get("type"); {
	case v.Kind() == '"', v.Kind() == '[':
		w.raw("type", v)
	case n.Has("properties"):
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
func (w *writer) description(n model.Object) {
	s := model.Unquote(n.Get("description"))
	if got := hintsOf(n); len(got) > 0 {
		s = strings.TrimSpace(s + " (" + strings.Join(got, ", ") + ")")
	}
	if s != "" {
		w.key("description")
		w.b = model.AppendString(w.b, s)
	}
}

// hintsOf returns what n says by keywords that the API does not take.
func hintsOf(n model.Object) (got []string) {
	for _, name := range hints() {
		v := n.Get(name)
		switch k := v.Kind(); {
		case len(v) > maxHint:
		case k == '"':
			got = append(got, name+": "+model.Unquote(v))
		case k == '0', name == "default" && len(v) > 0 && k != 'n':
			got = append(got, name+": "+string(v))
		}
	}
	return got
}

// keyword writes m, a member of n, if the API takes it.
func (w *writer) keyword(n model.Object, m model.Member) {
	kind := m.Value.Kind()
	switch m.Name {
	case "title":
		w.rawIf(kind == '"', m)
	case "minItems", "maxItems", "minimum", "maximum":
		w.rawIf(kind == '0', m)
	case "propertyOrdering":
		w.rawIf(kind == '[', m)
	case "enum":
		w.enum(m.Value, model.Elements(m.Value))
	case "const":
		if !n.Has("enum") {
			w.enum(nil, []jsontext.Value{m.Value})
		}
	case "anyOf", "oneOf", "prefixItems":
		w.schemas(m.Name, model.Elements(m.Value))
	case "items":
		w.items(n, m.Value)
	case "properties", "required", "additionalProperties":
		if admits(n, "object") {
			w.objectKeyword(n, m)
		}
	}
}

// rawIf writes a member that is of the right type, and else leaves it out: a
// wrong one would cost the whole request.
func (w *writer) rawIf(ok bool, m model.Member) {
	if ok {
		w.raw(m.Name, m.Value)
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
func (w *writer) items(n model.Object, v jsontext.Value) {
	switch {
	case !admits(n, "array"):
	case v.Kind() != '[':
		w.key("items")
		w.b = w.c.schema(w.b, v)
	case !n.Has("prefixItems"):
		w.schemas("prefixItems", model.Elements(v))
	}
}

// objectKeyword writes a keyword of objects. What no longer has a property to
// refer to is left out of required.
func (w *writer) objectKeyword(n model.Object, m model.Member) {
	switch kind := m.Value.Kind(); {
	case m.Name == "required":
		w.required(n, model.Elements(m.Value))
	case m.Name == "additionalProperties" && (kind == 't' || kind == 'f'):
		w.raw(m.Name, m.Value)
	case kind != '{':
	case m.Name == "additionalProperties":
		w.key(m.Name)
		w.b = w.c.schema(w.b, m.Value)
	default:
		w.properties(m.Value)
	}
}

// properties writes the schemas of the members, each converted.
func (w *writer) properties(v jsontext.Value) {
	properties := model.Members(v)
	w.key("properties")
	w.b = append(w.b, '{')
	for i, p := range properties {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(model.AppendString(w.b, p.Name), ':')
		w.b = w.c.schema(w.b, p.Value)
	}
	w.b = append(w.b, '}')
}

// required writes the names of those required properties that there are.
func (w *writer) required(n model.Object, names []jsontext.Value) {
	properties := model.Members(n.Get("properties"))
	var known []jsontext.Value
	for _, name := range names {
		if name.Kind() == '"' && properties.Has(model.Unquote(name)) {
			known = append(known, name)
		}
	}
	if len(known) > 0 {
		w.raw("required", array(known))
	}
}

// is says whether n's type names kind; admits, whether it does not rule it out.
func is(n model.Object, kind string) bool {
	t := n.Get("type")
	if model.Unquote(t) == kind {
		return true
	}
	for _, e := range model.Elements(t) {
		if model.Unquote(e) == kind {
			return true
		}
	}
	return false
}

// admits says whether values of that kind are allowed. A schema without a type
// allows all.
func admits(n model.Object, kind string) bool { return !n.Has("type") || is(n, kind) }
