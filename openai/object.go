package openai

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object: its members in their order.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

// members returns the members of v, none if it is no object. Of those of one name, which
// no valid JSON has, the last counts.
func members(v jsontext.Value) (o object) {
	d := jsontext.NewDecoder(bytes.NewReader(v), tolerant)
	if d.PeekKind() != '{' {
		return nil
	}
	d.ReadToken()
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return o
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return o
		}
		o = append(o, member{key, value.Clone()})
	}
	return o
}

// elements returns the elements of v, none if it is no array.
func elements(v jsontext.Value) (list []jsontext.Value) {
	d := jsontext.NewDecoder(bytes.NewReader(v), tolerant)
	if d.PeekKind() != '[' {
		return nil
	}
	d.ReadToken()
	for k := d.PeekKind(); k != ']' && k != jsontext.KindInvalid; k = d.PeekKind() {
		el, err := d.ReadValue()
		if err != nil {
			return list
		}
		list = append(list, el.Clone())
	}
	return list
}

func (o object) index(name string) int {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].name == name {
			return i
		}
	}
	return -1
}

func (o object) has(name string) bool { return o.index(name) >= 0 }

// get returns the value of a member, or nil.
func (o object) get(name string) jsontext.Value {
	if i := o.index(name); i >= 0 {
		return o[i].value
	}
	return nil
}

func (o *object) set(name string, value jsontext.Value) {
	if i := o.index(name); i >= 0 {
		(*o)[i].value = value
		return
	}
	*o = append(*o, member{name, value})
}

// without returns o without the members of these names. o stays as it is.
func (o object) without(names ...string) object {
	var rest object
	for _, m := range o {
		if !slices.Contains(names, m.name) {
			rest = append(rest, m)
		}
	}
	return rest
}

// merge adds what other says beside o: its properties and what it requires too, of other
// members those that o does not have.
func (o *object) merge(other object) {
	for _, m := range other {
		have := o.get(m.name)
		switch {
		case have == nil:
			o.set(m.name, m.value)
		case m.name == "properties" && have.Kind() == '{':
			both := members(have)
			for _, p := range members(m.value) {
				if !both.has(p.name) {
					both.set(p.name, p.value)
				}
			}
			o.set(m.name, both.append(nil))
		case m.name == "required":
			names := strs(have)
			for _, name := range strs(m.value) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			o.set(m.name, stringArray(names))
		}
	}
}

// append appends o as JSON.
func (o object) append(b []byte) []byte {
	b = append(b, '{')
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, m.name), ':')
		b = append(b, m.value...)
	}
	return append(b, '}')
}
