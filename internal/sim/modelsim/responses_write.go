// This file writes an answer of the Responses API: numbered events about items. Each item is
// announced, filled in and done.

package modelsim

import "maps"

// responsesFaults are the endings without an answer.
func responsesFaults() map[string]string {
	return map[string]string{
		"error":      "event: error\n" + `data: {"type":"error","sequence_number":90,"error":{"type":"server_error","code":"server_error","message":"The server had an error.","param":null}}` + "\n\n",
		"failed":     "event: response.failed\n" + `data: {"type":"response.failed","sequence_number":91,"response":{"id":"resp_modelsim","object":"response","status":"failed","error":{"code":"server_error","message":"The server had an error."},"output":[],"usage":null}}` + "\n\n",
		"incomplete": "event: response.incomplete\n" + `data: {"type":"response.incomplete","sequence_number":92,"response":{"id":"resp_modelsim","object":"response","status":"incomplete","error":null,"incomplete_details":{"reason":"content_filter"},"output":[],"usage":null}}` + "\n\n",
	}
}

// responsesAnswer is a Responses answer in the making.
type responsesAnswer struct {
	*turn
	answer
	output list
}

// writeResponses writes an answer as events of items: each is added, filled in
// and done, and the last event has the whole response once more.
func writeResponses(t *turn) answer {
	a := &responsesAnswer{turn: t, output: list{}}
	a.addEvent("response.created", object{"response": a.newResponse("in_progress")})
	a.addEvent("response.in_progress", object{"response": a.newResponse("in_progress")})
	a.addItems()
	last := a.newResponse("completed")
	kind := "response.completed"
	switch word := t.finishWord("stop", "stop"); word {
	case "stop":
	case "length":
		last["incomplete_details"] = object{"reason": "max_output_tokens"}
	default:
		last["incomplete_details"] = object{"reason": word}
	}
	if last["incomplete_details"] != nil {
		last["status"], kind = "incomplete", "response.incomplete"
	}
	if !t.noFinish {
		a.addEvent(kind, object{"response": last})
	}
	a.answer.document = last
	return a.answer
}

// addItems writes the items of the answer.
func (a *responsesAnswer) addItems() {
	reasoned := len(a.reply.Thoughts) > 0 && !a.unreasoned
	if reasoned {
		a.reasoningItem()
	}
	if a.reply.Text != "" || a.refusal != "" {
		a.messageItem()
	}
	for i, c := range a.reply.Calls {
		a.callItem(i, c.Name, string(c.Args), reasoned && a.encrypted)
	}
}

// addEvent sends an event with its name and number.
func (a *responsesAnswer) addEvent(kind string, data object) {
	data["type"], data["sequence_number"] = kind, len(a.frames)
	a.add(kind, data)
}

// newResponse is the object that the first events and the last one hold.
//
// It has all members of the real object, so that each reader finds its member.
func (a *responsesAnswer) newResponse(status string) object {
	r := object{
		"id": "resp_" + a.nonce, "object": "response", "created_at": created, "completed_at": nil, "status": status, "model": a.s.cfg.Model.Version(),
		"output": a.output, "error": nil, "incomplete_details": nil, "usage": nil, "background": false, "frequency_penalty": 0, "instructions": nil,
		"max_output_tokens": nil, "max_tool_calls": nil, "moderation": nil, "parallel_tool_calls": true, "presence_penalty": 0, "previous_response_id": nil,
		"prompt_cache_key": nil, "prompt_cache_retention": nil, "reasoning": object{"effort": nil, "summary": nil, "context": nil}, "safety_identifier": nil,
		"service_tier": "default", "store": false, "temperature": 1, "text": object{"format": object{"type": "text"}, "verbosity": "medium"},
		"tool_choice": "auto", "tools": list{}, "top_logprobs": 0, "top_p": 1, "truncation": "disabled", "user": nil, "metadata": object{},
	}
	if status == "completed" {
		r["completed_at"] = created
		if a.directives.usage != "none" {
			f := a.tokens()
			r["usage"] = object{
				"input_tokens": f.input, "input_tokens_details": object{"cached_tokens": f.cached},
				"output_tokens": f.output + f.thinking, "output_tokens_details": object{"reasoning_tokens": f.thinking},
				"total_tokens": f.input + f.output + f.thinking,
			}
		}
	}
	return r
}

