// This file removes the characters that channels must not have: broken UTF-8, controls, and
// unbalanced marks of text direction. It runs before the parser, so that no later step meets them.
// It runs again on each part of a text, since a cut may have parted a pair of marks.
//
// Marks of direction matter for safety: an override or an open embedding shows a link or an
// amount in another order than it is sent.

package channel

import (
	"strings"
	"unicode/utf8"
)

// Controls of the order of text (Unicode Standard Annex 9, version 17).
const (
	lre = '\u202A'
	rle = '\u202B'
	pdf = '\u202C'
	lro = '\u202D'
	rlo = '\u202E'
	lri = '\u2066'
	fsi = '\u2068'
	pdi = '\u2069'
)

// clean returns a source in UTF-8. Line feeds and tabs are its only controls, and its controls of
// order are balanced within each line. Overrides go: they make a text look like another one.
//
// It is idempotent, and returns s itself, without an allocation, if s is clean.
func clean(s string) string {
	if isClean(s) {
		return s
	}
	s = stripControls(s)
	if !strings.ContainsAny(s, orderControls) {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = balanceOrder(line)
	}
	return strings.Join(lines, "\n")
}

// orderControls are those that are allowed in pairs.
const orderControls = "\u202A\u202B\u202C\u2066\u2067\u2068\u2069"

// stripControls is clean for a part of a line: whether the controls of order in it are balanced
// cannot be known of a part.
func stripControls(s string) string {
	if isClean(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r', r == '\f', r == '\v', r == '\u2028', r == '\u2029', r == '\u0085':
			return '\n'
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0, r == lro, r == rlo:
			return -1
		}
		return r
	}, s)
}

// isClean reports whether nothing would be taken out, without an allocation: so it is mostly.
func isClean(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
		if c >= 0x80 {
			return isCleanUnicode(s[i:])
		}
	}
	return true
}

// isCleanUnicode is isClean for text with characters beyond ASCII. It finds controls, line
// separators, marks of direction and broken UTF-8.
func isCleanUnicode(s string) bool {
	for i, r := range s {
		switch {
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0,
			r >= '\u2028' && r <= rlo, r >= lri && r <= pdi:
			return false
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

// balanceOrder drops the controls of order that no other one closes, or opens.
//
// An isolate closes only an isolate, an embedding only an embedding. This is stricter than
// the annex, where PDI also closes the embeddings within.
func balanceOrder(line string) string {
	// All of them begin with this byte, which few texts have.
	if strings.IndexByte(line, 0xE2) < 0 || !strings.ContainsAny(line, orderControls) {
		return line
	}
	drop, open := map[int]bool{}, []int(nil) // offsets of the controls
	closes := func(opener rune, isolate bool) bool { return isolate == (opener >= lri) }
	for i, r := range line {
		switch r {
		case lre, rle, lri, lri + 1, fsi:
			open = append(open, i)
		case pdf, pdi:
			if len(open) == 0 {
				drop[i] = true
				continue
			}
			last := open[len(open)-1]
			opener, _ := utf8.DecodeRuneInString(line[last:])
			if !closes(opener, r == pdi) {
				drop[i] = true
				continue
			}
			open = open[:len(open)-1]
		}
	}
	for _, i := range open {
		drop[i] = true
	}
	if len(drop) == 0 {
		return line
	}
	var b strings.Builder
	for i, r := range line {
		if !drop[i] {
			b.WriteRune(r)
		}
	}
	return b.String()
}
