package openai

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Some servers cut text into deltas by UTF-16 units, so that the two escapes of a surrogate pair
// stand in two deltas: "\ud83d" and "\ude00". The functions below join them. A half that stays
// alone becomes a replacement character.

// halves are the half characters at the ends of a string.
type halves struct {
	low  rune // at the start: the second half of a pair; 0: none
	high rune // at the end: the first half of one; 0: none
}

// escape is how long an escaped UTF-16 unit is: \uXXXX.
const escape = 6

// cutHalves returns v, a JSON string, without the half characters at its ends.
func cutHalves(v jsontext.Value) (jsontext.Value, halves) {
	var h halves
	if len(v) < escape+len(`""`) || v[1] != '\\' && v[len(v)-1-escape] != '\\' {
		return v, h // nearly always
	}
	inner := v[1 : len(v)-1]
	if u := unitOf(inner[:escape]); u >= 0xdc00 && u <= 0xdfff {
		h.low, inner = u, inner[escape:]
	}
	if n := len(inner) - escape; n >= 0 && countBackslashes(inner[:n])%2 == 0 {
		if u := unitOf(inner[n:]); u >= 0xd800 && u <= 0xdbff {
			h.high, inner = u, inner[:n]
		}
	}
	if h == (halves{}) {
		return v, h
	}
	return append(append(jsontext.Value{'"'}, inner...), '"'), h
}

// unitOf returns the unit that b escapes, or -1.
func unitOf(b []byte) rune {
	if b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	u, err := strconv.ParseUint(string(b[2:escape]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(u)
}

// countBackslashes returns how many of them b ends in.
func countBackslashes(b []byte) (n int) {
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n
}

// pending is the first half of a character whose second half may come; 0: none.
type pending rune

// joinHalf appends the character that h.low completes, or a replacement character for a single
// half. empty is true if the string has no other content.
//
// A half that is alone becomes one replacement character where it stood. An empty string
// between two halves keeps the first one waiting.
func (p *pending) joinHalf(b []byte, h halves, empty bool) []byte {
	switch {
	case *p != 0 && h.low != 0:
		b = utf8.AppendRune(b, utf16.DecodeRune(rune(*p), h.low))
		*p = 0
	case h.low != 0:
		b = utf8.AppendRune(b, utf8.RuneError)
	case *p != 0 && (!empty || h.high != 0):
		b = p.flush(b)
	}
	return b
}

// holdHalf keeps the half that a string ends in.
func (p *pending) holdHalf(h halves) {
	if h.high != 0 {
		*p = pending(h.high)
	}
}

// flush appends a replacement character for a half whose other half never came.
func (p *pending) flush(b []byte) []byte {
	if *p != 0 {
		b = utf8.AppendRune(b, utf8.RuneError)
		*p = 0
	}
	return b
}

// unquote appends the string that v is, which continues where the string before it ended.
//
// v is a string that was read, with its quotes.
func (p *pending) unquote(b []byte, v jsontext.Value) []byte {
	v, h := cutHalves(v)
	b = p.joinHalf(b, h, len(v) == len(`""`))
	if isPlain(v) {
		b = append(b, v[1:len(v)-1]...)
	} else {
		b, _ = jsontext.AppendUnquote(b, v) // v was read: an error can report UTF-8 only
	}
	p.holdHalf(h)
	return b
}
