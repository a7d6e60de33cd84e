// Package jsonparts splits valid JSON values (RFC 7493) into their parts: a body is checked once,
// and then each of its levels is split without another check. Results lie in the memory of the
// argument, so a caller that keeps a part clones it.
//
// For an invalid value the result is unspecified, but nothing panics.
package jsonparts

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Object returns the members of an object; none if v is of another kind.
func Object(v jsontext.Value) map[string]jsontext.Value {
	members := map[string]jsontext.Value{}
	i := enterValue(v, '{')
	for i < len(v) && v[i] == '"' {
		behind := skipValue(v, i)
		name := Text(v[i:behind])
		if i = skipSpace(v, skipSpace(v, behind)+1); i >= len(v) { // behind the colon
			break
		}
		behind = skipValue(v, i)
		members[name] = v[i:behind:behind]
		i = nextPart(v, behind)
	}
	return members
}

// List returns the items of an array; none if v is of another kind.
func List(v jsontext.Value) (items []jsontext.Value) {
	i := enterValue(v, '[')
	for i < len(v) && v[i] != ']' {
		behind := skipValue(v, i)
		items = append(items, v[i:behind:behind])
		i = nextPart(v, behind)
	}
	return items
}

// Text returns the string that a valid JSON string is.
func Text(v jsontext.Value) string {
	if n := len(v); n >= 2 {
		if text, ok := unescapeSimple(v[1 : n-1]); ok {
			return text
		}
	}
	text, _ := Unquote(v)
	return text
}

// Unquote returns the content of a JSON string with perhaps invalid content. The error reports
// invalid UTF-8, an invalid escape or a lone surrogate, and comes with the string up to that place.
func Unquote(v jsontext.Value) (string, error) {
	if n := len(v); n >= 2 && v[0] == '"' && v[n-1] == '"' {
		if inner := v[1 : n-1]; utf8.Valid(inner) {
			if text, ok := unescapeSimple(inner); ok {
				return text, nil
			}
		}
	}
	var short [64]byte // room for the other strings, mostly keys and ids
	dst := short[:0]
	if len(v) > len(short) {
		dst = make([]byte, 0, len(v))
	}
	b, err := jsontext.AppendUnquote(dst, v)
	return string(b), err
}

// unescapeSimple replaces escapes of one letter, as nearly all are; ok is false if there is another.
func unescapeSimple(inner []byte) (text string, ok bool) {
	const letters, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	at := bytes.IndexByte(inner, '\\')
	if at < 0 {
		return string(inner), true // most strings are without escapes
	}
	var b strings.Builder
	b.Grow(len(inner))
	for ; at >= 0; at = bytes.IndexByte(inner, '\\') {
		which := -1
		if at+1 < len(inner) {
			which = strings.IndexByte(letters, inner[at+1])
		}
		if which < 0 {
			return "", false
		}
		b.Write(inner[:at])
		b.WriteByte(means[which])
		inner = inner[at+2:]
	}
	b.Write(inner)
	return b.String(), true
}

// enterValue returns where the first part of an object or array begins, or its end.
func enterValue(v []byte, open byte) int {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != open {
		return len(v)
	}
	return skipSpace(v, i+1)
}

// nextPart returns the begin of the part behind a comma, or the end of the object or array.
func nextPart(v []byte, i int) int {
	if i = skipSpace(v, i); i < len(v) && v[i] == ',' {
		return skipSpace(v, i+1)
	}
	return len(v)
}

// skipSpace returns where white space ends.
func skipSpace(v []byte, i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t') {
		i++
	}
	return min(i, len(v))
}

// skipValue returns where the value ends that begins at i. It goes ahead, whatever is there.
func skipValue(v []byte, i int) int {
	depth := 0
	for ; i < len(v); i++ {
		switch v[i] {
		case '"':
			if i = skipString(v, i); depth == 0 {
				return i
			}
			i-- // the loop's step
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		default:
			if depth == 0 {
				return skipLiteral(v, i)
			}
		}
	}
	return len(v)
}

// skipString returns where the string ends that begins at i.
func skipString(v []byte, i int) int {
	for begin := i + 1; ; {
		n := bytes.IndexByte(v[begin:], '"')
		if n < 0 {
			return len(v)
		}
		end, escapes := begin+n, 0
		for end-escapes > begin && v[end-escapes-1] == '\\' {
			escapes++
		}
		if begin = end + 1; escapes%2 == 0 {
			return begin
		}
	}
}

// skipLiteral returns where a number or a word ends that begins at i.
func skipLiteral(v []byte, i int) int {
	n := bytes.IndexAny(v[i+1:], " \n\r\t,:]}")
	if n < 0 {
		return len(v)
	}
	return i + 1 + n
}
