// This file reads one answer, from a stream or in one piece, into the chunks of package chat. It
// keeps the parts that only the end decides: End hands on the complete calls, and in front of them
// the parts that go back to the model.
//
// Text is copied into the chunk, because the event's buffer is used again.

package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// chatAnswer reads one answer of Chat Completions.
//
// It is for one goroutine and one answer after the other: Reset begins the next one and keeps
// buffers up to keepScratch.
type chatAnswer struct {
	codec *chatCodec
	tools *tool.Set // on offer; nil: not known

	decoder   chatDecoder
	chunk     chatChunk
	alike     model.Alike // the form of chunk
	think     thinkTags
	calls     chatCalls
	ids       model.IDs
	reasoning chatKept

	usage    chat.Usage
	hasUsage bool
	finish   model.FinishWords
	ended    bool         // [DONE] came, or the whole answer
	budget   model.Budget // of text, thoughts, arguments and kept parts
	largest  int          // chunk
	text     int          // bytes of text
	model    string
}

// SetRequest implements model.Asker.
func (a *chatAnswer) SetRequest(req *chat.ModelRequest) {
	a.tools = req.Tools
	a.ids.ResetFor(req.Messages)
}

// keepScratch is the largest answer whose buffers the next answer reuses, in bytes.
const keepScratch = 64 << 10

// Reset implements model.Answer.
func (a *chatAnswer) Reset() {
	if a.budget.Size > keepScratch || a.largest > keepScratch {
		*a = chatAnswer{codec: a.codec}
	}
	a.think.reset(a.codec.thinkTags)
	a.calls.reset()
	a.ids.Reset()
	a.reasoning.reset()
	a.tools = nil
	a.decoder.chatHalves = chatHalves{}
	a.alike.Reset()
	a.usage, a.hasUsage = chat.Usage{}, false
	a.finish, a.ended = model.FinishWords{}, false
	a.budget, a.largest, a.text, a.model = model.Budget{}, 0, 0, ""
}

// HasEnded implements model.Answer.
func (a *chatAnswer) HasEnded() bool { return a.ended }

// Finished implements model.Answer: a finish reason came.
func (a *chatAnswer) Finished() bool { return a.finish.End != model.EndNone }

// Stats implements model.Answer.
func (a *chatAnswer) Stats() model.Stats {
	return model.Stats{TextLength: a.text, Finish: model.Word(a.finish.Word), Unknown: model.Word(a.finish.Unknown), Model: a.model, Size: a.budget.Size}
}

// Decode implements model.Answer.
//
// An event named error holds an error whatever its data look like. Empty data is ignored: some
// servers send it to keep a connection open.
func (a *chatAnswer) Decode(name string, data []byte, c *chat.Chunk) error {
	data = bytes.TrimSpace(data)
	switch {
	case name == "error":
		return a.codec.Refuse(0, nil, data)
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		a.ended = true
		return nil
	}
	return a.readChunk(data, false, c)
}

// DecodeDocument implements model.Answer.
//
// An answer without a choice is unreadable, since it has no text.
func (a *chatAnswer) DecodeDocument(body []byte, c *chat.Chunk) error {
	if err := a.readChunk(body, true, c); err != nil {
		return err
	}
	if !a.chunk.chosen {
		return model.ErrUnreadable
	}
	a.ended = true
	return nil
}

// readChunk takes a chunk, or a whole answer. It returns an error in the data only after it has
// read the members next to it.
//
// A chunk can hold text and an error next to it; the text has been handed on by then.
func (a *chatAnswer) readChunk(data []byte, whole bool, c *chat.Chunk) error {
	ch := &a.chunk
	a.largest = max(a.largest, len(data))
	var err error
	if whole || !a.readAlike(data) {
		err = a.decoder.decode(data, whole, ch)
		a.learnForm(data, err)
	}
	if ch.hasUsage {
		a.usage, a.hasUsage = ch.usage, true
		c.Usage = &a.usage
	}
	if err == nil && ch.chosen {
		err = a.decodeChoice(&ch.choice, c)
	}
	switch {
	case ch.failure != nil:
		return a.codec.readError(0, ch.failure)
	case ch.isError && err == nil:
		return a.codec.readError(0, data)
	}
	a.setModel(ch.model)
	return err
}

// readAlike reads data into chunk if it equals the previous data but for its text. chunk must still
// have that previous data. It returns false for all else, and where a text goes on that ended
// within a character.
func (a *chatAnswer) readAlike(data []byte) bool {
	if a.decoder.text != 0 {
		return false
	}
	quoted := a.alike.Read(data)
	if quoted == nil {
		return false
	}
	c := &a.chunk.choice
	text, err := jsontext.AppendUnquote(c.text[:0], quoted)
	if c.text = text; err != nil {
		return false
	}
	if c.pieces = c.pieces[:0]; len(text) > 0 {
		c.pieces = append(c.pieces, chatPiece{0, len(text), false})
	}
	return true
}

