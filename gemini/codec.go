package gemini

import (
	"bytes"
	"net/http"
	"sync"

	"sluice/chat"
	"sluice/model"
)

// keepBuffer is the largest buffer that is kept for the next answer.
const keepBuffer = 64 << 10

// codec is the protocol of generateContent, for one model.
type codec struct {
	thinking string // the generationConfig member of a request; empty: none
	tools    toolCache
	decoders sync.Pool // of *decoder; an answer has one only while it decodes
}

func newCodec(thinking string) *codec {
	c := &codec{thinking: thinking}
	c.decoders.New = func() any { return new(decoder) }
	return c
}

// Render implements model.Codec.
func (c *codec) Render(b []byte, req *chat.ModelRequest, _ model.Omit) []byte {
	return c.render(b, req)
}

// NewAnswer implements model.Codec.
func (c *codec) NewAnswer() model.Answer { return &answer{codec: c} }

// Refuse implements model.Codec.
func (c *codec) Refuse(status int, _ http.Header, body []byte) *model.Refusal {
	r := findError(bytes.TrimSpace(body))
	if r == nil {
		return &model.Refusal{Status: status}
	}
	if status != 0 {
		r.Status = status
		classify(r)
	}
	return r
}

// decode reads one event's data into raw.
func (c *codec) decode(data []byte, raw *rawChunk) error {
	d := c.decoders.Get().(*decoder)
	err := d.decode(data, raw)
	if d.in = (bytes.Buffer{}); cap(d.text) <= keepBuffer {
		c.decoders.Put(d)
	}
	return err
}

// answer reads the events of one answer.
type answer struct {
	codec *codec
	raw   rawChunk
	assembler
}

// Take implements model.Answer.
func (a *answer) Take(_ string, data []byte, c *chat.Chunk) error {
	if err := a.codec.decode(data, &a.raw); err != nil {
		return err
	}
	return a.assembler.add(&a.raw, c)
}

// Over implements model.Answer: the end of a stream is that of the connection.
func (a *answer) Over() bool { return false }

// End implements model.Answer.
func (a *answer) End(c *chat.Chunk) error { return a.assembler.end(c) }

// Whole implements model.Answer: a stream is all that is asked for.
func (a *answer) Whole([]byte, *chat.Chunk) error { return model.ErrUnreadable }

// Note implements model.Answer.
func (a *answer) Note() model.Note { return a.assembler.note() }

// keepParts is how much room for parts is kept for the next answer.
const keepParts = 64

// Reset implements model.Answer.
func (a *answer) Reset() {
	a.raw.reset()
	if cap(a.raw.parts) > keepParts {
		a.raw.parts = nil
	}
	a.assembler = assembler{}
}
