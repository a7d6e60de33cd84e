// This file makes the body of an Adaptive Card (version 1.5). The card form walks the tree together
// with the plain form. Each element of the card knows its bytes of the plain text. So a card can be
// parted, and each part has its own fallback text.
//
// Markdown in a text block is Teams's own small dialect. All text that the dialect would take for
// markup is escaped. The dialect lacks code, tables and quotes: they become elements of their own.
// Sizes are decided in teams.go.

package channel

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/bidi"
)

// cardForm makes the elements of an Adaptive Card, and with them the plain text: each
// element knows which part of that it stands for.
//
// Between two flushes cur has the Markdown of one text block, and plain.buf[from:] the
// plain text of the same words. Every method that writes one writes the other.
type cardForm struct {
	plain    *textForm
	features Features // that are shown as such
	chunk    int      // length of text, in bytes, where an element ends
	elements []element
	ahead    int // bytes of the plain text that are in no element yet
	from     int // where the plain text of the next element begins

	json    []byte // of text blocks: elements have their parts of it
	cur     []byte // Markdown of the text block at hand
	open    []wrap // marks that are open in it
	quotes  int
	lists   int
	heading int
	indent  []byte
	bullet  string
	cells   *grid // of the table at hand; nil: it is written as text
	textual *node // a block that is written as text, with all in it; nil: none is
	newline bool
}

// element is a part of a card's body.
//
// start and end are in bytes of the plain text. They follow each other without a gap, and the last
// end is set to the end of the text by draft.makeCard.
type element struct {
	json  []byte
	start int // of its plain text
	end   int
}

// wrap is markup around a text. A cut closes it and opens it again.
//
// A mark that were left open would show as an asterisk in one block, and the rest of the
// text without it in the next.
type wrap struct{ open, close string }

// grid is a table that is shown as one.
//
// rows is the JSON of the rows so far. Only the first table of a grid that is parted has
// its header row styled as one.
type grid struct {
	rows    []byte
	columns int
	row     int
	header  bool
}

const (
	// Above these a table is taken for too wide to be shown as one, and is written as text.
	maxColumns   = 8
	maxCell      = 400  // bytes of a cell's text
	maxTableJSON = 4000 // bytes of a table's rows, behind which another one begins
)

// newCardForm returns a form that writes the plain text into plain, and cuts texts at about
// chunk bytes, because clients show long ones badly.
func newCardForm(plain *textForm, features Features, chunk int) *cardForm {
	return &cardForm{plain: plain, features: features, chunk: chunk, json: make([]byte, 0, cap(plain.buf)+512)}
}

// enterNode begins a node. Within a block that is written as text the plain form does it all.
func (f *cardForm) enterNode(n *node) bool {
	if f.textual != nil {
		return f.plain.enterNode(n)
	}
	if n.kind >= literal {
		return f.enterInline(n)
	}
	if f.isText(n.kind) {
		return f.beginText(n)
	}
	switch n.kind {
	case heading:
		f.flushBlock()
		if f.features.has(heading) {
			f.heading = n.number
		}
	case codeBlock:
		f.flushBlock()
		f.plain.enterNode(n)
		f.codeBlock(n.text)
		return false
	case quote:
		f.flushBlock()
		f.quotes++
	case list:
		if f.lists == 0 {
			f.flushBlock()
		}
		f.lists++
	case item:
		f.enterItem(n)
	case rule:
		f.flushBlock()
	case table:
		return f.enterTable(n)
	case row:
		f.enterRow()
	case cell:
		f.plain.enterNode(n)
		f.cur = f.cur[:0]
		return true
	}
	return f.plain.enterNode(n)
}

// enterInline begins a node within a line.
func (f *cardForm) enterInline(n *node) bool {
	switch n.kind {
	case bold:
		f.openEmphasis(bold, "**")
	case italic:
		f.openEmphasis(italic, "_")
	case struck:
		f.addMark("[struck out: ")
	case code:
		f.makeRoom(len(n.text))
		f.plain.enterNode(n)
		f.appendLong(n.text, 0)
		return false
	case link, image:
		return f.enterLink(n)
	}
	return f.plain.enterNode(n)
}

// isText reports whether a block of a kind is written as text. A heading and a table have forms of
// their own for that.
func (f *cardForm) isText(k kind) bool {
	return f.features.lacks(k) && k != heading && k != table
}

