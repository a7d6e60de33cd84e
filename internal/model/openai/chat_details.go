// This file reads and writes reasoning_details (OpenRouter's form): a list of elements
// which come in pieces and must go back whole and unchanged, as they may be signed. Members
// that we do not know are kept as JSON.

package openai

import (
	"bytes"

	"sluice/internal/model"
)

// chatDetail is an element of reasoning_details: of a delta, or joined of several.
//
// hasText and hasSummary are true for an empty text: a member that was there goes back.
type chatDetail struct {
	index         int
	hasIndex      bool
	typ           []byte
	text, summary []byte
	hasText       bool
	hasSummary    bool
	others        []chatMember // format, signature, data and other members
}

// chatMember is a member whose value is JSON.
type chatMember struct{ name, value []byte }

// readDetail reads an element of reasoning_details.
//
// The text counts as a thought. Without text the summary does.
func (d *chatDecoder) readDetail(c *chatChunk) error {
	if d.json.PeekKind() != '{' {
		return d.json.SkipValue()
	}
	c.choice.details = growList(c.choice.details)
	el := &c.choice.details[len(c.choice.details)-1]
	el.reset()
	err := d.readObject(c, (*chatDecoder).detailField)
	if to := &c.choice.thought[2]; len(el.text) > 0 {
		*to = append(*to, el.text...)
	} else {
		*to = append(*to, el.summary...)
	}
	return err
}

// detailField reads a member of an element of reasoning_details. Members that
// we do not know are kept as they are, because the element goes back whole in
// the next request.
func (d *chatDecoder) detailField(c *chatChunk, name []byte) (err error) {
	el := &c.choice.details[len(c.choice.details)-1]
	switch string(name) {
	case `"index"`:
		el.index, el.hasIndex, err = d.readInteger()
		return err
	case `"type"`:
		el.typ, err = d.appendString(el.typ[:0])
		return err
	case `"text"`:
		el.hasText = d.json.PeekKind() == '"'
		el.text, err = d.appendString(el.text[:0])
		return err
	case `"summary"`:
		el.hasSummary = d.json.PeekKind() == '"'
		el.summary, err = d.appendString(el.summary[:0])
		return err
	}
	return d.otherMember(el, name)
}

// otherMember keeps a member unchanged, except null.
func (d *chatDecoder) otherMember(el *chatDetail, name []byte) error {
	el.others = growList(el.others)
	m := &el.others[len(el.others)-1]
	m.name = append(m.name[:0], name...) // now: reading the value ends the name
	v, err := d.json.ReadValue()
	if v.Kind() == 'n' {
		el.others = el.others[:len(el.others)-1]
		return err
	}
	m.value = append(m.value[:0], v...)
	return err
}

// growList returns list with one more element. It reuses the memory of an earlier element.
func growList[T any](list []T) []T {
	if len(list) < cap(list) {
		return list[:len(list)+1]
	}
	var zero T
	return append(list, zero)
}

// reset forgets an element and keeps its buffers.
func (el *chatDetail) reset() {
	el.index, el.hasIndex, el.hasText, el.hasSummary = 0, false, false, false
	el.typ, el.text, el.summary, el.others = el.typ[:0], el.text[:0], el.summary[:0], el.others[:0]
}

// continuesDetail reports whether el continues with what last holds. Elements of one index and type are
// pieces of one, except that data is whole.
func (el *chatDetail) continuesDetail(last *chatDetail) bool {
	return el.index == last.index && el.hasIndex == last.hasIndex && bytes.Equal(el.typ, last.typ) &&
		(el.memberValue(`"data"`) == nil || last.memberValue(`"data"`) == nil)
}

// memberValue returns the value of a quoted name among the rest, or nil.
//
// name is with its quotes, as the decoder has it.
func (el *chatDetail) memberValue(name string) []byte {
	for i := range el.others {
		if string(el.others[i].name) == name {
			return el.others[i].value
		}
	}
	return nil
}

// joinPiece adds the next piece to el, and returns by how much that has made el larger.
func (el *chatDetail) joinPiece(next *chatDetail) (more int) {
	el.text, el.hasText = append(el.text, next.text...), el.hasText || next.hasText
	el.summary, el.hasSummary = append(el.summary, next.summary...), el.hasSummary || next.hasSummary
	more = len(next.text) + len(next.summary)
	for i := range next.others {
		more += el.setMember(&next.others[i])
	}
	return more
}

// setMember replaces the member of m's name; the last value counts.
func (el *chatDetail) setMember(m *chatMember) (more int) {
	for i := range el.others {
		have := &el.others[i]
		if bytes.Equal(have.name, m.name) {
			if !bytes.Equal(have.value, m.value) {
				have.value = append(have.value[:0], m.value...)
				more = len(m.value)
			}
			return more
		}
	}
	el.others = append(el.others, chatMember{bytes.Clone(m.name), bytes.Clone(m.value)})
	return len(m.name) + len(m.value)
}

// append appends el as JSON.
//
// The order of members is fixed: the provider's prompt cache needs the same bytes for the same
// reasoning.
func (el *chatDetail) append(b []byte) []byte {
	b = model.AppendString(append(b, `{"type":`...), string(el.typ))
	if el.hasText {
		b = model.AppendString(append(b, `,"text":`...), string(el.text))
	}
	if el.hasSummary {
		b = model.AppendString(append(b, `,"summary":`...), string(el.summary))
	}
	for i := range el.others {
		b = append(append(b, ','), el.others[i].name...)
		b = append(append(b, ':'), el.others[i].value...)
	}
	if el.hasIndex {
		b = appendInt(append(b, `,"index":`...), el.index)
	}
	return append(b, '}')
}
