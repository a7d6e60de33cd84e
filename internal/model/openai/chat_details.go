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
// hasText and hasSummary distinguish an empty text from none: what was there goes back.
type chatDetail struct {
	index         int
	hasIndex      bool
	typ           []byte
	text, summary []byte
	hasText       bool
	hasSummary    bool
	rest          []chatMember // format, signature, data and what else there is
}

// chatMember is a member whose value is JSON.
type chatMember struct{ name, value []byte }

// detail reads an element of reasoning_details.
//
// The text is also a thought, or the summary where there is no text.
func (d *chatDecoder) detail(c *chatChunk) error {
	if d.json.PeekKind() != '{' {
		return d.json.SkipValue()
	}
	c.choice.details = grown(c.choice.details)
	el := &c.choice.details[len(c.choice.details)-1]
	el.reset()
	err := d.object(c, (*chatDecoder).detailField)
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
		el.index, el.hasIndex, err = d.whole()
		return err
	case `"type"`:
		el.typ, err = d.append(el.typ[:0])
		return err
	case `"text"`:
		el.hasText = d.json.PeekKind() == '"'
		el.text, err = d.append(el.text[:0])
		return err
	case `"summary"`:
		el.hasSummary = d.json.PeekKind() == '"'
		el.summary, err = d.append(el.summary[:0])
		return err
	}
	return d.otherMember(el, name)
}

// otherMember keeps a member as it is. Null says nothing.
func (d *chatDecoder) otherMember(el *chatDetail, name []byte) error {
	el.rest = grown(el.rest)
	m := &el.rest[len(el.rest)-1]
	m.name = append(m.name[:0], name...) // now: reading the value ends the name
	v, err := d.json.ReadValue()
	if v.Kind() == 'n' {
		el.rest = el.rest[:len(el.rest)-1]
		return err
	}
	m.value = append(m.value[:0], v...)
	return err
}

// grown returns list with one more element, which may be one that was used before.
func grown[T any](list []T) []T {
	if len(list) < cap(list) {
		return list[:len(list)+1]
	}
	var zero T
	return append(list, zero)
}

// reset forgets an element and keeps its buffers.
func (el *chatDetail) reset() {
	el.index, el.hasIndex, el.hasText, el.hasSummary = 0, false, false, false
	el.typ, el.text, el.summary, el.rest = el.typ[:0], el.text[:0], el.summary[:0], el.rest[:0]
}

// continues says whether el continues with what last holds. Elements of one index and type are
// pieces of one, except that data is whole.
func (el *chatDetail) continues(last *chatDetail) bool {
	return el.index == last.index && el.hasIndex == last.hasIndex && bytes.Equal(el.typ, last.typ) &&
		(el.member(`"data"`) == nil || last.member(`"data"`) == nil)
}

// member returns the value of a quoted name among the rest, or nil.
//
// name is with its quotes, as the decoder has it.
func (el *chatDetail) member(name string) []byte {
	for i := range el.rest {
		if string(el.rest[i].name) == name {
			return el.rest[i].value
		}
	}
	return nil
}

// join adds the next piece to el, and returns by how much that has made el larger.
func (el *chatDetail) join(next *chatDetail) (more int) {
	el.text, el.hasText = append(el.text, next.text...), el.hasText || next.hasText
	el.summary, el.hasSummary = append(el.summary, next.summary...), el.hasSummary || next.hasSummary
	more = len(next.text) + len(next.summary)
	for i := range next.rest {
		more += el.set(&next.rest[i])
	}
	return more
}

// set replaces the member of m's name; the last value counts.
func (el *chatDetail) set(m *chatMember) (more int) {
	for i := range el.rest {
		have := &el.rest[i]
		if bytes.Equal(have.name, m.name) {
			if !bytes.Equal(have.value, m.value) {
				have.value = append(have.value[:0], m.value...)
				more = len(m.value)
			}
			return more
		}
	}
	el.rest = append(el.rest, chatMember{bytes.Clone(m.name), bytes.Clone(m.value)})
	return len(m.name) + len(m.value)
}

// append appends el as JSON.
//
// The order of members is fixed: the same reasoning gives the same bytes, which a
// provider's cache of prompts wants.
func (el *chatDetail) append(b []byte) []byte {
	b = model.AppendString(append(b, `{"type":`...), string(el.typ))
	if el.hasText {
		b = model.AppendString(append(b, `,"text":`...), string(el.text))
	}
	if el.hasSummary {
		b = model.AppendString(append(b, `,"summary":`...), string(el.summary))
	}
	for i := range el.rest {
		b = append(append(b, ','), el.rest[i].name...)
		b = append(append(b, ':'), el.rest[i].value...)
	}
	if el.hasIndex {
		b = appendInt(append(b, `,"index":`...), el.index)
	}
	return append(b, '}')
}
