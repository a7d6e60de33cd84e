package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
)

// callField reads a member of the functionCall of the last part.
func (d *decoder) callField(c *rawChunk, name []byte) (err error) {
	call := c.parts[len(c.parts)-1].call
	switch string(name) {
	case `"id"`:
		call.id, err = d.readString()
		return err
	case `"name"`:
		call.name, err = d.readString()
		return err
	case `"args"`:
		args, err := d.readLiteral('{')
		if args != nil && !args.IsValid() { // a name twice: the one who approves the call and the tool could read it differently
			return model.ErrUnreadable
		}
		call.args = args.Clone()
		return err
	case `"willContinue"`:
		call.willContinue, err = d.readBoolean()
		return err
	case `"partialArgs"`:
		return d.readArray(c, (*decoder).partialArg)
	}
	return d.skipValue()
}

// partialArg adds a piece of arguments to the call that was added last.
func (d *decoder) partialArg(c *rawChunk) error {
	call := c.parts[len(c.parts)-1].call
	call.partial = append(call.partial, rawArg{})
	return d.readObject(c, (*decoder).partialArgField)
}

// partialArgField reads a member of a piece: the place by a JSON path, one
// value of some type, and whether more of the same follows.
func (d *decoder) partialArgField(c *rawChunk, name []byte) (err error) {
	call := c.parts[len(c.parts)-1].call
	arg := &call.partial[len(call.partial)-1]
	switch string(name) {
	case `"jsonPath"`:
		arg.path, err = d.readString()
		return err
	case `"willContinue"`:
		arg.willContinue, err = d.readBoolean()
		return err
	case `"stringValue"`:
		return d.argValue(arg, '"')
	case `"numberValue"`:
		return d.argValue(arg, '0')
	case `"boolValue"`:
		arg.value = jsontext.Value("false")
		is, err := d.readBoolean()
		if is {
			arg.value = jsontext.Value("true")
		}
		return err
	case `"nullValue"`: // its value is the string "NULL_VALUE", or null
		arg.value = jsontext.Value("null")
	}
	return d.skipValue()
}

// argValue keeps a copy: the decoder's buffer is used again for the next chunk.
func (d *decoder) argValue(arg *rawArg, kind jsontext.Kind) error {
	v, err := d.readLiteral(kind)
	if v != nil {
		arg.value = v.Clone()
	}
	return err
}
