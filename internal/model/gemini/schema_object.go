package gemini

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object whose members are in order.
type object []member

// member is a name with its value as it was written.
type member struct {
	name  string
	value jsontext.Value
}

// members reads an object, and says whether v is one.
func members(v jsontext.Value) (object, bool) {
	if v.Kind() != '{' {
		return nil, false
	}
	var n object
	d := jsontext.NewDecoder(bytes.NewReader(v))
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() == '"' {
		var name, value jsontext.Value
		name, err = d.ReadValue()
		key := unquote(name)
		if err == nil {
			value, err = d.ReadValue()
		}
		n = append(n, member{key, value.Clone()})
	}
	if _, end := d.ReadToken(); err != nil || end != nil {
		return nil, false
	}
	return n, true
}

// elements reads an array; anything else has none.
func elements(v jsontext.Value) []jsontext.Value {
	if v.Kind() != '[' {
		return nil
	}
	var list []jsontext.Value
	d := jsontext.NewDecoder(bytes.NewReader(v))
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != ']' {
		var e jsontext.Value
		if e, err = d.ReadValue(); err == nil {
			list = append(list, e.Clone())
		}
	}
	return list
}

// index returns the place of a member, or -1.
func (n object) index(name string) int {
	return slices.IndexFunc(n, func(m member) bool { return m.name == name })
}

// has says whether there is a member of that name, of whatever value.
func (n object) has(name string) bool { return n.index(name) >= 0 }

// get returns the named member's value, or nil.
func (n object) get(name string) jsontext.Value {
	if i := n.index(name); i >= 0 {
		return n[i].value
	}
	return nil
}

// set replaces a member where it stands, or adds it at the end.
func (n *object) set(name string, v jsontext.Value) {
	if i := n.index(name); i >= 0 {
		(*n)[i].value = v
		return
	}
	*n = append(*n, member{name, v})
}

// without returns a copy that lacks a member; n stays as it is.
func (n object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(n), func(m member) bool { return m.name == name })
}

// merge adds to n what only other has. Properties and required names add up.
func (n *object) merge(other object) {
	for _, m := range other {
		have := n.get(m.name)
		switch {
		case have == nil:
			n.set(m.name, m.value)
		case m.name == "properties":
			mine, _ := members(have)
			theirs, _ := members(m.value)
			mine.merge(theirs)
			n.set(m.name, mine.json())
		case m.name == "required":
			n.set(m.name, array(append(elements(have), elements(m.value)...)))
		}
	}
}

// json renders n, members in their order.
func (n object) json() jsontext.Value {
	b := []byte{'{'}
	for i, m := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, m.name), ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}

// array renders a JSON array of rendered values.
func array(list []jsontext.Value) jsontext.Value {
	b := []byte{'['}
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
