package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// rawChunk is one GenerateContentResponse, as far as we read it. The caller may keep its strings
// and byte slices, since they are copies.
type rawChunk struct {
	parts  []rawPart // of the first candidate
	finish string    // its finishReason; empty: none
	// block is why the prompt was blocked; empty: it was not.
	block string
	// usage is the call's so far.
	usage    chat.Usage
	hasUsage bool

	candidates int // seen so far; for the decoder

	// model is the name in the last chunk that had one. It is kept over a reset, and read only if
	// named is set.
	model string
	named bool
}

// reset empties c and keeps the room of its slices, and the model.
func (c *rawChunk) reset() {
	clear(c.parts)
	*c = rawChunk{parts: c.parts[:0], model: c.model, named: c.named}
}

// rawPart is one part of a chunk: a call if call is not nil, else text.
type rawPart struct {
	text      string
	thought   bool
	signature string
	call      *rawCall
	// foreign marks a part that holds something else than text or a call, such as
	// inlineData or executableCode.
	foreign bool
	// image is set for one that holds an image or another file.
	image bool
}

// rawCall is a functionCall, or a piece of one: with willContinue or partial, or
// without a name, it belongs together with those before and after it.
type rawCall struct {
	id, name     string
	args         jsontext.Value // an object, byte for byte; nil: absent
	partial      []rawArg
	willContinue bool
}

// rawArg is a piece of one argument's value.
type rawArg struct {
	path string // "$.steps[0].name"
	// value is a JSON literal: a string, a number, a boolean or null.
	value jsontext.Value
	// willContinue says that the string continues in a later piece.
	willContinue bool
}
