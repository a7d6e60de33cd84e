// This file reads an item of the output. Only the kinds that we use are looked into by the
// caller; the reader takes the members of all of them in one pass.

package openai

import "github.com/go-json-experiment/json/jsontext"

// responsesItem is an item of the output.
type responsesItem struct {
	id, kind, status    string
	callID, name, phase string
	arguments           []byte // valid until the next item; nil: none
	sealed              bool   // it has encrypted_content
	content             jsontext.Value
	summary             jsontext.Value
}

// readItem reads an item. Members of no interest may be of any type.
func (d *responsesDecoder) readItem(v jsontext.Value) (item responsesItem, err error) {
	d.begin(v)
	err = d.readObject(func(name []byte) (err error) {
		switch string(name) {
		case `"type"`:
			item.kind, err = d.readString()
		case `"id"`:
			item.id, err = d.readString()
		case `"status"`:
			item.status, err = d.readString()
		case `"call_id"`:
			item.callID, err = d.readString()
		case `"name"`:
			item.name, err = d.readString()
		case `"phase"`:
			item.phase, err = d.readString()
		case `"arguments"`:
			item.arguments, err = d.readArguments()
		case `"encrypted_content"`:
			item.sealed, err = d.isFilled()
		case `"content"`:
			item.content, err = d.readValue()
		case `"summary"`:
			item.summary, err = d.readValue()
		default:
			err = d.json.SkipValue()
		}
		return err
	})
	if err != nil {
		err = d.unreadableError(err)
	}
	return item, err
}

// readArguments reads a call's arguments: JSON in a string, or, of some servers, the JSON.
func (d *responsesDecoder) readArguments() ([]byte, error) {
	if d.json.PeekKind() != '"' {
		v, err := d.readValue()
		if v.Kind() == 'n' {
			v = nil
		}
		return v, err
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	// A half of a surrogate pair is replaced; the error would report it.
	args, _ := jsontext.AppendUnquote([]byte(nil), v)
	return args, nil
}

// readTexts calls take for the text of each part of a message's content or a summary.
//
// An error of take ends the reading and is returned as it is. Refusals are text too: the
// user reads them.
func (d *responsesDecoder) readTexts(v jsontext.Value, use func(text string) error) error {
	if v.Kind() != '[' {
		return nil
	}
	d.begin(v)
	var refused error
	err := d.readEach('[', func() error {
		return d.readLoose('{', func(name []byte) error {
			if n := string(name); n != `"text"` && n != `"refusal"` {
				return d.json.SkipValue()
			}
			text, err := d.readString()
			if err == nil {
				refused = use(text)
				err = refused
			}
			return err
		})
	})
	if err != nil && refused == nil {
		err = d.unreadableError(err)
	}
	return err
}
