// This file reads events of the Responses API. Most of an answer's bytes are in events that
// repeat the request or say that something begins; they are left as soon as their type is
// read.

package openai

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// responsesKind is the kind of an event, from its type.
type responsesKind int

const (
	responsesOther responsesKind = iota // of no interest, or not known
	responsesText
	responsesSummary
	responsesReasoning
	responsesArguments
	responsesArgumentsDone
	responsesItemAdded
	responsesItemDone
	responsesCompleted
	responsesIncomplete
	responsesFailed
	responsesError
	responsesPing
)

// responsesEvent is one event; its values are parts of the event's data.
//
// A member that the event lacks is nil.
type responsesEvent struct {
	kind     responsesKind
	typed    bool           // it has a type
	delta    jsontext.Value // a string
	args     jsontext.Value // of a call that is done
	item     jsontext.Value // of an output_item event
	itemID   jsontext.Value // a string
	place    responsesPlace
	response jsontext.Value // of created, completed and their kin
	failure  jsontext.Value // of an error
}

// responsesPlace is where a delta belongs: to which item of the output, and to which part of that.
// A number that the event lacks is -1.
type responsesPlace struct{ item, part int }

// responsesDecoder reads the JSON of events.
//
// It is for one goroutine. A string of it is valid until the next read.
type responsesDecoder struct {
	walk
	text []byte // the string at hand, reused
}

// readEvent reads an event's data. name is the event's, for those without a type. If the type comes
// first, as it mostly does, readEvent stops at an event of no interest, because an echoed request
// is longer than the answer.
//
// An error wraps model.ErrUnreadable.
func (d *responsesDecoder) readEvent(name string, data []byte) (ev responsesEvent, err error) {
	ev.kind, ev.place = responsesKindOf(name), responsesPlace{-1, -1}
	d.begin(data)
	if d.json.PeekKind() != '{' {
		return ev, d.unreadableError(d.mismatchError())
	}
	err = d.readObject(func(name []byte) error { return d.eventMember(&ev, name) })
	if err == errResponsesSkip {
		return ev, nil
	}
	if err == nil {
		err = d.expectEnd()
	}
	if err != nil {
		return ev, d.unreadableError(err)
	}
	if !ev.typed && ev.failure != nil && ev.failure.Kind() != 'n' {
		ev.kind = responsesError
	}
	if ev.kind == responsesError && (ev.failure == nil || ev.failure.Kind() == 'n') {
		ev.failure = data // its members stand in the event itself
	}
	return ev, nil
}

// eventMember keeps raw values, because their meaning depends on the type. The type may come last.
func (d *responsesDecoder) eventMember(ev *responsesEvent, name []byte) (err error) {
	switch string(name) {
	case `"type"`:
		return d.eventType(ev)
	case `"delta"`:
		ev.delta, err = d.readValue()
	case `"output_index"`:
		err = d.figureInto(&ev.place.item, nil)
	case `"summary_index"`, `"content_index"`:
		err = d.figureInto(&ev.place.part, nil)
	case `"item_id"`:
		ev.itemID, err = d.readValue()
	case `"arguments"`:
		ev.args, err = d.readValue()
	case `"item"`:
		ev.item, err = d.readValue()
	case `"response"`:
		ev.response, err = d.readValue()
	case `"error"`:
		ev.failure, err = d.readValue()
	default:
		err = d.json.SkipValue()
	}
	return err
}

// eventType reads the type. Unless it is empty it wins over the event's name.
func (d *responsesDecoder) eventType(ev *responsesEvent) error {
	v, err := d.readLiteral('"')
	if err != nil || len(v) <= len(`""`) {
		return err
	}
	ev.typed = true
	if ev.kind = responsesKindOf(v[1 : len(v)-1]); ev.kind == responsesOther {
		return errResponsesSkip
	}
	return nil
}

// errResponsesSkip ends the reading of an event of no interest.
var errResponsesSkip = errors.New("of no interest")

// responsesKindOf sorts events by what we do with them. Most of some fifty types only announce a
// beginning or an end.
func responsesKindOf[S string | jsontext.Value](name S) responsesKind {
	switch string(name) {
	case "response.output_text.delta", "response.refusal.delta":
		return responsesText
	case "response.reasoning_summary_text.delta":
		return responsesSummary
	case "response.reasoning_text.delta":
		return responsesReasoning
	case "response.function_call_arguments.delta":
		return responsesArguments
	case "response.function_call_arguments.done":
		return responsesArgumentsDone
	case "response.output_item.added":
		return responsesItemAdded
	case "response.output_item.done":
		return responsesItemDone
	case "response.completed":
		return responsesCompleted
	case "response.incomplete":
		return responsesIncomplete
	case "response.failed":
		return responsesFailed
	case "error":
		return responsesError
	case "keepalive":
		return responsesPing
	}
	return responsesOther
}
