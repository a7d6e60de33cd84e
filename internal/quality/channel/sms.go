// This file measures an SMS as the network does, in segments, and writes its parts. A single
// segment holds more than one of several. An escape pair or a grapheme that does not fit goes into
// the next segment. One character outside the alphabet more than doubles the cost of a part.
//
// Everything here is counted in units: septets in GSM-7, units of UTF-16 in UCS-2.

package channel

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sluice/internal/base/markdown"
)

// Encoding is how the characters of an SMS are sent.
type Encoding string

// Encodings (3GPP TS 23.038). UCS-2 is UTF-16 on every phone that shows emojis.
const (
	encodingGSM7 Encoding = "GSM-7"
	encodingUCS2 Encoding = "UCS-2"
)

// capacity returns the units of one segment: alone, and as one of several. Each of several begins
// with a header of six octets (3GPP TS 23.040, 9.2.3.24.1).
func (e Encoding) capacity() (alone, several int) {
	if e == encodingGSM7 {
		return 160, 153
	}
	return 70, 67
}

// packer counts the segments of an SMS. It does not part an escape pair, a surrogate pair or a
// grapheme.
//
// It is a small value, so a copy can test whether more would fit.
type packer struct {
	alone, several int
	units          int
	full, fill     int // segments before the one at hand, and units in it
}

// newPacker returns a packer of empty segments.
func newPacker(e Encoding) packer {
	alone, several := e.capacity()
	return packer{alone: alone, several: several}
}

// add packs a grapheme, whole into one segment if it fits into any (3GPP TS
// 23.040 concatenates after that).
//
// A grapheme that is larger than a segment continues in the next one.
func (p *packer) add(units int) {
	p.units += units
	if p.fill+units > p.several {
		p.full++
		p.fill = 0
	}
	p.fill += units
	for p.fill > p.several { // a grapheme that no segment holds
		p.full++
		p.fill -= p.several
	}
}

// segments counts them. A text that fits into one alone has room for more: no
// header is needed.
func (p *packer) segments() int {
	if p.units <= p.alone {
		return min(1, p.units)
	}
	return p.full + 1
}

// sms measures and writes the parts of an SMS.
//
// maxUnits and maxSegments bound a part; 0: no bound.
type sms struct {
	text          string
	transliterate bool
	auto          bool              // emojis may become words or go
	words         map[string]string // by emoji
	maxUnits      int
	maxSegments   int

	blanks run // around emojis, the last that was looked at
	seen   urlWord
}

// urlWord is the last word that was looked at, and the URL in it, if any.
type urlWord struct{ start, end, url, urlEnd int }

// run is a run of spaces and emojis that go.
type run struct {
	start, end  int
	dropsSpaces bool // the spaces go as well
}

// has reports whether a place is in the run.
func (r run) has(at int) bool { return at >= r.start && at < r.end }

// inGSM returns the GSM-7 text for a grapheme.
//
// before is the byte in front of it as it is sent. An emoji without a word becomes the
// empty text, with ok.
func (m *sms) inGSM(g string, before byte) (s string, ok bool) {
	if len(g) == 1 {
		return m.asciiInGSM(g)
	}
	if m.auto && isEmoji(g) {
		return m.wordOf(g), true
	}
	r, n := utf8.DecodeRuneInString(g)
	if n == len(g) && septetsOf(r) > 0 {
		return g, true
	}
	if !m.transliterate {
		return "", false
	}
	return transliterateGSM(g, before)
}

// wordOf returns the word of an emoji, or "". The emoji style sign does not matter: many writers
// leave it out and others add it.
func (m *sms) wordOf(g string) string {
	if word, ok := m.words[g]; ok {
		return word
	}
	style := string(emojiStyle)
	if bare, ok := strings.CutSuffix(g, style); ok {
		return m.words[bare]
	}
	return m.words[g+style]
}

// asciiInGSM is inGSM for a grapheme of one byte.
func (m *sms) asciiInGSM(g string) (s string, ok bool) {
	if septets[g[0]] > 0 {
		return g, true
	}
	if g == "\t" && m.transliterate {
		return " ", true
	}
	return "", false
}

