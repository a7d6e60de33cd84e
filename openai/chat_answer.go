package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/model"
	"sluice/tool"
)

// maxAnswer is how much of one answer is taken, in bytes of text, thoughts, arguments
// and what is kept (docs/design.md, "Limits").
const maxAnswer = 2 << 20

// chatAnswer reads one answer of Chat Completions.
type chatAnswer struct {
	codec *Chat
	tools *tool.Set // on offer; nil: not known

	decoder chatDecoder
	chunk   chatChunk
	think   thinkTags
	calls   chatCalls
	kept    chatKept

	usage    chat.Usage
	hasUsage bool
	finish   string // the provider's word
	blocked  bool
	failed   bool // the finish reason is an error
	over     bool // [DONE] came, or the whole answer
	size     int  // of all that was taken
	largest  int  // chunk
	text     int  // bytes of text
	model    string
}

// Asked implements model.Asker.
func (a *chatAnswer) Asked(req *chat.ModelRequest) { a.tools = req.Tools }

// keepScratch is up to how large an answer leaves its memory to the next one, in bytes.
const keepScratch = 64 << 10

// Reset implements model.Answer.
func (a *chatAnswer) Reset() {
	if a.size > keepScratch || a.largest > keepScratch {
		*a = chatAnswer{codec: a.codec}
	}
	a.think.reset(a.codec.thinkTags)
	a.calls.reset()
	a.kept.reset()
	a.tools = nil
	a.decoder.chatHalves = chatHalves{}
	a.usage, a.hasUsage = chat.Usage{}, false
	a.finish, a.blocked, a.failed, a.over = "", false, false, false
	a.size, a.largest, a.text, a.model = 0, 0, 0, ""
}

// Over implements model.Answer.
func (a *chatAnswer) Over() bool { return a.over }

// Note implements model.Answer.
func (a *chatAnswer) Note() model.Note {
	return model.Note{TextLength: a.text, Finish: model.Word(a.finish), Model: a.model, Size: a.size}
}

// Take implements model.Answer.
func (a *chatAnswer) Take(name string, data []byte, c *chat.Chunk) error {
	data = bytes.TrimSpace(data)
	switch {
	case name == "error":
		return a.codec.Refuse(0, nil, data)
	case len(data) == 0:
		return nil
	case string(data) == "[DONE]":
		a.over = true
		return nil
	}
	return a.read(data, false, c)
}

// Whole implements model.Answer.
func (a *chatAnswer) Whole(body []byte, c *chat.Chunk) error {
	if err := a.read(body, true, c); err != nil {
		return err
	}
	if !a.chunk.taken {
		return model.ErrUnreadable
	}
	a.over = true
	return nil
}

// read takes a chunk, or a whole answer. An error in it is told after what stands
// beside it was taken.
func (a *chatAnswer) read(data []byte, whole bool, c *chat.Chunk) error {
	ch := &a.chunk
	a.largest = max(a.largest, len(data))
	err := a.decoder.decode(data, whole, ch)
	if ch.hasUsage {
		a.usage, a.hasUsage = ch.usage, true
		c.Usage = &a.usage
	}
	if err == nil && ch.taken {
		err = a.take(&ch.choice, c)
	}
	switch {
	case ch.failure != nil:
		return a.codec.refuse(0, ch.failure)
	case ch.isError && err == nil:
		return a.codec.refuse(0, data)
	}
	a.named(ch.model)
	return err
}

// named notes the model's name. The last one counts; it is logged.
func (a *chatAnswer) named(name []byte) {
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

// take takes choice 0 of a chunk.
func (a *chatAnswer) take(ch *chatChoice, c *chat.Chunk) error {
	for i := range ch.thought {
		if len(ch.thought[i]) > 0 {
			a.say(c, ch.thought[i], true)
			a.kept.thought(i, ch.thought[i])
			break // they are the same thought
		}
	}
	for i := range ch.details {
		a.size += a.kept.detail(&ch.details[i])
	}
	for _, p := range ch.pieces {
		b := ch.text[p.from:p.to]
		if p.thought {
			a.say(c, b, true)
		} else {
			a.content(b, c)
		}
	}
	for i := range ch.calls {
		a.size += a.calls.take(&ch.calls[i])
	}
	a.finished(ch.finish)
	if a.size > maxAnswer {
		return model.ErrTooLarge
	}
	return nil
}

// content takes a piece of content, which may be thoughts between tags.
func (a *chatAnswer) content(b []byte, c *chat.Chunk) {
	if a.think.done {
		a.say(c, b, false)
		return
	}
	a.think.take(b, func(b []byte, thought bool) { a.say(c, b, thought) })
}

// say hands text on.
func (a *chatAnswer) say(c *chat.Chunk, b []byte, thought bool) {
	if len(b) == 0 {
		return
	}
	a.size += len(b)
	if !thought {
		a.text += len(b)
	}
	c.Parts = append(c.Parts, chat.Part{Text: string(b), Thought: thought})
}

// finished takes a finish reason. The last one counts, but what a filter stopped stays
// stopped, and what failed has failed.
func (a *chatAnswer) finished(word []byte) {
	if len(word) == 0 {
		return
	}
	if string(word) != a.finish {
		a.finish = string(word)
	}
	a.blocked = a.blocked || a.finish == "content_filter"
	a.failed = a.failed || a.finish == "error"
}

// cut says whether the limit of tokens ended the answer.
func (a *chatAnswer) cut() bool {
	return a.finish == "length" || a.finish == "max_tokens" || a.finish == "model_length"
}

// End implements model.Answer.
func (a *chatAnswer) End(c *chat.Chunk) error {
	if half := a.decoder.text.flush(nil); len(half) > 0 {
		a.content(half, c)
	}
	a.think.end(func(b []byte, thought bool) { a.say(c, b, thought) })
	if a.hasUsage {
		c.Usage = &a.usage
	}
	switch {
	case a.blocked:
		return &model.Blocked{Reason: "content_filter"}
	case a.failed:
		return &model.Refusal{Kind: model.KindServer, Type: "error", Message: "finish reason error"}
	case a.finish == "" && !a.over:
		return model.ErrCut
	}
	calls, err := a.calls.whole(a.cut())
	if err != nil {
		return err
	}
	a.kept.appendTo(c, calls, a.calls.extraSize(calls))
	a.appendCalls(c, calls)
	c.Finish = chat.FinishStop
	if a.cut() {
		c.Finish = chat.FinishMaxTokens
		return nil
	}
	if a.text == 0 && len(calls) == 0 {
		return model.ErrNoText
	}
	return nil
}

// appendCalls hands the calls on under our names, with ids that tell them apart.
func (a *chatAnswer) appendCalls(c *chat.Chunk, calls []chatCall) {
	if len(calls) == 0 {
		return
	}
	names := a.codec.tools.Names(a.tools)
	var ids model.IDs
	for i := range calls {
		call := &calls[i]
		part := chat.Part{Call: &tool.Call{
			ID:        ids.Take(string(call.id)),
			Name:      names.Ours(string(call.name)),
			Arguments: jsontext.Value(bytes.Clone(call.args)),
		}}
		if len(call.extra) > 0 && a.kept.fits() && jsontext.Value(call.extra).IsValid() {
			part.Kept = `{"extra_content":` + string(call.extra) + `}`
		}
		c.Parts = append(c.Parts, part)
	}
}
