// This file makes a text of the tree: for plain channels, for SMS, for the plain side of e-mails
// and cards, and with marks for WhatsApp. Marks are not written into the text but noted next to it
// (flat.go puts them in). Constructs without a mark become words or signs that read well: a heading
// is a line, a table is written row by row.
//
// White space is never written at once: line ends wait in pending until something follows,
// so that the text neither begins nor ends with any.

package channel

import (
	"bytes"
	"slices"
	"strings"
)

// mark is markup of a text: it begins in front of start and ends behind end.
type mark struct {
	start, end int
	kind       kind
}

// open returns the opening sign of the mark.
func (m mark) open() string {
	switch m.kind {
	case bold:
		return "*"
	case italic:
		return "_"
	case struck:
		return "~"
	case code:
		return "`"
	}
	return "```\n"
}

// close returns the closing sign.
func (m mark) close() string {
	if m.kind == codeBlock {
		return "\n```"
	}
	return m.open()
}

// growBuffer returns b with room for n bytes more. It grows to the double, also where append
// grows a large one by a quarter, time and again: what b was before is garbage.
//
// append alone would copy a large buffer several times on its way to the double.
func growBuffer(b []byte, n int) []byte {
	if len(b)+n > cap(b) {
		return slices.Grow(b, max(n, len(b)))
	}
	return b
}

// textForm makes a text: plain, or with the few marks of WhatsApp.
//
// open has the index of each mark without an end. -1 stands for a mark that was left out because
// one of its kind is open around it.
type textForm struct {
	features Features // that are shown by marks
	marked   bool     // there are marks at all

	buf     []byte
	pending int      // line ends before the next text
	prefix  []byte   // of each line: quotes, and what indents lists
	least   int      // the part of prefix that pending blank lines get
	bullet  string   // of the item that begins
	items   int      // the number of items around the next text
	indent  span     // the part of prefix that the bullet replaces
	marks   []mark   // by start
	open    []int    // marks without an end
	unsplit []span   // code and links: no literal mark in there is one
	header  []string // of the table at hand
	head    struct{ buf, marks, unsplit int }
	column  int
	rows    int
	wide    bool // more than two columns
	degrade func(kind)
}

// span is a part of a text, in bytes.
type span struct{ start, end int }

// newTextForm returns a form of WhatsApp's markup if marked, or without any, with
// room for a text of about size bytes.
func newTextForm(f Features, marked bool, size int) *textForm {
	return &textForm{features: f, marked: marked, pending: 1, buf: make([]byte, 0, size+size/8)}
}

// maxKept is how large a form's text may be, in bytes, to be kept for the next one.
const maxKept = 32 << 10

// resetFor returns the form as newTextForm does, in the memory that it has. The caller must not use
// the former text any more.
//
// A buffer that is large for the text at hand is let go, so that one long answer does not
// keep its memory for ever.
func (f *textForm) resetFor(features Features, marked bool, size int) *textForm {
	if cap(f.buf) < size+size/8 || cap(f.buf) > maxKept && size < maxKept/2 {
		f.buf = make([]byte, 0, size+size/8)
	}
	*f = textForm{
		features: features, marked: marked, pending: 1,
		buf: f.buf[:0], prefix: f.prefix[:0], marks: f.marks[:0], open: f.open[:0], unsplit: f.unsplit[:0],
	}
	return f
}

// flushLines writes the pending line ends and the start of the line.
func (f *textForm) flushLines() {
	if f.pending == 0 {
		return
	}
	if len(f.buf) > 0 {
		for i := range f.pending {
			f.buf = append(f.buf, '\n')
			if i < f.pending-1 {
				f.buf = append(f.buf, bytes.TrimRight(f.prefix[:f.least], " ")...)
			}
		}
	}
	f.pending = 0
	f.buf = growBuffer(f.buf, len(f.prefix)+len(f.bullet))
	f.buf = append(f.buf, f.prefix[:f.indent.start]...)
	f.buf = append(f.buf, f.bullet...)
	f.buf = append(f.buf, f.prefix[f.indent.end:]...) // of a quote that an item begins with
	f.bullet, f.indent = "", span{}
}

// breakLines requests n line ends before the next text.
//
// The greatest number that was asked for counts. Blank lines have the prefix of what both
// sides have in common (least).
func (f *textForm) breakLines(n int) {
	if f.pending == 0 {
		f.least = len(f.prefix)
	}
	f.pending = max(f.pending, n)
}

// cutPrefix takes n bytes off the prefix.
func (f *textForm) cutPrefix(n int) {
	f.prefix = f.prefix[:len(f.prefix)-n]
	f.least = min(f.least, len(f.prefix))
}

