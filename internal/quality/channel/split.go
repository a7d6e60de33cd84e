// This file cuts a text into parts. It does not depend on a channel: a meter measures how far a
// part may reach, and cutters find the best place up to there. The places are, in order: end of a
// paragraph, of a sentence or line, of a word, of a grapheme.
//
// A cut never parts a grapheme. It parts a link, a span of code or a number with spaces only if no
// part could hold it. All searches go back from the end and stop at the first place. So the time
// grows with the parts, not with the square of the text.

package channel

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Strategy is where a text is cut first.
type Strategy string

// Strategies, the largest first. If no place of a kind fits, the next kind is tried. Graphemes come
// after words.
const (
	strategyByParagraph Strategy = "paragraph"
	strategyBySentence  Strategy = "sentence"
	strategyByWord      Strategy = "word"
)

// meter measures parts.
type meter interface {
	// reach returns the largest end of a part from start, at the end of a grapheme. Such
	// a part has the room that is asked for. It is start if nothing fits.
	reach(start int, r room) int
	// isBlank reports whether a part would show nothing.
	isBlank(start, end int) bool
}

// room is kept free in a part, in units: for its indicator, and for three dots.
type room struct{ before, after int }

// splitter cuts a text into parts.
//
// kept is in order and does not overlap. maxParts is at least 1.
type splitter struct {
	text      string
	unsplit   []span // not parted if a part has room for them
	meter     meter
	maxParts  int
	indicator Indicator
}

// split returns the parts, and whether they are not all of the text. Smaller cuts than asked for
// are better than the loss of text after the last part.
//
// Each attempt cuts the whole text again, by smaller things, so that all parts of a text
// are cut alike. Truncation is the last resort.
func (s *splitter) split(first Strategy) (parts []span, truncated bool) {
	if s.meter.reach(0, room{}) == len(s.text) {
		return []span{{0, len(s.text)}}, false
	}
	cutters := []func(start, end int) int{s.paragraphEnd, s.sentenceEnd, s.wordEnd}
	switch first {
	case strategyBySentence:
		cutters = cutters[1:]
	case strategyByWord:
		cutters = cutters[2:]
	}
	for len(cutters) > 0 {
		if parts, ok := s.cutAll(cutters); ok {
			return parts, false
		}
		cutters = cutters[1:]
	}
	return s.cutTruncated(), true
}

// roomBesides is that of an indicator, and of more behind the text: "(2/3) ".
func (s *splitter) roomBesides(behind int) room {
	n := len("(2/3) ")
	if s.maxParts > 9 {
		n = len("(10/12) ")
	}
	switch s.indicator {
	case indicatorPrefix:
		return room{n, behind}
	case indicatorSuffix:
		return room{0, n + behind}
	}
	return room{0, behind}
}

// roomOf is the room that was kept free in part i of so many.
func (s *splitter) roomOf(i, of int, truncated bool) room {
	switch {
	case truncated && i == of-1:
		return s.roomBesides(len(" ..."))
	case of == 1:
		return room{}
	}
	return s.roomBesides(0)
}

// cutAll cuts the text with cutters in the order of preference; ok is false if
// there are too many parts.
//
// A part of nothing but white space is left out.
func (s *splitter) cutAll(cutters []func(int, int) int) (parts []span, ok bool) {
	for start := 0; start < len(s.text); {
		if len(parts) == s.maxParts {
			return nil, false
		}
		end := s.cutPart(start, s.roomBesides(0), cutters)
		if last := s.trimEnd(start, end); last > start {
			parts = append(parts, span{start, last})
		}
		start = s.skipSpace(end)
	}
	return parts, len(parts) > 0
}

// cutTruncated returns as many parts as there may be; the last one ends at a sentence, with
// room for three dots.
func (s *splitter) cutTruncated() (parts []span) {
	start := 0
	for len(parts) < s.maxParts-1 {
		end := s.cutPart(start, s.roomBesides(0), []func(int, int) int{s.wordEnd})
		parts = append(parts, span{start, s.trimEnd(start, end)})
		start = s.skipSpace(end)
	}
	end := s.cutPart(start, s.roomBesides(len(" ...")), []func(int, int) int{s.sentenceEnd, s.wordEnd})
	return append(parts, span{start, s.trimEnd(start, end)})
}

