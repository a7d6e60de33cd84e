package terminal

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Markdown shows Markdown on a terminal as it is written: headings, emphasis and code by the
// terminal's own means, lists with bullets, tables in columns, links with their address behind
// them. Undecided text is held back: mostly a few characters, a span until it is closed, a table
// until its last row. Marks without a meaning are shown as they came.
//
// It is for texts that have passed Printable. The zero Style shows the text as it is.
type Markdown struct {
	Style   Style
	Columns int // of the terminal; a table that is wider is shown as it came

	pending string // the part of the current line that was not shown yet
	begun   bool   // the line's marker was shown
	heading bool
	last    rune     // that was shown of the line
	fence   string   // the end of the block of code; empty outside of one
	table   []string // rows so far
}

// longestHeld is how long a span can be, in bytes: so many wait for its end, and no text costs
// more than its length times this.
const longestHeld = 400

// Write returns the text that can be shown so far.
func (m *Markdown) Write(text string) string {
	if m.Style == (Style{}) {
		return text
	}
	var out strings.Builder
	m.pending += text
	for {
		line, rest, whole := strings.Cut(m.pending, "\n")
		if !whole {
			break
		}
		m.pending = rest
		m.showLine(&out, line)
	}
	m.showBeginning(&out)
	return out.String()
}

// End returns the held text.
func (m *Markdown) End() string {
	var out strings.Builder
	cut := m.pending != "" || m.begun // a line without its end
	if cut {
		m.showLine(&out, m.pending)
	}
	m.endTable(&out)
	text := out.String()
	*m = Markdown{Style: m.Style, Columns: m.Columns}
	if cut {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// showLine shows a line that is whole; a part of it may have been shown before.
func (m *Markdown) showLine(out *strings.Builder, line string) {
	if !m.begun && m.showBlock(out, line) {
		return
	}
	m.endTable(out)
	if !m.begun {
		line = m.showMarker(out, line)
	}
	shown, _ := m.showSpans(line, &m.last, true)
	out.WriteString(shown)
	if m.heading {
		out.WriteString(m.Style.Reset)
	}
	out.WriteString("\n")
	m.begun, m.heading, m.last = false, false, 0
}

// showBeginning shows the decided part of an incomplete line.
func (m *Markdown) showBeginning(out *strings.Builder) {
	line := strings.TrimLeft(m.pending, " \t")
	if !m.begun {
		undecided := strings.Trim(line, " \t#>*+-_=0123456789.)") == ""
		if undecided || m.fence != "" || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "`") || strings.HasPrefix(line, "~") {
			return
		}
		m.endTable(out)
		m.pending = m.showMarker(out, m.pending)
		m.begun = true
	}
	shown, rest := m.showSpans(m.pending, &m.last, false)
	out.WriteString(shown)
	m.pending = rest
}

var ruler = regexp.MustCompile(`^\s*([-*_])(\s*[-*_]){2,}\s*$`)

// showBlock shows a line that is a block of its own, or a part of one. It returns false for another
// line.
func (m *Markdown) showBlock(out *strings.Builder, line string) bool {
	trimmed := strings.TrimSpace(line)
	switch {
	case m.fence != "":
		if strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]) == "" {
			m.fence = ""
			return true
		}
		out.WriteString("    " + m.Style.Dim + line + m.Style.Reset + "\n")
	case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
		m.endTable(out)
		m.fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
	case strings.HasPrefix(trimmed, "|"):
		m.table = append(m.table, line)
	case ruler.MatchString(line):
		m.endTable(out)
		out.WriteString(m.Style.Dim + strings.Repeat("─", 20) + m.Style.Reset + "\n")
	default:
		return false
	}
	return true
}

var marks = regexp.MustCompile(`^(\s*)(#{1,6} +|[-*+] +|> ?)`)

// showMarker shows the mark at the beginning of a line, and returns the rest of it.
func (m *Markdown) showMarker(out *strings.Builder, line string) string {
	found := marks.FindStringSubmatch(line)
	if found == nil {
		return line
	}
	switch mark := found[2]; mark[0] {
	case '#':
		m.heading = true
		out.WriteString(found[1] + m.Style.Bold)
	case '>':
		out.WriteString(found[1] + m.Style.Dim + "│ " + m.Style.Reset)
	default:
		out.WriteString(found[1] + "• ")
	}
	return line[len(found[0]):]
}

// showSpans shows spans: emphasis, code and links. rest may become a span with later text, unless
// whole is true. last is the character before the text, and then its last.
func (m *Markdown) showSpans(text string, last *rune, whole bool) (shown, rest string) {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if strings.ContainsRune("*_`[~\\", r) {
			span, length, open := m.renderSpan(text[i:min(len(text), i+longestHeld)], *last)
			switch {
			case open && !whole && len(text)-i < longestHeld:
				return out.String(), text[i:]
			case length > 0:
				out.WriteString(span)
				i += length
				*last = 'x'
				continue
			}
		}
		out.WriteRune(r)
		*last = r
		i += size
	}
	return out.String(), ""
}

// spans are the marks of emphasis, longer ones first.
var spans = []string{"**", "__", "~~", "*", "_"}

var link = regexp.MustCompile(`^\[([^\[\]]*)\]\(([^()\s]*)\)`)

