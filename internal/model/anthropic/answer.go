package anthropic

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

const (
	// blockCost is the cost of a block besides its text. It bounds the number of empty blocks.
	blockCost = 64
	// maxOpen is how many blocks are under way at a time. The API has one; more are
	// ended, the oldest first, so that finding one stays cheap.
	maxOpen = 64
	// keepBuffer is the largest buffer that is kept for the next event.
	keepBuffer = 64 << 10
)

// answer reads one answer. Calls and kept blocks wait for the end, because a message that begins
// again drops them. A call's arguments are judged there too, since the stop reason comes after
// them.
type answer struct {
	codec *codec
	tools *tool.Set // on offer; nil: none
	ids   model.IDs
	open  []block // begun and not ended, at most a few
	held  []part
	size  model.Budget
	begun int // blocks
	pings int

	usage    chat.Usage
	latest   figures
	hasUsage bool
	stop     model.FinishWords
	ended    bool
	name     string // of the model
	text     int    // bytes of the answer proper
	cut      bool   // the last block that ended is a call without arguments
}

// part is a call or a kept block that waits for the end of the answer.
type part struct {
	keptBlock string
	id, name  string
	arguments jsontext.Value
}

// block is a block of content under way.
type block struct {
	typ       blockType
	index     int
	id, name  string
	data      []byte // the thinking so far
	input     model.Arguments
	signature []byte         // of a thinkingBlock
	raw       jsontext.Value // a redacted block; the input that a call began with
}

// Reset makes a ready for another answer.
func (a *answer) Reset() {
	*a = answer{codec: a.codec, open: clearBlocks(a.open), held: clearParts(a.held)}
}

// clearBlocks empties a list and keeps its room. Cleared elements let go of the texts
// they pointed to.
func clearBlocks(list []block) []block { clear(list); return list[:0] }

// clearParts is clearBlocks for parts.
func clearParts(list []part) []part { clear(list); return list[:0] }

// SetRequest implements model.Asker.
func (a *answer) SetRequest(req *chat.ModelRequest) {
	a.tools = req.Tools
	a.ids.ResetFor(req.Messages)
}

// HasEnded reports whether message_stop came.
func (a *answer) HasEnded() bool { return a.ended }

// Finished reports whether a stop_reason came.
func (a *answer) Finished() bool { return a.stop.End != model.EndNone }

// Stats returns the figures of the answer so far, for the log.
func (a *answer) Stats() model.Stats {
	n := model.Stats{TextLength: a.text, Finish: model.Word(a.stop.Word), Unknown: model.Word(a.stop.Unknown), Model: a.name, Size: a.size.Size - a.begun*blockCost, Pings: a.pings}
	if a.hasUsage {
		n.Usage = &a.usage
	}
	return n
}

// Decode reads an event. The type in the data decides. name counts for data without a type, and for
// errors, whose data may have any form.
func (a *answer) Decode(name string, data []byte, c *chat.Chunk) error {
	if name == "error" {
		return a.codec.Refuse(0, nil, data)
	}
	d := a.codec.decoders.Get().(*decoder)
	defer a.releaseDecoder(d)
	if err := d.decode(data); err != nil {
		return err
	}
	e := &d.event
	if e.hasError {
		return a.codec.Refuse(0, nil, data)
	}
	if e.typ == unknownEvent && name != "" {
		e.typ = typeOfEvent([]byte(name))
	}
	return a.readEvent(e, c)
}

// releaseDecoder gives a decoder back to the pool. A decoder with large buffers is dropped, so that
// one long answer does not hold memory for good.
func (a *answer) releaseDecoder(d *decoder) {
	d.data, d.in, d.blocks = nil, bytes.Buffer{}, nil
	if max(cap(d.text), cap(d.event.partial), cap(d.event.signature), cap(d.event.raw), cap(d.event.err)) <= keepBuffer {
		a.codec.decoders.Put(d)
	}
}

