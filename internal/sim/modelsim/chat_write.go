// This file writes an answer of Chat Completions, in the form of OpenAI or, by directives,
// of one of the many servers that differ. Chunks are made first and sent later (writer.go),
// so that a fault can come in place of any of them.

package modelsim

import (
	"maps"
	"slices"
	"strings"
)

// created is when all answers were made: they do not depend on the time.
const created = 1767225600

// chatFaults are the forms in which endpoints report an error within a stream.
//
// They are forms of real servers.
func chatFaults() map[string]string {
	const failed = `{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}`
	return map[string]string{
		"object": `data: {"error":` + failed + "}\n\n",
		"string": `data: {"error":"The server had an error."}` + "\n\n",
		"array":  `data: [{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]` + "\n\n",
		"event":  "event: error\n" + `data: {"error":{"message":"Tool call validation failed","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"{}","status_code":400}}` + "\n\n",
		"field":  `error: ` + failed + "\n\n",
		"bare":   `{"error":` + failed + "}\n",
		"finish": `data: {"id":"gen-modelsim","object":"chat.completion.chunk","created":1767225600,"model":"modelsim","error":{"code":502,"message":"Provider returned error"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n",
	}
}

// chatAnswer is a Chat Completions answer in the making.
//
// It embeds the request (turn) and the answer (answer).
type chatAnswer struct {
	*turn
	answer
	usage any
}

// writeChat writes an answer as chunks: a role first, then thoughts, text and
// calls, the finish reason, and usage as the script places it.
//
// The whole answer, for a request without stream, is made together with the chunks and says the
// same.
func writeChat(t *turn) answer {
	f := t.tokens()
	a := &chatAnswer{turn: t, usage: object{
		"prompt_tokens": f.input, "completion_tokens": f.output + f.thinking, "total_tokens": f.input + f.output + f.thinking,
		"prompt_tokens_details":     object{"cached_tokens": f.cached, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": f.thinking, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
	}}
	first := object{"role": "assistant", "content": "", "refusal": nil}
	if t.reply.Text == "" && len(t.reply.Calls) > 0 {
		first["content"] = nil
	}
	a.addDelta(first)
	a.addThoughts()
	for _, s := range t.reply.Deltas(pieces) {
		a.addDelta(object{"content": s})
	}
	for _, s := range pieces(t.refusal) {
		a.addDelta(object{"refusal": s})
	}
	calls := a.addCalls()
	a.addEnd(t.finishWord("stop", "tool_calls"))
	a.answer.document = a.messageDocument(calls)
	return a.answer
}

// finishWord is the reason for the end: that of the script, or the protocol's words
// for a text and for calls.
func (t *turn) finishWord(text, calls string) string {
	switch {
	case t.finish != "":
		return t.finish
	case len(t.reply.Calls) > 0:
		return calls
	}
	return text
}

// addChunk sends a chunk with the given choices.
//
// obfuscation is a member that OpenAI adds to hide lengths; readers must ignore it.
func (a *chatAnswer) addChunk(choices list, usage any) {
	c := object{
		"id": "chatcmpl-" + a.nonce, "object": "chat.completion.chunk", "created": created, "model": a.s.cfg.Model.Version(),
		"service_tier": "default", "system_fingerprint": "modelsim", "obfuscation": "", "choices": choices,
	}
	if a.includeUsage || usage != nil {
		c["usage"] = usage
	}
	if a.directives.usage == "groq" && usage != nil {
		c["x_groq"] = object{"id": "req_modelsim", "usage": usage}
	}
	a.add("", c)
}

// addDelta adds a chunk with one piece.
func (a *chatAnswer) addDelta(d object) {
	var usage any
	if a.directives.usage == "every" {
		usage = a.usage
	}
	a.addChunk(list{object{"index": 0, "delta": d, "logprobs": nil, "finish_reason": nil}}, usage)
}

// addThoughts writes a thought in the member that the script names, or between
// tags within the text.
//
// Reasoning that goes out without a signature is remembered, for the check when it comes
// back.
func (a *chatAnswer) addThoughts() {
	text := a.turn.thoughts()
	if text == "" || a.reasoning == "" {
		return
	}
	a.remember(text)
	switch a.reasoning {
	case "tags":
		a.addDelta(object{"content": "<think>\n"})
	case "parts": // as Mistral: content is a list
		a.addDelta(object{"content": ""})
	}
	detail := func(member, text string) list {
		return list{object{"type": "reasoning.text", member: text, "format": "modelsim-v1", "index": 0}}
	}
	for _, s := range pieces(text) {
		a.addDelta(map[string]object{
			"content": {"reasoning_content": s},
			"plain":   {"reasoning": s},
			"details": {"content": "", "reasoning": s, "reasoning_details": detail("text", s)},
			"both":    {"reasoning_content": s, "reasoning_details": detail("text", s)},
			"parts":   {"content": list{object{"type": "thinking", "thinking": list{object{"type": "text", "text": s}}}}},
			"tags":    {"content": s},
			"open":    {"content": s},
		}[a.reasoning])
	}
	switch a.reasoning {
	case "tags", "open":
		a.addDelta(object{"content": "\n</think>\n\n"})
	case "details", "both":
		a.addDelta(object{"content": "", "reasoning_details": detail("signature", a.seal("detail", letters(text, 16)))})
	}
}

// addCalls sends the calls and returns them as a message holds them.
func (a *chatAnswer) addCalls() list {
	var whole list
	for i, c := range a.reply.Calls {
		id := a.callID("call_", i, false)
		call := object{"type": "function", "function": object{"name": c.Name, "arguments": string(c.Args)}}
		if id != "" {
			call["id"] = id
		}
		if a.signed && i == 0 {
			call["extra_content"] = object{"google": object{"thought_signature": a.seal("call", letters(c.Name+string(c.Args), 16))}}
		}
		whole = append(whole, call)
		a.callDeltas(i, call, id)
	}
	return whole
}

// callDeltas writes a call in pieces: the name first, then the arguments. The
// script says which of index and id come along, and where.
//
// The pieces of arguments are cut within words and escapes, so that a reader which parses a
// piece fails.
func (a *chatAnswer) callDeltas(i int, call object, id string) {
	name, args := call["function"].(object)["name"], call["function"].(object)["arguments"].(string)
	first := maps.Clone(call)
	rest := a.argumentPieces(args)
	if a.directives.calls == "whole" {
		rest = nil
	} else {
		first["function"] = object{"name": name, "arguments": ""}
	}
	if a.ids == "late" {
		delete(first, "id")
	}
	a.callDelta(i, first)
	for k, s := range rest {
		piece := object{"function": object{"arguments": s}}
		if k == 0 && a.ids == "late" {
			piece["id"] = id
		}
		a.callDelta(i, piece)
	}
}

// callDelta sends a piece of the call at i.
func (a *chatAnswer) callDelta(i int, piece object) {
	switch a.index {
	case "":
		piece["index"] = i
	case "zero":
		piece["index"] = 0
	}
	a.addDelta(object{"tool_calls": list{piece}})
}

// addEnd sends the finish reason and the usage.
//
// OpenAI sends usage in a chunk of its own with empty choices, and only if it was asked
// for.
func (a *chatAnswer) addEnd(finish string) {
	var usage any
	if slices.Contains([]string{"last", "every", "groq"}, a.directives.usage) {
		usage = a.usage
	}
	if !a.noFinish {
		a.addChunk(list{object{"index": 0, "delta": object{}, "logprobs": nil, "finish_reason": finish}}, usage)
	}
	switch a.directives.usage {
	case "none", "last":
		return
	case "":
		if !a.includeUsage {
			return
		}
	}
	a.addChunk(list{}, a.usage)
}

// messageDocument is the answer in one piece.
func (a *chatAnswer) messageDocument(calls list) object {
	m := object{"role": "assistant", "content": orNull(a.reply.Text), "refusal": orNull(a.refusal)}
	if calls != nil {
		m["tool_calls"] = calls
	}
	thoughts := a.turn.thoughts()
	switch {
	case thoughts == "":
	case a.reasoning == "content" || a.reasoning == "both":
		m["reasoning_content"] = thoughts
	case a.reasoning == "plain" || a.reasoning == "details":
		m["reasoning"] = thoughts
	case strings.HasPrefix(a.reasoning, "tags"):
		m["content"] = "<think>\n" + thoughts + "\n</think>\n\n" + a.reply.Text
	}
	return object{
		"id": "chatcmpl-" + a.nonce, "object": "chat.completion", "created": created, "model": a.s.cfg.Model.Version(),
		"service_tier": "default", "system_fingerprint": "modelsim", "usage": a.usage,
		"choices": list{object{"index": 0, "message": m, "logprobs": nil, "finish_reason": a.finishWord("stop", "tool_calls")}},
	}
}
