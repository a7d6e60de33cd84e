// This file keeps marks apart from the text that they mark, for WhatsApp. So a cut is chosen by the
// text alone. A mark that is open at the cut is closed in one part and opened again in the next. It
// also guards characters of the source that WhatsApp would take for marks. WhatsApp lacks an
// escape, so an invisible word joiner (U+2060) is put after them.
//
// The rules about which characters pair are observed ones; docs/channel-rules.md has them.

package channel

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/internal/base/markdown"
)

// flat is a text and, apart from it, its marks. The marks are put in when a part is written, so
// that marks open at a cut can be closed and opened again.
//
// Offsets are in bytes of text. It does not change once it was made, so that parts may be
// measured and written in any order.
type flat struct {
	text    string
	marks   []mark // by start, the outer ones first
	guards  []int  // where a U+2060 is put in: behind characters that would be marks
	unsplit []span // code and links
	marked  bool
	limit   int // of a part, in units of UTF-16; 0 without a limit
}

// guard is put behind a character that WhatsApp would take for a mark. The word joiner is
// invisible.
const guard = "\u2060"

// makeFlat ends the text. Marks that would show as characters go.
//
// A mark directly next to a letter or digit is shown as a character by WhatsApp; such a mark
// is dropped and counted as degraded. The form's text is copied, as the form is used again.
func (f *textForm) makeFlat() *flat {
	fl := &flat{text: string(f.buf), unsplit: f.unsplit, marked: f.marked}
	if !f.marked {
		return fl
	}
	pieces := perLine(f.buf, f.marks)
	fl.marks = pieces[:0]
	for _, m := range pieces {
		if m.kind == codeBlock || !wordBefore(fl.text, m.start) && !wordBehind(fl.text, m.end) {
			fl.marks = append(fl.marks, m)
		} else {
			f.recordLost(m.kind)
		}
	}
	slices.SortStableFunc(fl.marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	if strings.ContainsAny(fl.text, "*_~`") {
		fl.guardMarks()
	}
	return fl
}

// wordBefore reports whether a letter or digit stands before position at.
func wordBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return isWord(r)
}

// wordBehind reports whether a letter or digit stands at position at.
func wordBehind(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return isWord(r)
}

// isWord reports whether r belongs to a word. An invalid rune does not.
func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// guardMarks finds the characters that would pair with another one, or with one of our marks,
// on their line.
func (fl *flat) guardMarks() {
	var line []sign
	for _, c := range [...]byte{'*', '_', '~', '`'} {
		line = fl.guardAll(c, line)
	}
	slices.Sort(fl.guards)
}

// sign is a character c in the text, or the end of a mark of ours.
type sign struct {
	at          int32
	ours        bool
	open, close bool // it may begin a span, or end one
}

// guardAll keeps c from being read as markup, line by line. It reuses line for the signs of each
// line, and returns it.
//
// Spans of code and links are left as they are: in a link a word joiner would change the
// target.
func (fl *flat) guardAll(c byte, line []sign) []sign {
	if strings.IndexByte(fl.text, c) < 0 {
		return line
	}
	from, kept, mk := 0, 0, 0
	for from <= len(fl.text) {
		end := len(fl.text)
		if i := strings.IndexByte(fl.text[from:], '\n'); i >= 0 {
			end = from + i
		}
		line = line[:0]
		for ; mk < len(fl.marks) && fl.marks[mk].start < end; mk++ {
			if m := fl.marks[mk]; m.open()[0] == c {
				line = append(line, sign{at: int32(m.start), ours: true, open: true, close: true}, sign{at: int32(m.end), ours: true, open: true, close: true})
			}
		}
		for at := from; at < end; at++ {
			if fl.text[at] != c {
				continue
			}
			for kept < len(fl.unsplit) && fl.unsplit[kept].end <= at {
				kept++
			}
			if kept < len(fl.unsplit) && fl.unsplit[kept].start <= at {
				continue
			}
			line = append(line, fl.signAt(at))
		}
		fl.guardLine(line)
		from = end + 1
	}
	return line
}

