package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/tool"
)

// maxAnswer is how much of one answer is taken, in bytes of text, thoughts,
// arguments and signatures (docs/design.md, "Limits").
const maxAnswer = 2 << 20

// assembler makes the chunks of one answer out of the raw ones. It keeps what
// spans chunks: a call that comes in pieces, the latest usage, the finish reason.
type assembler struct {
	chunk chat.Chunk // handed on, reused

	usage      chat.Usage
	hasUsage   bool
	finish     chat.Finish // the latest; of use once the stream has ended
	reason     string      // the API's word for it
	size       int         // of all that was taken
	textLength int         // of the answer proper
	called     bool        // a whole call was taken
	pending    *partialCall
}

// take puts what raw holds into a.chunk, which may stay without parts.
func (a *assembler) take(raw *rawChunk) error {
	clear(a.chunk.Parts)
	a.chunk = chat.Chunk{Parts: a.chunk.Parts[:0]}
	if raw.hasUsage {
		a.usage, a.hasUsage = raw.usage, true
		a.chunk.Usage = &a.usage
	}
	for i := range raw.parts {
		if err := a.part(&raw.parts[i]); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembler) part(p *rawPart) error {
	if p.call != nil {
		return a.call(p.call, p.signature)
	}
	if p.foreign || (p.text == "" && p.signature == "") {
		return nil
	}
	if !p.thought {
		a.textLength += len(p.text)
	}
	a.chunk.Parts = append(a.chunk.Parts, chat.Part{Text: p.text, Thought: p.thought, Signature: p.signature})
	return a.grow(len(p.text) + len(p.signature))
}

// call takes a functionCall: the next piece of the pending one, or a new one.
func (a *assembler) call(c *rawCall, signature string) error {
	if a.pending == nil && !c.willContinue && c.partial == nil {
		return a.whole(&tool.Call{ID: c.id, Name: c.name, Arguments: c.args}, signature)
	}
	if a.pending == nil {
		a.pending = &partialCall{id: c.id, name: c.name, signature: signature}
	} else if c.name != "" {
		return &malformedCall{"a call begins inside another"}
	}
	if err := a.grow(a.pending.add(c)); err != nil {
		return err
	}
	if c.willContinue {
		return nil
	}
	p := a.pending
	a.pending = nil
	args, err := p.arguments()
	if err != nil {
		return err
	}
	return a.whole(&tool.Call{ID: p.id, Name: p.name, Arguments: args}, p.signature)
}

func (a *assembler) whole(c *tool.Call, signature string) error {
	if c.Name == "" {
		return &malformedCall{"no name"}
	}
	if c.Arguments == nil {
		c.Arguments = jsontext.Value("{}")
	}
	a.called = true
	a.chunk.Parts = append(a.chunk.Parts, chat.Part{Call: c, Signature: signature})
	return a.grow(len(c.Name) + len(c.ID) + len(c.Arguments) + len(signature))
}

func (a *assembler) grow(n int) error {
	if a.size += n; a.size > maxAnswer {
		return errTooLarge
	}
	return nil
}

// judge takes raw's word on how the answer ends. A good ending is only noted:
// the API may give one and then go on, or think better of it.
func (a *assembler) judge(raw *rawChunk) error {
	if raw.block != "" {
		a.reason = raw.block
		return &blockedPrompt{raw.block}
	}
	if raw.finish == "" || raw.finish == "FINISH_REASON_UNSPECIFIED" {
		return nil
	}
	a.reason = raw.finish
	switch raw.finish {
	case "STOP":
		a.finish = chat.FinishStop
	case "MAX_TOKENS", "CONTINUATION":
		a.finish = chat.FinishMaxTokens
	default:
		return &finishError{raw.finish}
	}
	return nil
}

// end makes a.chunk the last one, now that the stream has ended cleanly.
func (a *assembler) end() error {
	a.chunk = chat.Chunk{Parts: a.chunk.Parts[:0], Finish: a.finish}
	if a.hasUsage {
		a.chunk.Usage = &a.usage
	}
	switch {
	case a.finish == chat.FinishNone:
		return errCut
	case a.finish == chat.FinishMaxTokens:
		return nil // a pending call was cut, too, and must not run
	case a.pending != nil:
		return &malformedCall{"the last piece is missing"}
	case a.textLength == 0 && !a.called:
		return errNoText
	}
	return nil
}
