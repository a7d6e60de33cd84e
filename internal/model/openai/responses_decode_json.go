package openai

import (
	"github.com/go-json-experiment/json/jsontext"
)

// The decoder's way over JSON. A value of another kind is an error, except null, which counts as
// missing.

// readObject hands the name of each member of the object at hand to read.
func (d *responsesDecoder) readObject(read func(name []byte) error) error {
	return d.readEach('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(name)
	})
}

// readLoose is object, for a value that may as well be of another kind and then says nothing.
func (d *responsesDecoder) readLoose(want jsontext.Kind, read func(name []byte) error) error {
	if d.json.PeekKind() != want {
		return d.json.SkipValue()
	}
	return d.readObject(read)
}

// readValue reads any value. It is part of the data and stays valid as long as that does.
//
// Unlike the decoder's own value it survives the next read, since it points into the data.
func (d *responsesDecoder) readValue() (jsontext.Value, error) {
	v, err := d.json.ReadValue()
	if err != nil {
		return nil, err
	}
	end := d.json.InputOffset()
	return d.data[end-int64(len(v)) : end], nil
}

// readLiteral reads a value of the wanted kind; null is nil. It is valid until the next read.
func (d *responsesDecoder) readLiteral(want jsontext.Kind) (jsontext.Value, error) {
	switch d.json.PeekKind() {
	case 'n':
		return nil, d.json.SkipValue()
	case want:
		return d.json.ReadValue()
	}
	return nil, d.mismatchError()
}

// readString reads a string; null is "".
func (d *responsesDecoder) readString() (string, error) {
	v, err := d.readLiteral('"')
	if v == nil {
		return "", err
	}
	return d.unquote(v), nil
}

// unquote returns the text of v, a string that was read. The error would report half a surrogate
// pair that was replaced.
func (d *responsesDecoder) unquote(v jsontext.Value) string {
	d.text, _ = jsontext.AppendUnquote(d.text[:0], v)
	return string(d.text)
}

// isFilled reports whether the value at hand is a string that is not empty.
func (d *responsesDecoder) isFilled() (bool, error) {
	if d.json.PeekKind() != '"' {
		return false, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	return len(v) > 2, err
}

// figureInto reads a figure into n, and sets ok if it was one.
func (d *responsesDecoder) figureInto(n *int, ok *bool) error {
	figure, good, err := d.readFigure()
	if good {
		*n = figure
		if ok != nil {
			*ok = true
		}
	}
	return err
}
