// This file reads an element of tool_calls. It does not know which call a delta belongs to;
// chat_calls.go finds that out.

package openai

// readCall reads an element of tool_calls.
//
// The element's buffers are those of an earlier chunk's, so that a stream of arguments
// allocates nothing.
func (d *chatDecoder) readCall(c *chatChunk) error {
	list := c.choice.calls
	if len(list) < cap(list) {
		list = list[:len(list)+1] // with the buffers of an earlier one
	} else {
		list = append(list, chatCallDelta{})
	}
	c.choice.calls = list
	call := &list[len(list)-1]
	call.index, call.hasIndex = 0, false
	call.id, call.name, call.args, call.extra = call.id[:0], call.name[:0], call.args[:0], call.extra[:0]
	return d.readObject(c, (*chatDecoder).callField)
}

// callField reads a member of a call. Any member may be missing: chatCalls finds out which deltas
// belong together.
func (d *chatDecoder) callField(c *chatChunk, name []byte) (err error) {
	call := &c.choice.calls[len(c.choice.calls)-1]
	switch string(name) {
	case `"index"`:
		call.index, call.hasIndex, err = d.readInteger()
		return err
	case `"id"`:
		call.id, err = d.appendString(call.id[:0])
		return err
	case `"function"`:
		return d.readObject(c, (*chatDecoder).functionField)
	case `"extra_content"`:
		if d.json.PeekKind() == '{' {
			v, err := d.json.ReadValue()
			call.extra = append(call.extra[:0], v...)
			return err
		}
	}
	return d.json.SkipValue()
}

// functionField reads the function of the last call. Some servers send JSON in place of a string
// with JSON. An object is taken as it is, and any other value is found to be malformed later.
func (d *chatDecoder) functionField(c *chatChunk, name []byte) (err error) {
	call := &c.choice.calls[len(c.choice.calls)-1]
	switch string(name) {
	case `"name"`:
		call.name, err = d.appendString(call.name[:0])
		return err
	case `"arguments"`:
		switch d.json.PeekKind() {
		case '"', 'n':
			if d.argsOf != call.index {
				d.args, d.argsOf = 0, call.index
			}
			call.args, err = d.appendOn(call.args, &d.args)
			return err
		}
		v, err := d.json.ReadValue()
		call.args = append(call.args, v...)
		return err
	}
	return d.json.SkipValue()
}
