package loadtest

import (
	"hash/maphash"
	"unicode/utf8"
)

// joined is a text that comes in pieces, of which only hashes are kept: the
// answers of ten thousand streams would not fit into memory.
//
// A text can be written in JSON in several ways. So there is a cheap hash of the written form,
// enough most of the time, and one of the meant text.
type joined struct {
	written, meant maphash.Hash
	scratch        []byte
}

// reset begins an empty text. The seeds stay: comparing needs the same ones.
func (j *joined) reset() {
	j.written.Reset()
	j.meant.Reset()
}

// addPiece takes one more piece, a JSON string. It is false for another value, for an empty string,
// and for one that splits a code point.
func (j *joined) addPiece(quoted []byte) bool {
	plain, ok := unquoteString(quoted, &j.scratch)
	if !ok || len(plain) == 0 || !utf8.Valid(plain) {
		return false
	}
	_, _ = j.written.Write(quoted[1 : len(quoted)-1])
	_, _ = j.meant.Write(plain)
	return true
}

// setText replaces the text by a JSON string. It is false for another value.
func (j *joined) setText(quoted []byte) bool {
	j.reset()
	return string(quoted) == `""` || j.addPiece(quoted)
}

// equalsText reports whether a JSON string is the text so far.
func (j *joined) equalsText(quoted []byte) bool {
	if len(quoted) < 2 || quoted[0] != '"' {
		return false
	}
	if maphash.Bytes(j.written.Seed(), quoted[1:len(quoted)-1]) == j.written.Sum64() {
		return true
	}
	plain, ok := unquoteString(quoted, &j.scratch)
	return ok && maphash.Bytes(j.meant.Seed(), plain) == j.meant.Sum64()
}
