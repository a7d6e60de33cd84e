package anthropic

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// eventType is the type of an event. The zero value stands for unknown types.
type eventType int

const (
	unknownEvent eventType = iota
	messageStart
	blockStart
	blockDelta
	blockStop
	messageDelta
	messageStop
	errorEvent
	pingEvent
	wholeMessage // a reply that is not a stream
)

// blockType is the type of a content block. The zero value stands for unknown types.
type blockType int

const (
	unknownBlock blockType = iota
	textBlock
	thinkingBlock
	redactedBlock
	toolBlock
)

// event is one event of the stream, as the decoder leaves it. Its buffers are used
// again.
type event struct {
	typ      eventType
	index    int
	hasIndex bool

	// Fields of a block, or of a delta. A delta has no block type here: its fields say where it
	// belongs.
	block          blockType
	text, thinking string
	partial        []byte // partial_json
	signature      []byte
	id, name       string
	foreign        bool           // the piece's type is not known
	raw            jsontext.Value // the block, if it is redacted; the input of a tool block

	model    string
	stop     string // stop_reason
	usage    figures
	err      jsontext.Value // the error member, if it is not null
	hasError bool
}

// reset forgets an event and keeps its buffers. The caller must copy the bytes that it still needs.
func (e *event) reset() {
	*e = event{partial: e.partial[:0], signature: e.signature[:0], raw: e.raw[:0], err: e.err[:0]}
}

// figures are the figures of a usage object. A missing figure is negative.
type figures struct{ input, created, read, output int }

// decoder reads the JSON of events. It walks over the tokens itself, because this runs
// for each delta of each answer: no allocation but the strings that are kept
// (BenchmarkDecode).
type decoder struct {
	data     []byte // of the event at hand
	in       bytes.Buffer
	json     jsontext.Decoder
	text     []byte // the string at hand, reused
	mismatch bool   // a member that matters has a value of another kind than it should
	event    event

	// blocks is called for each block of the content of a whole message.
	blocks func(*event) error
}

// A field reads the value of the named member. The name is valid until it reads.
type field func(d *decoder, name []byte) error

// decode reads one event's data. Its errors wrap model.ErrUnreadable, or come from
// d.blocks; these say where, but never what: the data is the model's text.
func (d *decoder) decode(data []byte) error {
	d.event.reset()
	d.event.usage = figures{-1, -1, -1, -1}
	d.mismatch = false
	d.data, d.in = data, *bytes.NewBuffer(data)
	d.json.Reset(&d.in)
	err := d.readTop()
	if err == nil && d.mismatch && d.event.typ != unknownEvent && d.event.typ != errorEvent && d.event.typ != pingEvent {
		return fmt.Errorf("%w: wrong type in %d bytes", model.ErrUnreadable, len(data))
	}
	if _, syntax := errors.AsType[*jsontext.SyntacticError](err); syntax || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: syntax near byte %d of %d", model.ErrUnreadable, d.json.InputOffset(), len(data))
	}
	return err
}

// readTop reads one event. A value that is not an object is taken for a whole message with a fault,
// so that the reader gets one error and no half event.
func (d *decoder) readTop() error {
	if d.json.PeekKind() != '{' {
		d.event.typ, d.mismatch = wholeMessage, true // no event at all
	}
	if err := d.readObject((*decoder).eventField); err != nil {
		return err
	}
	if _, err := d.json.ReadToken(); err != io.EOF {
		return fmt.Errorf("%w: more than one value", model.ErrUnreadable)
	}
	return nil
}

// eventField reads a member of an event. Members of a message may stand at the top too, as in a
// reply that is one document.
func (d *decoder) eventField(name []byte) (err error) {
	e := &d.event
	switch string(name) {
	case `"type"`:
		err = d.unquote(&d.text)
		e.typ = typeOfEvent(d.text)
		return err
	case `"index"`:
		e.index, e.hasIndex, err = d.readFigure()
		return err
	case `"delta"`:
		return d.readDelta()
	case `"content_block"`:
		return d.readBlock()
	case `"message"`:
		return d.readObject((*decoder).messageField)
	case `"error"`:
		v, err := d.json.ReadValue()
		e.err, e.hasError = append(e.err, v...), err == nil && v.Kind() != 'n'
		return err
	}
	return d.messageField(name)
}

// messageField reads a member of a message. In a whole reply, and in message_delta for
// the usage, they stand at the top.
func (d *decoder) messageField(name []byte) (err error) {
	switch string(name) {
	case `"usage"`:
		if d.json.PeekKind() == '{' {
			return d.readObject((*decoder).usageField)
		}
	case `"model"`:
		d.event.model, err = d.readString()
		return err
	case `"stop_reason"`:
		d.event.stop, err = d.readString()
		return err
	case `"content"`:
		if d.blocks != nil {
			return d.readArray((*decoder).contentBlock)
		}
	}
	return d.json.SkipValue()
}

