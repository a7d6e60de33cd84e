package gemini

import (
	"bytes"
	"net/http"
	"slices"
	"sync"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// keepBuffer is the largest buffer that is kept for the next answer.
const keepBuffer = 64 << 10

// codec is the protocol of generateContent, for one model.
type codec struct {
	settings generation
	// maker is what Message.Maker says of the model's own messages; empty: it is the
	// only model, and all are.
	maker    string
	sentinel bool // the first call of a step must be signed
	tools    toolCache
	decoders sync.Pool // of *decoder; an answer has one only while it decodes
}

// newCodec returns the codec of one model. Its decoders are pooled: a turn
// needs one for as long as its answer lasts.
func newCodec(settings generation) *codec {
	c := &codec{settings: settings}
	c.decoders.New = func() any { return new(decoder) }
	return c
}

// Render implements model.Codec.
//
// It is valid JSON for every req: invalid UTF-8 becomes replacement characters, and arguments that
// are not an object become {}.
func (c *codec) Render(b []byte, req *chat.ModelRequest, omit model.Omit) []byte {
	tools := c.tools.renderSet(req.Tools)
	b = slices.Grow(b, sizeHint(req)+len(tools))
	b = append(b, `{"contents":[`...)
	b = appendContents(b, c.tools.fitMessages(c.portableMessages(req.Messages)))
	b = append(b, ']')
	if req.System != "" {
		b = append(b, `,"systemInstruction":{"parts":[{"text":`...)
		b = model.AppendString(b, req.System)
		b = append(b, `}]}`...)
	}
	if len(tools) > 0 {
		b = append(append(b, ','), tools...)
		b = appendToolConfig(b, req)
	}
	b = c.settings.append(b, req, omit)
	return append(b, '}')
}

// appendToolConfig reports whether tools may be called or must be. Tools stay
// declared when they may not: a conversation with calls is refused without
// declarations.
func appendToolConfig(b []byte, req *chat.ModelRequest) []byte {
	switch {
	case req.NoTools:
		return append(b, `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`...)
	case req.ForceTool:
		b = append(b, `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"`...)
		if name := req.ForcedTool(); name != "" && len(req.Tools.Specs) > 1 {
			b = append(model.AppendString(append(b, `,"allowedFunctionNames":[`...), fitName(name)), ']')
		}
		return append(b, `}}`...)
	}
	return b
}

// NewAnswer implements model.Codec.
func (c *codec) NewAnswer() model.Answer {
	a := &answer{codec: c}
	a.Reset()
	return a
}

// Refuse implements model.Codec.
func (c *codec) Refuse(status int, _ http.Header, body []byte) *model.Refusal {
	r := findError(bytes.TrimSpace(body))
	if r == nil {
		return &model.Refusal{Status: status}
	}
	if status != 0 {
		r.Status = status
		classifyError(r)
	}
	if r.Member == "" {
		r.Member = memberIn(r.Message)
		r.Guessed = r.Member != ""
	}
	return r
}

// decodeEvent reads one event's data into raw. p is the form of the event before it.
func (c *codec) decodeEvent(data []byte, raw *rawChunk, p *pattern) (err error) {
	d := c.decoders.Get().(*decoder)
	raw.named = c.maker != ""
	if !p.readAlike(d, data, raw) {
		if err = d.decode(data, raw); err == nil {
			p.learnForm(d, data, raw)
		}
	}
	if d.in = (bytes.Buffer{}); cap(d.text) <= keepBuffer {
		c.decoders.Put(d)
	}
	return err
}

// answer reads the events of one answer.
type answer struct {
	codec *codec
	raw   rawChunk
	alike pattern
	assembler
}

// Decode implements model.Answer.
func (a *answer) Decode(_ string, data []byte, c *chat.Chunk) error {
	if err := a.codec.decodeEvent(data, &a.raw, &a.alike); err != nil {
		return err
	}
	return a.assembler.addChunk(&a.raw, c)
}

// HasEnded implements model.Answer: the end of a stream is that of the connection.
func (a *answer) HasEnded() bool { return false }

// Finished implements model.Answer.
func (a *answer) Finished() bool { return a.assembler.hasFinish() }

// End implements model.Answer.
func (a *answer) End(c *chat.Chunk) error { return a.assembler.completeAnswer(c) }

// DecodeDocument implements model.Answer: a stream is all that is asked for.
func (a *answer) DecodeDocument([]byte, *chat.Chunk) error { return model.ErrUnreadable }

// Stats implements model.Answer.
func (a *answer) Stats() model.Stats { return a.assembler.answerStats() }

// keepParts is how much room for parts is kept for the next answer.
const keepParts = 64

// Reset implements model.Answer.
func (a *answer) Reset() {
	a.raw.reset()
	a.raw.model = ""
	if cap(a.raw.parts) > keepParts {
		a.raw.parts = nil
	}
	a.alike.Reset()
	a.assembler = assembler{tools: &a.codec.tools}
}