// joinsNumber reports whether s is a fraction that would join the number before it: 1½ must not
// become 11/2.
func joinsNumber(s string, before byte) bool {
	return len(s) == 3 && s[1] == '/' && '0' <= before && before <= '9'
}

// transliterateGSM writes a grapheme in characters of GSM-7. before is the byte in front of it. ok
// is false without such a form.
func transliterateGSM(g string, before byte) (string, bool) {
	var out string
	for _, r := range g {
		s, ok := plainSigns[r]
		if !ok && septetsOf(r) > 0 {
			s, ok = string(r), true
		}
		if !ok {
			return "", false
		}
		if joinsNumber(s, before) {
			s = " " + s
		}
		out += s
	}
	return out, true
}

// eachGSM gives accept the GSM-7 text from start on, until it returns false or a grapheme cannot be
// written in GSM-7. The argument end is where the text's original ends. With itself set, s is the
// original: many characters, each one grapheme.
//
// It drops the space after a removed emoji, and adds a space where two words would touch, also if
// one is an emoji's. The result is the same from whatever place a part begins.
func (m *sms) eachGSM(start int, accept func(s string, end int, itself bool) bool) {
	last := joint{before: ' '}
	for at := start; at < len(m.text); {
		if n, _ := plainGSM(m.text[at:]); n > 0 && !last.replaced {
			s := m.text[at : at+n]
			at, last.before = at+n, s[n-1]
			if !accept(s, at, true) {
				return
			}
			continue
		}
		end := endOfGrapheme(m.text, at)
		g := m.text[at:end]
		s, ok := m.inGSM(g, last.before)
		if !ok || s != g && len(g) > 1 && m.inURL(at) {
			return
		}
		if g == " " && m.auto && m.dropsSpace(at, last.replaced) {
			s = ""
		}
		if !accept(last.joinText(g, s, m.auto && len(g) > 1 && isEmoji(g)), end, false) {
			return
		}
		at = end
	}
}

// maxWordBefore is how far before a character the begin of its word is looked for, in bytes.
const maxWordBefore = 2048

// inURL reports whether the character at a place belongs to a URL: there it stays as it is.
func (m *sms) inURL(at int) bool {
	if at < m.seen.start || at >= m.seen.end {
		m.seen = urlWordAt(m.text, at)
	}
	return at >= m.seen.url && at < m.seen.urlEnd
}

// urlWordAt returns the word around a place.
func urlWordAt(text string, at int) urlWord {
	w := urlWord{start: max(0, at-maxWordBefore), end: len(text)}
	w.start += strings.LastIndexAny(text[w.start:at], " \n") + 1
	if n := strings.IndexAny(text[at:], " \n"); n >= 0 {
		w.end = at + n
	}
	if host := strings.Index(text[w.start:w.end], "://"); host >= 0 {
		w.url = w.start + host
		w.urlEnd = w.start + markdown.URLEnd([]byte(text[w.start:w.end]), host)
	}
	return w
}

// joint is where a text in GSM-7 continues.
type joint struct {
	before   byte // the last one that was written
	replaced bool // the last grapheme was an emoji
}

// joinText returns s, the text for the grapheme g, as it is written after the previous one.
func (j *joint) joinText(g, s string, isReplaced bool) string {
	switch {
	case s == "":
	case j.replaced && s == " " && (j.before == ' ' || j.before == '\n'):
		s = "" // where an emoji was stands one space, or none at the end of a line
	case (j.replaced || isReplaced) && isWordByte(j.before) && isWordByte(s[0]):
		s = " " + s
	}
	j.replaced = isReplaced || j.replaced && s == "" && g != " "
	if s != "" {
		j.before = s[len(s)-1]
	}
	return s
}

// isLeftOut reports whether a grapheme is an emoji that no word stands for.
func (m *sms) isLeftOut(g string) bool { return len(g) > 1 && isEmoji(g) && m.wordOf(g) == "" }

