package aisdk

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// readMessages reads the conversation, and says whether it ends with the assistant. A message of
// the assistant holds a whole answer: several messages in other protocols.
func (r *reader) readMessages(v jsontext.Value) (all []chat.ClientMessage, assistant bool) {
	items := r.readList("/messages", v, true)
	if len(items) > chat.MaxMessages {
		r.addFault("/messages", chat.CodeTooLong, "must have at most 1000 messages")
		return nil, false
	}
	for i, item := range items {
		at := "/messages/" + strconv.Itoa(i)
		members := r.readObject(at, item)
		if members == nil {
			continue
		}
		parts := r.readList(at+"/parts", members["parts"], true)
		role := r.readText(at+"/role", members["role"], true)
		assistant = role == "assistant"
		r.passOver()
		switch role {
		case "user":
			all = append(all, chat.ClientMessage{Speaker: chat.SpeakerUser, At: at, Text: r.readPlain(at+"/parts/", parts, i == len(items)-1)})
		case "system":
			all = append(all, chat.ClientMessage{Speaker: chat.SpeakerApplication, At: at, Text: r.readPlain(at+"/parts/", parts, false)})
		case "assistant":
			all = r.addAnswer(all, at, parts)
		case "":
		default:
			r.addFault(at+"/role", chat.CodeUnsupported, "must be system, user or assistant")
		}
	}
	return all, assistant
}

// readPart reads the members that all parts have. kind is empty if the part is invalid.
func (r *reader) readPart(at string, v jsontext.Value) (members map[string]jsontext.Value, kind string) {
	members = r.readObject(at, v)
	if members != nil {
		kind = r.readText(at+"/type", members["type"], true)
	}
	return members, kind
}

// readPlain reads a message without calls. The last message must have only text for the model.
func (r *reader) readPlain(at string, parts []jsontext.Value, last bool) string {
	var texts []string
	for i, v := range parts {
		place := at + strconv.Itoa(i)
		members, kind := r.readPart(place, v)
		switch use, member := dialect.PartOf(kind); {
		case kind == "" || use == dialect.PartSilent:
		case use == dialect.PartText:
			texts = append(texts, r.readText(place+"/"+member, members[member], true))
		case last:
			r.addFault(place, chat.CodeUnsupported, "must be of type text: nothing else can be sent here")
		case use == dialect.PartAttachment:
			texts = append(texts, dialect.Attachment)
		}
	}
	return strings.Join(texts, "\n")
}

// stage is a step of an answer: texts, and then calls.
type stage struct {
	texts         []string
	calls         []tool.Call
	results       []result
	hasClientCall bool // there is a call of the client's tools
}

// result is the result of a call. served is true if the gateway has run the call.
type result struct {
	tool.Result
	served bool
}

// end appends the step's messages.
func (s *stage) end(all []chat.ClientMessage, at string) []chat.ClientMessage {
	if len(s.texts)+len(s.calls) == 0 {
		return all
	}
	all = append(all, chat.ClientMessage{Speaker: chat.SpeakerAssistant, At: at, Text: strings.Join(s.texts, "\n"), Calls: s.calls})
	for _, r := range s.results {
		all = append(all, chat.ClientMessage{Speaker: chat.SpeakerTool, At: at, Result: r.Result, Served: r.served})
	}
	*s = stage{}
	return all
}

// addAnswer appends the messages of an answer: for each step its texts, calls and results. An empty
// answer is a message too, for the order of the speakers.
func (r *reader) addAnswer(all []chat.ClientMessage, at string, parts []jsontext.Value) []chat.ClientMessage {
	var s stage
	before := len(all)
	for i, v := range parts {
		place := at + "/parts/" + strconv.Itoa(i)
		members, kind := r.readPart(place, v)
		said := dialect.Attachment
		switch use, member := dialect.PartOf(kind); {
		case kind == "step-start":
			all = s.end(all, at)
			continue
		case use == dialect.PartText:
			said = r.readText(place+"/"+member, members[member], true)
		case kind == "dynamic-tool":
			r.readCall(&s, place, r.readText(place+"/toolName", members["toolName"], true), members)
			continue
		case strings.HasPrefix(kind, "tool-"):
			r.readCall(&s, place, strings.TrimPrefix(kind, "tool-"), members)
			continue
		case use == dialect.PartAttachment:
		default: // for the page alone, or of a newer client
			continue
		}
		// Text behind results follows them, unless the step waits for the client: then the
		// step must stay the last one.
		if len(s.calls) > 0 && !s.hasClientCall {
			all = s.end(all, at)
		}
		s.texts = append(s.texts, said)
	}
	if all = s.end(all, at); len(all) == before {
		all = append(all, chat.ClientMessage{Speaker: chat.SpeakerAssistant, At: at})
	}
	return all
}

// readOutput reads the result of a call: the text of a string, and else the JSON.
func (r *reader) readOutput(at string, v jsontext.Value) string {
	if v.Kind() == '"' {
		return r.readText(at+"/output", v, false)
	}
	return string(v)
}

// readCall reads a call, with its result if it has one. A call of the gateway's without a
// result is left out: its result will never come. Old clients lose the mark of such a call, so a
// call without a result is the client's only if the client offers its tool.
func (r *reader) readCall(s *stage, at, name string, part map[string]jsontext.Value) {
	id := r.readText(at+"/toolCallId", part["toolCallId"], true)
	server := r.readFlag(at+"/providerExecuted", part["providerExecuted"])
	result := result{tool.Result{ID: id, Name: name}, server}
	done := true
	switch state := r.readText(at+"/state", part["state"], true); state {
	case approvalRequested, approvalResponded:
		r.questions, done = append(r.questions, question{at, state, part}), false
	case "output-available":
		result.Text = r.readOutput(at, part["output"])
	case "output-error":
		result.Text, result.IsError = r.readText(at+"/errorText", part["errorText"], true), true
	default:
		done = false
	}
	if !done && (server || !r.offered[name]) {
		return
	}
	s.hasClientCall = s.hasClientCall || !server
	s.calls = append(s.calls, tool.Call{ID: id, Name: name, Arguments: part["input"]})
	if done {
		s.results = append(s.results, result)
	}
}
