package gemini

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
)

// source opens answers of the model. It is all that sets a driver apart.
type source interface {
	// open sends req, which body holds as the API wants it, and returns once the
	// service has agreed to answer. Its errors are an *apiError when the service
	// refused, a *driverError when the driver could not ask, else a
	// *transportError. The answer ends with ctx at the latest.
	open(ctx context.Context, req *chat.ModelRequest, body *payload) (answer, error)
	// close lets go of idle connections.
	close()
}

// answer is one streamed answer of the model.
type answer interface {
	// next waits for the next chunk and decodes it into c, whose former content
	// it overwrites. It returns io.EOF when the service ended the stream cleanly,
	// finished or not; else a *transportError, an *apiError (an error in place of a
	// chunk), a *driverError or an error that wraps errUnreadable or errTooLarge.
	next(c *rawChunk) error
	// buffered says whether next is sure to return without waiting.
	buffered() bool
	// close ends the stream; it must be called once.
	close()
}

// rawChunk is one GenerateContentResponse, as far as we read it. Its strings and
// byte slices are copies, which may be kept.
type rawChunk struct {
	parts  []rawPart // of the first candidate
	finish string    // its finishReason; empty: none
	// block is why the prompt was blocked; empty: it was not.
	block string
	// usage is the call's so far.
	usage    chat.Usage
	hasUsage bool

	candidates int // seen so far; for the decoder
}

// reset empties c and keeps the room of its slices.
func (c *rawChunk) reset() {
	clear(c.parts)
	*c = rawChunk{parts: c.parts[:0]}
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
	// willContinue says that the string goes on in a later piece.
	willContinue bool
}
