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

	// of the message at hand
	own      bool
	text     []byte   // of a model's message, not yet appended
	pending  []string // reasoning items, which go before what they led to
	reasoned bool     // a reasoning item was appended
}

// responsesCall is a call that was appended.
type responsesCall struct {
	id, sent string
	answered bool
}

// appendInput appends the items, with commas between them.
func (c *responsesCodec) appendInput(b []byte, messages []chat.Message, tools *model.RenderedTools) []byte {
	in := responsesInput{b: b, first: true, maker: c.maker, tools: tools}
	for i := range messages {
		msg := &messages[i]
		if msg.Role == chat.RoleModel {
			in.said(msg)
		} else {
			in.asked(msg)
		}
	}
	return in.b
}

// item begins an item.
func (in *responsesInput) item(begin string) {
	if !in.first {
		in.b = append(in.b, ',')
	}
	in.first = false
	in.b = append(in.b, begin...)
}

// asked appends a user's message: results of calls, and texts.
//
// Texts that stand together become parts of one message; a result between them ends it.
func (in *responsesInput) asked(msg *chat.Message) {
	open := false
	for i := range msg.Parts {
		p := &msg.Parts[i]
		switch {
		case p.Call != nil || p.Thought:
		case p.Result != nil:
			in.endTexts(open)
			open = false
			in.result(p.Result.ID, p.Result.Text)
		case p.Text != "":
			in.inputText(p.Text, open)
			open = true
		}
	}
	in.endTexts(open)
}

// inputText appends a part, to the message that is open or to a new one.
func (in *responsesInput) inputText(text string, open bool) {
	if open {
		in.b = append(in.b, ',')
	} else {
		in.item(`{"type":"message","role":"user","content":[`)
	}
	in.b = model.AppendString(append(in.b, `{"type":"input_text","text":`...), text)
	in.b = append(in.b, '}')
}

// endTexts ends the message that is open, if one is.
func (in *responsesInput) endTexts(open bool) {
	if open {
		in.b = append(in.b, `]}`...)
	}
}

// result appends what became of a call. One whose call is not there is left out: it is
// answered with 400.
func (in *responsesInput) result(id, text string) {
	for i := range in.calls {
		c := &in.calls[i]
		if c.answered || c.id != id {
			continue
		}
		c.answered = true
		in.item(`{"type":"function_call_output","call_id":`)
		in.b = model.AppendString(in.b, c.sent)
		in.b = model.AppendString(append(in.b, `,"output":`...), text)
		in.b = append(in.b, '}')
		return
	}
}

// said appends a model's message. Thoughts as text never go back, and what is kept goes
// back to its maker alone.
func (in *responsesInput) said(msg *chat.Message) {
	in.own = msg.Maker == in.maker
	in.text, in.pending, in.reasoned = in.text[:0], in.pending[:0], false
	for i := range msg.Parts {
		p := &msg.Parts[i]
		switch {
		case p.Call != nil:
			in.message(responsesKept{})
			in.call(p)
		case p.Result != nil || p.Thought:
		default:
			in.text = append(in.text, p.Text...)
			if in.own && p.Kept != "" {
				in.kept(jsontext.Value(p.Kept))
			}
		}
	}
	in.message(responsesKept{})
}

// kept takes what an earlier answer left for us to send back: our own note on a
// message, or an item that goes back as it came, such as reasoning. Items wait until
// their message is known.
//
// Text before such an item is a message of its own, to keep the order.
func (in *responsesInput) kept(item jsontext.Value) {
	if strings.HasPrefix(string(item), responsesMessageBegin) {
		if len(in.text) == 0 { // its words were not kept, and reasoning must not go back without what it led to
			in.pending = in.pending[:0]
		}
		in.message(readResponsesKept(item))
		return
	}
	if item.Kind() == '{' && item.IsValid() {
		in.message(responsesKept{})
		in.pending = append(in.pending, string(item))
	}
}

// message appends the text at hand, if there is any.
//
// kept is zero for a text of which nothing is known but its words.
func (in *responsesInput) message(kept responsesKept) {
	if len(in.text) == 0 {
		return
	}
	in.reasoning()
	in.item(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":`)
	in.b = append(model.AppendString(in.b, in.text), `}]`...)
	if kept.phase != "" {
		in.b = model.AppendString(append(in.b, `,"phase":`...), kept.phase)
	}
	in.link(kept.id)
	in.b = append(in.b, '}')
	in.text = in.text[:0]
}

// reasoning appends the items that led to the item to come. Those that led to nothing
// are left out: a reasoning item without the item that follows it is answered with 400.
func (in *responsesInput) reasoning() {
	for _, item := range in.pending {
		in.item(item)
		in.reasoned = true
	}
	in.pending = in.pending[:0]
}

// link appends an item's own id, which ties it to the reasoning before it. Without that,
// which may have been too large to keep, the provider would miss it.
func (in *responsesInput) link(id string) {
	if id != "" && in.reasoned {
		in.b = model.AppendString(append(in.b, `,"id":`...), id)
	}
}

// call appends a call.
//
// Its id is shortened if it is another model's and too long; result finds it by the one
// that we know.
func (in *responsesInput) call(p *chat.Part) {
	in.reasoning()
	sent := in.ids.Fit(p.Call.ID, func(id string) bool { return len(id) <= maxResponsesID })
	in.calls = append(in.calls, responsesCall{id: p.Call.ID, sent: sent})
	in.item(`{"type":"function_call","call_id":`)
	in.b = model.AppendString(in.b, sent)
	in.b = model.AppendString(append(in.b, `,"name":`...), in.tools.Names.Fit(p.Call.Name))
	args := p.Call.Arguments
	if args.Kind() != '{' || !args.IsValid() {
		args = jsontext.Value(`{}`)
	}
	in.b = model.AppendString(append(in.b, `,"arguments":`...), args)
	if in.own && p.Kept != "" {
		in.link(readResponsesKept(jsontext.Value(p.Kept)).id)
	}
	in.b = append(in.b, '}')
}