// beginText begins a block that is written as text, line by line.
func (f *cardForm) beginText(n *node) bool {
	f.flushBlock()
	f.plain.recordLost(n.kind)
	f.textual = n
	if f.plain.enterNode(n) {
		return true
	}
	f.tableText()
	return false
}

// openEmphasis opens the markup of k. Cuts within it, and links, close it and open it again.
func (f *cardForm) openEmphasis(k kind, mark string) {
	if f.features.has(k) {
		f.openMarkup(mark, mark)
	} else {
		f.plain.recordLost(k)
	}
}

// addMark adds text that is ours, as Markdown.
func (f *cardForm) addMark(s string) {
	f.makeRoom(len(s))
	f.writeLineStart()
	f.cur = appendMarkdown(f.cur, s)
}

// openMarkup opens markup.
//
// The markup counts for the block's length, but never forces a cut.
func (f *cardForm) openMarkup(open, close string) {
	f.writeLineStart()
	f.cur = append(f.cur, open...)
	f.open = append(f.open, wrap{open, close})
}

// closeMarkup closes the markup that was opened last.
func (f *cardForm) closeMarkup() {
	last := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	f.cur = append(f.cur, last.close...)
}

// leaveNode ends a node.
func (f *cardForm) leaveNode(n *node) {
	if f.textual != nil {
		f.plain.leaveNode(n)
		if n == f.textual {
			f.tableText()
		}
		return
	}
	if n.kind >= literal {
		f.leaveInline(n)
		return
	}
	f.plain.leaveNode(n)
	switch n.kind {
	case paragraph:
		if f.lists == 0 && f.cells == nil {
			f.flushBlock()
		} else {
			f.newline = f.cells == nil
		}
	case heading:
		f.flushBlock()
		f.heading = 0
	case quote:
		f.flushBlock()
		f.quotes--
	case list:
		f.lists--
		if f.lists == 0 {
			f.flushBlock()
		}
	case item:
		f.leaveItem()
	case table:
		f.leaveTable()
	case row:
		f.leaveRow()
	case cell:
		f.leaveCell()
	}
}

// leaveInline ends a node within a line.
func (f *cardForm) leaveInline(n *node) {
	switch n.kind {
	case struck:
		f.addMark("]")
	case bold, italic:
		if f.features.has(n.kind) {
			f.closeMarkup()
		}
	case link, image:
		f.plain.leaveNode(n)
		f.leaveLink(n)
		return
	}
	f.plain.leaveNode(n)
}

// enterItem begins an item of a list. Its mark is written with its first text, so that an empty
// item does not leave a mark.
//
// A block that is already long ends here, between two items, rather than later within one.
func (f *cardForm) enterItem(n *node) {
	if f.bullet != "" {
		f.writeLineStart()
	}
	if len(f.cur) > f.chunk {
		f.flushBlock()
	}
	f.newline = true
	f.bullet = n.text
	f.indent = append(f.indent, "   "...)
}

// leaveItem ends an item; an empty one keeps its mark.
func (f *cardForm) leaveItem() {
	if f.bullet != "" {
		f.writeLineStart()
	}
	f.indent = f.indent[:len(f.indent)-3]
	f.newline = true
}

// writeLineStart writes a pending line end, the indent, and the mark of an item.
//
// The indent is three spaces for each level.
func (f *cardForm) writeLineStart() {
	if f.newline && len(f.cur) > 0 {
		f.cur = append(f.cur, '\n')
	}
	if f.newline && len(f.indent) > 0 {
		n := len(f.indent)
		if f.bullet != "" {
			n -= 3
		}
		f.cur = append(f.cur, f.indent[:n]...)
	}
	f.newline = false
	f.cur = append(f.cur, f.bullet...)
	f.bullet = ""
}

// addText adds a text. A long one is parted at white space, so that a card can be.
//
// In a cell it is not parted, as a cell is one element.
func (f *cardForm) addText(s string) {
	if f.textual != nil {
		f.plain.addText(s)
		return
	}
	f.makeRoom(len(s))
	for f.cells == nil && len(f.cur)+len(s) > f.maxBlock() {
		at := f.cutAt(s)
		f.plain.addText(s[:at])
		f.appendEscaped(s[:at])
		if s = s[at:]; s == "" {
			return
		}
		f.flushBlock()
	}
	f.plain.addText(s)
	f.appendEscaped(s)
}

