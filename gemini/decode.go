package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errUnreadable = errors.New("unreadable chunk")
	errWrongType  = errors.New("wrong type")
)

// decoder reads the JSON of chunks. It walks over the tokens itself, because this
// runs for each chunk of each answer: half the time of an Unmarshal, and no
// allocation but the strings that are kept (BenchmarkDecode).
type decoder struct {
	in   bytes.Buffer
	json jsontext.Decoder
	text []byte // the string at hand, reused
}

// A field reads the value of the named member into c. The name is valid until it
// reads.
type field func(d *decoder, c *rawChunk, name []byte) error

// decode reads one event's data into c. The data is a GenerateContentResponse, or
// an array of them. Its errors are an *apiError, if the data holds an error of
// the API's, or wrap errUnreadable; these say where, but never what: the data is
// the model's text.
func (d *decoder) decode(data []byte, c *rawChunk) error {
	c.reset()
	d.in = *bytes.NewBuffer(data)
	d.json.Reset(&d.in)
	err := d.top(c)
	if _, ok := errors.AsType[*apiError](err); err == nil || ok {
		return err
	}
	kind := "syntax"
	if errors.Is(err, errWrongType) {
		kind = errWrongType.Error()
	}
	return fmt.Errorf("%w: %s near byte %d of %d", errUnreadable, kind, d.json.InputOffset(), len(data))
}

func (d *decoder) top(c *rawChunk) error {
	read := (*decoder).response
	if d.json.PeekKind() == '[' {
		read = func(d *decoder, c *rawChunk) error { return d.array(c, (*decoder).response) }
	}
	if err := read(d, c); err != nil {
		return err
	}
	if _, err := d.json.ReadToken(); err != io.EOF {
		return errUnreadable
	}
	return nil
}

func (d *decoder) response(c *rawChunk) error { return d.object(c, (*decoder).responseField) }

func (d *decoder) responseField(c *rawChunk, name []byte) error {
	switch string(name) {
	case `"candidates"`:
		return d.array(c, (*decoder).candidate)
	case `"usageMetadata"`:
		return d.object(c, (*decoder).usageField)
	case `"promptFeedback"`:
		return d.object(c, (*decoder).feedbackField)
	case `"error"`:
		v, err := d.json.ReadValue()
		if err != nil || v.Kind() == 'n' {
			return err
		}
		return parseError(v)
	}
	return d.json.SkipValue()
}

// candidate reads the first candidate; no other was asked for.
func (d *decoder) candidate(c *rawChunk) error {
	if c.candidates++; c.candidates > 1 {
		return d.json.SkipValue()
	}
	return d.object(c, (*decoder).candidateField)
}

func (d *decoder) candidateField(c *rawChunk, name []byte) (err error) {
	switch string(name) {
	case `"content"`:
		return d.object(c, (*decoder).contentField)
	case `"finishReason"`:
		c.finish, err = d.str()
		return err
	}
	return d.json.SkipValue()
}

func (d *decoder) contentField(c *rawChunk, name []byte) error {
	if string(name) == `"parts"` {
		return d.array(c, (*decoder).part)
	}
	return d.json.SkipValue()
}

func (d *decoder) part(c *rawChunk) error {
	c.parts = append(c.parts, rawPart{})
	return d.object(c, (*decoder).partField)
}

func (d *decoder) partField(c *rawChunk, name []byte) (err error) {
	p := &c.parts[len(c.parts)-1]
	switch string(name) {
	case `"text"`:
		p.text, err = d.str()
		return err
	case `"thought"`:
		p.thought, err = d.boolean()
		return err
	case `"thoughtSignature"`:
		p.signature, err = d.str()
		return err
	case `"functionCall"`:
		if d.json.PeekKind() == '{' {
			p.call = new(rawCall)
		}
		return d.object(c, (*decoder).callField)
	}
	if d.json.PeekKind() == '{' {
		p.foreign = true
	}
	return d.json.SkipValue()
}

// feedbackField takes any sign of a block for one, also a reason that is not
// known yet, or a message without a reason.
func (d *decoder) feedbackField(c *rawChunk, name []byte) error {
	if n := string(name); n != `"blockReason"` && n != `"blockReasonMessage"` {
		return d.json.SkipValue()
	}
	isMessage := string(name) == `"blockReasonMessage"`
	reason, err := d.str()
	switch {
	case reason == "" || reason == "BLOCK_REASON_UNSPECIFIED":
	case !isMessage:
		c.block = reason
	case c.block == "":
		c.block = "OTHER"
	}
	return err
}

func (d *decoder) usageField(c *rawChunk, name []byte) error {
	var count *int
	switch string(name) {
	case `"promptTokenCount"`, `"toolUsePromptTokenCount"`:
		count = &c.usage.InputTokens
	case `"candidatesTokenCount"`:
		count = &c.usage.OutputTokens
	case `"thoughtsTokenCount"`:
		count = &c.usage.ThinkingTokens
	default:
		return d.json.SkipValue()
	}
	n, err := d.integer()
	*count += n
	c.hasUsage = true
	return err
}

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

// str reads a string; null is "".
func (d *decoder) str() (string, error) {
	v, err := d.literal('"')
	if v == nil {
		return "", err
	}
	d.text, err = jsontext.AppendUnquote(d.text[:0], v)
	return string(d.text), err
}

// boolean reads true or false; null is false.
func (d *decoder) boolean() (bool, error) {
	switch k := d.json.PeekKind(); k {
	case 't', 'f', 'n':
		return k == 't', d.json.SkipValue()
	}
	return false, d.mismatch()
}

// integer reads a whole number from 0; null is 0.
func (d *decoder) integer() (int, error) {
	v, err := d.literal('0')
	if v == nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(v), 10, 31)
	if err != nil {
		return 0, errWrongType
	}
	return int(n), nil
}

// literal reads a value of the wanted kind; null is nil. It is valid until the
// next read.
func (d *decoder) literal(want jsontext.Kind) (jsontext.Value, error) {
	switch d.json.PeekKind() {
	case 'n':
		return nil, d.json.SkipValue()
	case want:
		return d.json.ReadValue()
	}
	return nil, d.mismatch()
}

// mismatch tells why the value at hand is not what it should be.
func (d *decoder) mismatch() error {
	if err := d.json.SkipValue(); err != nil {
		return err // it is not even JSON
	}
	return errWrongType
}
