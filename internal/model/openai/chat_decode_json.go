package openai

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// The decoder's way over JSON. A container of another kind is an error, except null, which counts
// as an empty one. A value of another kind is ignored.

// readObject hands each member of the object at hand to read. Null counts as an empty object.
func (d *chatDecoder) readObject(c *chatChunk, read chatField) error {
	return d.readEach('{', func() error {
		name, err := d.json.ReadValue()
		if err != nil {
			return err
		}
		return read(d, c, name)
	})
}

// readArray calls read for each element of the array at hand. Null counts as an empty array.
func (d *chatDecoder) readArray(c *chatChunk, read func(*chatDecoder, *chatChunk) error) error {
	return d.readEach('[', func() error { return read(d, c) })
}

// appendString appends the string at hand to b. Any other value is ignored. Half a surrogate pair
// becomes a replacement character.
//
// The result may share b's memory, as with the built-in append.
func (d *chatDecoder) appendString(b []byte) ([]byte, error) {
	if d.json.PeekKind() != '"' {
		return b, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return b, err
	}
	if isPlain(v) {
		return append(b, v[1:len(v)-1]...), nil
	}
	b, _ = jsontext.AppendUnquote(b, v) // v was read: an error can report UTF-8 only
	return b, nil
}

// appendOn is append for a string that continues where the one before it ended.
func (d *chatDecoder) appendOn(b []byte, p *pending) ([]byte, error) {
	if d.json.PeekKind() != '"' {
		return b, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return b, err
	}
	end := int(d.json.InputOffset())
	d.quoted = model.Number{Begin: end - len(v), End: end}
	return p.unquote(b, v), nil
}

// isPlain reports whether a string's content stands for itself: printable ASCII without
// escapes.
//
// It is the fast path: most deltas are a word of English. v has its quotes.
func isPlain(v jsontext.Value) bool {
	for _, c := range v[1 : len(v)-1] {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// readInteger reads a whole number. ok is false for any other value, which it skips.
//
// A number such as 1.0 or 1e0 is whole as well: some servers write floats. Such a float
// must fit 32 bits.
func (d *chatDecoder) readInteger() (n int, ok bool, err error) {
	if d.json.PeekKind() != '0' {
		return 0, false, d.json.SkipValue()
	}
	v, err := d.json.ReadValue()
	if err != nil {
		return 0, false, err
	}
	d.recordNumber()
	if n, err := strconv.Atoi(string(v)); err == nil {
		return n, true, nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != float64(int32(f)) {
		return 0, false, nil
	}
	return int(f), true, nil
}

// readFigure is that of walk, whose number is noted.
func (d *chatDecoder) readFigure() (n int, ok bool, err error) {
	isNumber := d.json.PeekKind() == '0'
	n, ok, err = d.walk.readFigure()
	if isNumber && err == nil {
		d.recordNumber()
	}
	return n, ok, err
}

// recordNumber records the number that was read last: a chunk with another number there is not like
// this one.
func (d *chatDecoder) recordNumber() {
	d.numbers = append(d.numbers, model.Number{End: int(d.json.InputOffset()), Figure: model.Fixed})
}