// learnForm makes data the form of the chunks to come, if it was decoded into chunk and is a piece
// of text alone.
func (a *chatAnswer) learnForm(data []byte, err error) {
	ch, c := &a.chunk, &a.chunk.choice
	bare := err == nil && !ch.isDocument && ch.chosen && ch.seen == 1 && !ch.hasUsage && ch.failure == nil && !ch.isError && !a.decoder.odd
	thinks := len(c.thought[0])+len(c.thought[1])+len(c.thought[2])+len(c.details) > 0
	if !bare || thinks || len(c.finish) > 0 || len(c.calls) > 0 || a.decoder.texts != 1 || len(c.pieces) > 0 && c.pieces[0].thought {
		a.alike.Forget()
		return
	}
	a.alike.Learn(data, a.decoder.textAt, a.decoder.numbers)
}

// setModel stores the model's name. The last one counts; it is logged.
//
// A name that is long or has other than printable ASCII is left out: it goes into log lines
// and events.
func (a *chatAnswer) setModel(name []byte) {
	if len(name) == 0 || len(name) > 256 || string(name) == a.model {
		return
	}
	for _, c := range name {
		if c < ' ' || c > '~' {
			return
		}
	}
	a.model = string(name)
}

// decodeChoice reads choice 0 of a chunk.
//
// All bytes that the answer makes us keep count for the budget, so that its size stops a server
// that never ends.
func (a *chatAnswer) decodeChoice(ch *chatChoice, c *chat.Chunk) error {
	for i := range ch.thought {
		if len(ch.thought[i]) > 0 {
			a.addText(c, ch.thought[i], true)
			a.reasoning.addThought(i, ch.thought[i])
			break // they are the same thought
		}
	}
	for i := range ch.details {
		a.budget.Size += a.reasoning.addDetail(&ch.details[i])
	}
	for _, p := range ch.pieces {
		b := ch.text[p.from:p.to]
		if p.thought {
			a.addText(c, b, true)
		} else {
			a.addContent(b, c)
		}
	}
	for i := range ch.calls {
		a.budget.Size += a.calls.addDelta(&ch.calls[i])
	}
	a.finish.Add(ch.finish)
	return a.budget.Grow(0)
}

// addContent takes a piece of content. It may contain thoughts between tags.
func (a *chatAnswer) addContent(b []byte, c *chat.Chunk) {
	if a.think.done {
		a.addText(c, b, false)
		return
	}
	a.think.splitPiece(b, func(b []byte, thought bool) { a.addText(c, b, thought) })
}

// addText hands text on.
func (a *chatAnswer) addText(c *chat.Chunk, b []byte, thought bool) {
	if len(b) == 0 {
		return
	}
	a.budget.Size += len(b)
	if !thought {
		a.text += len(b)
	}
	c.Parts = append(c.Parts, chat.Part{Text: string(b), Thought: thought})
}

// End implements model.Answer.
//
// No call runs after a bad end. An answer without a finish reason and without [DONE] was cut by
// the connection.
func (a *chatAnswer) End(c *chat.Chunk) error {
	if half := a.decoder.text.flush(nil); len(half) > 0 {
		a.addContent(half, c)
	}
	a.think.flushHeld(func(b []byte, thought bool) { a.addText(c, b, thought) })
	if a.hasUsage {
		c.Usage = &a.usage
	}
	if err := a.finish.Err(); err != nil {
		return err
	}
	if a.finish.End == model.EndNone && !a.ended {
		return model.ErrCut
	}
	cut := a.finish.End == model.EndMaxTokens
	calls, err := a.calls.completeCalls(cut)
	if err != nil {
		return err
	}
	a.reasoning.appendTo(c, calls, a.calls.extraSize(calls))
	a.appendCalls(c, calls)
	c.Finish = chat.FinishStop
	if cut {
		c.Finish = chat.FinishMaxTokens
		return nil
	}
	if a.text == 0 && len(calls) == 0 {
		return model.ErrNoText
	}
	return nil
}

// appendCalls hands the calls on under our names, with ids that distinguish them.
//
// Ids that are missing or another call's are replaced; names go back from the form that
// was sent to ours.
func (a *chatAnswer) appendCalls(c *chat.Chunk, calls []chatCall) {
	for i := range calls {
		call := &calls[i]
		called := a.codec.tools.Called(a.tools, &a.ids, string(call.id), string(call.name), call.arguments)
		if called == nil {
			continue
		}
		part := chat.Part{Call: called}
		if len(call.extra) > 0 && a.reasoning.canReturn() && jsontext.Value(call.extra).IsValid() {
			part.Kept = `{"extra_content":` + string(call.extra) + `}`
		}
		c.Parts = append(c.Parts, part)
	}
}
