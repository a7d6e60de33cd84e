// This file reads the JSON of a chunk member by member into buffers that are used again. A
// member that it does not know is skipped; one of a kind that it does not expect says
// nothing, unless it is a container that must be read. So an odd server costs a member and
// not the answer.

package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// chatDecoder reads the JSON of chunks. Its scratch is used again for each chunk.
//
// It is for one goroutine. The decoded chunk is valid until the next decode.
type chatDecoder struct {
	walk
	word []byte // the word at hand
	chatHalves

	quoted model.Number // where the string is that appendOn has read, with its quotes
	textAt model.Number // the same of the latest text of a message
	texts  int          // of the chunk
	// numbers are those that were read of the chunk, by where they end.
	numbers []model.Number
	odd     bool // the chunk has an empty error member
}

// chatHalves are the characters that a delta ended inside of, for each text that continues.
//
// They are not part of chatChunk, because they outlive a chunk.
type chatHalves struct {
	text    pending
	thought [3]pending // reasoning_content, reasoning, and parts of the content
	args    pending    // of the call argsOf
	argsOf  int
}

// A chatField reads the value of the named member into c. The name is valid until it
// reads.
type chatField func(d *chatDecoder, c *chatChunk, name []byte) error

// chatChunk is the content of one chunk, or of a complete answer. Members that the chunk lacks are
// empty.
//
// Slices are the decoder's buffers: a caller that keeps something copies it.
type chatChunk struct {
	isDocument bool // the answer is in choices[].message; else in choices[].delta

	failure  jsontext.Value // the error in the chunk
	isError  bool           // the chunk itself is the error
	model    []byte
	usage    chat.Usage
	hasUsage bool
	figures  chatFigures

	seen   int  // choices
	chosen bool // choice holds choice 0
	choice chatChoice
}

// chatChoice is a choice of a chunk.
type chatChoice struct {
	index    int
	hasIndex bool
	finish   []byte

	text    []byte // of all pieces
	pieces  []chatPiece
	thought [3][]byte // of reasoning_content, reasoning and reasoning_details
	details []chatDetail
	calls   []chatCallDelta
}

// chatPiece is a piece of text or of a thought: text[from:to].
type chatPiece struct {
	from, to int
	thought  bool
}

// chatCallDelta is an element of tool_calls.
//
// A member that the delta does not have is empty.
type chatCallDelta struct {
	index          int
	hasIndex       bool
	id, name, args []byte
	extra          []byte // JSON
}

// reset forgets a chunk and keeps its buffers. whole says that the next one is
// a document, with a message in place of deltas.
func (c *chatChunk) reset(whole bool) {
	c.isDocument = whole
	c.failure, c.isError = nil, false
	c.model = c.model[:0]
	c.hasUsage = false
	c.seen, c.chosen = 0, false
	c.choice.reset()
}

// reset forgets a choice and keeps its buffers.
func (c *chatChoice) reset() {
	c.index, c.hasIndex = 0, false
	c.finish, c.text, c.pieces = c.finish[:0], c.text[:0], c.pieces[:0]
	for i := range c.thought {
		c.thought[i] = c.thought[i][:0]
	}
	c.details, c.calls = c.details[:0], c.calls[:0]
}

// decode reads one event's data, or a whole answer, into c. An error wraps model.ErrUnreadable. It
// has the place of the fault and never the text, because the data is the model's.
func (d *chatDecoder) decode(data []byte, whole bool, c *chatChunk) error {
	c.reset(whole)
	d.texts, d.numbers, d.odd = 0, d.numbers[:0], false
	d.begin(data)
	if err := d.readTop(c); err != nil {
		return d.unreadableError(err)
	}
	return nil
}

// readTop reads the document: a chunk, or an array of them, as some wrap errors.
func (d *chatDecoder) readTop(c *chatChunk) error {
	read := (*chatDecoder).readResponse
	switch d.json.PeekKind() {
	case '[':
		read = func(d *chatDecoder, c *chatChunk) error { return d.readArray(c, (*chatDecoder).readResponse) }
	case 'n':
		return d.mismatchError()
	}
	if err := read(d, c); err != nil {
		return err
	}
	return d.expectEnd()
}

// readResponse reads one chunk, or a whole document, which differ in one member
// only.
func (d *chatDecoder) readResponse(c *chatChunk) error {
	return d.readObject(c, (*chatDecoder).responseField)
}

// responseField reads a member of the top. x_groq has the usage where Groq puts
// it; errors may stand next to choices, with status 200.
func (d *chatDecoder) responseField(c *chatChunk, name []byte) (err error) {
	switch string(name) {
	case `"choices"`:
		return d.readArray(c, (*chatDecoder).oneChoice)
	case `"usage"`:
		return d.readUsage(c)
	case `"x_groq"`:
		if d.json.PeekKind() == '{' {
			return d.readObject(c, (*chatDecoder).groqField)
		}
	case `"model"`:
		c.model, err = d.appendString(c.model[:0])
		return err
	case `"object"`:
		d.word, err = d.appendString(d.word[:0])
		c.isError = c.isError || string(d.word) == "error"
		return err
	case `"error"`:
		return d.readFailure(c)
	}
	return d.json.SkipValue()
}

