// This file writes an answer of the Messages API: blocks that begin, grow and end, between
// a beginning with the input's tokens and an end with the output's.

package modelsim

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"
)

// messagesFaults are the forms of an error within a stream.
func messagesFaults() map[string]string {
	return map[string]string{
		"event": "event: error\n" + `data: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}` + "\n\n",
	}
}

// messagesAnswer is a Messages answer in the making.
type messagesAnswer struct {
	*turn
	answer
	content list
}

// writeMessages writes an answer as named events: the message begins with its
// input tokens, and ends with its stop reason and output tokens.
//
// Without message_stop (no-done) the stream has ended all the same: message_delta has the
// reason.
func writeMessages(t *turn) answer {
	a := &messagesAnswer{turn: t, content: list{}}
	message := object{
		"model": t.s.cfg.Model.Version(), "id": "msg_" + t.nonce, "type": "message", "role": "assistant", "content": list{},
		"stop_reason": nil, "stop_sequence": nil, "usage": a.usageOf(true),
	}
	a.addEvent("message_start", object{"message": message})
	a.addBlocks()
	stop := map[string]string{"length": "max_tokens"}[t.finish]
	if stop == "" {
		stop = t.finishWord("end_turn", "tool_use")
	}
	if t.refusal != "" && t.finish == "" {
		stop = "refusal"
	}
	usage := a.usageOf(false)
	delta := object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage}
	if t.noFinish {
		delta["delta"] = object{"stop_reason": nil, "stop_sequence": nil}
	}
	if t.directives.usage == "none" {
		delete(delta, "usage")
		usage = nil
	}
	a.addEvent("message_delta", delta)
	if !t.noDone {
		a.addEvent("message_stop", object{})
	}
	whole := maps.Clone(message)
	whole["content"], whole["stop_reason"], whole["usage"] = a.content, stop, usage
	a.answer.document = whole
	return a.answer
}

// addEvent sends an event with its name.
func (a *messagesAnswer) addEvent(kind string, data object) {
	data["type"] = kind
	a.add(kind, data)
}

// usageOf is the usage: at the start with one token of output.
//
// Input tokens are without those from the cache, as Anthropic counts.
func (a *messagesAnswer) usageOf(start bool) object {
	f := a.tokens()
	u := object{
		"input_tokens": f.input - f.cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": f.cached,
		"output_tokens": f.output + f.thinking,
	}
	if start {
		u["output_tokens"], u["service_tier"] = 1, "standard"
		u["cache_creation"] = object{"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
	}
	return u
}

// addBlocks sends thinking, text and calls.
func (a *messagesAnswer) addBlocks() {
	if a.redacted {
		data := a.seal("redacted", a.nonce)
		a.addBlock(object{"type": "redacted_thinking", "data": data}, nil, nil)
	}
	if text := a.thoughts(); text != "" && !a.unreasoned {
		if !a.thinks {
			text = ""
		}
		done := object{"type": "thinking", "thinking": text, "signature": a.seal("thinking", letters(text, 16))}
		var deltas list
		for _, s := range pieces(text) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": s})
		}
		deltas = append(deltas, object{"type": "signature_delta", "signature": done["signature"]})
		a.addBlock(object{"type": "thinking", "thinking": "", "signature": ""}, deltas, done)
	}
	if text := a.reply.Text + a.refusal; text != "" {
		var deltas list
		for _, s := range a.textPieces() {
			deltas = append(deltas, object{"type": "text_delta", "text": s})
		}
		a.addBlock(object{"type": "text", "text": ""}, deltas, object{"type": "text", "text": text})
	}
	for i, c := range a.reply.Calls {
		begin := object{"type": "tool_use", "id": a.callID("toolu_", i, false), "name": c.Name, "input": object{}, "caller": object{"type": "direct"}}
		done := object{}
		for k, v := range begin {
			done[k] = v
		}
		if args := jsontext.Value(c.Args); args.IsValid() {
			done["input"] = args
		}
		deltas := list{object{"type": "input_json_delta", "partial_json": ""}}
		for _, s := range a.argumentPieces(string(c.Args)) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": s})
		}
		a.addBlock(begin, deltas, done)
	}
}

// addBlock sends one block. done is how it stands in a whole answer; nil: as it begins.
//
// A ping comes behind the first block's begin, so that every reader meets one.
func (a *messagesAnswer) addBlock(begin object, deltas list, done object) {
	index := len(a.content)
	a.addEvent("content_block_start", object{"index": index, "content_block": begin})
	if index == 0 {
		a.addEvent("ping", object{})
	}
	for _, d := range deltas {
		a.addEvent("content_block_delta", object{"index": index, "delta": d})
	}
	a.addEvent("content_block_stop", object{"index": index})
	if done == nil {
		done = begin
	}
	a.content = append(a.content, done)
}
