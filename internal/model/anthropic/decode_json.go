package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// The decoder's way over JSON. A value of another kind is skipped. Unless it is null, it sets
// d.mismatch: only the type of the event, which may come last, decides whether that matters.

// readObject hands each member of the object at hand to read. Null counts as an empty object.
func (d *decoder) readObject(read field) error {
	return d.readEach('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(d, name)
	})
}

// readArray calls read for each element of the array at hand. Null counts as an empty array.
func (d *decoder) readArray(read func(*decoder) error) error {
	return d.readEach('[', func() error { return read(d) })
}

// readEach calls read until the object or array at hand, which opens with open, is read
// through.
func (d *decoder) readEach(open jsontext.Kind, read func() error) error {
	if d.json.PeekKind() != open {
		return d.skipOther()
	}
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	for d.json.PeekKind() != open+2 { // '}' is '{'+2, ']' is '['+2
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.json.ReadToken()
	return err
}

// readString reads a string; null is "".
func (d *decoder) readString() (string, error) {
	err := d.unquote(&d.text)
	return string(d.text), err
}

// unquote empties buf and reads a string into it; null is "".
func (d *decoder) unquote(buf *[]byte) error {
	*buf = (*buf)[:0]
	if d.json.PeekKind() != '"' {
		return d.skipOther()
	}
	v, err := d.json.ReadValue()
	if err == nil {
		*buf, err = jsontext.AppendUnquote(*buf, v)
	}
	return err
}

// readFigure reads a whole number from 0 to 2^31-1, also one written as 10.0. ok is false for any
// other value, which it skips. An error is one of syntax.
func (d *decoder) readFigure() (n int, ok bool, err error) {
	if d.json.PeekKind() != '0' {
		return 0, false, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return 0, false, err
	}
	n, ok = model.Figure(v)
	return n, ok, nil
}

// skipOther reads over a value that is not of the kind that was asked for.
func (d *decoder) skipOther() error {
	if d.json.PeekKind() != 'n' {
		d.mismatch = true
	}
	return d.json.SkipValue()
}