// makeRoom ends the text block at hand if n bytes more would be too many, and a word does
// not continue.
//
// A block shorter than half a chunk is never ended: a card is to have few blocks. Above
// twice the chunk the cut comes even within a word.
func (f *cardForm) makeRoom(n int) {
	if f.cells != nil || len(f.cur)+n <= f.chunk || len(f.cur) < f.chunk/2 {
		return
	}
	if last := f.cur[len(f.cur)-1]; last == ' ' || last == '\n' || len(f.cur) > 2*f.chunk {
		f.flushBlock()
	}
}

// maxBlock is how long a text block may become. A block that ends within a link may be longer.
func (f *cardForm) maxBlock() int {
	if n := len(f.open); n > 0 && f.open[n-1].open == "[" {
		return 3 * f.chunk
	}
	return f.chunk
}

// cutAt returns how much of s the text block at hand takes.
//
// It prefers the end of a word outside a number, and takes up to twice the chunk to find one.
// Otherwise it cuts between graphemes. The result is at least one grapheme, so that every loop over
// it ends.
func (f *cardForm) cutAt(s string) int {
	room := max(f.chunk-len(f.cur), f.chunk/8)
	if room >= len(s) {
		return len(s)
	}
	words := &splitter{text: s}
	at := words.wordEnd(0, graphemeBefore(s, 0, room))
	most := room
	if long := 2*f.chunk - len(f.cur); long > room && !f.isHeavy(s[:min(len(s), long)]) {
		most = long // rather a long block than a word in two
	}
	for next := room; at <= 0 && next < min(len(s), most); next++ {
		if s[next] == ' ' && !words.inNumber(next) {
			at = next
		}
	}
	switch {
	case at > 0 && s[at] == ' ':
		return at + 1
	case at > 0:
		return at
	case len(s) <= most:
		return len(s)
	}
	return max(graphemeBefore(s, 0, room), endOfGrapheme(s, 0))
}

// isHeavy reports whether escapes make a text that is longer than a chunk larger than any chunk is:
// a backslash takes twelve bytes of a message.
func (f *cardForm) isHeavy(s string) bool {
	return quotedSize(appendJSON(nil, string(appendMarkdown(nil, s))))+quotedSize(appendJSON(nil, s)) > 12*f.chunk
}

// appendEscaped appends text with the card's markup escaped.
func (f *cardForm) appendEscaped(s string) {
	f.writeLineStart()
	f.cur = appendMarkdown(f.cur, s)
}

// appendLong is append for a text that the plain form has whole, with more bytes behind.
//
// behind counts the bytes after s that the plain form already has and no element has yet. So ends
// are not set too far.
func (f *cardForm) appendLong(s string, behind int) {
	for f.cells == nil && len(f.cur)+len(s) > f.chunk {
		at := f.cutAt(s)
		f.appendEscaped(s[:at])
		s = s[at:]
		f.ahead = len(s) + behind
		f.flushBlock()
	}
	f.ahead = 0
	if s != "" {
		f.appendEscaped(s)
	}
}

// lineBreak ends a line where the element allows more than one, and is a space
// elsewhere.
func (f *cardForm) lineBreak() {
	f.plain.lineBreak()
	switch {
	case f.textual != nil:
	case f.cells == nil && (len(f.cur) > f.chunk || len(f.plain.buf)-f.from > 2*f.chunk):
		f.flushBlock() // the plain form has the marks of quotes in each line, and may be longer
	case f.lists > 0 || f.cells != nil || f.heading > 0:
		f.cur = append(f.cur, ' ')
	default:
		f.cur = append(f.cur, "\n\n"...)
	}
}

// enterLink begins a link. A target that fits into no element is written as text.
//
// It returns false if all of the link is written, so that the walk does not go into it. In that
// case the plain form writes the link once, because its text is its target.
func (f *cardForm) enterLink(n *node) bool {
	f.makeRoom(len(n.to.url))
	if !f.plain.enterNode(n) {
		text := textOf(n)
		if text == "" {
			text = n.to.url
		}
		if n.to.url != "" && !f.isLink(n) {
			f.appendLong(text, titleLength(n))
			f.appendTitle(n)
			return false
		}
		f.wrapLink(n)
		f.appendEscaped(text)
		f.leaveLink(n)
		return false
	}
	f.wrapLink(n)
	return true
}

// isLink reports whether a node is shown as a link: its target must fit into an element.
func (f *cardForm) isLink(n *node) bool {
	return n.to.url != "" && len(n.to.url) <= f.chunk && f.features.has(link)
}

