package dialect

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Object returns the members of a JSON object that chat.Members has read whole.
func Object(v jsontext.Value) map[string]jsontext.Value {
	members := map[string]jsontext.Value{}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, _ := dec.ReadToken()
		key := name.String() // before the next read
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		members[key] = value.Clone()
	}
	return members
}

// List returns the items of a JSON array that chat.Members has read whole.
func List(v jsontext.Value) (all []jsontext.Value) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	_, _ = dec.ReadToken()
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		all = append(all, value.Clone())
	}
	return all
}
