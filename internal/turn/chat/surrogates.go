package chat

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/jsonparts"
)

// ReplaceLoneSurrogates returns a body of JSON with U+FFFD in place of each lone surrogate escape.
// In names, in ids and in the user's last message such escapes stay and are faults. Without such an
// escape it returns the body itself.
//
// A client that cuts texts by UTF-16 units makes such halves, and sends them with each later turn
// of the chat. So "cut \ud83d" in an earlier answer must not close the chat for good.
func ReplaceLoneSurrogates(body []byte) []byte {
	if nextLone(body) < 0 {
		return body
	}
	mended := bytes.Clone(body)
	now := saidNow(body)
	dec := newLenientDecoder(body)
	for first := true; first || dec.StackDepth() > 0; first = false {
		switch dec.PeekKind() {
		case '{', '[', '}', ']':
			if _, err := dec.ReadToken(); err != nil {
				return body // its reader reports that
			}
			continue
		}
		open, length := dec.StackIndex(dec.StackDepth())
		raw, err := dec.ReadValue()
		if err != nil {
			return body
		}
		end := int(dec.InputOffset())
		if isKey := open == '{' && length%2 == 0; !isKey && nextLone(raw) >= 0 && !staysStrict(dec.StackPointer(), now) {
			replaceLone(mended[end-len(raw) : end])
		}
	}
	return mended
}

// replaceLone replaces lone surrogates in place: both escapes have six bytes.
func replaceLone(text []byte) {
	for at := nextLone(text); at >= 0; at = nextLone(text) {
		copy(text[at:], `\ufffd`)
	}
}

// nextLone returns where the first lone surrogate escape of a JSON text begins, or -1.
func nextLone(text []byte) int {
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i+1 < len(text); {
		width := 2
		switch unit := unitAt(text[i:]); {
		case unit < 0:
		case unit&0xF800 != 0xD800:
			width = 6
		case unit&0x0400 == 0 && unitAt(text[i+6:])&0xFC00 == 0xDC00:
			width = 12
		default:
			return i
		}
		n := bytes.IndexByte(text[i+width:], '\\')
		if n < 0 {
			return -1
		}
		i += width + n
	}
	return -1
}

// unitAt returns the UTF-16 unit of the escape that text begins with; -1 if it begins with none.
func unitAt(text []byte) int {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// saidNow returns the pointers of texts that a person says now, or has decided, in a body of any
// protocol.
func saidNow(body []byte) []string {
	now := []string{"/text", "/subject", "/approval", "/resume", "/message", "/params/message", "/params/input"}
	members := jsonparts.Object(body)
	for _, name := range []string{"messages", "input"} {
		list := members[name]
		if list.Kind() == '"' {
			now = append(now, "/"+name)
		}
		for i, item := range slices.Backward(jsonparts.List(list)) {
			if jsonparts.Text(jsonparts.Object(item)["role"]) == "user" {
				now = append(now, "/"+name+"/"+strconv.Itoa(i))
				break
			}
		}
	}
	return now
}

// isBelow reports whether a pointer names a place or one within it.
func isBelow(at jsontext.Pointer, place string) bool {
	rest, ok := strings.CutPrefix(string(at), place)
	return ok && (rest == "" || rest[0] == '/')
}

// staysStrict reports whether a lone surrogate is a fault at a place. now are those of saidNow.
func staysStrict(at jsontext.Pointer, now []string) bool {
	if slices.ContainsFunc(now, func(place string) bool { return isBelow(at, place) }) {
		return true
	}
	tokens := slices.Collect(at.Tokens())
	for i, name := range tokens {
		if isData(name) && (i > 0 || name != "input") && i < len(tokens)-1 {
			return false
		}
	}
	return len(tokens) == 0 || isNameOrID(tokens[len(tokens)-1])
}

// isData reports whether a member holds data, whose own names mean nothing here.
func isData(member string) bool {
	switch member {
	case "context", "output", "result", "input", "arguments", "parameters", "schema", "data", "state":
		return true
	}
	return false
}

// isNameOrID reports whether a member's text is a name or an id.
func isNameOrID(member string) bool {
	switch member {
	case "id", "name", "model", "user", "role", "type", "agent", "workflow", "kind", "channel", "locale", "timezone", "safety_identifier":
		return true
	}
	for _, end := range []string{"_id", "Id", "_name", "Name"} {
		if strings.HasSuffix(member, end) {
			return true
		}
	}
	return false
}
