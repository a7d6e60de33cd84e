package channel

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/bidi"
)

// cardForm makes the elements of an Adaptive Card, and beside them the plain text: each
// element knows which part of that it stands for.
type cardForm struct {
	plain    *textForm
	chunk    int // bytes of text after which an element ends
	elements []element
	ahead    int // bytes of the plain text that are in no element yet
	from     int // where the plain text of the next element begins

	cur     []byte // Markdown of the text block at hand
	open    []wrap // marks that are open in it
	quotes  int
	lists   int
	heading int
	indent  []byte
	bullet  string
	cells   *grid // of the table at hand; nil: it is told as text
	textual int   // tables that are told as text
	newline bool
}

// element is a part of a card's body.
type element struct {
	json  []byte
	start int // of its plain text
	end   int
}

// wrap is markup around a text, which is closed and opened again where the text
// is cut.
type wrap struct{ open, close string }

// grid is a table that is shown as one.
type grid struct {
	rows    []byte
	columns int
	row     int
	header  bool
}

const (
	maxColumns   = 8
	maxCell      = 400  // bytes of a cell's text
	maxTableJSON = 4000 // bytes of a table's rows, behind which another one begins
)

// newCardForm returns a form that cuts texts at about chunk bytes, because
// clients show long ones badly.
func newCardForm(f Features, chunk int) *cardForm {
	return &cardForm{plain: newTextForm(f, false, 0), chunk: chunk}
}

// enter begins a node. Within a table that is told as text the plain form does
// it all.
func (f *cardForm) enter(n *node) bool {
	if f.textual > 0 {
		if n.kind == table {
			f.textual++
		}
		return f.plain.enter(n)
	}
	switch n.kind {
	case heading:
		f.flush()
		f.heading = n.number
	case codeBlock:
		f.flush()
		f.plain.enter(n)
		if strings.TrimSpace(n.text) != "" {
			f.codeBlock(n.text)
		}
		return false
	case quote:
		f.flush()
		f.quotes++
	case list:
		if f.lists == 0 {
			f.flush()
		}
		f.lists++
	case item:
		f.enterItem(n)
	case rule:
		f.flush()
	case table:
		return f.enterTable(n)
	case row:
		f.enterRow()
	case cell:
		f.plain.enter(n)
		f.cur = f.cur[:0]
		return true
	case bold:
		f.wrap("**", "**")
	case italic:
		f.wrap("_", "_")
	case struck:
		f.mark("[struck out: ")
	case code:
		f.makeRoom(len(n.text))
		f.plain.enter(n)
		f.appendLong(n.text, 0)
		return false
	case link, image:
		return f.link(n)
	}
	return f.plain.enter(n)
}

// mark adds text that is ours, as Markdown.
func (f *cardForm) mark(s string) {
	f.makeRoom(len(s))
	f.begin()
	f.cur = appendMarkdown(f.cur, s)
}

// wrap opens markup.
func (f *cardForm) wrap(open, close string) {
	f.begin()
	f.cur = append(f.cur, open...)
	f.open = append(f.open, wrap{open, close})
}

// unwrap closes the markup that was opened last.
func (f *cardForm) unwrap() {
	last := f.open[len(f.open)-1]
	f.open = f.open[:len(f.open)-1]
	f.cur = append(f.cur, last.close...)
}