// wrapLink makes the text a link if it can be one.
func (f *cardForm) wrapLink(n *node) {
	if f.isLink(n) {
		f.openMarkup("[", "]("+string(appendTarget(nil, n.to.url))+")")
	}
}

// leaveLink closes the link, or writes its target behind the text.
func (f *cardForm) leaveLink(n *node) {
	switch {
	case f.isLink(n):
		f.closeMarkup()
	case n.to.url != "":
		f.appendLong(" ("+n.to.url+")", titleLength(n))
	}
	f.appendTitle(n)
}

// appendTitle adds a link's title as text, because cards do not show titles.
func (f *cardForm) appendTitle(n *node) {
	if n.to.title != "" {
		f.appendLong(` "`+n.to.title+`"`, 0)
	}
}

// titleLength is how many bytes the title takes as it is shown.
func titleLength(n *node) int {
	if n.to.title == "" {
		return 0
	}
	return len(n.to.title) + len(` ""`)
}

// appendTarget escapes what would end the target of a link.
//
// It assumes a target that targetOf has made safe: only the characters that the Markdown of
// a card gives a meaning are left.
func appendTarget(b []byte, url string) []byte {
	for i := range len(url) {
		switch c := url[i]; c {
		case '(':
			b = append(b, "%28"...)
		case ')':
			b = append(b, "%29"...)
		case '\\':
			b = append(b, "%5C"...)
		default:
			b = append(b, c)
		}
	}
	return b
}

// appendMarkdown escapes s so that a text block shows it as it is.
//
// Marks that count at the begin of a line only are escaped only there, because a backslash
// before other characters would be shown.
func appendMarkdown(b []byte, s string) []byte {
	atStart := len(b) == 0 || b[len(b)-1] == '\n'
	for i := range len(s) {
		c := s[i]
		switch c {
		case '\\', '`', '*', '_', '[', ']', '<', '~', '&':
			b = append(b, '\\')
		case '#', '>', '+', '-', '=', '|':
			if atStart {
				b = append(b, '\\')
			}
		case '.', ')':
			if isOrdinal(b) {
				b = append(b, '\\')
			}
		}
		b = append(b, c)
		atStart = c == '\n' || atStart && c == ' '
	}
	return b
}

// isOrdinal reports whether the last line of b is a number so far.
//
// With a point or a bracket behind it Markdown would begin a numbered list. Ten digits and
// more never do (CommonMark 0.31.2, section 5.2).
func isOrdinal(b []byte) bool {
	n := len(b)
	for n > 0 && b[n-1] >= '0' && b[n-1] <= '9' && len(b)-n < 9 {
		n--
	}
	return n < len(b) && (n == 0 || b[n-1] == '\n')
}

// flushBlock ends the text block at hand. Marks that are open continue in the next one.
//
// A block of nothing but marks and blanks is dropped.
func (f *cardForm) flushBlock() {
	if f.bullet != "" && f.cells == nil {
		f.writeLineStart()
	}
	start := 0
	for _, w := range f.open {
		start += len(w.open)
	}
	if len(bytes.TrimSpace(f.cur)) > start {
		for i := len(f.open) - 1; i >= 0; i-- {
			f.cur = append(bytes.TrimRight(f.cur, " "), f.open[i].close...)
		}
		f.emitElement(f.textBlock(f.cur))
	}
	f.cur = f.cur[:0]
	for _, w := range f.open {
		f.cur = append(f.cur, w.open...)
	}
	f.newline = false
}

// textBlock returns the element of a text.
//
// The slice is at its capacity, so that an append to it cannot write into the next element.
func (f *cardForm) textBlock(text []byte) []byte {
	start := len(f.json)
	f.json = f.appendTextBlock(f.json, text)
	return f.json[start:len(f.json):len(f.json)]
}

// appendTextBlock appends the element of a text, as the Adaptive Cards schema has it.
func (f *cardForm) appendTextBlock(b, text []byte) []byte {
	b = append(growBuffer(b, len(text)+len(text)/8+64), `{"type":"TextBlock","text":`...)
	b = appendJSON(b, balanceOrder(string(bytes.TrimSpace(text)))) // it may have been cut
	b = append(b, `,"wrap":true`...)
	switch {
	case f.heading == 1:
		b = append(b, `,"style":"heading","weight":"Bolder","size":"Large"`...)
	case f.heading > 1:
		b = append(b, `,"style":"heading","weight":"Bolder","size":"Medium"`...)
	}
	return append(b, '}')
}

