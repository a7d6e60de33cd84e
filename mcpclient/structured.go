package mcpclient

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/mcpclient/internal/wire"
)

// holdsStructured reports whether the texts of a result hold its structured content, so that the
// model need not read it twice. Servers write it as one JSON text, compact or indented, or within a
// text. Some write only the value in {"result": …}; a list may then be one text for each element.
func (r *result) holdsStructured() bool {
	switch {
	case strings.Join(r.texts, "") == "":
		return false
	case len(withoutSpace(string(r.structured))) == 2: // {} and []
		return true
	case r.holdsJSON(r.structured):
		return true
	}
	inner, wrapped := unwrapResult(r.structured)
	return wrapped && r.holdsValue(inner)
}

// unwrapResult returns the value of an object with the only member "result".
func unwrapResult(raw jsontext.Value) (jsontext.Value, bool) {
	var members map[string]jsontext.Value
	if raw.Kind() != '{' || json.Unmarshal(raw, &members, wire.Lenient) != nil || len(members) != 1 {
		return nil, false
	}
	inner, ok := members["result"]
	return inner, ok
}

// holdsValue reports whether the texts are a value: as its JSON, as its text, or as the elements
// of a list.
func (r *result) holdsValue(v jsontext.Value) bool {
	text, _ := wire.Text(v)
	if slices.Contains(r.texts, text) || strings.TrimSpace(strings.Join(r.texts, "\n")) == strings.TrimSpace(text) {
		return true
	}
	switch v.Kind() {
	case '{':
		return r.holdsJSON(v)
	case '[':
		return r.holdsJSON(v) || r.holdsElements(v)
	}
	return false
}

// holdsElements reports whether the texts are the elements of a list, in their order.
func (r *result) holdsElements(v jsontext.Value) bool {
	var list []jsontext.Value
	if json.Unmarshal(v, &list, wire.Lenient) != nil {
		return false
	}
	return slices.EqualFunc(list, r.texts, func(element jsontext.Value, text string) bool {
		own, _ := wire.Text(element)
		return own == text || sameJSON(canonicalJSON(element), text)
	})
}

// holdsJSON reports whether the JSON of v stands in the texts, or one of them is the same value.
func (r *result) holdsJSON(v jsontext.Value) bool {
	if strings.Contains(withoutSpace(strings.Join(r.texts, "\n")), withoutSpace(string(v))) {
		return true
	}
	own := canonicalJSON(v) // once: a result may have many texts
	return slices.ContainsFunc(r.texts, func(text string) bool { return sameJSON(own, text) })
}

// canonicalJSON returns a value in its canonical form, or nil if the value is invalid.
func canonicalJSON(v jsontext.Value) jsontext.Value {
	if v = v.Clone(); v.Canonicalize() != nil {
		return nil
	}
	return v
}

// sameJSON reports whether text is the value with the canonical form own, whatever the order of its
// members. It returns false if own is nil.
func sameJSON(own jsontext.Value, text string) bool {
	v := jsontext.Value(strings.TrimSpace(text))
	return own != nil && own.Kind() == v.Kind() && bytes.Equal(own, canonicalJSON(v))
}

// withoutSpace returns text without white space.
func withoutSpace(text string) string {
	if !strings.ContainsAny(text, " \t\r\n") {
		return text
	}
	return strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(text)
}