// leave ends a node.
func (f *cardForm) leave(n *node) {
	if f.textual > 0 {
		f.plain.leave(n)
		if n.kind == table {
			f.textual--
			if f.textual == 0 {
				f.tableText()
			}
		}
		return
	}
	switch n.kind {
	case struck:
		f.mark("]")
	case bold, italic:
		f.unwrap()
	case link, image:
		f.plain.leave(n)
		f.leaveLink(n)
		return
	}
	f.plain.leave(n)
	switch n.kind {
	case paragraph:
		if f.lists == 0 && f.cells == nil {
			f.flush()
		} else {
			f.newline = f.cells == nil
		}
	case heading:
		f.flush()
		f.heading = 0
	case quote:
		f.flush()
		f.quotes--
	case list:
		f.lists--
		if f.lists == 0 {
			f.flush()
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

// enterItem begins an item of a list. Its mark is written with its first text,
// so that an empty item leaves none.
func (f *cardForm) enterItem(n *node) {
	if f.bullet != "" {
		f.begin()
	}
	if len(f.cur) > f.chunk {
		f.flush()
	}
	f.newline = true
	f.bullet = n.mark + " "
	f.indent = append(f.indent, "   "...)
}

// leaveItem ends an item; an empty one keeps its mark.
func (f *cardForm) leaveItem() {
	if f.bullet != "" {
		f.begin()
	}
	f.indent = f.indent[:len(f.indent)-3]
	f.newline = true
}

// begin writes what stands in front of text: a line end, and the mark of an item.
func (f *cardForm) begin() {
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

// literal adds a text. A long one is parted at white space, so that a card can be.
func (f *cardForm) literal(s string) {
	if f.textual > 0 {
		f.plain.literal(s)
		return
	}
	f.makeRoom(len(s))
	for f.cells == nil && len(f.cur)+len(s) > f.room() {
		at := f.cutAt(s)
		f.plain.literal(s[:at])
		f.append(s[:at])
		if s = s[at:]; s == "" {
			return
		}
		f.flush()
	}
	f.plain.literal(s)
	f.append(s)
}

// makeRoom ends the text block at hand if n bytes more would be too many, and a word does
// not go on.
func (f *cardForm) makeRoom(n int) {
	if f.cells != nil || len(f.cur)+n <= f.chunk || len(f.cur) < f.chunk/2 {
		return
	}
	if last := f.cur[len(f.cur)-1]; last == ' ' || last == '\n' || len(f.cur) > 2*f.chunk {
		f.flush()
	}
}

// room is how long a text block may become. One that lies within a link may be longer.
func (f *cardForm) room() int {
	if n := len(f.open); n > 0 && f.open[n-1].open == "[" {
		return 3 * f.chunk
	}
	return f.chunk
}

// cutAt returns how much of s the text block at hand takes.
func (f *cardForm) cutAt(s string) int {
	room := max(f.chunk-len(f.cur), f.chunk/8)
	if room >= len(s) {
		return len(s)
	}
	words := &splitter{text: s}
	at := words.wordEnd(0, graphemeBefore(s, 0, room))
	most := max(2*f.chunk-len(f.cur), room) // rather a long block than a word in two
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
	return max(graphemeBefore(s, 0, room), grapheme(s, 0))
}

// append adds text, with what is markup in a card escaped.
func (f *cardForm) append(s string) {
	f.begin()
	f.cur = appendMarkdown(f.cur, s)
}

// appendLong is append for a text that the plain form has whole, with more bytes behind.
func (f *cardForm) appendLong(s string, behind int) {
	for f.cells == nil && len(f.cur)+len(s) > f.chunk {
		at := f.cutAt(s)
		f.append(s[:at])
		s = s[at:]
		f.ahead = len(s) + behind
		f.flush()
	}
	f.ahead = 0
	if s != "" {
		f.append(s)
	}
}

// lineBreak ends a line where the element allows more than one, and is a space
// elsewhere.
func (f *cardForm) lineBreak() {
	f.plain.lineBreak()
	switch {
	case f.textual > 0:
	case f.cells == nil && (len(f.cur) > f.chunk || len(f.plain.buf)-f.from > 2*f.chunk):
		f.flush() // the plain form has the marks of quotes in each line, and may be longer
	case f.lists > 0 || f.cells != nil || f.heading > 0:
		f.cur = append(f.cur, ' ')
	default:
		f.cur = append(f.cur, "\n\n"...)
	}
}

// link begins a link. A target that fits into no element is told as text.
func (f *cardForm) link(n *node) bool {
	f.makeRoom(len(n.url))
	if !f.plain.enter(n) {
		text := textOf(n)
		if text == "" {
			text = n.url
		}
		if len(n.url) > f.chunk {
			f.appendLong(text, titleLength(n))
			f.appendTitle(n)
			return false
		}
		f.wrapLink(n)
		f.append(text)
		f.leaveLink(n)
		return false
	}
	f.wrapLink(n)
	return true
}

// wrapLink makes the text a link if the target fits.
func (f *cardForm) wrapLink(n *node) {
	if n.url != "" && len(n.url) <= f.chunk {
		f.wrap("[", "]("+string(appendTarget(nil, n.url))+")")
	}
}

// leaveLink closes the link, or tells its target behind the text.
func (f *cardForm) leaveLink(n *node) {
	switch {
	case n.url != "" && len(n.url) <= f.chunk:
		f.unwrap()
	case n.url != "":
		f.appendLong(" ("+n.url+")", titleLength(n))
	}
	f.appendTitle(n)
}

// appendTitle adds a link's title, which a card does not show otherwise.
func (f *cardForm) appendTitle(n *node) {
	if n.title != "" {
		f.appendLong(` "`+n.title+`"`, 0)
	}
}

// titleLength is how many bytes the title takes as it is told.
func titleLength(n *node) int {
	if n.title == "" {
		return 0
	}
	return len(n.title) + len(` ""`)
}

// appendTarget escapes what would end the target of a link.
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

// isOrdinal says whether the last line of b is a number so far.
func isOrdinal(b []byte) bool {
	n := len(b)
	for n > 0 && b[n-1] >= '0' && b[n-1] <= '9' && len(b)-n < 10 {
		n--
	}
	return n < len(b) && (n == 0 || b[n-1] == '\n')
}

// flush ends the text block at hand. Marks that are open go on in the next one.
func (f *cardForm) flush() {
	if f.bullet != "" && f.cells == nil {
		f.begin()
	}
	start := 0
	for _, w := range f.open {
		start += len(w.open)
	}
	if len(bytes.TrimSpace(f.cur)) > start {
		for i := len(f.open) - 1; i >= 0; i-- {
			f.cur = append(bytes.TrimRight(f.cur, " "), f.open[i].close...)
		}
		f.emit(f.textBlock(f.cur))
	}
	f.cur = f.cur[:0]
	for _, w := range f.open {
		f.cur = append(f.cur, w.open...)
	}
	f.newline = false
}

// textBlock is the element of a text, as the Adaptive Cards schema has it.
func (f *cardForm) textBlock(text []byte) []byte {
	b := append([]byte(nil), `{"type":"TextBlock","text":`...)
	b = appendJSON(b, string(bytes.TrimSpace(text)))
	b = append(b, `,"wrap":true`...)
	switch {
	case f.heading == 1:
		b = append(b, `,"style":"heading","weight":"Bolder","size":"Large"`...)
	case f.heading > 1:
		b = append(b, `,"style":"heading","weight":"Bolder","size":"Medium"`...)
	}
	return append(b, '}')
}

// emit adds an element that stands for the plain text so far.
func (f *cardForm) emit(json []byte) { f.emitTo(json, len(f.plain.buf)-f.ahead) }

// emitTo adds an element that stands for the plain text up to end.
func (f *cardForm) emitTo(json []byte, end int) {
	if f.quotes > 0 {
		json = append(append([]byte(`{"type":"Container","style":"emphasis","items":[`), json...), "]}"...)
	}
	f.elements = append(f.elements, element{json, f.from, end})
	f.from = end
}

// appendJSON appends a JSON string.
func appendJSON(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the source is UTF-8 by now
	return b
}

// Of a block of code.
const (
	codeBegin = `{"type":"Container","style":"emphasis","items":[`
	codeLine  = `{"type":"RichTextBlock","spacing":"None","inlines":[{"type":"TextRun","fontType":"Monospace","text":`
)

// codeBlock makes each line an element of its own font: a text block would join them.
func (f *cardForm) codeBlock(text string) {
	b := []byte(codeBegin)
	at := f.from // in the plain text
	for line := range strings.SplitSeq(text, "\n") {
		for first := true; first || line != ""; first = false {
			piece := line
			if len(piece) > f.chunk {
				piece = piece[:max(graphemeBefore(piece, 0, f.chunk), grapheme(piece, 0))]
			}
			line = line[len(piece):]
			if len(b) > len(codeBegin) {
				b = append(b, ',')
			}
			b = append(appendJSON(append(b, codeLine...), indented(piece)), `}]}`...)
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
		f.emit(append(b, "]}"...))
	}
}

// indented keeps the blanks that a line begins with.
func indented(line string) string {
	text := strings.TrimLeft(line, " \t")
	if text == "" {
		return " "
	}
	return strings.Repeat("\u00a0", len(line)-len(text)+3*strings.Count(line[:len(line)-len(text)], "\t")) + text
}

// enterTable begins a table. One that is no grid, or stands in a list, becomes
// text.
func (f *cardForm) enterTable(n *node) bool {
	f.flush()
	if !isGrid(n) || f.lists > 0 {
		f.textual = 1
		return f.plain.enter(n)
	}
	f.cells = &grid{columns: n.first.kids, header: true}
	return f.plain.enter(n)
}

// isGrid says whether a table is small enough in its width to be shown as one.
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
	g.rows = append(append(g.rows, f.textBlock(f.cur)...), "]}"...)
	f.cur = f.cur[:0]
}

// leaveRow ends a row, and begins a new table once this one is large.
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
		b = append(b, `,"firstRowAsHeader":false`...)
	}
	f.emit(append(b, '}'))
	g.rows, g.header = g.rows[:0], false
}

// leaveTable ends the table.
func (f *cardForm) leaveTable() {
	f.emitTable()
	f.cells = nil
}

// tableText makes text blocks of the plain form of a table.
func (f *cardForm) tableText() {
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

// isRTL says whether the first strong character of a text runs from right to left.
func isRTL(text string) bool {
	for _, r := range text {
		if r < 0x590 {
			if r < 0x80 && !unicode.IsLetter(r) {
				continue
			}
			if unicode.IsLetter(r) {
				return false
			}
			continue
		}
		p, _ := bidi.LookupRune(r)
		switch p.Class() {
		case bidi.R, bidi.AL:
			return true
		case bidi.L:
			return false
		}
	}
	return false
}

// card joins elements to a card. plain is their plain form.
func card(elements []element, plain string, rtl bool) []byte {
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

// envelope is what a message holds beside its card. Teams counts the whole of it.
const envelope = 1 << 10

// cardSize is what Teams counts: the card as a JSON string, and its envelope.
func cardSize(card []byte) int { return envelope + quotedSize(card) }

// quotedSize is the length of a JSON text as a JSON string.
func quotedSize(text []byte) int {
	n := len(text) + 2
	for _, c := range text {
		if c == '"' || c == '\\' {
			n++
		}
	}
	return n
}
