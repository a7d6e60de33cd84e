package openai

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// items makes a conversation of the items of responses: of those that are kept, and of those
// that a request brings.
type items struct {
	*reader
	// refer returns the item with an id; nil: the fault is reported.
	refer func(at, id string) jsontext.Value

	messages []chat.ClientMessage
	attached []string // places of parts that the user's last message must not have
	// joins is true while the last message is the model's: its next calls are part of it.
	joins    bool
	calls    int          // server calls so far; they lack a model's id
	lastCall string       // the id of the last item that is a call of the client's
	answer   *chat.Answer // a person's answer to waiting calls, or nil
	// questions has the ids of the questions, by the ids of their calls.
	questions map[string]string
}

// readInput reads the request's input: a text, or items.
func (r *items) readInput(v jsontext.Value) {
	switch {
	case isAbsent(v):
		r.addFault("/input", chat.CodeRequired, "is required")
	case v.Kind() == '"':
		r.addText(chat.SpeakerUser, "/input", r.readText("/input", v, true))
	case v.Kind() != '[':
		r.addFault("/input", chat.CodeWrongType, "must be a string or an array of items")
	default:
		r.readItems("/input", v)
	}
	for _, at := range r.attached {
		r.addFault(at, chat.CodeUnsupported, "must be of type input_text: nothing else can be sent here")
	}
}

// readItems reads a list of items. Each has its place below at.
func (r *items) readItems(at string, v jsontext.Value) {
	list := r.readList(at, v)
	if len(list) > chat.MaxMessages {
		r.addFault(at, chat.CodeTooLong, "must have at most 1000 items")
		return
	}
	for i, item := range list {
		r.readItem(at+"/"+strconv.Itoa(i), item)
	}
}

// readItem reads one item.
func (r *items) readItem(at string, v jsontext.Value) {
	if v.Kind() != '{' {
		r.addFault(at, chat.CodeWrongType, "must be an object")
		return
	}
	members := r.readObject(at, v)
	kind := r.readText(at+"/type", members["type"], false)
	if kind == "" && members["role"] != nil {
		kind = "message"
	}
	switch kind {
	case "reasoning", "mcp_list_tools", "mcp_approval_request":
		return
	case "message", "function_call", "function_call_output", "mcp_call", "":
	case "item_reference":
		r.readReference(at, r.readText(at+"/id", members["id"], true))
		return
	case "mcp_approval_response":
		r.readApproval(at, members)
		return
	default:
		r.leftOut = append(r.leftOut, kind)
		return
	}
	r.answer, r.questions = nil, nil // an item behind an answer means that the answer is settled
	switch kind {
	case "message":
		r.readMessageItem(at, members)
	case "function_call":
		r.lastCall = r.readText(at+"/id", members["id"], false)
		r.addCall(at, tool.Call{ID: r.readText(at+"/call_id", members["call_id"], true), Name: r.readText(at+"/name", members["name"], true),
			Arguments: jsontext.Value(r.readText(at+"/arguments", members["arguments"], false))})
	case "function_call_output":
		text, _ := r.readContent(at+"/output", members["output"])
		r.addResult(at, tool.Result{ID: r.readText(at+"/call_id", members["call_id"], true), Text: text}, false)
	case "mcp_call":
		r.readServerCall(at, members)
	default:
		r.addFault(at+"/type", chat.CodeRequired, "is required")
	}
}

// readReference reads an item that the request names. Thoughts and questions are left out, wherever
// they are from.
func (r *items) readReference(at, id string) {
	if _, asks := dialect.AnswerTo(new(chat.Answer), id); asks || id == "" || strings.HasPrefix(id, "rs_") {
		return
	}
	if v := r.refer(at, id); v != nil {
		r.readItem(at, v)
	}
}