// renderSpan shows the span at the beginning of a text, and returns its length, or 0. open is true if
// more text may complete one. last is the character before it.
func (m *Markdown) renderSpan(text string, last rune) (shown string, length int, open bool) {
	switch text[0] {
	case '\\':
		if len(text) > 1 && strings.ContainsRune("\\`*_{}[]()#+-.!|~>", rune(text[1])) {
			return text[1:2], 2, false
		}
		return "", 0, len(text) == 1
	case '`':
		ticks := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		code, _, closed := strings.Cut(text[len(ticks):], ticks)
		if !closed {
			return "", 0, true
		}
		return m.Style.Yellow + code + m.resetStyle(), 2*len(ticks) + len(code), false
	case '[':
		return m.renderLink(text)
	}
	return m.renderEmphasis(text, last)
}

// renderLink shows the link that a text begins with, as span does.
func (m *Markdown) renderLink(text string) (shown string, length int, open bool) {
	if found := link.FindStringSubmatch(text); found != nil {
		return found[1] + m.Style.Dim + " (" + found[2] + ")" + m.resetStyle(), len(found[0]), false
	}
	end := strings.IndexByte(text, ']')
	return "", 0, end < 0 || end == len(text)-1 || text[end+1] == '(' && !strings.ContainsAny(text[end+1:], ") ")
}

// renderEmphasis shows the emphasis that a text begins with, as span does.
func (m *Markdown) renderEmphasis(text string, last rune) (shown string, length int, open bool) {
	for _, mark := range spans {
		inner, begins := strings.CutPrefix(text, mark)
		if !begins {
			continue
		}
		switch {
		case inner == "":
			return "", 0, true
		case !opensEmphasis(mark, inner, last):
			return "", 0, false
		}
		end := closingMark(inner, mark)
		if end < 0 {
			return "", 0, true
		}
		within, _ := m.showSpans(inner[:end], new(rune), true)
		on := map[string]string{"**": m.Style.Bold, "__": m.Style.Bold, "~~": m.Style.Struck}[mark]
		if on == "" {
			on = m.Style.Italic
		}
		length := end + 2*len(mark)
		return on + within + m.resetStyle(), length, len(mark) == 1 && length == len(text) // its end may be half of a longer mark
	}
	return "", 0, len(text) == 1 // a ~ alone may become two
}

// opensEmphasis reports whether a mark opens emphasis of inner, behind last.
func opensEmphasis(mark, inner string, last rune) bool {
	first, _ := utf8.DecodeRuneInString(inner)
	return !unicode.IsSpace(first) && !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.HasPrefix(inner, mark[:1])
}

// closingMark returns where the mark stands that closes a span; below 0: nowhere.
func closingMark(inner, mark string) int {
	for at := 1; at+len(mark) <= len(inner); at++ {
		before, _ := utf8.DecodeLastRuneInString(inner[:at])
		if !strings.HasPrefix(inner[at:], mark) || unicode.IsSpace(before) || before == '\\' {
			continue
		}
		if len(mark) == 1 && (inner[at-1] == mark[0] || strings.HasPrefix(inner[at+1:], mark)) {
			continue // a part of a longer mark
		}
		return at
	}
	return -1
}

// resetStyle ends a span, within a heading too.
func (m *Markdown) resetStyle() string {
	if m.heading {
		return m.Style.Reset + m.Style.Bold
	}
	return m.Style.Reset
}

var delimiter = regexp.MustCompile(`^\s*\|(\s*:?-+:?\s*\|)+\s*$`)

// endTable shows the table that has ended, if there is one.
func (m *Markdown) endTable(out *strings.Builder) {
	rows := m.table
	m.table = nil
	if len(rows) < 2 || !delimiter.MatchString(rows[1]) {
		for _, row := range rows {
			out.WriteString(row + "\n")
		}
		return
	}
	raw := rows
	rows = append(rows[:1:1], rows[2:]...)
	cells, widths, total := splitTable(rows)
	if total > m.Columns {
		out.WriteString(strings.Join(raw, "\n") + "\n")
		return
	}
	for i, row := range cells {
		m.tableRow(out, row, widths, i == 0)
	}
}

// tableRow shows a row of a table whose columns have these widths.
func (m *Markdown) tableRow(out *strings.Builder, row []string, widths []int, isHead bool) {
	for j, cell := range row {
		shown, _ := m.showSpans(cell, new(rune), true)
		if isHead {
			shown = m.Style.Bold + shown + m.Style.Reset
		}
		out.WriteString(shown)
		if j < len(row)-1 {
			out.WriteString(strings.Repeat(" ", widths[j]-m.cellWidth(cell)+2))
		}
	}
	out.WriteString("\n")
}

// cellWidth is how many characters a cell takes on the screen.
func (m *Markdown) cellWidth(cell string) int {
	plain := Markdown{}
	shown, _ := plain.showSpans(cell, new(rune), true)
	return utf8.RuneCountInString(shown)
}

// splitTable takes rows apart, and measures the columns and the whole.
func splitTable(rows []string) (cells [][]string, widths []int, total int) {
	var plain Markdown
	for _, row := range rows {
		row = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(row), "|"), "|")
		var line []string
		for j, cell := range strings.Split(row, "|") {
			cell = strings.TrimSpace(cell)
			line = append(line, cell)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], plain.cellWidth(cell))
		}
		cells = append(cells, line)
	}
	for _, w := range widths {
		total += w + 2
	}
	return cells, widths, total
}
