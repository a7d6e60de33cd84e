package agui

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// messages reads the thread.
func (r reader) messages(v jsontext.Value) (all []chat.ClientMessage) {
	if none(v) {
		r.fault("/messages", chat.CodeRequired, "is required")
		return nil
	}
	items := r.list("/messages", v)
	if len(items) > chat.MaxMessages {
		return make([]chat.ClientMessage, len(items)) // which Compose reports
	}
	for i, item := range items {
		if m, ok := r.message("/messages/"+strconv.Itoa(i), item, i == len(items)-1); ok {
			all = append(all, m)
		}
	}
	return all
}

// message reads one message. false: it is at fault, or nothing that a model is shown.
func (r reader) message(at string, v jsontext.Value, last bool) (m chat.ClientMessage, ok bool) {
	members := r.object(at, v)
	if members == nil {
		r.fault(at, chat.CodeWrongType, "must be an object with role and content")
		return m, false
	}
	m.At = at
	content := members["content"]
	switch role := r.text(at+"/role", members["role"], true); role {
	case "user":
		m.Speaker, m.Text = chat.SpeakerUser, r.content(at+"/content", content, last)
	case "assistant":
		m.Speaker, m.Text = chat.SpeakerAssistant, r.content(at+"/content", content, false)
		m.Calls = r.calls(at+"/toolCalls", members["toolCalls"])
	case "system", "developer":
		m.Speaker, m.Text = chat.SpeakerApplication, r.content(at+"/content", content, false)
	case "tool":
		m.Speaker, m.Result = chat.SpeakerTool, r.result(at, members)
		m.Served = isOwnMessage(r.text(at+"/id", members["id"], false))
	case "reasoning", "activity":
		return m, false // a thought does not go back to a model, and an activity is no word of anybody
	default:
		if role != "" {
			r.fault(at+"/role", chat.CodeUnsupported, "must be user, assistant, tool, system, developer, activity or reasoning")
		}
		return m, false
	}
	return m, true
}

// isOwnMessage reports whether an id of a message is one that an encoder has made: the message is
// then of the gateway, and its client has only kept it.
func isOwnMessage(id string) bool {
	rest, ok := strings.CutPrefix(id, messagePrefix)
	seed, n, isCounted := strings.Cut(rest, "_")
	return ok && isCounted && chat.IsCallSeed(seed) && n != "" && strings.Trim(n, "0123456789") == ""
}

// result reads the result of a call. If the tool failed, the model is shown both the content and
// the error.
func (r reader) result(at string, members map[string]jsontext.Value) tool.Result {
	result := tool.Result{ID: r.text(at+"/toolCallId", members["toolCallId"], true), Text: r.content(at+"/content", members["content"], false)}
	if failure := r.text(at+"/error", members["error"], false); failure != "" {
		result.IsError = true
		if result.Text != "" && result.Text != failure { // the end of a long text is cut
			failure = "Error: " + failure + "\n" + result.Text
		}
		result.Text = failure
	}
	return result
}

// content reads a text, or parts with texts. In the input there may be nothing else.
func (r reader) content(at string, v jsontext.Value, input bool) string {
	if none(v) || v.Kind() == '"' {
		return r.text(at, v, false)
	}
	if v.Kind() != '[' {
		r.fault(at, chat.CodeWrongType, "must be a string or an array of parts")
		return ""
	}
	var texts []string
	for i, item := range r.list(at, v) {
		place := at + "/" + strconv.Itoa(i)
		part := r.object(place, item)
		kind := r.text(place+"/type", part["type"], true)
		switch use, member := dialect.PartOf(kind); {
		case kind == "" || use == dialect.PartSilent:
		case use == dialect.PartText:
			texts = append(texts, r.text(place+"/"+member, part[member], false))
		case input:
			r.fault(place, chat.CodeUnsupported, "must be of type text: nothing else can be sent here")
		case use == dialect.PartAttachment:
			texts = append(texts, dialect.Attachment)
		}
	}
	return strings.Join(texts, "\n")
}

// calls reads the calls of an assistant's message.
func (r reader) calls(at string, v jsontext.Value) (calls []tool.Call) {
	for i, item := range r.list(at, v) {
		place := at + "/" + strconv.Itoa(i)
		members := r.object(place, item)
		function := r.object(place+"/function", members["function"])
		if function == nil {
			r.fault(place+"/function", chat.CodeRequired, "is required: name and arguments")
			continue
		}
		calls = append(calls, tool.Call{
			ID: r.text(place+"/id", members["id"], true), Name: r.text(place+"/function/name", function["name"], true),
			Arguments: jsontext.Value(r.text(place+"/function/arguments", function["arguments"], false)),
		})
	}
	return calls
}