// readMessageItem reads a message.
func (r *items) readMessageItem(at string, members map[string]jsontext.Value) {
	role := r.readText(at+"/role", members["role"], true)
	speaker, ok := speakers[role]
	if !ok || speaker == chat.SpeakerTool {
		if role != "" {
			r.addFault(at+"/role", chat.CodeUnsupported, "must be system, developer, user or assistant")
		}
		return
	}
	said, others := r.readContent(at+"/content", members["content"])
	if speaker == chat.SpeakerUser {
		r.attached = others
	}
	r.addText(speaker, at, said)
}

// addText adds a text. Text of the model behind its calls becomes a new message.
func (r *items) addText(speaker chat.Speaker, at, said string) {
	r.messages = append(r.messages, chat.ClientMessage{Speaker: speaker, Text: said, At: at})
	r.joins = speaker == chat.SpeakerAssistant
}

// addCall adds a call. Calls in a row, with the text in front of them, are one step of the model.
func (r *items) addCall(at string, c tool.Call) {
	if !r.joins {
		r.addText(chat.SpeakerAssistant, at, "")
	}
	last := &r.messages[len(r.messages)-1]
	last.Calls = append(last.Calls, c)
}

// addResult adds the result of a call. served is true if a gateway has run the call.
func (r *items) addResult(at string, result tool.Result, served bool) {
	r.messages = append(r.messages, chat.ClientMessage{Speaker: chat.SpeakerTool, Result: result, Served: served, At: at})
	r.joins = false
}

// noSeed is the seed of ids for calls without a model's id. Such ids never go to a model.
var noSeed = chat.CallSeed(responsePrefix, "", time.Time{})

// readServerCall reads a call that a gateway has run. It makes up the call's id.
func (r *items) readServerCall(at string, members map[string]jsontext.Value) {
	r.calls++
	id := chat.CallID(noSeed, r.calls)
	r.addCall(at, tool.Call{ID: id, Name: r.readText(at+"/name", members["name"], true), Arguments: jsontext.Value(r.readText(at+"/arguments", members["arguments"], false))})
	result := tool.Result{ID: id, Text: r.readText(at+"/output", members["output"], false)}
	if failure := members["error"]; !isAbsent(failure) {
		result.Text, result.IsError = failureText(failure), true
	}
	r.addResult(at, result, true)
}

// failureText returns the words of a call's error: a text, or an object with a message or parts.
func failureText(v jsontext.Value) string {
	word := func(v jsontext.Value) string {
		if v.Kind() != '"' {
			return ""
		}
		text, _ := jsontext.AppendUnquote(nil, v)
		return string(text)
	}
	if v.Kind() != '{' {
		return word(v)
	}
	members := dialect.Object(v)
	texts := []string{word(members["message"])}
	if content := members["content"]; content.Kind() == '[' {
		for _, part := range dialect.List(content) {
			if part.Kind() == '{' {
				texts = append(texts, word(dialect.Object(part)["text"]))
			}
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// readApproval reads a person's decision about a waiting call. All answers of a request are to one
// question.
func (r *items) readApproval(at string, members map[string]jsontext.Value) {
	if r.answer == nil {
		r.answer, r.questions = &chat.Answer{At: "/input"}, map[string]string{}
	}
	id := r.readText(at+"/approval_request_id", members["approval_request_id"], true)
	call, ok := dialect.AnswerTo(r.answer, id)
	if id != "" && !ok {
		r.addFault(at+"/approval_request_id", chat.CodeUnknownValue, "names no request for an approval")
	}
	if approve := members["approve"]; isAbsent(approve) {
		r.addFault(at+"/approve", chat.CodeRequired, "is required")
	}
	a := chat.CallAnswer{CallID: call, Action: chat.Reject, Message: r.readText(at+"/reason", members["reason"], false)}
	if r.readFlag(at+"/approve", members["approve"]) {
		a.Action, a.Message = chat.Approve, ""
	}
	r.answer.Calls, r.questions[call] = append(r.answer.Calls, a), id
}
