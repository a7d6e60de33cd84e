package openai

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// The decoder's way over JSON. A container of another kind than asked for is an error,
// except null, which is the same as none; a value of another kind says nothing.

// object hands each member of the object at hand to read. Null is no members.
func (d *chatDecoder) object(c *chatChunk, read chatField) error {
	return d.each('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(d, c, name)
	})
}

// array calls read for each element of the array at hand. Null is no elements.
func (d *chatDecoder) array(c *chatChunk, read func(*chatDecoder, *chatChunk) error) error {
	return d.each('[', func() error { return read(d, c) })
}

// each calls read until the object or array at hand, which opens with open, is read
// through.
func (d *chatDecoder) each(open jsontext.Kind, read func() error) error {
	switch d.json.PeekKind() {
	case 'n':
		return d.json.SkipValue()
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

// append appends the string at hand to b; any other value says nothing. Half a
// surrogate pair becomes a replacement character.
func (d *chatDecoder) append(b []byte) ([]byte, error) {
	if d.json.PeekKind() != '"' {
		return b, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return b, err
	}
	if plain(v) {
		return append(b, v[1:len(v)-1]...), nil
	}
	b, _ = jsontext.AppendUnquote(b, v) // v was read: an error can tell of UTF-8 only
	return b, nil
}

// appendOn is append for a string that goes on where the one before it ended.
func (d *chatDecoder) appendOn(b []byte, p *pending) ([]byte, error) {
	if d.json.PeekKind() != '"' {
		return b, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return b, err
	}
	return p.unquote(b, v), nil
}

// plain says whether a string's content stands for itself: printable ASCII without
// escapes.
func plain(v jsontext.Value) bool {
	for _, c := range v[1 : len(v)-1] {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// whole reads a whole number. Any other value is read over, and not ok.
func (d *chatDecoder) whole() (n int, ok bool, err error) {
	if d.json.PeekKind() != '0' {
		return 0, false, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return 0, false, err
	}
	if n, err := strconv.Atoi(string(v)); err == nil {
		return n, true, nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != float64(int32(f)) {
		return 0, false, nil
	}
	return int(f), true, nil
}

// figure reads a whole number from 0 to 2^31-1, written as digits alone. Any other
// value is read over, and not ok; an error is one of syntax.
func (d *chatDecoder) figure() (n int, ok bool, err error) {
	if d.json.PeekKind() != '0' {
		return 0, false, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return 0, false, err
	}
	u, err := strconv.ParseUint(string(v), 10, 31)
	return int(u), err == nil, nil
}

// mismatch tells why the value at hand is not what it should be.
func (d *chatDecoder) mismatch() error {
	if err := d.json.SkipValue(); err != nil {
		return err // it is not even JSON
	}
	return errWrongType
}
