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
	attached []string // to the last message of the user, which is answered
	// joins says that the last message is the model's, and what it says next is part of it.
	joins  bool
	calls  int          // that have no id of their model's
	made   string       // the id of the last item that is a call of the client's
	answer *chat.Answer // what a person says of the calls that wait; nil: nothing
	// questions are the ids under which they were asked about, by their own.
	questions map[string]string
}

// input reads what the request says now: a text, or items.
func (r *items) input(v jsontext.Value) {
	switch {
	case none(v):
		r.fault("/input", chat.CodeRequired, "is required")
	case v.Kind() == '"':
		r.say(chat.SpeakerUser, "/input", r.text("/input", v, true))
	case v.Kind() != '[':
		r.fault("/input", chat.CodeWrongType, "must be a string or an array of items")
	default:
		r.all("/input", v)
	}
	for _, at := range r.attached {
		r.fault(at, chat.CodeUnsupported, "must be of type input_text: nothing else can be sent here")
	}
}

// all reads items, each of which has its place below at.
func (r *items) all(at string, v jsontext.Value) {
	list := r.list(at, v)
	if len(list) > chat.MaxMessages {
		r.fault(at, chat.CodeTooLong, "must have at most 1000 items")
		return
	}
	for i, item := range list {
		r.item(at+"/"+strconv.Itoa(i), item)
	}
}

// item reads one item.
func (r *items) item(at string, v jsontext.Value) {
	if v.Kind() != '{' {
		r.fault(at, chat.CodeWrongType, "must be an object")
		return
	}
	members := r.objectAt(at, v)
	kind := r.text(at+"/type", members["type"], false)
	if kind == "" && members["role"] != nil {
		kind = "message"
	}
	switch kind {
	case "reasoning", "mcp_list_tools", "mcp_approval_request":
		return
	case "message", "function_call", "function_call_output", "mcp_call", "":
	case "item_reference":
		r.reference(at, r.text(at+"/id", members["id"], true))
		return
	case "mcp_approval_response":
		r.answered(at, members)
		return
	default:
		r.leftOut = append(r.leftOut, kind)
		return
	}
	r.answer, r.questions = nil, nil // what was answered before this is settled
	switch kind {
	case "message":
		r.message(at, members)
	case "function_call":
		r.made = r.text(at+"/id", members["id"], false)
		r.call(at, tool.Call{ID: r.text(at+"/call_id", members["call_id"], true), Name: r.text(at+"/name", members["name"], true),
			Arguments: jsontext.Value(r.text(at+"/arguments", members["arguments"], false))})
	case "function_call_output":
		text, _ := r.content(at+"/output", members["output"])
		r.result(at, tool.Result{ID: r.text(at+"/call_id", members["call_id"], true), Text: text}, false)
	case "mcp_call":
		r.serverCall(at, members)
	default:
		r.fault(at+"/type", chat.CodeRequired, "is required")
	}
}

// reference reads an item that the request names. Thoughts and questions are left out, wherever
// they are from.
func (r *items) reference(at, id string) {
	if _, asks := dialect.AnswerTo(new(chat.Answer), id); asks || id == "" || strings.HasPrefix(id, "rs_") {
		return
	}
	if v := r.refer(at, id); v != nil {
		r.item(at, v)
	}
}

// message reads a message.
func (r *items) message(at string, members map[string]jsontext.Value) {
	role := r.text(at+"/role", members["role"], true)
	speaker, ok := speakers[role]
	if !ok || speaker == chat.SpeakerTool {
		if role != "" {
			r.fault(at+"/role", chat.CodeUnsupported, "must be system, developer, user or assistant")
		}
		return
	}
	said, others := r.content(at+"/content", members["content"])
	if speaker == chat.SpeakerUser {
		r.attached = others
	}
	r.say(speaker, at, said)
}

// say adds a text. What the model says behind its own calls is a message of its own.
func (r *items) say(speaker chat.Speaker, at, said string) {
	r.messages = append(r.messages, chat.ClientMessage{Speaker: speaker, Text: said, At: at})
	r.joins = speaker == chat.SpeakerAssistant
}

// call adds a call. Those in a row, and the text in front of them, are of one step of the model.
func (r *items) call(at string, c tool.Call) {
	if !r.joins {
		r.say(chat.SpeakerAssistant, at, "")
	}
	last := &r.messages[len(r.messages)-1]
	last.Calls = append(last.Calls, c)
}

// result adds the result of a call. served is true if a gateway has run the call.
func (r *items) result(at string, result tool.Result, served bool) {
	r.messages = append(r.messages, chat.ClientMessage{Speaker: chat.SpeakerTool, Result: result, Served: served, At: at})
	r.joins = false
}

// noSeed stands in the ids of calls that have none of their model's, and is given to no model.
var noSeed = chat.CallSeed(responsePrefix, "", time.Time{})

// serverCall reads a call that a gateway has run. Its id is no model's.
func (r *items) serverCall(at string, members map[string]jsontext.Value) {
	r.calls++
	id := chat.CallID(noSeed, r.calls)
	r.call(at, tool.Call{ID: id, Name: r.text(at+"/name", members["name"], true), Arguments: jsontext.Value(r.text(at+"/arguments", members["arguments"], false))})
	result := tool.Result{ID: id, Text: r.text(at+"/output", members["output"], false)}
	if failure := members["error"]; !none(failure) {
		result.Text, result.IsError = failureText(failure), true
	}
	r.result(at, result, true)
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

// answered reads what a person says of a call that waits. All answers of a request are to one
// question.
func (r *items) answered(at string, members map[string]jsontext.Value) {
	if r.answer == nil {
		r.answer, r.questions = &chat.Answer{At: "/input"}, map[string]string{}
	}
	id := r.text(at+"/approval_request_id", members["approval_request_id"], true)
	call, ok := dialect.AnswerTo(r.answer, id)
	if id != "" && !ok {
		r.fault(at+"/approval_request_id", chat.CodeUnknownValue, "names no request for an approval")
	}
	if approve := members["approve"]; none(approve) {
		r.fault(at+"/approve", chat.CodeRequired, "is required")
	}
	a := chat.CallAnswer{CallID: call, Action: chat.Reject, Message: r.text(at+"/reason", members["reason"], false)}
	if r.flag(at+"/approve", members["approve"]) {
		a.Action, a.Message = chat.Approve, ""
	}
	r.answer.Calls, r.questions[call] = append(r.answer.Calls, a), id
}
