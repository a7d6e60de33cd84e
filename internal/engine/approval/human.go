package approval

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
)

// decideHuman makes the decision of an answer to a question of a workflow's node. It has the node
// as its CallID.
func (s *Service) decideHuman(r *record, a *chat.Answer) ([]chat.Decision, error) {
	e := new(chat.ValidationError)
	if len(a.Calls) > 0 {
		e.Add(a.At+"/calls", &chat.FieldError{Code: chat.CodeNotAllowed, Message: "must not stand here: no calls are asked about"})
	}
	if a.Arguments != nil {
		e.Add(a.At+"/arguments", &chat.FieldError{Code: chat.CodeNotAllowed, Message: "must not stand here: no calls are asked about"})
	}
	if a.Action == "" && len(e.Fields) == 0 {
		e.Add(a.At+"/action", &chat.FieldError{Code: chat.CodeRequired, Message: "is required"})
	}
	if a.Result != "" {
		e.Add(a.At+"/result", &chat.FieldError{Code: chat.CodeNotAllowed, Message: "is for questions of other kinds"})
	}
	s.checkInput(r, a, e)
	checkUpdates(a, e)
	if len(e.Fields) > 0 {
		return nil, e
	}
	return []chat.Decision{{CallID: r.Node, Action: a.Action, Message: a.Message, Input: a.Input, State: a.StateUpdates}}, nil
}

// checkInput checks a person's input against the schema of the question.
func (s *Service) checkInput(r *record, a *chat.Answer, e *chat.ValidationError) {
	if a.Input == nil || len(r.Fill) == 0 || s.cfg.Valid == nil {
		return
	}
	for _, p := range s.cfg.Valid(jsontext.Value(r.Fill), a.Input) {
		e.Add(a.At+"/input"+p.Pointer, &chat.FieldError{Code: chat.CodeInvalidFormat, Message: p.Rule})
	}
}

// maxUpdates is how many bytes may change in a state at once.
const maxUpdates = 64 << 10

// checkUpdates refuses changes in a state that people may not make.
func checkUpdates(a *chat.Answer, e *chat.ValidationError) {
	if a.StateUpdates == nil {
		return
	}
	var members map[string]json.RawMessage
	if len(a.StateUpdates) > maxUpdates || json.Unmarshal(a.StateUpdates, &members) != nil {
		e.Add(a.At+"/state_updates", &chat.FieldError{Code: chat.CodeTooLong, Message: "must have at most 64 KiB"})
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		kind, at := jsontext.Value(members[name]).Kind(), a.At+"/state_updates/"+name
		switch name {
		case "next_action", "routing_key":
			checkType(e, at, kind == '"', "must be a string")
		case "metadata":
			checkType(e, at, kind == '{', "must be an object")
		case "messages":
			checkType(e, at, areMessages(members[name]), "must be a list of messages with role and content")
		default:
			e.Add(a.At+"/state_updates", &chat.FieldError{Code: chat.CodeNotAllowed, Message: "may change messages, next_action, routing_key and metadata alone"})
		}
	}
}

// checkType adds the fault must at a place, unless ok is true.
func checkType(e *chat.ValidationError, at string, ok bool, must string) {
	if !ok {
		e.Add(at, &chat.FieldError{Code: chat.CodeWrongType, Message: must})
	}
}

// areMessages reports whether a value is a list of messages.
func areMessages(value []byte) bool {
	var list []struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
	}
	if json.Unmarshal(value, &list) != nil {
		return false
	}
	for _, m := range list {
		if m.Content == nil || m.Role != "user" && m.Role != "assistant" && m.Role != "system" {
			return false
		}
	}
	return true
}

// onlyFor refuses members that answer questions of other kinds.
func (r *record) onlyFor(a *chat.Answer, e *chat.ValidationError) {
	refuse := func(name string) {
		e.Add(a.At+"/"+name, &chat.FieldError{Code: chat.CodeNotAllowed, Message: "is for questions of other kinds"})
	}
	if a.Input != nil {
		refuse("input")
	}
	if a.StateUpdates != nil {
		refuse("state_updates")
	}
	if a.Result != "" && r.Kind != chat.AskOutcome {
		refuse("result")
	}
	if a.Arguments != nil && r.Kind == chat.AskOutcome {
		refuse("arguments")
	}
}
