package run

import (
	"strings"
	"unicode/utf8"
)

// maxProse bounds the text so far, in code points: the next speaker joins a longer text with a new
// paragraph.
const maxProse = 280

// Join decides how texts of several speakers become one answer. Two short sentences are joined in
// one paragraph, as a person would write them; all else becomes paragraphs of its own. It needs
// only the length of the emitted text and its last bytes, so that it can be stored and another
// process can decide. The zero value is of an empty text.
type Join struct {
	Length int    `json:"length,omitempty"` // code points
	Block  bool   `json:"block,omitempty"`  // it is more than one paragraph of prose
	Tail   []byte `json:"tail,omitempty"`
}

// maxTail holds the end of a sentence with the quotes and brackets behind it.
const maxTail = 16

// Add records a text that was emitted.
//
// Only the last maxTail bytes are stored. The cut may fall inside a character; only the end
// is looked at.
func (j *Join) Add(text string) {
	if j.Length == 0 && beginsBlock(text) || strings.ContainsRune(text, '\n') {
		j.Block = true
	}
	j.Length += utf8.RuneCountInString(text)
	if len(text) >= maxTail {
		j.Tail = j.Tail[:0]
		text = text[len(text)-maxTail:]
	}
	j.Tail = append(j.Tail, text...)
	if extra := len(j.Tail) - maxTail; extra > 0 {
		j.Tail = append(j.Tail[:0], j.Tail[extra:]...)
	}
}

// Cut records that so many code points at the end were taken back. The end of the remaining text is
// known again with the next text, and that follows at once.
func (j *Join) Cut(runes int) {
	if j.Length -= runes; j.Length <= 0 {
		*j = Join{Tail: j.Tail[:0]}
	}
}

// Between returns the text between the emitted text and the next speaker's; next is its begin.
//
// natural false always gives a new paragraph behind a text that is not empty. Line breaks
// that the text already ends with count: there is never more than one empty line.
func (j *Join) Between(next string, natural bool) string {
	switch {
	case j.Length == 0:
		return ""
	case !natural || j.Block || j.Length > maxProse || beginsBlock(next):
		return strings.Repeat("\n", max(0, 2-trailingBreaks(j.Tail)))
	case EndsSentence(string(j.Tail)):
		return " "
	}
	return ". "
}

// trailingBreaks counts the line feeds at the end.
func trailingBreaks(tail []byte) (n int) {
	for n < len(tail) && tail[len(tail)-1-n] == '\n' {
		n++
	}
	return n
}

// EndsSentence reports whether a sentence ends at the end of s; quotes, brackets and
// emphasis may follow its mark.
func EndsSentence(s string) bool {
	s = strings.TrimRight(s, "\"')]}»”’*_ \n")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…:;。！？", r)
}

// beginsBlock reports whether s begins with what Markdown takes for a block of its own: a
// heading, a list, a quote, a table or code.
func beginsBlock(s string) bool {
	s = strings.TrimLeft(s, " \n")
	if s == "" {
		return false
	}
	switch s[0] {
	case '#', '>', '|', '`', '~', '\t':
		return true
	case '-', '+', '*':
		return len(s) == 1 || s[1] == ' ' || s[1] == s[0] && s[0] == '-'
	}
	return beginsItem(s)
}

// beginsItem reports whether s begins with the number of an item.
func beginsItem(s string) bool {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	return digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')') && (digits+1 == len(s) || s[digits+1] == ' ')
}
