package gemini

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The decoder's way over JSON. A value of another kind is an error, except null, which counts as
// missing.

// readObject hands each member of the object at hand to read. Null counts as an empty object.
func (d *decoder) readObject(c *rawChunk, read field) error {
	return d.readEach('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(d, c, name)
	})
}

// readArray calls read for each element of the array at hand. Null counts as an empty array.
func (d *decoder) readArray(c *rawChunk, read func(*decoder, *rawChunk) error) error {
	return d.readEach('[', func() error { return read(d, c) })
}

// readEach calls read until the object or array at hand, which opens with open, is
// read through.
func (d *decoder) readEach(open jsontext.Kind, read func() error) error {
	switch d.json.PeekKind() {
	case 'n':
		return d.skipValue()
	case open:
	default:
		return d.mismatchError()
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

// skipValue reads over the value at hand. ReadValue is faster than SkipValue, since SkipValue goes
// from token to token. The complete chunk is in memory anyway.
func (d *decoder) skipValue() error {
	_, err := d.json.ReadValue()
	return err
}

// readString reads a string; null is "".
func (d *decoder) readString() (string, error) {
	v, err := d.readLiteral('"')
	if v == nil {
		return "", err
	}
	return d.unquoted(v)
}

// unquoted returns the text of a string.
func (d *decoder) unquoted(v jsontext.Value) (text string, err error) {
	d.text, err = jsontext.AppendUnquote(d.text[:0], v)
	return string(d.text), err
}

// readBoolean reads true or false; null is false.
func (d *decoder) readBoolean() (bool, error) {
	switch k := d.json.PeekKind(); k {
	case 't', 'f', 'n':
		return k == 't', d.skipValue()
	}
	return false, d.mismatchError()
}

// readFigure reads a whole number from 0 to 2^31-1, written as digits alone. ok is false for any
// other value, which it skips. An error is one of syntax.
func (d *decoder) readFigure() (n int, ok bool, err error) {
	if d.json.PeekKind() != '0' {
		return 0, false, d.skipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return 0, false, err
	}
	u, err := strconv.ParseUint(string(v), 10, 31)
	return int(u), err == nil, nil
}

// readLiteral reads a value of the wanted kind; null is nil. It is valid until the
// next read.
func (d *decoder) readLiteral(want jsontext.Kind) (jsontext.Value, error) {
	switch d.json.PeekKind() {
	case 'n':
		return nil, d.skipValue()
	case want:
		return d.json.ReadValue()
	}
	return nil, d.mismatchError()
}

// mismatchError skips the value at hand and returns errWrongType, or a syntax error.
func (d *decoder) mismatchError() error {
	if err := d.skipValue(); err != nil {
		return err // it is not even JSON
	}
	return errWrongType
}