// readDelta reads a piece of a block or of the message, and nothing of a piece whose type
// is not known.
func (d *decoder) readDelta() error {
	e, before := &d.event, d.mismatch
	e.foreign = false
	if err := d.readObject((*decoder).deltaField); err != nil || !e.foreign {
		return err
	}
	e.text, e.thinking, e.partial, e.signature, d.mismatch = "", "", e.partial[:0], e.signature[:0], before
	return nil
}

// deltaField reads a member of a delta. It marks a delta of an unknown type as foreign. Its text is
// dropped.
func (d *decoder) deltaField(name []byte) (err error) {
	e := &d.event
	switch string(name) {
	case `"type"`:
		err = d.unquote(&d.text)
		switch string(d.text) {
		case "text_delta", "thinking_delta", "input_json_delta", "signature_delta":
		default:
			e.foreign = true
		}
		return err
	case `"stop_reason"`:
		e.stop, err = d.readString()
		return err
	}
	return d.pieceField(name)
}

// pieceField reads a member that blocks and deltas share.
func (d *decoder) pieceField(name []byte) (err error) {
	e := &d.event
	switch string(name) {
	case `"text"`:
		e.text, err = d.readString()
		return err
	case `"thinking"`:
		e.thinking, err = d.readString()
		return err
	case `"partial_json"`:
		return d.unquote(&e.partial)
	case `"signature"`:
		return d.unquote(&e.signature)
	}
	return d.json.SkipValue()
}

// readBlock reads a block of content. It keeps the bytes of a redacted block.
func (d *decoder) readBlock() error {
	if d.json.PeekKind() != '{' {
		return d.skipOther()
	}
	start, before := d.json.InputOffset(), d.mismatch
	if err := d.readObject((*decoder).blockField); err != nil {
		return err
	}
	switch e := &d.event; e.block {
	case redactedBlock:
		v := bytes.TrimLeft(d.data[start:d.json.InputOffset()], ":, \t\r\n")
		e.raw = append(e.raw[:0], v...)
	case unknownBlock:
		d.mismatch = before
	}
	return nil
}

// blockField reads a member of content_block. input is complete only in replies that are not a
// stream. In a stream it comes in pieces.
func (d *decoder) blockField(name []byte) (err error) {
	e := &d.event
	switch string(name) {
	case `"type"`:
		err = d.unquote(&d.text)
		e.block = typeOfBlock(d.text)
		return err
	case `"id"`:
		e.id, err = d.readString()
		return err
	case `"name"`:
		e.name, err = d.readString()
		return err
	case `"input"`:
		v, err := d.json.ReadValue()
		e.raw = append(e.raw[:0], v...)
		return err
	}
	return d.pieceField(name)
}

// contentBlock reads a block of a whole message.
func (d *decoder) contentBlock() error {
	e := &d.event
	e.block, e.text, e.thinking, e.id, e.name = unknownBlock, "", "", "", ""
	e.partial, e.signature, e.raw = e.partial[:0], e.signature[:0], e.raw[:0]
	if err := d.readBlock(); err != nil {
		return err
	}
	return d.blocks(e)
}

// usageField reads a figure. It ignores a figure that it cannot read, so that the rest of the
// answer survives.
func (d *decoder) usageField(name []byte) error {
	var count *int
	switch string(name) {
	case `"input_tokens"`:
		count = &d.event.usage.input
	case `"cache_creation_input_tokens"`:
		count = &d.event.usage.created
	case `"cache_read_input_tokens"`:
		count = &d.event.usage.read
	case `"output_tokens"`:
		count = &d.event.usage.output
	default:
		return d.json.SkipValue()
	}
	n, ok, err := d.readFigure()
	if ok {
		*count = n
	}
	return err
}

// typeOfEvent returns unknownEvent for types that were added later.
func typeOfEvent(name []byte) eventType {
	switch string(name) {
	case "message_start":
		return messageStart
	case "content_block_start":
		return blockStart
	case "content_block_delta":
		return blockDelta
	case "content_block_stop":
		return blockStop
	case "message_delta":
		return messageDelta
	case "message_stop":
		return messageStop
	case "error":
		return errorEvent
	case "ping":
		return pingEvent
	case "message":
		return wholeMessage
	}
	return unknownEvent
}

// typeOfBlock returns unknownBlock for other types, such as results of the provider's own tools.
func typeOfBlock(name []byte) blockType {
	switch string(name) {
	case "text":
		return textBlock
	case "thinking":
		return thinkingBlock
	case "redacted_thinking":
		return redactedBlock
	case "tool_use":
		return toolBlock
	}
	return unknownBlock
}
