package agui

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// readMessages reads the thread.
func (r reader) readMessages(v jsontext.Value) (all []chat.ClientMessage) {
	if isAbsent(v) {
		r.addFault("/messages", chat.CodeRequired, "is required")
		return nil
	}
	items := r.readList("/messages", v)
	if len(items) > chat.MaxMessages {
		return make([]chat.ClientMessage, len(items)) // which Compose reports
	}
	for i, item := range items {
		if m, ok := r.readMessage("/messages/"+strconv.Itoa(i), item, i == len(items)-1); ok {
			all = append(all, m)
		}
	}
	return all
}

// readMessage reads one message. It returns false if the message is at fault or not for a model.
func (r reader) readMessage(at string, v jsontext.Value, last bool) (m chat.ClientMessage, ok bool) {
	members := r.readObject(at, v)
	if members == nil {
		r.addFault(at, chat.CodeWrongType, "must be an object with role and content")
		return m, false
	}
	m.At = at
	content := members["content"]
	switch role := r.readText(at+"/role", members["role"], true); role {
	case "user":
		m.Speaker, m.Text = chat.SpeakerUser, r.readContent(at+"/content", content, last)
	case "assistant":
		m.Speaker, m.Text = chat.SpeakerAssistant, r.readContent(at+"/content", content, false)
		m.Calls = r.readCalls(at+"/toolCalls", members["toolCalls"])
	case "system", "developer":
		m.Speaker, m.Text = chat.SpeakerApplication, r.readContent(at+"/content", content, false)
	case "tool":
		m.Speaker, m.Result = chat.SpeakerTool, r.readResult(at, members)
		m.Served = isOwnMessage(r.readText(at+"/id", members["id"], false))
	case "reasoning", "activity":
		return m, false // thoughts do not go back to a model, and an activity is not a message
	default:
		if role != "" {
			r.addFault(at+"/role", chat.CodeUnsupported, "must be user, assistant, tool, system, developer, activity or reasoning")
		}
		return m, false
	}
	return m, true
}

// isOwnMessage reports whether an encoder has made the id of a message: the message is then the
// gateway's, and its client has only kept it.
func isOwnMessage(id string) bool {
	rest, ok := strings.CutPrefix(id, messagePrefix)
	seed, n, isCounted := strings.Cut(rest, "_")
	return ok && isCounted && chat.IsCallSeed(seed) && n != "" && strings.Trim(n, "0123456789") == ""
}

// readResult reads the result of a call. If the tool failed, the model is shown both the content and
// the error.
func (r reader) readResult(at string, members map[string]jsontext.Value) tool.Result {
	result := tool.Result{ID: r.readText(at+"/toolCallId", members["toolCallId"], true), Text: r.readContent(at+"/content", members["content"], false)}
	if failure := r.readText(at+"/error", members["error"], false); failure != "" {
		result.IsError = true
		if result.Text != "" && result.Text != failure { // the end of a long text is cut
			failure = "Error: " + failure + "\n" + result.Text
		}
		result.Text = failure
	}
	return result
}

// readContent reads a text, or parts with texts. The input must not have other parts.
func (r reader) readContent(at string, v jsontext.Value, input bool) string {
	if isAbsent(v) || v.Kind() == '"' {
		return r.readText(at, v, false)
	}
	if v.Kind() != '[' {
		r.addFault(at, chat.CodeWrongType, "must be a string or an array of parts")
		return ""
	}
	var texts []string
	for i, item := range r.readList(at, v) {
		place := at + "/" + strconv.Itoa(i)
		part := r.readObject(place, item)
		kind := r.readText(place+"/type", part["type"], true)
		switch use, member := dialect.PartOf(kind); {
		case kind == "" || use == dialect.PartSilent:
		case use == dialect.PartText:
			texts = append(texts, r.readText(place+"/"+member, part[member], false))
		case input:
			r.addFault(place, chat.CodeUnsupported, "must be of type text: nothing else can be sent here")
		case use == dialect.PartAttachment:
			texts = append(texts, dialect.Attachment)
		}
	}
	return strings.Join(texts, "\n")
}

// readCalls reads the calls of an assistant's message.
func (r reader) readCalls(at string, v jsontext.Value) (calls []tool.Call) {
	for i, item := range r.readList(at, v) {
		place := at + "/" + strconv.Itoa(i)
		members := r.readObject(place, item)
		function := r.readObject(place+"/function", members["function"])
		if function == nil {
			r.addFault(place+"/function", chat.CodeRequired, "is required: name and arguments")
			continue
		}
		calls = append(calls, tool.Call{
			ID: r.readText(place+"/id", members["id"], true), Name: r.readText(place+"/function/name", function["name"], true),
			Arguments: jsontext.Value(r.readText(place+"/function/arguments", function["arguments"], false)),
		})
	}
	return calls
}
