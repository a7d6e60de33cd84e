package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// The decoder's way over JSON. A value of another kind than asked for is read over and
// noted in d.mismatch, except null, which is the same as none: whether it matters is
// known only once the whole event has reported its type.

// object hands each member of the object at hand to read. Null is no members.
func (d *decoder) object(read field) error {
	return d.each('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(d, name)
	})
}

// array calls read for each element of the array at hand. Null is no elements.
func (d *decoder) array(read func(*decoder) error) error {
	return d.each('[', func() error { return read(d) })
}

// each calls read until the object or array at hand, which opens with open, is read
// through.
func (d *decoder) each(open jsontext.Kind, read func() error) error {
	if d.json.PeekKind() != open {
		return d.other()
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

// str reads a string; null is "".
func (d *decoder) str() (string, error) {
	err := d.unquote(&d.text)
	return string(d.text), err
}

// unquote reads a string into buf, which it empties first; null is "".
func (d *decoder) unquote(buf *[]byte) error {
	*buf = (*buf)[:0]
	if d.json.PeekKind() != '"' {
		return d.other()
	}
	v, err := d.json.ReadValue()
	if err == nil {
		*buf, err = jsontext.AppendUnquote(*buf, v)
	}
	return err
}

// figure reads a whole number from 0 to 2^31-1, also one
// written as 10.0. Any other value is read over, and not ok; an error is one of syntax.
func (d *decoder) figure() (n int, ok bool, err error) {
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

// other reads over a value that is not of the kind that was asked for.
func (d *decoder) other() error {
	if d.json.PeekKind() != 'n' {
		d.mismatch = true
	}
	return d.json.SkipValue()
}
