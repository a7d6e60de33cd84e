package model

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Tolerant returns options to read text of models and services. Invalid UTF-8 becomes replacement
// characters, and the last of several members with one name counts.
func Tolerant() json.Options { return tolerant }

var tolerant = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// Figure returns a whole number from 0 to 2^31-1, of tokens as a rule. Some services write
// it as a float.
func Figure(v jsontext.Value) (n int, ok bool) {
	if u, err := strconv.ParseUint(string(v), 10, 31); err == nil {
		return int(u), true
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(f >= 0 && f <= math.MaxInt32) || math.Signbit(f) || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}

// Object is a JSON object: its members in their order. Codecs use it for rare data: errors,
// schemas, kept parts. Answers are read token by token.
type Object []Member

// Member is a member of an Object.
type Member struct {
	Name  string
	Value jsontext.Value
}

// Members returns the members of v, or nil if v is not an object. For invalid JSON it returns the
// members before the fault. Their values are parts of v.
func Members(v jsontext.Value) (o Object) {
	if v.Kind() != '{' {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), tolerant)
	_, _ = d.ReadToken()
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
		o = append(o, Member{key, partOf(v, d, value)})
	}
	return o
}

// Elements returns the elements of v, or nil if v is not an array. For invalid JSON it returns the
// elements before the fault. They are parts of v.
func Elements(v jsontext.Value) (list []jsontext.Value) {
	if v.Kind() != '[' {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), tolerant)
	_, _ = d.ReadToken()
	for k := d.PeekKind(); k != ']' && k != jsontext.KindInvalid; k = d.PeekKind() {
		el, err := d.ReadValue()
		if err != nil {
			return list
		}
		list = append(list, partOf(v, d, el))
	}
	return list
}

// partOf returns the part of v that d has just read as value.
func partOf(v jsontext.Value, d *jsontext.Decoder, value jsontext.Value) jsontext.Value {
	end := int(d.InputOffset())
	return v[end-len(value) : end : end]
}

// Unquote returns the string that v is, or "".
func Unquote(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b)
}

// Strings returns those elements of an array that are strings.
func Strings(v jsontext.Value) (list []string) {
	for _, el := range Elements(v) {
		if el.Kind() == '"' {
			list = append(list, Unquote(el))
		}
	}
	return list
}

// AppendString appends s as a JSON string. Invalid UTF-8 becomes replacement characters:
// AppendQuote's error could report nothing else.
func AppendString[Bytes ~[]byte | ~string](b []byte, s Bytes) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// Has reports whether o has the member.
func (o Object) Has(name string) bool { return o.lastIndex(name) >= 0 }

// HasPath reports whether o has a member, "a.b" being that of its member a.
func (o Object) HasPath(path string) bool {
	if head, rest, deeper := strings.Cut(path, "."); deeper {
		return Members(o.Get(head)).HasPath(rest)
	}
	return o.Has(path)
}

// Get returns the value of a member, or nil. If a name is repeated, the last member counts. Valid
// JSON never repeats one.
func (o Object) Get(name string) jsontext.Value {
	if i := o.lastIndex(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Set gives a member its value, at the end if it is new.
func (o *Object) Set(name string, value jsontext.Value) {
	if i := o.lastIndex(name); i >= 0 {
		(*o)[i].Value = value
		return
	}
	*o = append(*o, Member{name, value})
}

// Without returns o without the members of these names. o stays as it is.
func (o Object) Without(names ...string) (rest Object) {
	for _, m := range o {
		if !slices.Contains(names, m.Name) {
			rest = append(rest, m)
		}
	}
	return rest
}

// JSON returns o as JSON.
func (o Object) JSON() jsontext.Value {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, m.Name), ':')
		b = append(b, m.Value...)
	}
	return append(b, '}')
}

// lastIndex returns the last member of a name: that is the one that counts for most
// readers.
func (o Object) lastIndex(name string) int {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].Name == name {
			return i
		}
	}
	return -1
}
