package markdown

import "strings"

// Bounds of what goldmark is given. Its time grows with the square of the depth of quotes and
// lists, and of brackets, and of the length of links' targets without an end (v1.8.7). No answer
// looks like that; one that does is text.
const (
	maxSource = 256 << 10
	// MaxDepth is how many quotes and lists may lie in one another.
	MaxDepth = 32
	// maxLinks is the number of bytes that the parser may look at again to find the borders of
	// links. maxNested is the number of quotes and lists that it may look at again in lines that do
	// not name them. Each takes some ten milliseconds.
	maxLinks  = 4 << 20
	maxNested = 200_000
	// maxOpen is how many brackets may be open at a time: each is a node of half a kilobyte.
	maxOpen = 10_000
	// maxDefinitions is how many definitions of links there may be.
	maxDefinitions = 2000
)

// canRead reports whether the source can be read as Markdown in time.
func canRead(source string) bool {
	if len(source) > maxSource {
		return false
	}
	var b burden
	for source != "" {
		line, rest, _ := strings.Cut(source, "\n")
		if !b.addLine(line) {
			return false
		}
		source = rest
	}
	return true
}

// burden is what reading lines costs.
type burden struct {
	depth  int   // of quotes and lists that may be open
	nested int   // quotes and lists that are looked at for lines that do not name them
	links  int   // bytes that are looked at for the sake of links
	at     int   // how many bytes of the block are behind
	open   []int // where in the block brackets were opened
	named  int   // definitions of links
}

// addLine adds a line, and says whether that is bearable.
func (b *burden) addLine(line string) bool {
	depth, at := Containers(line)
	if depth > MaxDepth {
		return false
	}
	if at == len(line) || beginsBlock(line) {
		b.at, b.open = 0, b.open[:0]
	}
	if text := strings.TrimLeft(line, " \t>"); text == "" {
		b.nested += b.depth
	} else { // an item lies two columns deeper than the one around it
		indent := len(line) - len(text)
		b.depth = max(depth, indent/2)
		b.nested += indent * indent / 64
	}
	b.addBrackets(line)
	b.at += len(line) + 1
	if strings.HasPrefix(line[at:], "[") && strings.Contains(line, "]:") {
		b.named++
	}
	return b.isBearable()
}

// isBearable reports whether none of the counts is too high.
func (b *burden) isBearable() bool {
	return b.named <= maxDefinitions && b.nested <= maxNested && b.links <= maxLinks && len(b.open) <= maxOpen
}

// addBrackets adds the links of a line. At each closing bracket the parser looks at the text since
// the opening one, and at the possible target behind it.
func (b *burden) addBrackets(line string) {
	for i := strings.IndexAny(line, "[]"); i < len(line) && i >= 0 && b.links <= maxLinks; {
		if line[i] == '[' {
			b.open = append(b.open, b.at+i)
		} else if last := len(b.open) - 1; last >= 0 {
			b.links += b.at + i - b.open[last]
			b.open = b.open[:last]
			if strings.HasPrefix(line[i+1:], "(") {
				b.links += targetLength(line[i+2:])
			}
		}
		next := strings.IndexAny(line[i+1:], "[]")
		if next < 0 {
			return
		}
		i += 1 + next
	}
}

// targetLength returns how many bytes are looked at for the target of a link in front of which
// text stands.
func targetLength(text string) int {
	text = strings.TrimLeft(text, " ")
	if strings.HasPrefix(text, "<") {
		if end := strings.IndexByte(text, '>'); end >= 0 {
			return end
		}
		return len(text)
	}
	open := 0
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t':
			return i
		case '(':
			open++
		case ')':
			if open--; open < 0 {
				return i
			}
		}
	}
	return len(text)
}

// beginsBlock reports whether line is a block of its own whatever is before it. A number cannot
// begin a block within a paragraph, and neither can a text with more indentation.
func beginsBlock(line string) bool {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	line = line[indent:]
	return indent < 4 && len(line) > 1 && (line[0] == '-' || line[0] == '+' || line[0] == '*') && isBlank(line[1])
}

// Containers returns the number of marks of quotes and lists that line begins with, and the place
// behind them.
func Containers(line string) (depth, at int) {
	for {
		at += len(line[at:]) - len(strings.TrimLeft(line[at:], " \t"))
		n := markLength(line[at:])
		if n == 0 {
			return depth, at
		}
		depth++
		at += n
	}
}

// markLength returns the length of the mark at the begin of a line: of a quote, or of a list's
// item, which has a blank behind it. 0 means that the line has no such mark.
func markLength(line string) int {
	rest := strings.TrimLeft(line, "0123456789")
	digits := len(line) - len(rest)
	marks := "-+*"
	if digits > 0 {
		marks = ".)"
	}
	isQuote := digits == 0 && strings.HasPrefix(rest, ">")
	if isQuote || len(rest) > 1 && strings.IndexByte(marks, rest[0]) >= 0 && isBlank(rest[1]) {
		return digits + 1
	}
	return 0
}

// isBlank reports whether c is white space within a line.
func isBlank(c byte) bool { return c == ' ' || c == '\t' }