// readEvent takes one event of the stream. A server that starts over sends message_start again:
// then open blocks are dropped. An event of an unknown type is ignored.
func (a *answer) readEvent(e *event, c *chat.Chunk) error {
	switch e.typ {
	case messageStart:
		a.open, a.held = clearBlocks(a.open), clearParts(a.held)
		a.stop, a.cut = model.FinishWords{}, false
		if e.model != "" {
			a.name = e.model
		}
		a.setFigures(e.usage, c)
	case blockStart:
		return a.beginBlock(e, c)
	case blockDelta:
		return a.addPiece(e, c)
	case blockStop:
		a.endBlock(a.blockOf(e))
	case messageDelta:
		a.setFigures(e.usage, c)
		return a.judgeStop(e.stop)
	case messageStop:
		a.ended = true
	case pingEvent:
		a.pings++
	case errorEvent:
		return a.codec.Refuse(0, nil, nil)
	}
	return nil
}

// DecodeDocument reads a message that came in one piece.
func (a *answer) DecodeDocument(body []byte, c *chat.Chunk) error {
	d := a.codec.decoders.Get().(*decoder)
	defer a.releaseDecoder(d)
	d.blocks = func(e *event) error {
		if err := a.beginBlock(e, c); err != nil {
			return err
		}
		a.endBlock(len(a.open) - 1)
		return nil
	}
	if err := d.decode(body); err != nil {
		return err
	}
	e := &d.event
	if e.hasError || e.typ == errorEvent {
		return a.codec.Refuse(0, nil, body)
	}
	if e.typ != wholeMessage {
		return model.ErrUnreadable
	}
	a.name, a.ended = e.model, true
	a.setFigures(e.usage, c)
	return a.judgeStop(e.stop)
}

// beginBlock takes the start of a block. It may contain a part of the block already.
func (a *answer) beginBlock(e *event, c *chat.Chunk) error {
	if i := a.findOpen(e.index); e.hasIndex && i >= 0 {
		a.endBlock(i)
	}
	if len(a.open) == maxOpen {
		a.endBlock(0)
	}
	b := block{typ: e.block, index: -1, id: e.id, name: e.name}
	if e.hasIndex {
		b.index = e.index
	}
	if e.block == toolBlock || e.block == redactedBlock {
		b.raw = e.raw.Clone()
	}
	a.open = append(a.open, b)
	a.begun++
	if err := a.size.Grow(blockCost + len(e.id) + len(e.name) + len(b.raw)); err != nil {
		return err
	}
	return a.extendBlock(&a.open[len(a.open)-1], e, c)
}

// addPiece takes a delta. Without a block that it belongs to, its text is shown all the
// same.
func (a *answer) addPiece(e *event, c *chat.Chunk) error {
	if i := a.blockOf(e); i >= 0 {
		return a.extendBlock(&a.open[i], e, c)
	}
	return a.extendBlock(&block{typ: textBlock}, e, c)
}

// extendBlock adds the content of e to b.
func (a *answer) extendBlock(b *block, e *event, c *chat.Chunk) error {
	switch b.typ {
	case unknownBlock, redactedBlock:
		return nil
	case thinkingBlock:
		b.data = append(b.data, e.thinking...)
		b.signature = append(b.signature, e.signature...)
	case toolBlock:
		b.input.Add(e.partial)
	}
	if e.thinking != "" {
		c.Parts = append(c.Parts, chat.Part{Text: e.thinking, Thought: true})
	}
	if e.text != "" {
		a.text += len(e.text)
		a.appendKept(c)
		c.Parts = append(c.Parts, chat.Part{Text: e.text})
	}
	return a.size.Grow(len(e.thinking) + len(e.signature) + len(e.partial) + len(e.text))
}

// appendKept hands on the kept blocks before a text, so that they stand in their place. Once text
// is shown, the answer does not begin again.
func (a *answer) appendKept(c *chat.Chunk) {
	if len(a.held) == 0 {
		return
	}
	a.held = slices.DeleteFunc(a.held, func(p part) bool {
		if p.keptBlock != "" {
			c.Parts = append(c.Parts, chat.Part{Kept: p.keptBlock})
		}
		return p.keptBlock != ""
	})
}

// findOpen returns the place of the open block of that index, or -1.
func (a *answer) findOpen(index int) int {
	for i := len(a.open) - 1; i >= 0; i-- {
		if a.open[i].index == index {
			return i
		}
	}
	return -1
}

