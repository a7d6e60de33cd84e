package openai

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/model"
)

// callOverhead is what a call weighs beyond its text, in bytes.
const callOverhead = 64

// chatCalls collects the calls of one answer.
type chatCalls struct{ list []chatCall }

// chatCall is a call, or as much of it as has come.
type chatCall struct {
	index          int
	hasIndex       bool
	id, name, args []byte
	extra          []byte // the latest extra_content, JSON
}

func (cs *chatCalls) reset() {
	clear(cs.list)
	cs.list = cs.list[:0]
}

// take takes a delta of a call and returns by how much that has made cs larger. A delta
// that says nothing begins nothing.
func (cs *chatCalls) take(d *chatCallDelta) (grown int) {
	if len(d.id)+len(d.name)+len(d.args)+len(d.extra) == 0 {
		return 0
	}
	call := cs.find(d)
	if call == nil {
		cs.list = append(cs.list, chatCall{index: d.index, hasIndex: d.hasIndex})
		call = &cs.list[len(cs.list)-1]
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
	call.args = append(call.args, d.args...)
	if len(d.extra) > 0 {
		call.extra = append(call.extra[:0], d.extra...)
	}
	return grown + len(d.args) + len(d.extra)
}

// find returns the call that d goes on with, or nil if d begins one. Some servers give
// each call index 0, and others none.
func (cs *chatCalls) find(d *chatCallDelta) *chatCall {
	if !d.hasIndex {
		if len(cs.list) == 0 || len(d.id)+len(d.name) > 0 {
			return nil
		}
		return &cs.list[len(cs.list)-1]
	}
	for i := len(cs.list) - 1; i >= 0; i-- {
		call := &cs.list[i]
		if !call.hasIndex || call.index != d.index {
			continue
		}
		if len(d.id) > 0 && len(call.id) > 0 && !bytes.Equal(d.id, call.id) {
			return nil
		}
		return call
	}
	return nil
}

// whole returns the calls, with {} for empty arguments. A call that cannot be read is an
// error, unless the answer was cut: then it is left out.
func (cs *chatCalls) whole(cut bool) ([]chatCall, error) {
	kept := cs.list[:0]
	for _, call := range cs.list {
		if len(bytes.TrimSpace(call.args)) == 0 {
			call.args = []byte(`{}`)
		}
		reason := call.fault()
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

// fault says why a call is no call, or "".
func (call *chatCall) fault() string {
	args := jsontext.Value(call.args)
	switch {
	case len(call.name) == 0:
		return "no name"
	case !args.IsValid(tolerant):
		return "arguments that are no JSON"
	case args.Kind() != '{':
		return "arguments that are no object"
	}
	return ""
}

// size is the bytes of the names and arguments.
func (cs *chatCalls) size() (n int) {
	for i := range cs.list {
		n += len(cs.list[i].name) + len(cs.list[i].args)
	}
	return n
}

// extraSize is the bytes of what the calls want back.
func (*chatCalls) extraSize(calls []chatCall) (n int) {
	for i := range calls {
		n += len(calls[i].extra)
	}
	return n
}
