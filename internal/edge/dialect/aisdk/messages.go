package aisdk

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// messages reads the conversation, and says whether it ends with the assistant. A message of
// the assistant holds a whole answer: several messages in other protocols.
func (r *reader) messages(v jsontext.Value) (all []chat.ClientMessage, assistant bool) {
	items := r.list("/messages", v, true)
	if len(items) > chat.MaxMessages {
		r.fault("/messages", chat.CodeTooLong, "must have at most 1000 messages")
		return nil, false
	}
	for i, item := range items {
		at := "/messages/" + strconv.Itoa(i)
		members := r.object(at, item)
		if members == nil {
			continue
		}
		parts := r.list(at+"/parts", members["parts"], true)
		role := r.text(at+"/role", members["role"], true)
		assistant = role == "assistant"
		r.passOver()
		switch role {
		case "user":
			all = append(all, chat.ClientMessage{Speaker: chat.SpeakerUser, At: at, Text: r.plain(at+"/parts/", parts, i == len(items)-1)})
		case "system":
			all = append(all, chat.ClientMessage{Speaker: chat.SpeakerApplication, At: at, Text: r.plain(at+"/parts/", parts, false)})
		case "assistant":
			all = r.answered(all, at, parts)
		case "":
		default:
			r.fault(at+"/role", chat.CodeUnsupported, "must be system, user or assistant")
		}
	}
	return all, assistant
}

// part reads what all parts have. kind is empty if it is none.
func (r *reader) part(at string, v jsontext.Value) (members map[string]jsontext.Value, kind string) {
	members = r.object(at, v)
	if members != nil {
		kind = r.text(at+"/type", members["type"], true)
	}
	return members, kind
}

// plain reads a message without calls. The last one must have nothing but text that the model
// is to see.
func (r *reader) plain(at string, parts []jsontext.Value, last bool) string {
	var texts []string
	for i, v := range parts {
		place := at + strconv.Itoa(i)
		members, kind := r.part(place, v)
		switch use, member := dialect.PartOf(kind); {
		case kind == "" || use == dialect.PartSilent:
		case use == dialect.PartText:
			texts = append(texts, r.text(place+"/"+member, members[member], true))
		case last:
			r.fault(place, chat.CodeUnsupported, "must be of type text: nothing else can be sent here")
		case use == dialect.PartAttachment:
			texts = append(texts, dialect.Attachment)
		}
	}
	return strings.Join(texts, "\n")
}

// stage is a step of an answer: what was said, and then calls.
type stage struct {
	texts   []string
	calls   []tool.Call
	results []result
	own     bool // there is a call of the client's tools
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

// answered appends the messages of an answer: for each step what was said and called, and the
// results. One that comes to nothing is a message all the same, for the order of those who
// speak.
func (r *reader) answered(all []chat.ClientMessage, at string, parts []jsontext.Value) []chat.ClientMessage {
	var s stage
	before := len(all)
	for i, v := range parts {
		place := at + "/parts/" + strconv.Itoa(i)
		members, kind := r.part(place, v)
		said := dialect.Attachment
		switch use, member := dialect.PartOf(kind); {
		case kind == "step-start":
			all = s.end(all, at)
			continue
		case use == dialect.PartText:
			said = r.text(place+"/"+member, members[member], true)
		case kind == "dynamic-tool":
			r.call(&s, place, r.text(place+"/toolName", members["toolName"], true), members)
			continue
		case strings.HasPrefix(kind, "tool-"):
			r.call(&s, place, strings.TrimPrefix(kind, "tool-"), members)
			continue
		case use == dialect.PartAttachment:
		default: // for the page alone, or of a newer client
			continue
		}
		// Text behind results follows them, unless the step waits for the client: then the
		// step must stay the last one.
		if len(s.calls) > 0 && !s.own {
			all = s.end(all, at)
		}
		s.texts = append(s.texts, said)
	}
	if all = s.end(all, at); len(all) == before {
		all = append(all, chat.ClientMessage{Speaker: chat.SpeakerAssistant, At: at})
	}
	return all
}

// output reads the result of a call: the text of a string, and else the JSON.
func (r *reader) output(at string, v jsontext.Value) string {
	if v.Kind() == '"' {
		return r.text(at+"/output", v, false)
	}
	return string(v)
}

// call reads a call, with its result if it has one. A call of the gateway's without a
// result is left out: its result will never come. Old clients lose the mark of such a call, so a
// call without a result is the client's only if the client offers its tool.
func (r *reader) call(s *stage, at, name string, part map[string]jsontext.Value) {
	id := r.text(at+"/toolCallId", part["toolCallId"], true)
	server := r.flag(at+"/providerExecuted", part["providerExecuted"])
	result := result{tool.Result{ID: id, Name: name}, server}
	done := true
	switch state := r.text(at+"/state", part["state"], true); state {
	case asked, responded:
		r.questions, done = append(r.questions, question{at, state, part}), false
	case "output-available":
		result.Text = r.output(at, part["output"])
	case "output-error":
		result.Text, result.IsError = r.text(at+"/errorText", part["errorText"], true), true
	default:
		done = false
	}
	if !done && (server || !r.own[name]) {
		return
	}
	s.own = s.own || !server
	s.calls = append(s.calls, tool.Call{ID: id, Name: name, Arguments: part["input"]})
	if done {
		s.results = append(s.results, result)
	}
}