// dropsSpace reports whether the space at a place is dropped with the emojis next to it. It is if a
// line or a sentence ends after them. behind is true if an emoji stands in front of it.
func (m *sms) dropsSpace(at int, behind bool) bool {
	if m.blanks.has(at) {
		return m.blanks.dropsSpaces
	}
	end := at
	for end < len(m.text) {
		next := endOfGrapheme(m.text, end)
		g := m.text[end:next]
		if g != " " && !m.isLeftOut(g) {
			break
		}
		behind = behind || g != " "
		end = next
	}
	m.blanks = run{at, end, behind && closesText(m.text[end:])}
	return m.blanks.dropsSpaces
}

// closesText reports whether a text is empty, or begins with a mark that follows its word without a
// space.
func closesText(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return text == "" || strings.ContainsRune("\n.,;:!?)]}…»”。，、！？", r)
}

// isWordByte reports whether c belongs to a word.
func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// addGSM packs s in GSM-7.
func addGSM(p *packer, s string) {
	for _, r := range s {
		p.add(septetsOf(r))
	}
}

// addUCS packs a grapheme in UCS-2, surrogate pairs whole.
func addUCS(p *packer, g string) {
	n := 0
	for _, r := range g {
		n += utf16.RuneLen(r)
	}
	p.add(n)
}

// hasRoom reports whether p has room for behind more.
//
// p is a copy. The shortcut avoids packing behind for all but the last segments of a part.
func (m *sms) hasRoom(p packer, behind int) bool {
	if m.maxUnits == 0 || p.units+behind <= m.maxUnits {
		// At this size the part fits, wherever its segments begin and end.
		if m.maxSegments == 0 || p.full+2+behind/p.several < m.maxSegments {
			return true
		}
	}
	p.reserve(behind)
	return (m.maxUnits == 0 || p.units <= m.maxUnits) && (m.maxSegments == 0 || p.segments() <= m.maxSegments)
}

// gsmReach returns how far a part from start may reach in GSM-7.
//
// The result is the end of a grapheme, or start.
func (m *sms) gsmReach(start int, r room) int {
	// Most texts contain only characters that stand for themselves.
	if n, cost := plainGSM(m.text[start:]); start+n == len(m.text) && m.surelyFits(cost+r.before+r.after) {
		return len(m.text)
	}
	p := newPacker(encodingGSM7)
	p.reserve(r.before)
	reach, seen, dropped := start, false, false
	m.eachGSM(start, func(s string, end int, itself bool) bool {
		seen = seen || strings.TrimSpace(s) != ""
		if !itself {
			dropped = dropped || s == ""
			addGSM(&p, s)
			if !m.hasRoom(p, r.after) {
				return false
			}
			reach = end
			return true
		}
		for _, c := range s {
			p.add(septetsOf(c))
			if !m.hasRoom(p, r.after) {
				return false
			}
			reach += utf8.RuneLen(c)
		}
		return true
	})
	if dropped && !seen { // emojis that are all there is stay
		return start
	}
	return reach
}

// isBlank implements meter: a part of nothing but emojis that go is one.
func (m *sms) isBlank(start, end int) bool {
	part, whole := m.partSMS(start, end), false
	part.eachGSM(0, func(s string, at int, _ bool) bool {
		whole = strings.TrimSpace(s) == "" && at == len(part.text)
		return strings.TrimSpace(s) == ""
	})
	return whole // else there is text, or what stays in UCS-2
}

// partSMS returns the sms of a part.
func (m *sms) partSMS(start, end int) sms {
	return sms{text: m.text[start:end], transliterate: m.transliterate, auto: m.auto, words: m.words}
}

// surelyFits reports whether a part has room for so many units of GSM-7, wherever its segments end.
// Each segment may lack one unit, as an escape and its character stay together. If surelyFits
// returns false, the part may fit all the same.
func (m *sms) surelyFits(units int) bool {
	_, several := encodingGSM7.capacity()
	return (m.maxUnits == 0 || units <= m.maxUnits) && (m.maxSegments == 0 || units/(several-1) < m.maxSegments)
}