// breakParagraph asks for a blank line, or within a list for a line end.
func (f *textForm) breakParagraph() {
	if f.items > 0 {
		f.breakLines(1)
		return
	}
	f.breakLines(2)
}

// addText appends text after the pending line ends.
func (f *textForm) addText(s string) {
	f.flushLines()
	f.buf = append(f.buf, s...)
}

// lineBreak ends a line; in a cell it is a space.
func (f *textForm) lineBreak() {
	if f.header != nil || f.column > 0 {
		f.addText(" ")
		return
	}
	f.breakLines(1)
}

// canMark reports whether a text of a kind is marked as such.
func (f *textForm) canMark(k kind) bool { return f.marked && f.features.has(k) }

// beginMark opens a mark, unless one of its kind is open.
//
// A mark within its like is left out: its first sign would close the outer one.
func (f *textForm) beginMark(k kind) {
	if !f.canMark(k) {
		return
	}
	for _, i := range f.open {
		if i >= 0 && f.marks[i].kind == k {
			f.open = append(f.open, -1)
			return
		}
	}
	f.flushLines()
	f.open = append(f.open, len(f.marks))
	f.marks = append(f.marks, mark{start: len(f.buf), end: -1, kind: k})
}

// endMark closes the mark that was opened last.
//
// It must be called for each begin, in the opposite order.
func (f *textForm) endMark(k kind) {
	if !f.canMark(k) {
		return
	}
	last := len(f.open) - 1
	if i := f.open[last]; i >= 0 {
		f.marks[i].end = len(f.buf)
		if touchesURL(f.buf[f.marks[i].start:]) {
			f.dropMark(i)
		}
	}
	f.open = f.open[:last]
}

// dropMark leaves out a mark that was just closed. A struck text then says so in words.
func (f *textForm) dropMark(i int) {
	m := &f.marks[i]
	m.end = m.start
	f.recordLost(m.kind)
	if m.kind != struck {
		return
	}
	start := m.start
	f.buf = slices.Insert(f.buf, start, []byte(struckOpen)...)
	f.buf = append(f.buf, struckClose(f.buf)...)
	for j := i + 1; j < len(f.marks); j++ {
		f.marks[j].start += len(struckOpen)
		f.marks[j].end += len(struckOpen)
	}
	for j := range f.unsplit {
		if f.unsplit[j].start >= start {
			f.unsplit[j].start += len(struckOpen)
			f.unsplit[j].end += len(struckOpen)
		}
	}
}

// touchesURL reports whether a line of text begins or ends with a word that has a URL. A
// phone makes the mark next to it a part of the link.
func touchesURL(text []byte) bool {
	if !hasURL(text) {
		return false
	}
	for line := range bytes.Lines(text) {
		if words := bytes.Fields(line); len(words) > 0 && (hasURL(words[0]) || hasURL(words[len(words)-1])) {
			return true
		}
	}
	return false
}

// hasURL reports whether text has a URL, with a scheme or with www.
func hasURL(text []byte) bool {
	return bytes.Contains(text, []byte("://")) || bytes.Contains(text, []byte("www."))
}

// enterNode begins a node; false: its children are not visited.
func (f *textForm) enterNode(n *node) bool {
	switch n.kind {
	case heading:
		f.breakLines(2)
		f.beginMark(bold)
		f.recordLost(heading)
	case codeBlock:
		f.codeBlock(n)
		return false
	case quote:
		if f.bullet == "" { // else it begins on the line of its item
			f.breakLines(2)
		}
		f.prefix = append(f.prefix, "> "...)
	case list:
		f.enterList()
	case item:
		f.enterItem(n)
	case rule:
		f.breakLines(2)
		return false
	case table:
		f.enterTable(n)
	case row:
		f.column = 0
	case cell:
		f.enterCell()
	case bold, italic:
		f.enterEmphasis(n.kind)
	case struck:
		f.enterStruck()
	case code:
		f.writeCode(n.text)
		return false
	case link, image:
		return f.enterLink(n)
	}
	return true
}

// leaveNode ends a node.
func (f *textForm) leaveNode(n *node) {
	switch n.kind {
	case paragraph:
		if f.column == 0 {
			f.breakParagraph()
		}
	case heading:
		f.endMark(bold)
		f.breakLines(1)
	case quote:
		f.cutPrefix(2)
		f.breakLines(2)
	case list:
		f.breakParagraph()
	case item:
		if f.bullet != "" {
			f.flushLines()
		}
		f.items--
		f.cutPrefix(indentOf(n))
		f.pending = 0
		f.breakLines(1)
	case table:
		f.leaveTable()
	case row:
		f.leaveRow()
	case cell:
		f.leaveCell()
	case bold, italic:
		f.endMark(n.kind)
	case struck:
		f.leaveStruck()
	case link, image:
		f.leaveLink(n)
	}
}

