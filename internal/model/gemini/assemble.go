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

// add appends what raw holds to c, which may stay without parts. With the error of an
// answer that raw ends comes what raw holds, with another one nothing.
func (a *assembler) add(raw *rawChunk, c *chat.Chunk) error {
	if err := a.merge(raw, c); err != nil {
		*c = chat.Chunk{Parts: c.Parts[:0]}
		return err
	}
	return a.judge(raw)
}

// merge adds what a chunk says to c. Usage is that of the whole answer so far,
// so the latest replaces the ones before. The error is one of too large an
// answer, or of a malformed call.
func (a *assembler) merge(raw *rawChunk, c *chat.Chunk) error {
	a.model = raw.model
	if raw.hasUsage {
		a.usage, a.hasUsage = raw.usage, true
		c.Usage = &a.usage
	}
	for i := range raw.parts {
		if err := a.part(&raw.parts[i], c); err != nil {
			return err
		}
	}
	return nil
}

// part adds a part. A signature may come by itself, without text, and must not
// get lost; a part of a kind that we did not ask for is passed over.
func (a *assembler) part(p *rawPart, c *chat.Chunk) error {
	if p.call != nil {
		return a.call(p.call, p.signature, c)
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

// call takes a functionCall: the next piece of the pending one, or a new one.
func (a *assembler) call(piece *rawCall, signature string, c *chat.Chunk) error {
	if a.pending == nil && !piece.willContinue && piece.partial == nil {
		return a.whole(&tool.Call{ID: piece.id, Name: piece.name, Arguments: piece.args}, signature, c)
	}
	if a.pending == nil {
		a.pending = &partialCall{id: piece.id, name: piece.name, signature: signature}
	} else if piece.name != "" {
		return &model.Malformed{Reason: "a call begins inside another"}
	}
	if err := a.Grow(a.pending.add(piece)); err != nil {
		return err
	}
	if piece.willContinue {
		return nil
	}
	p := a.pending
	a.pending = nil
	args, err := p.arguments()
	if err != nil {
		return err
	}
	return a.whole(&tool.Call{ID: p.id, Name: p.name, Arguments: args}, p.signature, c)
}

// whole adds a call that is complete, under our own name of the tool, unless it came
// before. A call without a name cannot be answered, and so spoils the answer.
func (a *assembler) whole(call *tool.Call, signature string, c *chat.Chunk) error {
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
	call.Name = a.tools.original(call.Name)
	c.Parts = append(c.Parts, chat.Part{Call: call, Signature: signature})
	return a.Grow(len(call.Name) + len(call.ID) + len(call.Arguments) + len(signature))
}

// judge reads from raw how the answer ends. A good ending is only noted:
// the API may give one and then continue, or think better of it.
func (a *assembler) judge(raw *rawChunk) error {
	if raw.block != "" {
		a.block = raw.block
		return &blockedPrompt{raw.block}
	}
	if raw.finish == "" || raw.finish == "FINISH_REASON_UNSPECIFIED" {
		return nil
	}
	return a.judgeFinish(raw.finish)
}

// finished says that a reason for the ending came.
func (a *assembler) finished() bool { return a.end.End != model.EndNone }

// complete completes an answer whose stream has ended cleanly.
func (a *assembler) complete(c *chat.Chunk) error {
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

// imageLeftOut is the text of an answer that is nothing but an image.
const imageLeftOut = "[image left out]"

// note returns what the log says about the answer. The API's word for the ending counts only if
// the API gave up: after a good one, what came later went wrong.
func (a *assembler) note() model.Note {
	n := model.Note{TextLength: a.textLength, Size: a.Size, Usage: &a.usage, Model: a.model, Unknown: model.Word(a.end.Unknown)}
	if a.end.End == model.EndNone || a.end.End >= model.EndMalformed {
		n.Finish = keepUpper(cmp.Or(a.block, a.end.Word))
	}
	return n
}