// cutPart returns where the part from start ends.
//
// The result is greater than start. If not even a grapheme fits, it takes one character all the
// same. The part is then too long; Spec.Check keeps limits above that.
func (s *splitter) cutPart(start int, r room, cutters []func(int, int) int) int {
	end := s.meter.reach(start, r)
	if end == len(s.text) {
		return end
	}
	if end <= start { // not even one grapheme fits
		_, n := utf8.DecodeRuneInString(s.text[start:])
		return start + n
	}
	for _, at := range cutters {
		if cut := at(start, end); cut > start && !s.meter.isBlank(start, cut) {
			return cut
		}
	}
	if cut := s.graphemeEnd(start, end); !s.meter.isBlank(start, cut) {
		return cut
	}
	return end
}

// skipSpace returns where the part behind a cut begins. The indent of a line belongs to the line.
func (s *splitter) skipSpace(at int) int {
	line := at < len(s.text) && s.text[at] == '\n'
	for at < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[at:])
		if line && r != '\n' || !isSpace(r) {
			break
		}
		at += n
	}
	return at
}

// trimEnd is the end of a part without white space behind it.
func (s *splitter) trimEnd(start, end int) int {
	return start + len(strings.TrimRightFunc(s.text[start:end], isSpace))
}

// isSpace reports whether a line may be broken at r. It is false for a no-break space, since that
// holds numbers together.
func isSpace(r rune) bool {
	switch r {
	case ' ', '\n', '\t', '\u3000', '\u1680', '\u205f':
		return true
	}
	return r >= '\u2000' && r <= '\u200a' && r != '\u2007'
}

// paragraphEnd returns the last end of a paragraph up to end, or a place up to start without one.
//
// A blank line that begins right at the end of the part counts too: the part then holds the
// whole paragraph.
func (s *splitter) paragraphEnd(start, end int) int {
	return start + strings.LastIndex(s.text[start:min(end+2, len(s.text))], "\n\n")
}

// eachSpace calls accept with places from end back to start: the begins of white space, and the
// ends of sentences in scripts without spaces. It returns the first accepted place, or start.
func (s *splitter) eachSpace(start, end int, accept func(at int) bool) int {
	at := end
	if r, _ := utf8.DecodeRuneInString(s.text[end:]); isSpace(r) && accept(end) {
		return end
	}
	for at > start {
		r, n := utf8.DecodeLastRuneInString(s.text[start:at])
		at -= n
		if (isSpace(r) || endsWithoutSpace(r) && at+n < end) && at > start {
			cut := at
			if !isSpace(r) {
				cut = at + n
			}
			if accept(cut) {
				return cut
			}
		}
	}
	return start
}

// endsWithoutSpace reports whether r ends a sentence in a script without spaces.
func endsWithoutSpace(r rune) bool {
	return r == '。' || r == '！' || r == '？' || r == '．' || r == '｡'
}

// sentenceEnd is the last end of a sentence or line.
func (s *splitter) sentenceEnd(start, end int) int {
	return s.eachSpace(start, end, func(at int) bool {
		return at < len(s.text) && s.text[at] == '\n' || endsSentence(s.text[start:at])
	})
}

// endsSentence reports whether a text ends as a sentence does.
//
// Closing quotes, brackets and marks may follow the point. A point of an abbreviation does not end
// a sentence. isAbbreviated may be wrong: the cut is then at a word, and no text is lost.
func endsSentence(text string) bool {
	text = strings.TrimRightFunc(text, isSpace)
	body := strings.TrimRight(text, `)]}"'”’»」』*_~`)
	r, n := utf8.DecodeLastRuneInString(body)
	switch r {
	case '!', '?', '…', '。', '！', '？', '．', '｡', '।', '॥', '؟', '۔', '։', '።', '။', '។':
		return true
	case '.':
		return !isAbbreviated(body[:len(body)-n])
	}
	return false
}

// lastWord returns the text after the last space, bracket or quotation mark.
func lastWord(text string) string {
	return text[strings.LastIndexFunc(text, func(r rune) bool { return isSpace(r) || r == '(' || r == '"' })+1:]
}