// reserve keeps room for an indicator.
func (p *packer) reserve(units int) {
	for range units {
		p.add(1)
	}
}

// ucsReach is how far a part reaches from start in UCS-2.
func (m *sms) ucsReach(start int, r room) int {
	p := newPacker(encodingUCS2)
	p.reserve(r.before)
	at := start
	for at < len(m.text) {
		end := endOfGrapheme(m.text, at)
		addUCS(&p, m.text[at:end])
		if !m.hasRoom(p, r.after) {
			break
		}
		at = end
	}
	return at
}

// reach is how far a part reaches from start, in whichever encoding carries
// more of the text.
//
// It implements meter. GSM-7 that carries the whole rest wins at once.
func (m *sms) reach(start int, r room) int {
	gsm := m.gsmReach(start, r)
	if gsm == len(m.text) {
		return gsm
	}
	return max(gsm, m.ucsReach(start, r))
}

// plainGSM returns the number of bytes at the begin of a text that are GSM-7 characters of one
// grapheme each, and their cost. A character before one that is not in GSM-7 may be the base of a
// grapheme, and is left out.
func plainGSM(text string) (n, units int) {
	size, cost := 0, 0 // of the last one
	for n < len(text) {
		c := text[n]
		if c < utf8.RuneSelf {
			of := int(septets[c])
			if of == 0 || c == '\r' {
				return n, units
			}
			n, units, size, cost = n+1, units+of, 1, of
			continue
		}
		of := 0
		if c >= 0xc2 && c < 0xe0 && n+1 < len(text) && text[n+1]&0xc0 == 0x80 { // all but € have two bytes
			of = septetsOf(rune(c&0x1f)<<6 | rune(text[n+1]&0x3f))
		}
		if of == 0 {
			return n - size, units - cost
		}
		n, units, size, cost = n+2, units+of, 2, of
	}
	return n, units
}

// writePart returns the part from start to end as it is sent.
//
// GSM-7 is used if it can write the part within the bounds, besides the room r. It may not: an
// arrow has one unit in UCS-2 and several in GSM-7. UCS-2 has the text as it is, emojis included.
func (m *sms) writePart(start, end int, r room) (string, Encoding) {
	if n, cost := plainGSM(m.text[start:end]); n == end-start && m.surelyFits(cost+r.before+r.after) {
		return m.text[start:end], encodingGSM7
	}
	part := m.partSMS(start, end)
	var b strings.Builder
	b.Grow(len(part.text))
	reached := start == end
	part.eachGSM(0, func(s string, at int, _ bool) bool {
		b.WriteString(s)
		reached = at == len(part.text)
		return true
	})
	isEmpty := strings.TrimSpace(b.String()) == "" && strings.TrimSpace(part.text) != ""
	if reached && !isEmpty && m.fitsGSM(b.String(), r) {
		return b.String(), encodingGSM7
	}
	return part.text, encodingUCS2
}

// fitsGSM reports whether a part has room for a text in GSM-7.
func (m *sms) fitsGSM(text string, r room) bool {
	p := newPacker(encodingGSM7)
	p.reserve(r.before)
	addGSM(&p, text)
	return m.hasRoom(p, r.after)
}

// countUnits returns the units and segments of a text.
//
// s was written in that encoding. A GSM-7 text without escapes is not packed: all its segments but
// the last are full.
func (e Encoding) countUnits(s string) (units, segments int) {
	p := newPacker(e)
	if n, cost := plainGSM(s); e == encodingGSM7 && n == len(s) {
		if cost == utf8.RuneCountInString(s) { // without an escape, which could not be parted
			if cost <= p.alone {
				return cost, min(1, cost)
			}
			return cost, (cost + p.several - 1) / p.several
		}
		addGSM(&p, s)
		return p.units, p.segments()
	}
	for at := 0; at < len(s); {
		end := endOfGrapheme(s, at)
		if e == encodingGSM7 {
			addGSM(&p, s[at:end])
		} else {
			addUCS(&p, s[at:end])
		}
		at = end
	}
	return p.units, p.segments()
}
