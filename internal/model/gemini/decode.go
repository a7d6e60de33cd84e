package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

var errWrongType = errors.New("wrong type")

// decoder reads the JSON of chunks. It walks over the tokens itself, because this
// runs for each chunk of each answer: half the time of an Unmarshal, and no
// allocation but the strings that are kept (BenchmarkDecode).
type decoder struct {
	in   bytes.Buffer
	json jsontext.Decoder
	text []byte // the string at hand, reused
	// noted has the places in the last chunk that differ from chunk to chunk.
	noted struct {
		text    model.Number   // the only text, with its quotes; empty without a text
		figures []model.Number // of the usage
	}
}

// A field reads the value of the named member into c. The name is valid until it
// reads.
type field func(d *decoder, c *rawChunk, name []byte) error

// decode reads one event's data into c. The data is a GenerateContentResponse, or
// an array of them. Its errors are a *model.Refusal, if the data holds an error of
// the API's, or wrap model.ErrUnreadable; these say where, but never what: the data is
// the model's text.
//
// A name may stand twice in an object: to look for that would cost an eighth of the time. If a text
// is repeated, the last one counts, as in the SDK. Only in a call's arguments it is an error.
func (d *decoder) decode(data []byte, c *rawChunk) error {
	c.reset()
	d.noted.text, d.noted.figures = model.Number{}, d.noted.figures[:0]
	d.in = *bytes.NewBuffer(data)
	d.json.Reset(&d.in, jsontext.AllowDuplicateNames(true))
	err := d.readTop(c)
	if _, ok := errors.AsType[*model.Refusal](err); err == nil || ok {
		return err
	}
	kind := "syntax"
	if errors.Is(err, errWrongType) {
		kind = errWrongType.Error()
	}
	return fmt.Errorf("%w: %s near byte %d of %d", model.ErrUnreadable, kind, d.json.InputOffset(), len(data))
}

// readTop reads one chunk. The service sends an array of chunks if it does not stream.
func (d *decoder) readTop(c *rawChunk) error {
	read := (*decoder).readResponse
	if d.json.PeekKind() == '[' {
		read = func(d *decoder, c *rawChunk) error { return d.readArray(c, (*decoder).readResponse) }
	}
	if err := read(d, c); err != nil {
		return err
	}
	if _, err := d.json.ReadToken(); err != io.EOF {
		return model.ErrUnreadable
	}
	return nil
}

// readResponse reads a GenerateContentResponse.
func (d *decoder) readResponse(c *rawChunk) error { return d.readObject(c, (*decoder).responseField) }

// responseField reads a member of a response. Unused members are skipped without decoding.
func (d *decoder) responseField(c *rawChunk, name []byte) error {
	switch string(name) {
	case `"candidates"`:
		return d.readArray(c, (*decoder).readCandidate)
	case `"usageMetadata"`:
		if d.json.PeekKind() == '{' {
			return d.readObject(c, (*decoder).usageField)
		}
	case `"promptFeedback"`:
		return d.readObject(c, (*decoder).feedbackField)
	case `"modelVersion"`:
		if c.named && d.json.PeekKind() == '"' {
			return d.modelVersion(c)
		}
	case `"error"`:
		v, err := d.json.ReadValue()
		if err != nil || v.Kind() == 'n' {
			return err
		}
		return parseError(v)
	}
	return d.skipValue()
}

// modelVersion reads the model's name. Each chunk has it, and it hardly ever changes.
func (d *decoder) modelVersion(c *rawChunk) error {
	v, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	d.text, err = jsontext.AppendUnquote(d.text[:0], v)
	if string(d.text) != c.model {
		c.model = string(d.text)
	}
	return err
}

// readCandidate reads the first candidate; no other was asked for.
func (d *decoder) readCandidate(c *rawChunk) error {
	if c.candidates++; c.candidates > 1 {
		return d.skipValue()
	}
	return d.readObject(c, (*decoder).candidateField)
}

// candidateField reads a member of the candidate. Safety ratings, citations and
// the like are passed over.
func (d *decoder) candidateField(c *rawChunk, name []byte) (err error) {
	switch string(name) {
	case `"content"`:
		return d.readObject(c, (*decoder).contentField)
	case `"finishReason"`:
		c.finish, err = d.readString()
		return err
	}
	return d.skipValue()
}

// contentField reads the parts; the role is always that of the model.
func (d *decoder) contentField(c *rawChunk, name []byte) error {
	if string(name) == `"parts"` {
		return d.readArray(c, (*decoder).readPart)
	}
	return d.skipValue()
}

// readPart adds a part to the chunk and fills it in.
func (d *decoder) readPart(c *rawChunk) error {
	c.parts = append(c.parts, rawPart{})
	return d.readObject(c, (*decoder).partField)
}

// partField reads a member of the part that was added last. An unknown member
// marks the part as foreign, such as code that the model ran.
func (d *decoder) partField(c *rawChunk, name []byte) (err error) {
	p := &c.parts[len(c.parts)-1]
	switch string(name) {
	case `"text"`:
		v, err := d.readLiteral('"')
		if v == nil {
			return err
		}
		at := int(d.json.InputOffset())
		d.noted.text = model.Number{Begin: at - len(v), End: at}
		p.text, err = d.unquoted(v)
		return err
	case `"thought"`:
		p.thought, err = d.readBoolean()
		return err
	case `"thoughtSignature"`:
		p.signature, err = d.readString()
		return err
	case `"functionCall"`:
		if d.json.PeekKind() == '{' {
			p.call = new(rawCall)
		}
		return d.readObject(c, (*decoder).callField)
	}
	if d.json.PeekKind() == '{' {
		p.foreign = true
		p.image = string(name) == `"inlineData"` || string(name) == `"fileData"`
	}
	return d.skipValue()
}

// feedbackField takes any sign of a block for one, also a reason that is not
// known yet, or a message without a reason.
func (d *decoder) feedbackField(c *rawChunk, name []byte) error {
	if n := string(name); n != `"blockReason"` && n != `"blockReasonMessage"` {
		return d.skipValue()
	}
	isMessage := string(name) == `"blockReasonMessage"`
	reason, err := d.readString()
	switch {
	case reason == "" || reason == "BLOCK_REASON_UNSPECIFIED":
	case !isMessage:
		c.block = reason
	case c.block == "":
		c.block = "OTHER"
	}
	return err
}

// usageField reads a figure. It ignores a figure that it cannot read, so that the rest of the
// answer survives.
func (d *decoder) usageField(c *rawChunk, name []byte) error {
	f := 0
	switch string(name) {
	case `"promptTokenCount"`, `"toolUsePromptTokenCount"`:
		f = inputTokens
	case `"candidatesTokenCount"`:
		f = outputTokens
	case `"thoughtsTokenCount"`:
		f = thinkingTokens
	case `"cachedContentTokenCount"`:
		f = cachedTokens
	default:
		return d.skipValue()
	}
	n, ok, err := d.readFigure()
	if ok {
		*figureIn(f, &c.usage) += n
		c.hasUsage = c.hasUsage || f != cachedTokens
	} else {
		f = model.Fixed
	}
	d.noted.figures = append(d.noted.figures, model.Number{End: int(d.json.InputOffset()), Figure: f})
	return err
}