// isAbbreviated reports whether the point behind text belongs to its last word: an initial, a
// number, or a listed abbreviation.
func isAbbreviated(text string) bool {
	word := lastWord(text[max(0, len(text)-32):])
	if r, n := utf8.DecodeRuneInString(word); n > 0 && n == len(word) {
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if len(word) == 2 && word[0] <= '9' && word[1] <= '9' { // 31. of a month
		return true
	}
	return isAbbreviation(strings.ToLower(word))
}

// isAbbreviation reports whether a word ends with a point within sentences, in the languages that
// have most of them: English, German, French, Spanish, Italian, Russian, Polish, Czech. word is in
// lower case, without its last point.
func isAbbreviation(word string) bool {
	switch word {
	case "dr", "mr", "mrs", "ms", "prof", "st", "sr", "jr", "vs", "etc", "e.g", "i.e", "cf", "approx", "no", "vol", "fig", "inc", "ltd", "co", "corp", "dept", "est", "a.m", "p.m", "u.s",
		"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "mon", "tue", "wed", "thu", "fri", "sat", "sun",
		"z.b", "d.h", "u.a", "bzw", "ca", "nr", "str", "hr", "fr", "evtl", "ggf", "usw", "inkl", "zzgl", "abs", "tel",
		"mme", "mlle", "env", "art", "p.ex", "av", "bd", "sra", "srta", "ud", "uds", "pág", "núm", "p.ej", "ej", "aprox", "sig", "dott", "ecc", "pag", "sig.ra",
		"г", "ул", "им", "т.е", "т.д", "руб", "стр", "д", "о.э", "np", "tzn", "ul", "tj", "např", "ing", "mgr":
		return true
	}
	return false
}

// wordEnd is the last end of a word, or for scripts without spaces of a
// character.
func (s *splitter) wordEnd(start, end int) int {
	if at := s.eachSpace(start, end, func(at int) bool { return !s.inNumber(at) }); at > start {
		return at
	}
	return s.ideographEnd(start, end)
}

// maxNumber bounds a number with spaces, in bytes; a longer one is a list.
const maxNumber = 40

// inNumber reports whether the white space at a cut parts a number, as in +49 30 123 456.
func (s *splitter) inNumber(at int) bool {
	if at >= len(s.text) || s.text[at] != ' ' {
		return false
	}
	before, n := utf8.DecodeLastRuneInString(s.text[:at])
	behind, m := utf8.DecodeRuneInString(s.text[at+1:])
	if !isNumeric(before) || !isNumeric(behind) || behind == '+' {
		return false
	}
	from, to := at-n, at+1+m
	for from > 0 && s.text[from] != '+' && at-from <= maxNumber {
		r, n := utf8.DecodeLastRuneInString(s.text[:from])
		if !goesOn(r, s.text[from]) {
			break
		}
		from -= n
	}
	for to < len(s.text) && s.text[to] != '+' && to-at <= maxNumber {
		r, n := utf8.DecodeRuneInString(s.text[to:])
		if !goesOn(r, s.text[to-1]) {
			break
		}
		to += n
	}
	return to-from <= maxNumber
}

// goesOn reports whether a number continues with r beyond its outermost byte: there is one space at
// a time.
func goesOn(r rune, outermost byte) bool {
	return isNumeric(r) || r == ' ' && outermost != ' '
}

// isNumeric reports whether r can stand within a number, such as 1,000.50, +49 (0)30 or ٠٣٠.
func isNumeric(r rune) bool {
	return r >= '(' && r <= '9' && r != '*' || r >= utf8.RuneSelf && unicode.IsDigit(r)
}

// ideographEnd cuts between two characters of a script without spaces, each a word or part of one.
func (s *splitter) ideographEnd(start, end int) int {
	for at := end; at > start; {
		r, n := utf8.DecodeLastRuneInString(s.text[start:at])
		next, _ := utf8.DecodeRuneInString(s.text[at:])
		if isUnspaced(r) && isUnspaced(next) && !(isKatakana(r) && isKatakana(next)) && s.unsplitStart(at) == at {
			return at
		}
		at -= n
	}
	return start
}

// isUnspaced reports whether a script writes words without spaces between them. Hangul has spaces.
func isUnspaced(r rune) bool {
	return r >= 0x2e80 && (unicode.In(r, unicode.Han, unicode.Hiragana) || isKatakana(r))
}

// isKatakana reports whether r is of a script that is written for words as a whole.
func isKatakana(r rune) bool { return r == 'ー' || r >= 0x30a0 && unicode.Is(unicode.Katakana, r) }

// graphemeEnd cuts where nothing larger ends. It parts neither a link nor a number nor
// another word in ASCII that a part holds.
func (s *splitter) graphemeEnd(start, end int) int {
	if at := s.unsplitStart(end); at > start && at < end {
		return at
	}
	at := end
	for at > start && isGlued(s.text[at-1]) && at < len(s.text) && isGlued(s.text[end]) {
		at--
	}
	if at > start {
		return at
	}
	return end
}

// isGlued reports whether c is part of a run that is better not cut, such as a URL.
func isGlued(c byte) bool { return c > ' ' && c < 0x7f }

// unsplitStart returns where the link or code around position at begins, or at.
//
// kept is searched by bisection, as a text may hold thousands of links.
func (s *splitter) unsplitStart(at int) int {
	i, _ := slices.BinarySearchFunc(s.unsplit, at, func(k span, at int) int { return k.end - at })
	if i < len(s.unsplit) && s.unsplit[i].end == at {
		i++
	}
	if i < len(s.unsplit) && s.unsplit[i].start < at {
		return s.unsplit[i].start
	}
	return at
}

// units measures texts in units of UTF-16, marks included.
//
// limit 0 turns the bound off.
type units struct {
	flat  *flat
	limit int
}

// reach is how far a part reaches from start; graphemes stay whole.
func (u units) reach(start int, r room) int {
	if u.limit == 0 {
		return len(u.flat.text)
	}
	text := u.flat.text
	reserve := r.before + r.after
	if rest := len(text) - start; rest+reserve <= u.limit && rest+reserve+u.flat.markCost(start, len(text)) <= u.limit {
		return len(text) // no text has more units than bytes
	}
	n, at := reserve, start
	for at < len(text) {
		end := endOfGrapheme(text, at)
		n += lengthUTF16(text[at:end])
		if n > u.limit {
			break
		}
		at = end
	}
	if u.flat.marked {
		return u.withMarks(start, at, reserve)
	}
	return at
}

// withMarks draws back the end of a part until it has room for the marks of markup as well.
func (u units) withMarks(start, at, reserve int) int {
	text := u.flat.text
	for at > start {
		over := lengthUTF16(text[start:at]) + reserve + u.flat.markCost(start, at) - u.limit
		if over <= 0 {
			break
		}
		at = graphemeBefore(text, start, max(start, at-over))
	}
	return at
}

// isBlank implements meter.
func (u units) isBlank(start, end int) bool { return strings.TrimSpace(u.flat.text[start:end]) == "" }

// graphemeBefore returns the last end of a grapheme at or before position at. start is
// the end of one.
//
// It steps back to two bytes of ASCII in a row, since a grapheme ends between them, and goes
// forward from there. If there are none within 256 bytes, it begins at start.
func graphemeBefore(text string, start, at int) int {
	near := at
	for near > start && at-near < 256 && !(near < len(text) && text[near] < 0x80 && text[near-1] < 0x80) {
		near--
	}
	if near > start && !(text[near] < 0x80 && text[near-1] < 0x80) {
		near = start
	}
	for near < at {
		end := endOfGrapheme(text, near)
		if end > at {
			break
		}
		near = end
	}
	return near
}

// lengthUTF16 counts UTF-16 units, as several channels do.
func lengthUTF16(s string) int {
	n := asciiPrefix(s)
	for _, r := range s[n:] {
		n += utf16.RuneLen(r)
	}
	return n
}

// asciiPrefix returns how many bytes of ASCII s begins with, or a few less.
//
// It looks at eight bytes at a time, as this is the longest loop over most texts.
func asciiPrefix(s string) int {
	n := 0
	for ; len(s)-n >= 8; n += 8 {
		w := s[n : n+8]
		if w[0]|w[1]|w[2]|w[3]|w[4]|w[5]|w[6]|w[7] >= utf8.RuneSelf {
			break
		}
	}
	return n
}
