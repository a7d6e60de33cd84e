package gemini

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// assembler makes the chunks of one answer out of the raw ones. It keeps what
// spans chunks: a call that comes in pieces, the latest usage, the finish reason.
type assembler struct {
	model.Budget            // bytes of text, thoughts, arguments and signatures
	tools        *toolCache // has our names of the tools
	usage        chat.Usage
	hasUsage     bool
	end          model.FinishWords // of use once the stream has ended
	block        string            // why the prompt was blocked
	model        string            // the name in the answer; empty: not reported, or not asked for
	textLength   int               // of the answer proper
	called       bool              // a whole call was taken
	image        bool              // an image was passed over
	ids          model.IDs         // of the calls that have one
	pending      *partialCall
}

// addChunk appends the content of raw to c. c may stay without parts. With the error of an answer
// that raw ends comes what raw holds, with another one nothing.
func (a *assembler) addChunk(raw *rawChunk, c *chat.Chunk) error {
	if err := a.mergeChunk(raw, c); err != nil {
		*c = chat.Chunk{Parts: c.Parts[:0]}
		return err
	}
	return a.judgeChunk(raw)
}

// mergeChunk appends the parts and the usage of a chunk to c. Usage is that of the whole answer so
// far, so the latest replaces the ones before. The error is one of too large an answer, or of a
// malformed call.
func (a *assembler) mergeChunk(raw *rawChunk, c *chat.Chunk) error {
	a.model = raw.model
	if raw.hasUsage {
		a.usage, a.hasUsage = raw.usage, true
		c.Usage = &a.usage
	}
	for i := range raw.parts {
		if err := a.addPart(&raw.parts[i], c); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds a part. A signature may come by itself, without text, and must not
// get lost; a part of a kind that we did not ask for is passed over.
func (a *assembler) addPart(p *rawPart, c *chat.Chunk) error {
	if p.call != nil {
		return a.addCall(p.call, p.signature, c)
	}
	a.image = a.image || p.image
	if p.foreign || (p.text == "" && p.signature == "") {
		return nil
	}
	if !p.thought {
		a.textLength += len(p.text)
	}
	c.Parts = append(c.Parts, chat.Part{Text: p.text, Thought: p.thought, Signature: p.signature})
	return a.Grow(len(p.text) + len(p.signature))
}

// addCall takes a functionCall: the next piece of the pending one, or a new one.
func (a *assembler) addCall(piece *rawCall, signature string, c *chat.Chunk) error {
	if a.pending == nil && !piece.willContinue && piece.partial == nil {
		return a.addWholeCall(&tool.Call{ID: piece.id, Name: piece.name, Arguments: piece.args}, signature, c)
	}
	if a.pending == nil {
		a.pending = &partialCall{id: piece.id, name: piece.name, signature: signature}
	} else if piece.name != "" {
		return &model.Malformed{Reason: "a call begins inside another"}
	}
	if err := a.Grow(a.pending.addPiece(piece)); err != nil {
		return err
	}
	if piece.willContinue {
		return nil
	}
	p := a.pending
	a.pending = nil
	args, err := p.joinedArguments()
	if err != nil {
		return err
	}
	return a.addWholeCall(&tool.Call{ID: p.id, Name: p.name, Arguments: args}, p.signature, c)
}

// addWholeCall adds a call that is complete, under our own name of the tool, unless it came
// before. A call without a name cannot be answered, and so spoils the answer.
func (a *assembler) addWholeCall(call *tool.Call, signature string, c *chat.Chunk) error {
	if call.Name == "" {
		return &model.Malformed{Reason: "no name"}
	}
	if call.Arguments == nil {
		call.Arguments = jsontext.Value("{}")
	}
	a.called = true
	if call.ID != "" {
		if _, again := a.ids.Claim(call.ID, call.Name, call.Arguments); again {
			return nil
		}
	}
	call.Name = a.tools.ourName(call.Name)
	c.Parts = append(c.Parts, chat.Part{Call: call, Signature: signature})
	return a.Grow(len(call.Name) + len(call.ID) + len(call.Arguments) + len(signature))
}

// judgeChunk reads from raw how the answer ends. A good ending is only noted:
// the API may give one and then continue, or think better of it.
func (a *assembler) judgeChunk(raw *rawChunk) error {
	if raw.block != "" {
		a.block = raw.block
		return &blockedPrompt{raw.block}
	}
	if raw.finish == "" || raw.finish == "FINISH_REASON_UNSPECIFIED" {
		return nil
	}
	return a.judgeFinish(raw.finish)
}

// hasFinish reports whether a finish reason came.
func (a *assembler) hasFinish() bool { return a.end.End != model.EndNone }

// completeAnswer completes an answer whose stream has ended cleanly.
func (a *assembler) completeAnswer(c *chat.Chunk) error {
	if a.hasUsage {
		c.Usage = &a.usage
	}
	c.Finish = chat.FinishStop
	switch {
	case a.end.End == model.EndNone:
		return model.ErrCut
	case a.end.End == model.EndMaxTokens:
		c.Finish = chat.FinishMaxTokens
		return nil // a pending call was cut, too, and must not run
	case a.pending != nil:
		return &model.Malformed{Reason: "the last piece is missing"}
	case a.textLength == 0 && !a.called && a.image:
		a.textLength = len(imageLeftOut)
		c.Parts = append(c.Parts, chat.Part{Text: imageLeftOut})
	case a.textLength == 0 && !a.called:
		return model.ErrNoText
	}
	return nil
}

// imageLeftOut is the text of an answer that has only an image.
const imageLeftOut = "[image left out]"

// answerStats returns the figures of the answer so far, for the log. It has the API's word for the
// ending only if the API gave up: after a good word, a later fault ended the answer.
func (a *assembler) answerStats() model.Stats {
	n := model.Stats{TextLength: a.textLength, Size: a.Size, Usage: &a.usage, Model: a.model, Unknown: model.Word(a.end.Unknown)}
	if a.end.End == model.EndNone || a.end.End >= model.EndMalformed {
		n.Finish = keepUpper(cmp.Or(a.block, a.end.Word))
	}
	return n
}