// recordLost records that a part has become text.
func (f *textForm) recordLost(k kind) {
	if f.degrade != nil {
		f.degrade(k)
	}
}

// enterList begins a list.
func (f *textForm) enterList() {
	if f.bullet != "" { // a list that an item begins with
		f.flushLines()
	}
	f.breakLines(1)
}

// indentOf is how far an item's further lines are indented.
func indentOf(n *node) int { return min(len(n.text), 4) }

// enterItem begins an item. Its mark is written with its first text.
func (f *textForm) enterItem(n *node) {
	if f.bullet != "" {
		f.flushLines()
	}
	f.breakLines(1)
	start := len(f.prefix)
	f.prefix = append(f.prefix, "    "[:indentOf(n)]...)
	f.bullet, f.indent = n.text, span{start, len(f.prefix)}
	f.items++
}

// enterEmphasis begins a text whose emphasis is lost where it is not shown among others.
func (f *textForm) enterEmphasis(k kind) {
	if f.marked && !f.features.has(k) {
		f.recordLost(k)
	}
	f.beginMark(k)
}

// enterStruck says in words that a text is struck out where no mark can.
func (f *textForm) enterStruck() {
	if f.canMark(struck) {
		f.beginMark(struck)
		return
	}
	f.recordLost(struck)
	f.addText(struckOpen)
}

// struckOpen begins a struck text in words.
const struckOpen = "[struck out: "

// struckClose returns the end of a struck text in words. A blank keeps it apart from a URL.
func struckClose(before []byte) string {
	if hasURL(before[bytes.LastIndexByte(before, ' ')+1:]) {
		return " ]"
	}
	return "]"
}

// leaveStruck closes it.
func (f *textForm) leaveStruck() {
	if f.canMark(struck) {
		f.endMark(struck)
		return
	}
	f.flushLines()
	f.buf = append(f.buf, struckClose(f.buf)...)
}

// writeCode writes a code span; one that holds a backtick cannot be marked.
//
// WhatsApp's code begins and ends at a character that is not a blank. The span is kept whole by
// the splitter, marked or not.
func (f *textForm) writeCode(s string) {
	start := len(f.buf)
	isMarked := f.canMark(code) && !strings.Contains(s, "`") && strings.TrimSpace(s) == s && s != ""
	if isMarked {
		f.beginMark(code)
	} else {
		f.recordLost(code)
	}
	f.flushLines()
	start = max(start, len(f.buf))
	f.buf = append(f.buf, s...)
	if isMarked {
		f.endMark(code)
	}
	f.unsplit = append(f.unsplit, span{start, len(f.buf)})
}

// codeBlock writes code, fenced where fences are shown.
func (f *textForm) codeBlock(n *node) {
	f.breakParagraph()
	if n.text == "" {
		return
	}
	if f.bullet != "" {
		f.flushLines()
		f.breakLines(1)
	}
	isMarked := f.canMark(code) && !strings.Contains(n.text, "```") && strings.TrimSpace(n.text) != ""
	prefix := f.prefix
	if isMarked {
		f.prefix, f.least = nil, 0 // a fence begins a line
	} else {
		f.recordLost(codeBlock)
	}
	f.flushLines()
	start := len(f.buf)
	f.codeLines(n.text)
	if isMarked {
		f.marks = append(f.marks, mark{start, len(f.buf), codeBlock})
	}
	f.unsplit = append(f.unsplit, span{start, len(f.buf)})
	f.prefix = prefix
	f.breakParagraph()
}

// codeLines writes lines with the current prefix. Empty lines get a prefix without trailing blanks.
func (f *textForm) codeLines(text string) {
	for {
		line, rest, more := strings.Cut(text, "\n")
		f.buf = append(f.buf, line...)
		if !more {
			return
		}
		next := f.prefix
		if strings.HasPrefix(rest, "\n") {
			next = bytes.TrimRight(next, " ")
		}
		f.buf = append(append(f.buf, '\n'), next...)
		text = rest
	}
}

// enterLink writes the text of a link; its target follows in parentheses.
//
// It returns false if the link is complete, because its text is its target or is empty.
func (f *textForm) enterLink(n *node) bool {
	text := textOf(n)
	if n.to.url != "" && (text == "" || showsTarget(n, text)) {
		f.flushLines()
		start := len(f.buf)
		if text == "" {
			text = n.to.url
		}
		f.buf = append(f.buf, text...)
		f.unsplit = append(f.unsplit, span{start, len(f.buf)})
		f.writeTitle(n)
		return false
	}
	if text == "" {
		f.writeTitle(n)
		return false
	}
	f.recordLost(n.kind)
	return true
}

