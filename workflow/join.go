// This file decides how texts of several nodes become one answer. Two short sentences are
// joined in one paragraph, as a person would write them; all else becomes paragraphs of its
// own. The decision needs only the length of what is out and its last bytes, so that it can
// be stored with a run and be made again by another process.

package workflow

import (
	"strings"
	"unicode/utf8"
)

// maxProse is the longest text so far, in code points, to which the next node's is
// joined in one paragraph.
const maxProse = 280

// answer is what is known of the text that was shown so far, as far as joining needs
// it.
type answer struct {
	length int  // code points
	block  bool // it is more than one paragraph of prose
	tail   []byte
}

// maxTail holds the end of a sentence with the quotes and brackets behind it.
const maxTail = 16

// Only the last maxTail bytes are kept. The cut may fall inside a character; only the end
// is looked at.
func (a *answer) add(text string) {
	if a.length == 0 && beginsBlock(text) || strings.ContainsRune(text, '\n') {
		a.block = true
	}
	a.length += utf8.RuneCountInString(text)
	if len(text) >= maxTail {
		a.tail = a.tail[:0]
		text = text[len(text)-maxTail:]
	}
	a.tail = append(a.tail, text...)
	if extra := len(a.tail) - maxTail; extra > 0 {
		a.tail = append(a.tail[:0], a.tail[extra:]...)
	}
}

// joint returns what stands between the text so far and the next node's, which begins
// with next.
//
// natural false always gives a new paragraph behind a text that is not empty. Line breaks
// that the text already ends with count: there is never more than one empty line.
func (a *answer) joint(next string, natural bool) string {
	switch {
	case a.length == 0:
		return ""
	case !natural || a.block || a.length > maxProse || beginsBlock(next):
		return strings.Repeat("\n", max(0, 2-trailingBreaks(a.tail)))
	case endsSentence(string(a.tail)):
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

// endsSentence says whether a sentence ends at the end of s; quotes, brackets and
// emphasis may follow its mark.
func endsSentence(s string) bool {
	s = strings.TrimRight(s, "\"')]}»”’*_ \n")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…:;。！？", r)
}

// beginsBlock says whether s begins with what Markdown takes for a block of its own: a
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
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	return digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')') && (digits+1 == len(s) || s[digits+1] == ' ')
}