// blockOf returns the place of the block that e is about; without an index that can be
// read, the last one. -1: none.
func (a *answer) blockOf(e *event) int {
	if !e.hasIndex {
		return len(a.open) - 1
	}
	return a.findOpen(e.index)
}

// endBlock takes the block at place i out of the open ones, and holds its call or kept block. A
// block of thinking without a signature is not kept: the API would refuse it.
func (a *answer) endBlock(i int) {
	if i < 0 {
		return
	}
	b := a.open[i]
	a.open = slices.Delete(a.open, i, i+1)
	a.cut = false
	switch b.typ {
	case thinkingBlock:
		if len(b.signature) > 0 {
			a.held = append(a.held, part{keptBlock: keptThinking(b.data, b.signature)})
		}
	case redactedBlock:
		a.held = append(a.held, part{keptBlock: string(b.raw)})
	case toolBlock:
		arguments := model.FirstArguments(b.input.JSON(), b.raw)
		a.cut = b.input.IsEmpty() && len(arguments) <= len("{}")
		a.held = append(a.held, part{id: b.id, name: b.name, arguments: arguments})
	}
}

// keptThinking is a thinking block as the next request has to send it back: the
// signature covers the text, so neither may change.
func keptThinking(thinking, signature []byte) string {
	b := model.AppendString([]byte(`{"type":"thinking","thinking":`), thinking)
	b = model.AppendString(append(b, `,"signature":`...), signature)
	return string(append(b, '}'))
}

// setFigures takes the latest of each figure.
func (a *answer) setFigures(f figures, c *chat.Chunk) {
	if max(f.input, f.created, f.read, f.output) < 0 {
		return
	}
	for _, figure := range []struct {
		to   *int
		from int
	}{{&a.latest.input, f.input}, {&a.latest.created, f.created}, {&a.latest.read, f.read}, {&a.latest.output, f.output}} {
		if figure.from >= 0 {
			*figure.to = figure.from
		}
	}
	a.usage = chat.Usage{
		InputTokens:  a.latest.input + a.latest.created + a.latest.read,
		OutputTokens: a.latest.output,
		CachedTokens: a.latest.read, WrittenTokens: a.latest.created,
	}
	a.hasUsage, c.Usage = true, &a.usage
}

// judgeStop takes the API's word on how the answer ends. Only a refusal ends it at once.
func (a *answer) judgeStop(stop string) error {
	if a.stop.Add([]byte(stop)); a.stop.End == model.EndBlocked {
		return a.stop.Err()
	}
	return nil
}

// End hands on the held parts, after the stream has ended cleanly.
func (a *answer) End(c *chat.Chunk) error {
	if a.hasUsage {
		c.Usage = &a.usage
	}
	if err := a.stop.Err(); err != nil {
		return err
	}
	finish := chat.FinishStop
	switch {
	case a.stop.End == model.EndMaxTokens:
		finish = chat.FinishMaxTokens
	case a.stop.End == model.EndNone && !a.ended:
		return model.ErrCut
	}
	for len(a.open) > 0 {
		a.endBlock(0)
	}
	called, err := a.appendHeld(c, finish == chat.FinishMaxTokens)
	switch {
	case err != nil:
		return err
	case a.text == 0 && !called && finish == chat.FinishStop:
		return model.ErrNoText
	}
	c.Finish = finish
	return nil
}

// appendHeld appends the held parts, and reports whether there was a call. If the limit cut the
// answer, incomplete calls are left out.
func (a *answer) appendHeld(c *chat.Chunk, limited bool) (called bool, err error) {
	held := a.held
	if limited && a.cut {
		held = held[:len(held)-1] // nobody can say whether its arguments would have come
	}
	for i := range held {
		p := &held[i]
		if p.keptBlock != "" {
			c.Parts = append(c.Parts, chat.Part{Kept: p.keptBlock})
			continue
		}
		switch reason := model.CallFault(p.name, p.arguments); {
		case reason == "":
			called = true
			if call := a.codec.tools.Called(a.tools, &a.ids, p.id, p.name, p.arguments); call != nil {
				c.Parts = append(c.Parts, chat.Part{Call: call})
			}
		case !limited:
			return called, &model.Malformed{Reason: reason}
		}
	}
	a.held = clearParts(a.held)
	return called, nil
}
