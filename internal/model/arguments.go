package model

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/tool"
)

// maxWhole bounds the pieces of a call that are remembered because they may be complete.
const maxWhole = 4096

// Arguments joins the arguments of one call from their pieces. Some services send a piece again, or
// all pieces so far with the next one: JSON finds out, once the joined text is not valid. The zero
// value is empty.
type Arguments struct {
	text         []byte
	objectPieces []span // pieces that begin as an object does, in order
	scan         scan
}

// span is a part of a text.
type span struct{ from, to int }

// Add adds the next piece.
func (a *Arguments) Add(piece []byte) {
	if len(piece) > 0 && piece[0] == '{' && len(a.objectPieces) < maxWhole {
		a.objectPieces = append(a.objectPieces, span{len(a.text), len(a.text) + len(piece)})
	}
	a.text = append(a.text, piece...)
}

// Len returns the size of all pieces in bytes.
func (a *Arguments) Len() int { return len(a.text) }

// IsEmpty reports whether no piece says anything. An empty text and null are empty.
func (a *Arguments) IsEmpty() bool { return saysNothing(a.text) }

// IsObject reports whether the pieces so far are one whole object. It reads each byte twice at most,
// however often it is asked.
func (a *Arguments) IsObject() bool {
	for ; a.scan.at < len(a.text); a.scan.at++ {
		a.scan.readByte(a.text[a.scan.at])
	}
	if !a.scan.closed || a.scan.extra {
		return false
	}
	if !a.scan.judged {
		v := jsontext.Value(bytes.TrimSpace(a.text))
		a.scan.judged, a.scan.valid = true, v.Kind() == '{' && v.IsValid(tolerant)
	}
	return a.scan.valid
}

// scan finds the end of the first object or array of a text, byte by byte.
type scan struct {
	at, depth       int
	quoted, escaped bool
	closed          bool // it has ended
	extra           bool // more than white space stands behind it
	judged, valid   bool // it was looked at, and is an object
}

// readByte takes the next byte.
func (s *scan) readByte(c byte) {
	switch {
	case s.closed:
		s.extra = s.extra || !isSpace(c)
	case s.escaped:
		s.escaped = false
	case s.quoted:
		s.escaped, s.quoted = c == '\\', c != '"'
	case c == '"':
		s.quoted = true
	case c == '{', c == '[':
		s.depth++
	case c == '}', c == ']':
		s.depth--
		s.closed = s.depth <= 0
	}
}

// isSpace reports whether c is white space that bytes.TrimSpace cuts off.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// JSON returns the joined text, without repetitions if it is not JSON with them. It is part of a.
func (a *Arguments) JSON() jsontext.Value {
	text := jsontext.Value(bytes.TrimSpace(a.text))
	if len(a.objectPieces) == 0 || text.IsValid(tolerant) {
		return text
	}
	return bytes.TrimSpace(a.text[a.lastBegin():])
}

// lastBegin returns the offset of the first piece that counts. A complete piece replaces the pieces
// before it if it equals them as JSON or begins with them. Each byte is read a few times, however
// many pieces there are.
func (a *Arguments) lastBegin() (from int) {
	end := valueEnd(a.text) // of the object that begins at from
	grows := true           // each piece from there on begins with the one before it
	last := span{}          // the latest of these
	for _, p := range a.objectPieces {
		piece := a.text[p.from:p.to]
		grows = grows && p.from == last.to && bytes.HasPrefix(piece, a.text[last.from:last.to])
		last = p
		if p.from == from || !jsontext.Value(piece).IsValid(tolerant) {
			continue
		}
		before := a.text[from:p.from]
		equal := 0 < end && end <= p.from && len(bytes.TrimSpace(a.text[end:p.from])) == 0 && sameJSON(before, piece)
		if equal || grows || bytes.HasPrefix(piece, before) {
			from, end, grows = p.from, p.to, true
		}
	}
	return from
}

// valueEnd returns where the first value of a text ends, or 0 if it does not.
func valueEnd(text []byte) int {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), tolerant)
	if d.SkipValue() != nil {
		return 0
	}
	return int(d.InputOffset())
}

// sameJSON reports whether two valid values are equal but for white space and the order of members.
func sameJSON(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	if a.Canonicalize(tolerant) != nil || b.Canonicalize(tolerant) != nil {
		return false
	}
	return bytes.Equal(a, b)
}

// saysNothing reports whether arguments are empty or null.
func saysNothing(args []byte) bool {
	args = bytes.TrimSpace(args)
	return len(args) == 0 || string(args) == "null"
}

// FirstArguments returns the first of the sources that says something, or {}.
func FirstArguments(sources ...jsontext.Value) jsontext.Value {
	for _, args := range sources {
		if !saysNothing(args) {
			return args
		}
	}
	return jsontext.Value("{}")
}

// CallFault returns why a name and arguments do not make a call, or "".
func CallFault(name string, args jsontext.Value) string {
	switch {
	case name == "":
		return "no name"
	case !args.IsValid(tolerant):
		return "arguments that are no JSON"
	case args.Kind() != '{':
		return "arguments that are no object"
	}
	return ""
}

// Called returns the call of a tool of set, under our names and with an id that no other call has,
// or nil if the service has sent it before. It retains args.
func (t *Tools) Called(set *tool.Set, ids *IDs, id, name string, args jsontext.Value) *tool.Call {
	id, again := ids.Claim(id, name, args)
	if again {
		return nil
	}
	names := t.Names(set)
	name = names.Ours(name)
	return &tool.Call{ID: id, Name: name, Arguments: names.OurArguments(name, args)}
}