// emitElement adds an element that stands for the plain text so far.
func (f *cardForm) emitElement(json []byte) { f.emitTo(json, len(f.plain.buf)-f.ahead) }

// emitTo adds an element that stands for the plain text up to end.
//
// A quote becomes a container with a grey ground, since text blocks lack a mark for quotes.
func (f *cardForm) emitTo(json []byte, end int) {
	if f.quotes > 0 {
		json = append(append([]byte(`{"type":"Container","style":"emphasis","items":[`), json...), "]}"...)
	}
	f.elements = append(f.elements, element{json, f.from, end})
	f.from = end
}

// appendJSON appends a JSON string.
func appendJSON[S string | []byte](b []byte, s S) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the source is UTF-8 by now
	return b
}

// Parts of a block of code.
const (
	codeBegin = `{"type":"Container","style":"emphasis","items":[`
	codeLine  = `{"type":"RichTextBlock","spacing":"None","inlines":[{"type":"TextRun","fontType":"Monospace","text":`
)

// splitLine parts a line between graphemes into ones of at most a chunk.
func (f *cardForm) splitLine(line string) (list []string) {
	for len(line) > f.chunk {
		n := max(graphemeBefore(line, 0, f.chunk), endOfGrapheme(line, 0))
		list = append(list, line[:n])
		line = line[n:]
	}
	if line == "" && list != nil {
		return list
	}
	return append(list, line)
}

// appendCodeLine appends a line to the container of a block of code.
func appendCodeLine(b []byte, line string) []byte {
	if len(b) > len(codeBegin) {
		b = append(b, ',')
	}
	return append(appendJSON(append(b, codeLine...), keepIndent(line)), `}]}`...)
}

// codeBlock makes each line an element of its own font: a text block would join them.
//
// A line longer than a chunk is parted between graphemes. Containers end after about two
// chunks, so that a long listing can go into several cards.
func (f *cardForm) codeBlock(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	b := []byte(codeBegin)
	at := f.from // in the plain text
	for line := range strings.SplitSeq(text, "\n") {
		for _, piece := range f.splitLine(line) {
			b = appendCodeLine(b, piece)
			if i := bytes.Index(f.plain.buf[at:], []byte(piece)); i >= 0 {
				at += i + len(piece)
			}
			if len(b) > f.chunk*2 {
				f.emitTo(append(b, "]}"...), at)
				b = []byte(codeBegin)
			}
		}
	}
	if len(b) > len(codeBegin) {
		f.emitElement(append(b, "]}"...))
	}
}

// keepIndent keeps the blanks that a line begins with.
//
// They become no-break spaces, as clients drop leading blanks; a tab is four of them. An
// empty line is one blank, so that it is shown.
func keepIndent(line string) string {
	text := strings.TrimLeft(line, " \t")
	if text == "" {
		return " "
	}
	return strings.Repeat("\u00a0", len(line)-len(text)+3*strings.Count(line[:len(line)-len(text)], "\t")) + text
}

// enterTable begins a table. A table that is too wide, or stands in a list, becomes text.
func (f *cardForm) enterTable(n *node) bool {
	f.flushBlock()
	if !isGrid(n) || f.lists > 0 || !f.features.has(table) {
		f.textual = n
		return f.plain.enterNode(n)
	}
	f.cells = &grid{columns: columnsOf(n), header: true}
	return f.plain.enterNode(n)
}

// columnsOf returns the number of cells of a table's widest row: a card shows no others.
func columnsOf(n *node) int {
	widest := int32(0)
	for r := n.first; r != nil; r = r.next {
		widest = max(widest, r.kids)
	}
	return int(widest)
}

// isGrid reports whether a table is small enough in its width to be shown as one.
//
// A single long cell turns the entire table into text, so that all its rows look alike.
func isGrid(n *node) bool {
	for r := n.first; r != nil; r = r.next {
		if r.kids > maxColumns {
			return false
		}
		for c := r.first; c != nil; c = c.next {
			if len(textOf(c)) > maxCell {
				return false
			}
		}
	}
	return true
}

// enterRow begins a row of the grid.
func (f *cardForm) enterRow() {
	g := f.cells
	if len(g.rows) > 0 {
		g.rows = append(g.rows, ',')
	}
	g.rows = append(g.rows, `{"type":"TableRow","cells":[`...)
	g.row = 0
}

