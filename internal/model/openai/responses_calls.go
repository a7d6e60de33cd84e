// This file puts the calls of a response together. A call is announced, its arguments come in
// pieces and once more in one, and then the item is done. Servers leave out each of these, or send
// it empty; a call that was announced counts all the same.

package openai

import (
	"bytes"
	"cmp"
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// announcedCall is a call that was announced.
type announcedCall struct {
	place         int             // in the output; -1: not known
	item          responsesItem   // as it was announced
	pieces        model.Arguments // the deltas
	half          pending         // of a character that the last one ended inside of
	doneArguments jsontext.Value  // of arguments.done
	ended         bool            // its item is done
}

// responsesCalls are the calls of one response, in the order of their announcement.
type responsesCalls struct{ list []announcedCall }

// addCall announces a call, unless it was announced before.
func (cs *responsesCalls) addCall(place int, item *responsesItem) {
	if cs.findCall(place, item.id, item.callID) == nil {
		call := announcedCall{place: place, item: *item}
		call.item.arguments = bytes.Clone(item.arguments)
		cs.list = append(cs.list, call)
	}
}

// findCall returns the call of a place, or else of an id, or nil. Ids may change between the events of
// one call.
func (cs *responsesCalls) findCall(place int, id, callID string) *announcedCall {
	for i := range cs.list {
		call := &cs.list[i]
		if place >= 0 && call.place >= 0 {
			if call.place == place {
				return call
			}
			continue
		}
		if id != "" && call.item.id == id || callID != "" && call.item.callID == callID {
			return call
		}
	}
	return nil
}

// targetCall returns the call that an event about arguments belongs to: without a place and an id, the
// last one. nil: none was announced.
func (cs *responsesCalls) targetCall(ev *responsesEvent) *announcedCall {
	if call := cs.findCall(ev.place.item, model.Unquote(ev.itemID), ""); call != nil {
		return call
	}
	if n := len(cs.list); n > 0 && ev.place.item < 0 && len(ev.itemID) <= len(`""`) {
		return &cs.list[n-1]
	}
	return nil
}

// acceptArguments adds the arguments of an event and returns by how many bytes that has made the call larger.
// The arguments in one piece mostly are the deltas again.
func (call *announcedCall) acceptArguments(ev *responsesEvent) (grown int) {
	if ev.kind != responsesArgumentsDone {
		if ev.delta.Kind() == '"' {
			call.pieces.Add(call.half.unquote(nil, ev.delta))
		}
		return len(ev.delta)
	}
	counted := max(call.pieces.Len(), len(call.doneArguments))
	if ev.args.Kind() == '"' {
		call.doneArguments, _ = jsontext.AppendUnquote([]byte(nil), ev.args)
	} else { // of some servers JSON in place of a string
		call.doneArguments = ev.args.Clone()
	}
	return max(0, len(call.doneArguments)-counted)
}

// ofName returns the first call of a name whose item is not done, or nil.
func (cs *responsesCalls) ofName(name string) *announcedCall {
	for i := range cs.list {
		if call := &cs.list[i]; !call.ended && call.item.name == name {
			return call
		}
	}
	return nil
}

// completeItem fills an item that is done with members of the call that was announced. An item with
// another place and another id than all of them is taken for one of its name.
func (cs *responsesCalls) completeItem(place int, item *responsesItem) {
	call := cs.findCall(place, item.id, item.callID)
	if call == nil {
		call = cs.ofName(item.name)
	}
	if call == nil {
		return
	}
	call.ended = true
	item.arguments = model.FirstArguments(item.arguments, call.doneArguments, call.pieces.JSON(), call.item.arguments)
	item.name, item.callID = cmp.Or(item.name, call.item.name), cmp.Or(item.callID, call.item.callID)
}

// unfinishedCalls yields the calls whose items are not done. Their arguments are those that came, or else
// those in the output of the whole response.
func (cs *responsesCalls) unfinishedCalls(output []responsesItem) iter.Seq[*responsesItem] {
	return func(yield func(*responsesItem) bool) {
		for i := range cs.list {
			call := &cs.list[i]
			if call.ended {
				continue
			}
			item := call.item
			var last jsontext.Value
			for j := range output {
				if o := &output[j]; o.callID != "" && o.callID == item.callID || o.id != "" && o.id == item.id {
					last = o.arguments
				}
			}
			item.arguments = model.FirstArguments(call.doneArguments, call.pieces.JSON(), item.arguments, last)
			if !yield(&item) {
				return
			}
		}
	}
}
