package model

import (
	"bytes"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Merge merges patch into body, both of them JSON objects, by the rules of RFC 7396:
// objects are merged, null removes, and anything else replaces. What patch does not
// touch stays byte for byte, in its order. An error says that one of them is no JSON.
func Merge(body, patch jsontext.Value) (jsontext.Value, error) {
	changes, err := membersOf(patch)
	if err != nil {
		return nil, err
	}
	var members []objectMember
	if body.Kind() == '{' {
		if members, err = membersOf(body); err != nil {
			return nil, err
		}
	}
	for _, change := range changes {
		if members, err = apply(members, change); err != nil {
			return nil, err
		}
	}
	b := jsontext.Value{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, m.name)
		b = append(append(b, ':'), m.value...)
	}
	return append(b, '}'), nil
}

var errNoObject = errors.New("no JSON object")

type objectMember struct {
	name  string
	value jsontext.Value
}

// apply makes one change.
func apply(members []objectMember, change objectMember) ([]objectMember, error) {
	at := slices.IndexFunc(members, func(m objectMember) bool { return m.name == change.name })
	switch change.value.Kind() {
	case 'n':
		if at >= 0 {
			members = slices.Delete(members, at, at+1)
		}
		return members, nil
	case '{':
		var old jsontext.Value
		if at >= 0 {
			old = members[at].value
		}
		merged, err := Merge(old, change.value)
		if err != nil {
			return nil, err
		}
		change.value = merged
	}
	if at < 0 {
		return append(members, change), nil
	}
	members[at] = change
	return members, nil
}

// membersOf returns the members of an object.
func membersOf(object jsontext.Value) (members []objectMember, err error) {
	if object.Kind() != '{' {
		return nil, errNoObject
	}
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := objectMember{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		members = append(members, m)
	}
	_, err = d.ReadToken()
	return members, err
}
