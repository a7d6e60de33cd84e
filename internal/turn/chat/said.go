package chat

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/jsonparts"
)

// readHistory reads an array of {"role","content"} in one pass. A fault has a pointer
// to its place, /history/<i>/…. Members that are not known are ignored.
func readHistory(dec *jsontext.Decoder, e *ValidationError) (said []HistoryMessage, err error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for n := 0; dec.PeekKind() != ']'; n++ {
		if n >= maxHistoryMessages { // read on: the rest of the document is checked too
			if n == maxHistoryMessages {
				e.addFault("/history", CodeTooLong, fmt.Sprintf("must have at most %d messages", maxHistoryMessages))
			}
			if err := dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		s, err := readSaid(dec, place(n), e)
		if err != nil {
			return nil, err
		}
		said = append(said, s)
	}
	_, err = dec.ReadToken()
	return said, err
}

// place is the number of a message in a history.
type place int

// pointerOf returns the pointer of a member of the message; "" is the message itself.
func (p place) pointerOf(member string) string {
	at := "/history/" + strconv.Itoa(int(p))
	if member == "" {
		return at
	}
	return at + pointerTo(member)
}

// readSaid reads one message of a history.
func readSaid(dec *jsontext.Decoder, at place, e *ValidationError) (s HistoryMessage, err error) {
	if dec.PeekKind() != '{' {
		if err := dec.SkipValue(); err != nil {
			return s, err
		}
		e.addOne(at.pointerOf(""), CodeWrongType, "must be an object with role and content")
		return s, nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return s, err
	}
	var seen names
	for dec.PeekKind() != '}' {
		if err := readSaidMember(dec, &s, &seen, at, e); err != nil {
			return s, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return s, err
	}
	seen.checkRequired(at, e)
	return s, nil
}

// checkRequired adds a fault for each missing member of a message.
func (n *names) checkRequired(at place, e *ValidationError) {
	for _, name := range [...]string{"role", "content"} {
		if !n.hasName(name) {
			e.addOne(at.pointerOf(name), CodeRequired, "is required")
		}
	}
}

// readSaidMember reads one member of a message.
func readSaidMember(dec *jsontext.Decoder, s *HistoryMessage, seen *names, at place, e *ValidationError) error {
	name, value, nameErr, err := readMember(dec)
	if err != nil {
		return err
	}
	switch {
	case nameErr != nil:
		e.addOne(at.pointerOf(""), CodeInvalidUTF8, "a key holds invalid UTF-8 or a lone surrogate")
	case seen.hasName(name):
		e.addOne(at.pointerOf(name), CodeDuplicateKey, duplicateKey)
	case name == "role":
		s.Role = saidRole(value, at, e)
	case name == "content":
		s.Text = saidText(value, "content", at, e)
	default:
		e.Add(at.pointerOf(name), CheckJSON(value))
	}
	seen.addName(name)
	return nil
}

// saidRole reads the role of a message. Only the two sides of a conversation may stand in a
// history: a system message from a client would be an instruction.
func saidRole(v jsontext.Value, at place, e *ValidationError) Role {
	switch saidText(v, "role", at, e) {
	case "user":
		return RoleUser
	case "assistant":
		return RoleModel
	}
	e.addOne(at.pointerOf("role"), CodeUnsupported, "must be user or assistant") // but for a fault that is reported already
	return ""
}

// saidText reads a member that must be text. The part that is valid is returned with the fault.
func saidText(v jsontext.Value, member string, at place, e *ValidationError) string {
	if v.Kind() != '"' {
		e.addOne(at.pointerOf(member), CodeWrongType, "must be a string")
		return ""
	}
	text, err := jsonparts.Unquote(v)
	if err != nil {
		e.addOne(at.pointerOf(member), CodeInvalidUTF8, "holds invalid UTF-8 or a lone surrogate")
	}
	return text
}

// names is a set of member names. It needs no memory for the two known ones.
type names struct {
	role, content bool
	others        map[string]bool
}

// hasName reports whether a member was there. The role and the content need no map, since every
// message has them.
func (n *names) hasName(name string) bool {
	switch name {
	case "role":
		return n.role
	case "content":
		return n.content
	}
	return n.others[name]
}

// addName adds a member.
func (n *names) addName(name string) {
	switch name {
	case "role":
		n.role = true
	case "content":
		n.content = true
	default:
		if n.others == nil {
			n.others = map[string]bool{}
		}
		n.others[name] = true
	}
}