// signAt looks at a character's neighbours: they decide whether it can open or
// close markup.
func (fl *flat) signAt(at int) sign {
	before, behind := byte(' '), byte(' ')
	if at > 0 {
		before = fl.text[at-1]
	}
	if at+1 < len(fl.text) {
		behind = fl.text[at+1]
	}
	return sign{
		at:    int32(at),
		open:  behind > ' ' && !wordBefore(fl.text, at),
		close: before > ' ' && !wordBehind(fl.text, at+1),
	}
}

// guardLine puts something between signs that would pair up.
//
// A sign of the source is guarded if it could open a span that something closes later, or close one
// that was opened before. A sign without a partner stays, as WhatsApp shows it.
func (fl *flat) guardLine(line []sign) {
	if len(line) < 2 {
		return
	}
	slices.SortStableFunc(line, func(a, b sign) int { return cmp.Compare(a.at, b.at) })
	closes := 0
	for _, s := range line {
		if s.close {
			closes++
		}
	}
	opened := false
	for _, s := range line {
		if s.close {
			closes--
		}
		if !s.ours && (s.open && closes > 0 || s.close && opened) {
			fl.guards = append(fl.guards, int(s.at)+1)
		}
		opened = opened || s.open
	}
}

// partText returns the text from start to end. Marks that are open at start are opened, and marks
// that are open at end are closed.
//
// start and end are ends of graphemes. The text between the marks is unchanged, so the parts in a
// row have the complete text.
func (fl *flat) partText(start, end int) string {
	if !fl.marked || start == end {
		return fl.text[start:end]
	}
	var b strings.Builder
	b.WriteString(fl.quoteAt(start))
	var open []mark // the innermost last
	at := start
	write := func(to int) {
		i, _ := slices.BinarySearch(fl.guards, at+1)
		for ; i < len(fl.guards) && fl.guards[i] <= to; i++ {
			b.WriteString(fl.text[at:fl.guards[i]])
			b.WriteString(guard)
			at = fl.guards[i]
		}
		b.WriteString(fl.text[at:to])
		at = to
	}
	closeUpTo := func(to int) {
		for len(open) > 0 && open[len(open)-1].end <= to {
			last := open[len(open)-1]
			write(last.end)
			b.WriteString(last.close())
			open = open[:len(open)-1]
		}
	}
	for _, m := range fl.marks {
		if m.end <= start {
			continue
		}
		if m.start >= end {
			break
		}
		closeUpTo(m.start)
		write(max(m.start, start))
		b.WriteString(m.open())
		open = append(open, m)
	}
	closeUpTo(end)
	write(end)
	for _, m := range slices.Backward(open) {
		b.WriteString(m.close())
	}
	return b.String()
}

// quoteAt returns the marks of the quote that a part begins in. It returns "" where parts are too
// short for the marks and a text.
func (fl *flat) quoteAt(start int) string {
	line := strings.LastIndexByte(fl.text[:start], '\n') + 1
	if line == start || !strings.HasPrefix(fl.text[line:], "> ") {
		return ""
	}
	end := line
	for strings.HasPrefix(fl.text[end:start], "> ") {
		end += 2
	}
	if end-line > 2*markdown.MaxDepth || fl.limit > 0 && end-line > fl.limit/8 { // it is not a quote
		return ""
	}
	return fl.text[line:end]
}

// markCost is the cost of the marks and guards in a part from start to end, in UTF-16 units.
//
// It may count more than partText writes, never less: splitter's promise that a part fits depends
// on it.
func (fl *flat) markCost(start, end int) int {
	if !fl.marked {
		return 0
	}
	cost := len(fl.quoteAt(start))
	for _, m := range fl.marks {
		if m.start >= end {
			break
		}
		if m.end > start {
			cost += len(m.open()) + len(m.close())
		}
	}
	from, _ := slices.BinarySearch(fl.guards, start+1)
	to, _ := slices.BinarySearch(fl.guards, end+1)
	return cost + to - from
}
