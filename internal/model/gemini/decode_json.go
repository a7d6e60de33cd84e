package gemini

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The decoder's way over JSON. A value of another kind than asked for is an
// error, except null, which is the same as none.

// object hands each member of the object at hand to read. Null is no members.
func (d *decoder) object(c *rawChunk, read field) error {
	return d.each('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(d, c, name)
	})
}

// array calls read for each element of the array at hand. Null is no elements.
func (d *decoder) array(c *rawChunk, read func(*decoder, *rawChunk) error) error {
	return d.each('[', func() error { return read(d, c) })
}

// each calls read until the object or array at hand, which opens with open, is
// read through.
func (d *decoder) each(open jsontext.Kind, read func() error) error {
	switch d.json.PeekKind() {
	case 'n':
		return d.skip()
	case open:
	default:
		return d.mismatch()
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

// skip reads over the value at hand. ReadValue is faster than SkipValue, which goes from
// token to token; the whole chunk is in memory anyway.
func (d *decoder) skip() error {
	_, err := d.json.ReadValue()
	return err
}

// str reads a string; null is "".
func (d *decoder) str() (string, error) {
	v, err := d.literal('"')
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

// boolean reads true or false; null is false.
func (d *decoder) boolean() (bool, error) {
	switch k := d.json.PeekKind(); k {
	case 't', 'f', 'n':
		return k == 't', d.skip()
	}
	return false, d.mismatch()
}

// figure reads a whole number from 0 to 2^31-1, written as digits alone. Any other
// value is read over, and not ok; an error is one of syntax.
func (d *decoder) figure() (n int, ok bool, err error) {
	if d.json.PeekKind() != '0' {
		return 0, false, d.skip()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return 0, false, err
	}
	u, err := strconv.ParseUint(string(v), 10, 31)
	return int(u), err == nil, nil
}

// literal reads a value of the wanted kind; null is nil. It is valid until the
// next read.
func (d *decoder) literal(want jsontext.Kind) (jsontext.Value, error) {
	switch d.json.PeekKind() {
	case 'n':
		return nil, d.skip()
	case want:
		return d.json.ReadValue()
	}
	return nil, d.mismatch()
}

// mismatch says why the value at hand is not what it should be.
func (d *decoder) mismatch() error {
	if err := d.skip(); err != nil {
		return err // it is not even JSON
	}
	return errWrongType
}
