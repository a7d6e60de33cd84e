// This file is the form in which ids and phases are kept in a conversation. It is JSON that
// begins like an item of the API, so that kept reasoning (whole items) and this stand side
// by side.

package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// responsesKept holds the values of a message or a call that the conversation itself does not have.
// Reasoning items are kept whole.
type responsesKept struct{ id, phase string }

// responsesMessageBegin begins the kept form of a message.
const responsesMessageBegin = `{"type":"message"`

// messageJSON returns the kept form of a message.
func (k responsesKept) messageJSON() string { return k.append(responsesMessageBegin) }

// callJSON returns the kept form of a call, or "" without an id.
func (k responsesKept) callJSON() string {
	if k.id == "" {
		return ""
	}
	return k.append(`{"type":"function_call"`)
}

// append writes k behind begin, which opens the object.
func (k responsesKept) append(begin string) string {
	b := []byte(begin)
	if k.id != "" {
		b = model.AppendString(append(b, `,"id":`...), k.id)
	}
	if k.phase != "" {
		b = model.AppendString(append(b, `,"phase":`...), k.phase)
	}
	return string(append(b, '}'))
}

// readResponsesKept reads what append wrote. Members that another version wrote are
// passed over.
func readResponsesKept(v jsontext.Value) (k responsesKept) {
	for _, m := range model.Members(v) {
		switch m.Name {
		case "id":
			k.id = scalarText(m.Value)
		case "phase":
			k.phase = scalarText(m.Value)
		}
	}
	return k
}
