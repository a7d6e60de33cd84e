package gemini

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// writer appends the members of one converted schema, and leaves it open.
type writer struct {
	b    []byte
	c    *converter
	some bool // a member was written
}

// writeKey writes a member's name, and the comma in front of it.
func (w *writer) writeKey(name string) {
	if w.some {
		w.b = append(w.b, ',')
	}
	w.some = true
	w.b = append(model.AppendString(w.b, name), ':')
}

// writeRaw writes a member as it came.
func (w *writer) writeRaw(name string, v jsontext.Value) {
	w.writeKey(name)
	w.b = append(w.b, v...)
}

// writeType writes the type, one name or several.
func (w *writer) writeType(n model.Object) {
	switch v := n.Get("type"); {
	case v.Kind() == '"', v.Kind() == '[':
		w.writeRaw("type", v)
	case n.Has("properties"):
		w.writeRaw("type", jsontext.Value(`"object"`))
	}
}

// hintKeywords are the keywords that the API does not take, or is not documented to take,
// but a model can heed.
func hintKeywords() [8]string {
	return [...]string{"format", "pattern", "minLength", "maxLength", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "default"}
}

// maxHint is the longest hint in bytes: a default may be a whole document.
const maxHint = 200

// writeDescription writes the description, with hints behind it.
func (w *writer) writeDescription(n model.Object) {
	s := model.Unquote(n.Get("description"))
	if got := hintsOf(n); len(got) > 0 {
		s = strings.TrimSpace(s + " (" + strings.Join(got, ", ") + ")")
	}
	if s != "" {
		w.writeKey("description")
		w.b = model.AppendString(w.b, s)
	}
}

// hintsOf returns the hints of n: its keywords that the API does not take.
func hintsOf(n model.Object) (got []string) {
	for _, name := range hintKeywords() {
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

// writeKeyword writes m, a member of n, if the API takes it.
func (w *writer) writeKeyword(n model.Object, m model.Member) {
	kind := m.Value.Kind()
	switch m.Name {
	case "title":
		w.rawIf(kind == '"', m)
	case "minItems", "maxItems", "minimum", "maximum":
		w.rawIf(kind == '0', m)
	case "propertyOrdering":
		w.rawIf(kind == '[', m)
	case "enum":
		w.writeEnum(m.Value, model.Elements(m.Value))
	case "const":
		if !n.Has("enum") {
			w.writeEnum(nil, []jsontext.Value{m.Value})
		}
	case "anyOf", "oneOf", "prefixItems":
		w.writeSchemas(m.Name, model.Elements(m.Value))
	case "items":
		w.writeItems(n, m.Value)
	case "properties", "required", "additionalProperties":
		if admitsType(n, "object") {
			w.objectKeyword(n, m)
		}
	}
}

// rawIf writes a member that is of the right type, and else leaves it out: a
// wrong one would cost the whole request.
func (w *writer) rawIf(ok bool, m model.Member) {
	if ok {
		w.writeRaw(m.Name, m.Value)
	}
}

// writeEnum writes the values that are allowed. The API refuses an empty string among them, and an empty
// list. v is the list as the server wrote it, or nil.
func (w *writer) writeEnum(v jsontext.Value, list []jsontext.Value) {
	kept := slices.DeleteFunc(slices.Clone(list), func(v jsontext.Value) bool { return string(v) == `""` })
	switch {
	case len(kept) == 0:
	case v != nil && len(kept) == len(list):
		w.writeRaw("enum", v)
	default:
		w.writeRaw("enum", renderArray(kept))
	}
}

// writeSchemas writes a list of schemas, unless it is empty.
func (w *writer) writeSchemas(name string, list []jsontext.Value) {
	if len(list) == 0 {
		return
	}
	w.writeKey(name)
	for i, v := range list {
		if i == 0 {
			w.b = append(w.b, '[')
		} else {
			w.b = append(w.b, ',')
		}
		w.b = w.c.appendSchema(w.b, v)
	}
	w.b = append(w.b, ']')
}

// writeItems writes the schema of an array's items. A list is the prefixItems of older drafts.
func (w *writer) writeItems(n model.Object, v jsontext.Value) {
	switch {
	case !admitsType(n, "array"):
	case v.Kind() != '[':
		w.writeKey("items")
		w.b = w.c.appendSchema(w.b, v)
	case !n.Has("prefixItems"):
		w.writeSchemas("prefixItems", model.Elements(v))
	}
}

// objectKeyword writes a keyword of objects. A required name without a property is left out.
func (w *writer) objectKeyword(n model.Object, m model.Member) {
	switch kind := m.Value.Kind(); {
	case m.Name == "required":
		w.writeRequired(n, model.Elements(m.Value))
	case m.Name == "additionalProperties" && (kind == 't' || kind == 'f'):
		w.writeRaw(m.Name, m.Value)
	case kind != '{':
	case m.Name == "additionalProperties":
		w.writeKey(m.Name)
		w.b = w.c.appendSchema(w.b, m.Value)
	default:
		w.writeProperties(m.Value)
	}
}

// writeProperties writes the schemas of the members, each converted.
func (w *writer) writeProperties(v jsontext.Value) {
	properties := model.Members(v)
	w.writeKey("properties")
	w.b = append(w.b, '{')
	for i, p := range properties {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = append(model.AppendString(w.b, p.Name), ':')
		w.b = w.c.appendSchema(w.b, p.Value)
	}
	w.b = append(w.b, '}')
}

// writeRequired writes the names of those required properties that there are.
func (w *writer) writeRequired(n model.Object, names []jsontext.Value) {
	properties := model.Members(n.Get("properties"))
	var known []jsontext.Value
	for _, name := range names {
		if name.Kind() == '"' && properties.Has(model.Unquote(name)) {
			known = append(known, name)
		}
	}
	if len(known) > 0 {
		w.writeRaw("required", renderArray(known))
	}
}

// hasType reports whether n's type names kind; admits, whether it does not rule it out.
func hasType(n model.Object, kind string) bool {
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

// admitsType reports whether values of that kind are allowed. A schema without a type
// allows all.
func admitsType(n model.Object, kind string) bool { return !n.Has("type") || hasType(n, kind) }
