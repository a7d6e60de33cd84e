package anthropic

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object whose members are in order.
type object []member

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

// unquote returns the string that v is, or "".
func unquote(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b)
}

func (n object) index(name string) int {
	return slices.IndexFunc(n, func(m member) bool { return m.name == name })
}

func (n object) has(name string) bool { return n.index(name) >= 0 }

// get returns the named member's value, or nil.
func (n object) get(name string) jsontext.Value {
	if i := n.index(name); i >= 0 {
		return n[i].value
	}
	return nil
}

func (n *object) set(name string, v jsontext.Value) {
	if i := n.index(name); i >= 0 {
		(*n)[i].value = v
		return
	}
	*n = append(*n, member{name, v})
}

func (n object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(n), func(m member) bool { return m.name == name })
}

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

// array returns the array of the values.
func array(list []jsontext.Value) jsontext.Value {
	return append(append(jsontext.Value{'['}, bytes.Join(bytesOf(list), []byte{','})...), ']')
}

func bytesOf(list []jsontext.Value) [][]byte {
	all := make([][]byte, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}