// readFailure reads an error in the chunk.
func (d *chatDecoder) readFailure(c *chatChunk) error {
	v, err := d.json.ReadValue()
	if err == nil && saysError(v) {
		c.failure = v.Clone()
	}
	d.odd = d.odd || v.Kind() != 'n'
	return err
}

// groqField reads the usage out of x_groq, or the error.
func (d *chatDecoder) groqField(c *chatChunk, name []byte) error {
	switch string(name) {
	case `"usage"`:
		return d.readUsage(c)
	case `"error"`:
		return d.readFailure(c)
	}
	return d.json.SkipValue()
}

// oneChoice reads a choice. Only the first one of index 0 is kept; one without an index
// has that of its place.
func (d *chatDecoder) oneChoice(c *chatChunk) error {
	if c.chosen {
		return d.json.SkipValue()
	}
	c.choice.reset()
	if err := d.readObject(c, (*chatDecoder).choiceField); err != nil {
		return err
	}
	index := c.seen
	if c.choice.hasIndex {
		index = c.choice.index
	}
	c.seen++
	if index != 0 {
		c.choice.reset()
		return nil
	}
	c.chosen = true
	return nil
}

// choiceField reads a member of a choice: delta of a chunk, message of a
// document. The other of the two is passed over, because some servers send
// both.
func (d *chatDecoder) choiceField(c *chatChunk, name []byte) (err error) {
	switch string(name) {
	case `"index"`:
		c.choice.index, c.choice.hasIndex, err = d.readInteger()
		return err
	case `"finish_reason"`:
		c.choice.finish, err = d.appendString(c.choice.finish[:0])
		return err
	case `"delta"`:
		if !c.isDocument {
			return d.readObject(c, (*chatDecoder).deltaField)
		}
	case `"message"`:
		if c.isDocument {
			return d.readObject(c, (*chatDecoder).deltaField)
		}
	case `"usage"`: // Moonshot's place for it
		return d.readUsage(c)
	}
	return d.json.SkipValue()
}

// deltaField reads a member of a delta. Thoughts come as reasoning_content
// (DeepSeek, vLLM, xAI), as reasoning (OpenRouter, Groq, Ollama), or as both
// with the same text; which counts is decided later.
func (d *chatDecoder) deltaField(c *chatChunk, name []byte) (err error) {
	ch := &c.choice
	switch string(name) {
	case `"content"`:
		return d.readContent(c)
	case `"refusal"`:
		return d.readPiece(c, false)
	case `"reasoning_content"`:
		ch.thought[0], err = d.appendOn(ch.thought[0], &d.thought[0])
		return err
	case `"reasoning"`:
		ch.thought[1], err = d.appendOn(ch.thought[1], &d.thought[1])
		return err
	case `"reasoning_details"`:
		if d.json.PeekKind() == '[' {
			return d.readArray(c, (*chatDecoder).readDetail)
		}
	case `"tool_calls"`:
		return d.readArray(c, (*chatDecoder).readCall)
	}
	return d.json.SkipValue()
}

// readContent reads a string or an array of parts.
func (d *chatDecoder) readContent(c *chatChunk) error {
	switch d.json.PeekKind() {
	case '[':
		return d.readArray(c, (*chatDecoder).readPart)
	case '"', 'n':
		return d.readPiece(c, false)
	}
	return d.mismatchError()
}

// readPart reads an element of content where that is a list: a string, or an object
// of some type.
func (d *chatDecoder) readPart(c *chatChunk) error {
	if d.json.PeekKind() == '"' {
		return d.readPiece(c, false)
	}
	return d.readObject(c, (*chatDecoder).partField)
}

// partField reads a part: text, or Mistral's "thinking", whose value is an array of
// text parts, or a string. Parts of other types hold neither.
func (d *chatDecoder) partField(c *chatChunk, name []byte) error {
	switch string(name) {
	case `"text"`:
		return d.readPiece(c, false)
	case `"thinking"`:
		if d.json.PeekKind() == '[' {
			return d.readArray(c, (*chatDecoder).thinkingPart)
		}
		return d.readPiece(c, true)
	}
	return d.json.SkipValue()
}

// thinkingPart reads Mistral's thoughts, a list of texts within a part.
func (d *chatDecoder) thinkingPart(c *chatChunk) error {
	if d.json.PeekKind() != '{' {
		return d.json.SkipValue()
	}
	return d.readObject(c, func(d *chatDecoder, c *chatChunk, name []byte) error {
		if string(name) == `"text"` {
			return d.readPiece(c, true)
		}
		return d.json.SkipValue()
	})
}

// readPiece reads a string as the next piece of the choice at hand.
func (d *chatDecoder) readPiece(c *chatChunk, thought bool) (err error) {
	ch := &c.choice
	from, half := len(ch.text), &d.text
	if thought {
		half = &d.thought[2]
	}
	isText := d.json.PeekKind() == '"'
	ch.text, err = d.appendOn(ch.text, half)
	if isText {
		d.texts++
		d.textAt = d.quoted
	}
	if len(ch.text) > from {
		ch.pieces = append(ch.pieces, chatPiece{from, len(ch.text), thought})
	}
	return err
}