// leaveLink writes the target behind the text, and keeps it from being cut.
func (f *textForm) leaveLink(n *node) {
	if n.to.url != "" {
		f.addText(" (")
		start := len(f.buf)
		f.buf = append(f.buf, n.to.url...)
		f.unsplit = append(f.unsplit, span{start, len(f.buf)})
		f.buf = append(f.buf, ')')
	}
	f.writeTitle(n)
}

// writeTitle writes a link's title.
func (f *textForm) writeTitle(n *node) {
	if n.to.title != "" {
		f.addText(" \"" + n.to.title + "\"")
	}
}

// maxHeader is how long a header may be to be repeated in each row, in bytes. A longer one
// stands in the first row only.
const maxHeader = 60

// enterTable begins a table. A wide one is written row by row, with its headers as labels.
//
// Two columns become "name: value"; more become "header: cell; header: cell" for each row.
// A table of a header alone is a row.
func (f *textForm) enterTable(n *node) {
	f.breakLines(2)
	if f.bullet != "" {
		f.flushLines()
		f.breakLines(1)
	}
	f.recordLost(table)
	f.wide = n.first.kids > 2
	f.rows, f.column, f.header = 0, 0, make([]string, 0, int(n.first.kids))
	f.flushLines()
	f.head.buf, f.head.marks, f.head.unsplit = len(f.buf), len(f.marks), len(f.unsplit)
	if !f.wide || n.kids == 1 {
		f.wide = false
		f.rows = 1 // the header is a row like any other
	}
}

// enterCell begins a cell. Header cells are stored, and written as labels.
func (f *textForm) enterCell() {
	f.column++
	switch {
	case f.rows == 0: // the header is kept for the rows
		f.head.buf = len(f.buf)
	case !f.wide:
		if f.column == 2 {
			f.writeColon()
		} else if f.column > 2 {
			f.addText("; ")
		}
	default:
		if f.column > 1 {
			f.addText("; ")
		}
		if f.column <= len(f.header) {
			f.writeLabel(f.header[f.column-1])
		}
	}
}

// writeColon writes the colon between two cells.
func (f *textForm) writeColon() {
	if n := len(f.buf); n > 0 && f.buf[n-1] == ':' {
		f.addText(" ")
		return
	}
	f.addText(": ")
}

// writeLabel writes a header in front of a cell. A long one is written once only.
func (f *textForm) writeLabel(header string) {
	if header == "" || len(header) > maxHeader && f.rows > 1 {
		return
	}
	f.addText(header)
	f.writeColon()
}

// leaveCell ends a cell.
//
// A header cell is taken back out of the text, and its marks with the row's end.
func (f *textForm) leaveCell() {
	if f.rows == 0 {
		f.header = append(f.header, string(f.buf[f.head.buf:]))
		f.buf = f.buf[:f.head.buf]
	}
	f.trimSpaces()
}

// trimSpaces drops the space behind an empty cell.
func (f *textForm) trimSpaces() {
	for n := len(f.buf); n > 0 && f.buf[n-1] == ' ' && f.pending == 0; n-- {
		f.buf = f.buf[:n-1]
	}
}

// leaveRow ends a row.
func (f *textForm) leaveRow() {
	if f.rows == 0 {
		f.marks, f.unsplit = f.marks[:f.head.marks], f.unsplit[:f.head.unsplit]
	} else {
		f.breakLines(1)
	}
	f.rows++
	f.column = 0
}

// leaveTable ends a table.
func (f *textForm) leaveTable() {
	f.header, f.column = nil, 0
	f.breakLines(2)
}

// perLine cuts marks at line ends, beyond which WhatsApp does not look for their end.
//
// A mark that was not closed ends with the text.
func perLine(buf []byte, marks []mark) []mark {
	out := make([]mark, 0, len(marks))
	for _, m := range marks {
		if m.end < 0 {
			m.end = len(buf)
		}
		if m.kind == codeBlock {
			out = append(out, m)
			continue
		}
		for start := m.start; start < m.end; {
			end := m.end
			if i := bytes.IndexByte(buf[start:end], '\n'); i >= 0 {
				end = start + i
			}
			piece := m
			piece.start, piece.end = trimBlanks(buf, start, end)
			if piece.start < piece.end {
				out = append(out, piece)
			}
			start = end + 1
		}
	}
	return out
}

// trimBlanks leaves out blanks, and the marks of quotes, at both ends.
func trimBlanks(buf []byte, start, end int) (int, int) {
	for start < end && (buf[start] == ' ' || start > 0 && buf[start-1] == '\n' && buf[start] == '>') {
		start++
	}
	for end > start && buf[end-1] == ' ' {
		end--
	}
	return start, end
}
