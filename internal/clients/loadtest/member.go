package loadtest

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// members walks over the members of a JSON object. It looks at no more than it
// must to find where a value ends: decoding every delta would make the generator
// slower than the gateway.
type members struct {
	unread []byte // from the brace or comma before the next member
	bad    bool
}

// membersOf returns the walk over object. It checks only the bytes that nextMember steps over.
func membersOf(object []byte) members { return members{unread: trimRight(trimLeft(object))} }

// nextMember returns the next member's name and value as they are written, a string with its
// quotes. ok is false after the last one. Then bad reports that the text was not an object.
func (m *members) nextMember() (name, value []byte, ok bool) {
	if string(m.unread) == "}" {
		return nil, nil, false
	}
	if len(m.unread) == 0 || m.unread[0] != '{' && m.unread[0] != ',' {
		return m.failWalk()
	}
	s := trimLeft(m.unread[1:])
	if m.unread[0] == '{' && string(s) == "}" {
		return nil, nil, false
	}
	n := lengthOfString(s)
	if n == 0 {
		return m.failWalk()
	}
	name, s = s[1:n-1], trimLeft(s[n:])
	if len(s) == 0 || s[0] != ':' {
		return m.failWalk()
	}
	s = trimLeft(s[1:])
	n = lengthOfValue(s)
	if n == 0 {
		return m.failWalk()
	}
	m.unread = trimLeft(s[n:])
	return name, trimRight(s[:n]), true
}

// failWalk ends the walk: the text is not an object.
func (m *members) failWalk() (name, value []byte, ok bool) {
	m.bad = true
	return nil, nil, false
}

// trimLeft drops blanks and tabs. bytes.Trim makes a set of its characters each time.
func trimLeft(s []byte) []byte {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	return s
}

// trimRight is trimLeft at the end.
func trimRight(s []byte) []byte {
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// lengthOfString returns the length of the string, with its quotes, at the beginning of s, or 0.
func lengthOfString(s []byte) int {
	if len(s) == 0 || s[0] != '"' {
		return 0
	}
	for i := 1; i < len(s); {
		quote := bytes.IndexByte(s[i:], '"')
		if quote < 0 {
			return 0
		}
		i += quote + 1
		if countBackslashes(s[1:i-1])%2 == 0 {
			return i
		}
	}
	return 0
}

// countBackslashes counts those that s ends with.
func countBackslashes(s []byte) (n int) {
	for n < len(s) && s[len(s)-1-n] == '\\' {
		n++
	}
	return n
}

// lengthOfValue returns the length of the value at the beginning of s, or 0.
func lengthOfValue(s []byte) int {
	if len(s) > 0 && s[0] == '"' {
		return lengthOfString(s)
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			n := lengthOfString(s[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				return i
			}
			if s[i] != ',' {
				depth--
			}
		}
	}
	return 0
}

// unquoteString returns the text of a JSON string. It uses scratch only if it has to, and the
// result is valid until then.
func unquoteString(quoted []byte, scratch *[]byte) (plain []byte, ok bool) {
	if len(quoted) < 2 || quoted[0] != '"' {
		return nil, false
	}
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	var err error
	*scratch, err = jsontext.AppendUnquote((*scratch)[:0], quoted)
	return *scratch, err == nil
}
