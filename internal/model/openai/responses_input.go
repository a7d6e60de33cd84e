// This file writes the conversation as items. The API checks their order: a reasoning item
// must be followed by the item that it led to, under that item's id, and each call by its
// output. A break of these rules is a 400 for the whole request, so items whose partner is
// missing are left out.

package openai

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// maxResponsesID is how long a call_id may be: longer ones are answered with 400,
// string_above_max_length.
const maxResponsesID = 64

// responsesInput appends the items of a request's input.
//
// It lives for one request. text and pending belong to the message at hand.
type responsesInput struct {
	b     []byte
	first bool
	maker string
	tools *model.RenderedTools
	calls []responsesCall
	ids   model.SentIDs
	marks marks

	// of the message at hand
	isOwn    bool
	isJoined bool     // two calls have written it
	text     []byte   // of a model's message, not yet appended
	pending  []string // reasoning items, to append before the item that they led to
	reasoned bool     // a reasoning item was appended
}

// responsesCall is a call that was appended.
type responsesCall struct {
	id, sent string
	answered bool
}

// appendInput appends the items, with commas between them.
func (c *responsesCodec) appendInput(b []byte, req *chat.ModelRequest, tools *model.RenderedTools, exact marks) []byte {
	in := responsesInput{b: b, first: true, maker: c.maker, tools: tools, marks: exact}
	if req.System != "" && exact.texts {
		in.beginItem(`{"type":"message","role":"developer","content":`)
		in.b = append(in.marks.appendMark(openPart(in.b, "input_text", req.System)), `}]}`...)
	}
	for i := range req.Messages {
		msg := &req.Messages[i]
		if msg.Role == chat.RoleModel {
			in.appendModel(msg)
		} else {
			in.appendUser(msg)
		}
	}
	return in.b
}

// beginItem begins an item.
func (in *responsesInput) beginItem(begin string) {
	if !in.first {
		in.b = append(in.b, ',')
	}
	in.first = false
	in.b = append(in.b, begin...)
}

// appendUser appends a user's message: results of calls, and texts.
//
// Texts that stand together become parts of one message; a result between them ends it.
func (in *responsesInput) appendUser(msg *chat.Message) {
	open, last := false, -1
	if in.marks.results {
		last = lastResult(msg)
	}
	for i := range msg.Parts {
		p := &msg.Parts[i]
		switch {
		case p.Call != nil || p.Thought:
		case p.Result != nil:
			in.endTexts(open)
			open = false
			in.appendResult(p.Result.ID, p.Result.Text, i == last)
		case p.Text != "":
			in.inputText(p, open)
			open = true
		}
	}
	in.endTexts(open)
}

// inputText appends a part, to the message that is open or to a new one.
func (in *responsesInput) inputText(p *chat.Part, open bool) {
	if open {
		in.b = append(in.b, ',')
	} else {
		in.beginItem(`{"type":"message","role":"user","content":[`)
	}
	in.b = model.AppendString(append(in.b, `{"type":"input_text","text":`...), p.Text)
	if in.marks.texts && isInput(p) {
		in.b = in.marks.appendNext(in.b)
	}
	in.b = append(in.b, '}')
}

// lastResult returns the place of the last result in a message, or -1.
func lastResult(msg *chat.Message) int {
	for i := len(msg.Parts) - 1; i >= 0; i-- {
		if msg.Parts[i].Result != nil {
			return i
		}
	}
	return -1
}

// endTexts ends the message that is open, if one is.
func (in *responsesInput) endTexts(open bool) {
	if open {
		in.b = append(in.b, `]}`...)
	}
}

// appendResult appends what became of a call. A result without its call is left out, because the
// API replies 400 to it. A marked result may end with a mark of the cache.
func (in *responsesInput) appendResult(id, text string, marked bool) {
	for i := range in.calls {
		c := &in.calls[i]
		if c.answered || c.id != id {
			continue
		}
		c.answered = true
		in.beginItem(`{"type":"function_call_output","call_id":`)
		in.b = model.AppendString(in.b, c.sent)
		in.b = append(in.b, `,"output":`...)
		if marked {
			in.b = append(in.marks.appendNext(openPart(in.b, "input_text", text)), `}]`...)
		} else {
			in.b = model.AppendString(in.b, text)
		}
		in.b = append(in.b, '}')
		return
	}
}