// leaveCell adds a cell with its text.
func (f *cardForm) leaveCell() {
	g := f.cells
	if g.row > 0 {
		g.rows = append(g.rows, ',')
	}
	g.row++
	g.rows = append(g.rows, `{"type":"TableCell","items":[`...)
	g.rows = append(f.appendTextBlock(g.rows, f.cur), "]}"...)
	f.cur = f.cur[:0]
}

// leaveRow ends a row, and begins a new table once this one is large.
//
// The limit is on the JSON and not on the rows, because the size of a card is.
func (f *cardForm) leaveRow() {
	f.cells.rows = append(f.cells.rows, "]}"...)
	if len(f.cells.rows) > min(maxTableJSON, 4*f.chunk) {
		f.emitTable()
	}
}

// emitTable adds the rows so far as a table of their own.
func (f *cardForm) emitTable() {
	g := f.cells
	if len(g.rows) == 0 {
		return
	}
	b := []byte(`{"type":"Table","columns":[`)
	for i := range g.columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"width":1}`...)
	}
	b = append(append(append(b, `],"rows":[`...), g.rows...), ']')
	if !g.header {
		b = append(b, `,"firstRowAsHeaders":false`...)
	}
	f.emitElement(append(b, '}'))
	g.rows, g.header = g.rows[:0], false
}

// leaveTable ends the table.
func (f *cardForm) leaveTable() {
	f.emitTable()
	f.cells = nil
}

// tableText makes text blocks of the plain form of a table, or of another block that is written
// as text, and ends it.
//
// Each line of the text becomes a block of its own; a long one becomes several.
func (f *cardForm) tableText() {
	f.textual = nil
	at := f.from
	for line := range strings.SplitSeq(strings.TrimLeft(string(f.plain.buf[at:]), "\n"), "\n") {
		for line != "" {
			piece := line[:f.cutAt(line)]
			line = line[len(piece):]
			if i := bytes.Index(f.plain.buf[at:], []byte(piece)); i >= 0 {
				at += i + len(piece)
			}
			f.emitTo(f.textBlock(appendMarkdown(nil, piece)), at)
		}
	}
}

// isRTL reports whether the first strong character of a text runs from right to left. A text
// without one runs from left to right.
func isRTL(text string) bool { return strongClass(text) == bidi.R }

// strongClass returns the class of the first strong character of a text: bidi.L, bidi.R for right
// to left, or bidi.ON without one.
//
// The strong classes are R, AL and L of Unicode Standard Annex 9, section 3.3.2 (rule P2).
func strongClass(text string) bidi.Class {
	for _, r := range text {
		if r < 0x590 {
			if unicode.IsLetter(r) {
				return bidi.L
			}
			continue
		}
		p, _ := bidi.LookupRune(r)
		switch p.Class() {
		case bidi.R, bidi.AL:
			return bidi.R
		case bidi.L:
			return bidi.L
		}
	}
	return bidi.ON
}

// joinCard joins elements to a card. plain is their plain form.
//
// A client that does not know this version shows fallbackText, and so does a notification.
func joinCard(elements []element, plain string, rtl bool) []byte {
	size := len(plain)*9/8 + 256
	for _, e := range elements {
		size += len(e.json) + 1
	}
	b := append(make([]byte, 0, size), `{"type":"AdaptiveCard","$schema":"http://adaptivecards.io/schemas/adaptive-card.json","version":"1.5","fallbackText":`...)
	b = appendJSON(b, plain)
	if rtl {
		b = append(b, `,"rtl":true`...)
	}
	b = append(b, `,"body":[`...)
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e.json...)
	}
	return append(b, "]}"...)
}

// envelope is the size of a message without its card. Teams counts the whole of it.
//
// It is an estimate on the safe side: the envelope's own members take some hundred bytes.
const envelope = 1 << 10

// cardSize is what Teams counts: the card as a JSON string, and its envelope.
//
// The unit is bytes; Spec.MaxLength of teams is compared with it.
func cardSize(card []byte) int { return envelope + quotedSize(card) }

// quotedSize is the length of a JSON text as a JSON string.
func quotedSize(text []byte) int {
	return len(text) + 2 + bytes.Count(text, []byte{'"'}) + bytes.Count(text, []byte{'\\'})
}
