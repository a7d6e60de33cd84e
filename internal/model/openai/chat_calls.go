// This file finds out which call a delta belongs to. The protocol gives each call an index and its
// id in the first delta only, but servers differ: all calls with index 0, no index at all, the id
// in each delta or late, another id in each, the name in each, the arguments in one piece. The
// rules here read all of these forms. Deltas that they cannot distinguish make one call.
// model.Arguments puts the pieces together.

package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// callOverhead is the cost of a call beyond its text, in bytes.
//
// Without it a server could send a million empty calls within the budget.
const callOverhead = 64

// fewCalls is up to how many calls are looked through for an index.
//
// Above it the search would make many calls cost the square of their number.
const fewCalls = 32

// chatCalls collects the calls of one answer.
type chatCalls struct {
	list []chatCall
	at   map[int]int // where the latest call of each index is; nil while there are few
}

// chatCall is a call, or as much of it as has come.
type chatCall struct {
	index     int
	hasIndex  bool
	mayBeRest bool // the call before it has the same name and was complete: an empty call is then dropped
	id, name  []byte
	args      model.Arguments
	// arguments are all of the call, once the answer has ended.
	arguments jsontext.Value
	extra     []byte // the latest extra_content, JSON
}

// reset forgets all calls and keeps the list's room.
func (cs *chatCalls) reset() {
	clear(cs.list)
	cs.list, cs.at = cs.list[:0], nil
}

// addDelta takes a delta of a call and returns by how much that has made cs larger. An empty delta
// does not begin a call.
func (cs *chatCalls) addDelta(d *chatCallDelta) (grown int) {
	if len(d.id)+len(d.name)+len(d.args)+len(d.extra) == 0 {
		return 0
	}
	call := cs.findCall(d)
	if call == nil {
		call = cs.beginCall(d)
		grown = callOverhead
	}
	if len(call.id) == 0 {
		call.id = append(call.id, d.id...)
		grown += len(d.id)
	}
	if len(call.name) == 0 {
		call.name = append(call.name, d.name...)
		grown += len(d.name)
	}
	call.args.Add(d.args)
	if len(d.extra) > 0 {
		call.extra = append(call.extra[:0], d.extra...)
	}
	return grown + len(d.args) + len(d.extra)
}

// findCall returns the call that d continues with, or nil if d begins one. Some servers give each
// call index 0, and others give no index.
//
// A delta belongs to the call of its index, and without an index to the last call, unless it
// begins another one.
func (cs *chatCalls) findCall(d *chatCallDelta) *chatCall {
	call := cs.targetCall(d)
	if call == nil || call.beginsCall(d) {
		return nil
	}
	return call
}

// targetCall returns the call that d belongs to if it does not begin one, or nil.
func (cs *chatCalls) targetCall(d *chatCallDelta) *chatCall {
	switch {
	case d.hasIndex:
		return cs.latestCall(d.index)
	case len(cs.list) > 0:
		return &cs.list[len(cs.list)-1]
	}
	return nil
}

// beginsCall reports whether d begins another call than the one that it could belong to. Only a delta
// with a name does, and with the same name only if that call is whole. With an index it needs
// another id as well.
func (call *chatCall) beginsCall(d *chatCallDelta) bool {
	if len(d.name) == 0 || len(call.name) == 0 {
		return false
	}
	if d.hasIndex && (len(d.id) == 0 || len(call.id) == 0 || bytes.Equal(d.id, call.id)) {
		return false
	}
	return !bytes.Equal(d.name, call.name) || call.args.IsObject()
}

// latestCall returns the latest call of an index, or nil.
func (cs *chatCalls) latestCall(index int) *chatCall {
	if cs.at != nil {
		if i, ok := cs.at[index]; ok {
			return &cs.list[i]
		}
		return nil
	}
	for i := len(cs.list) - 1; i >= 0; i-- {
		if call := &cs.list[i]; call.hasIndex && call.index == index {
			return call
		}
	}
	return nil
}

// beginCall begins a call.
func (cs *chatCalls) beginCall(d *chatCallDelta) *chatCall {
	before := cs.targetCall(d)
	rest := before != nil && bytes.Equal(before.name, d.name)
	cs.list = append(cs.list, chatCall{index: d.index, hasIndex: d.hasIndex, mayBeRest: rest})
	switch n := len(cs.list); {
	case cs.at != nil && d.hasIndex:
		cs.at[d.index] = n - 1
	case cs.at == nil && n > fewCalls:
		cs.at = make(map[int]int, 2*n)
		for i := range cs.list {
			if cs.list[i].hasIndex {
				cs.at[cs.list[i].index] = i
			}
		}
	}
	return &cs.list[len(cs.list)-1]
}

// completeCalls returns the calls with their arguments; a call without any gets {}. An empty
// repetition is left out. A call that cannot be read is an error, unless the answer was cut: then
// it is left out.
//
// The error is a *model.Malformed. The list is changed in place and is for one call of it.
func (cs *chatCalls) completeCalls(cut bool) ([]chatCall, error) {
	kept := cs.list[:0]
	for _, call := range cs.list {
		if call.mayBeRest && call.args.IsEmpty() {
			continue
		}
		call.arguments = model.FirstArguments(call.args.JSON())
		reason := model.CallFault(string(call.name), call.arguments)
		switch {
		case reason == "":
			kept = append(kept, call)
		case !cut:
			return nil, &model.Malformed{Reason: reason}
		}
	}
	cs.list = kept
	return kept, nil
}

// extraSize returns the size of the calls' extra_content, in bytes.
func (*chatCalls) extraSize(calls []chatCall) (n int) {
	for i := range calls {
		n += len(calls[i].extra)
	}
	return n
}