// appendModel appends a model's message. Thoughts as text never go back, and kept parts go back to
// their maker alone.
func (in *responsesInput) appendModel(msg *chat.Message) {
	in.isOwn, in.isJoined = msg.Maker == in.maker, msg.Maker == chat.SeamMaker
	in.text, in.pending, in.reasoned = in.text[:0], in.pending[:0], false
	for i := range msg.Parts {
		p := &msg.Parts[i]
		switch {
		case p.Call != nil:
			in.appendMessage(responsesKept{})
			in.appendCall(p)
		case p.Result != nil || p.Thought:
		default:
			in.text = append(in.text, p.Text...)
			if in.isOwn && p.Kept != "" {
				in.acceptKept(jsontext.Value(p.Kept))
			}
		}
	}
	in.appendMessage(responsesKept{})
}

// acceptKept takes a kept part of an earlier answer. It is our own form for a message, or an item to
// send unchanged, such as reasoning. Items wait until their message is known.
//
// Text before such an item is a message of its own, to keep the order.
func (in *responsesInput) acceptKept(item jsontext.Value) {
	if strings.HasPrefix(string(item), responsesMessageBegin) {
		if len(in.text) == 0 { // its text is missing, and reasoning must not go back without the item behind it
			in.pending = in.pending[:0]
		}
		in.appendMessage(readResponsesKept(item))
		return
	}
	if item.Kind() == '{' && item.IsValid() {
		in.appendMessage(responsesKept{})
		in.pending = append(in.pending, string(item))
	}
}

// appendMessage appends the text at hand, if there is any.
//
// kept is zero for a text of which nothing is known but its words.
func (in *responsesInput) appendMessage(kept responsesKept) {
	if len(in.text) == 0 {
		return
	}
	in.appendReasoning()
	in.beginItem(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`)
	in.b = append(model.AppendString(in.b, in.text), `}]`...)
	if kept.phase != "" {
		in.b = model.AppendString(append(in.b, `,"phase":`...), kept.phase)
	}
	in.appendItemID(kept.id)
	in.b = append(in.b, '}')
	in.text = in.text[:0]
}

// appendReasoning appends the items that led to the item to come. Reasoning that led to nothing is
// left out, because the API replies 400 to reasoning without the next item.
func (in *responsesInput) appendReasoning() {
	for _, item := range in.pending {
		in.beginItem(item)
		in.reasoned = true
	}
	in.pending = in.pending[:0]
}

// appendItemID appends an item's own id, which ties it to the reasoning before it. If the reasoning
// was too large to keep, the id is left out, because the API would ask for the reasoning.
func (in *responsesInput) appendItemID(id string) {
	if id != "" && in.reasoned {
		in.b = model.AppendString(append(in.b, `,"id":`...), id)
	}
}

// appendCall appends a call.
//
// Its id is shortened if it is another model's and too long; result finds it by the one that we
// know. Behind a seam the id is replaced, because the reasoning of its call does not go back.
func (in *responsesInput) appendCall(p *chat.Part) {
	in.appendReasoning()
	sent := in.ids.Fit(p.Call.ID, func(id string) bool { return len(id) <= maxResponsesID && !(in.isJoined && id == p.Call.ID) })
	in.calls = append(in.calls, responsesCall{id: p.Call.ID, sent: sent})
	in.beginItem(`{"type":"function_call","call_id":`)
	in.b = model.AppendString(in.b, sent)
	in.b = model.AppendString(append(in.b, `,"name":`...), in.tools.Names.Fit(p.Call.Name))
	args := p.Call.Arguments
	if args.Kind() != '{' || !args.IsValid() {
		args = jsontext.Value(`{}`)
	}
	in.b = model.AppendString(append(in.b, `,"arguments":`...), args)
	if in.isOwn && p.Kept != "" {
		in.appendItemID(readResponsesKept(jsontext.Value(p.Kept)).id)
	}
	in.b = append(in.b, '}')
}
