package openai

import (
	"github.com/go-json-experiment/json/jsontext"
)

// The decoder's way over JSON. A value of another kind than asked for is an error,
// except null, which is the same as none.

// object hands the name of each member of the object at hand to read.
func (d *responsesDecoder) object(read func(name []byte) error) error {
	return d.each('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(name)
	})
}

// loose is object, for a value that may as well be of another kind and then says nothing.
func (d *responsesDecoder) loose(want jsontext.Kind, read func(name []byte) error) error {
	if d.json.PeekKind() != want {
		return d.json.SkipValue()
	}
	return d.object(read)
}

// value reads any value. It is part of the data and stays valid as long as that does.
//
// Unlike the decoder's own value it survives the next read, since it points into the data.
func (d *responsesDecoder) value() (jsontext.Value, error) {
	v, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	end := d.json.InputOffset()
	return d.data[end-int64(len(v)) : end], nil
}

// literal reads a value of the wanted kind; null is nil. It is valid until the next read.
func (d *responsesDecoder) literal(want jsontext.Kind) (jsontext.Value, error) {
	switch d.json.PeekKind() {
	case 'n':
		return nil, d.json.SkipValue()
	case want:
		return d.json.ReadValue()
	}
	return nil, d.mismatch()
}

// str reads a string; null is "".
func (d *responsesDecoder) str() (string, error) {
	v, err := d.literal('"')
	if v == nil {
		return "", err
	}
	return d.unquote(v), nil
}

// unquote returns the string that v, which was read, stands for. The error would report half a
// surrogate pair that was replaced.
func (d *responsesDecoder) unquote(v jsontext.Value) string {
	d.text, _ = jsontext.AppendUnquote(d.text[:0], v)
	return string(d.text)
}

// filled says whether the value at hand is a string that is not empty.
func (d *responsesDecoder) filled() (bool, error) {
	if d.json.PeekKind() != '"' {
		return false, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	return len(v) > 2, err
}

// figureInto reads a figure into n, and sets ok if it was one.
func (d *responsesDecoder) figureInto(n *int, ok *bool) error {
	figure, good, err := d.figure()
	if good {
		*n = figure
		if ok != nil {
			*ok = true
		}
	}
	return err
}