// addItem opens an item, lets fill send its content and closes it as done. part adds the item's id
// and place to an event.
//
// added and done have the same id here; the real API does not promise that.
func (a *responsesAnswer) addItem(added, done object, fill func(part func(kind string, data object))) {
	at := len(a.output)
	a.addEvent("response.output_item.added", object{"item": added, "output_index": at})
	fill(func(kind string, data object) {
		data["item_id"], data["output_index"] = done["id"], at
		a.addEvent(kind, data)
	})
	a.addEvent("response.output_item.done", object{"item": done, "output_index": at})
	a.output = append(a.output, done)
}

// reasoningItem writes the model's thoughts: a summary if the client asked for it, and the sealed
// text if the client keeps the conversation.
func (a *responsesAnswer) reasoningItem() {
	text, summary := "", list{}
	if a.thinks {
		text = a.thoughts()
		summary = list{object{"type": "summary_text", "text": text}}
	}
	added := object{"id": "rs_" + a.nonce, "type": "reasoning", "content": list{}, "summary": list{}}
	if a.encrypted {
		added["encrypted_content"] = a.seal("begun", a.nonce) // as the real one, it is another at the end
	}
	done := maps.Clone(added)
	done["summary"] = summary
	if a.encrypted {
		done["encrypted_content"] = a.seal("reasoning", "rs_"+a.nonce+letters(text, 16))
	}
	a.addItem(added, done, func(part func(string, object)) {
		if text == "" {
			return
		}
		part("response.reasoning_summary_part.added", object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
		for _, s := range pieces(text) {
			part("response.reasoning_summary_text.delta", object{"summary_index": 0, "delta": s, "obfuscation": ""})
		}
		part("response.reasoning_summary_text.done", object{"summary_index": 0, "text": text})
		part("response.reasoning_summary_part.done", object{"summary_index": 0, "part": object{"type": "summary_text", "text": text}})
	})
}

// messageItem writes the text, or a refusal in its place.
func (a *responsesAnswer) messageItem() {
	added := object{"id": "msg_" + a.nonce, "type": "message", "status": "in_progress", "role": "assistant", "content": list{}}
	done := maps.Clone(added)
	content := object{"type": "output_text", "text": a.reply.Text, "annotations": list{}, "logprobs": list{}}
	begin := maps.Clone(content)
	kind, member, text := "response.output_text", "text", a.reply.Text
	if a.refusal != "" {
		kind, member, text = "response.refusal", "refusal", a.refusal
		content = object{"type": "refusal", "refusal": text}
		begin = maps.Clone(content)
	}
	begin[member] = ""
	done["status"], done["content"] = "completed", list{content}
	a.addItem(added, done, func(part func(string, object)) {
		part("response.content_part.added", object{"content_index": 0, "part": begin})
		for _, s := range a.textPieces() {
			delta := object{"content_index": 0, "delta": s, "obfuscation": ""}
			if member == "text" {
				delta["logprobs"] = list{}
			}
			part(kind+".delta", delta)
		}
		whole := object{"content_index": 0, member: text}
		if member == "text" {
			whole["logprobs"] = list{}
		}
		part(kind+".done", whole)
		part("response.content_part.done", object{"content_index": 0, "part": content})
	})
}

// callItem writes call i of the answer.
//
// reasoned marks the id, so that the call is refused later without its reasoning.
func (a *responsesAnswer) callItem(i int, name, args string, reasoned bool) {
	id := a.callID("call_", i, reasoned)
	added := object{"id": "fc_" + letters(a.nonce+id, 20), "type": "function_call", "status": "in_progress", "call_id": id, "name": name, "arguments": ""}
	done := maps.Clone(added)
	done["status"], done["arguments"] = "completed", args
	a.addItem(added, done, func(part func(string, object)) {
		for _, s := range a.argumentPieces(args) {
			part("response.function_call_arguments.delta", object{"delta": s, "obfuscation": ""})
		}
		part("response.function_call_arguments.done", object{"arguments": args})
	})
}
