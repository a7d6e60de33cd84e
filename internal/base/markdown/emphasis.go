package markdown

import (
	"fmt"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// emphasis reads * and _ as CommonMark does, and ~ as GitHub does, in time that grows with the
// length of the text. goldmark searches all marks before a closing one without a partner, so that a
// repeated "_a*" costs it the square of the text.
//
// A run of marks between two digits, or a digit and a letter, opens nothing: 2*3*4 is a
// product. It may close a run before it: in **5**x the number is bold. A single mark between
// two digits never does, nor one behind a mark within a word: a*b*2 is a product too.
//
// Marks are collected while a block is read, and paired when it ends (CloseBlock). By then links
// and images contain their own marks, and pairs never cross their borders.
type emphasis struct{}

// marksKey is set if the block at hand has marks.
var marksKey = parser.NewContextKey()

// mark is a run of one character that may begin or end emphasis, until it is paired.
type mark struct {
	ast.BaseInline

	segment         text.Segment // what of the run is not used
	char            byte
	opens, closes   bool
	arithmetic      bool // it stands between digits, or a digit and a letter
	inWord          bool // a letter or digit stands before it
	length          int  // that of the whole run
	previous, later *mark
}

var kindMark = ast.NewNodeKind("Mark")

// Kind implements ast.Node.
func (m *mark) Kind() ast.NodeKind { return kindMark }

// Dump implements ast.Node.
func (m *mark) Dump([]byte, int) { fmt.Printf("Mark %c\n", m.char) }

// Trigger implements parser.InlineParser.
func (emphasis) Trigger() []byte { return []byte{'*', '_', '~'} }

// Parse implements parser.InlineParser.
func (emphasis) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	length := 1
	for length < len(line) && line[length] == line[0] {
		length++
	}
	behind := ' '
	if length < len(line) {
		behind = util.ToRune(line, length)
	}
	segment = segment.WithStop(segment.Start + length)
	block.Advance(length)
	m := &mark{segment: segment, char: line[0], length: length}
	if m.setFlanks(before, behind); m.isText(before, behind) {
		return ast.NewTextSegment(segment)
	}
	pc.Set(marksKey, true)
	return m
}

// isText reports whether a mark stands where it cannot be markup.
func (m *mark) isText(before, behind rune) bool {
	return !m.opens && !m.closes || m.char == '~' && (m.length > 2 || before == '~')
}

// setFlanks sets whether a mark may open or close, by its neighbours (CommonMark 0.31, 6.2).
func (m *mark) setFlanks(before, behind rune) {
	spaceBefore, spaceBehind := util.IsSpaceRune(before), util.IsSpaceRune(behind)
	pointBefore, pointBehind := util.IsPunctRune(before), util.IsPunctRune(behind)
	left := !spaceBehind && (!pointBehind || spaceBefore || pointBefore)
	right := !spaceBefore && (!pointBefore || spaceBehind || pointBehind)
	m.opens, m.closes = left, right
	if m.char == '_' {
		m.opens, m.closes = left && (!right || pointBefore), right && (!left || pointBehind)
	}
	m.inWord = unicode.IsLetter(before) || unicode.IsDigit(before)
	if m.arithmetic = isArithmetic(before, behind); m.arithmetic {
		m.opens = false
		m.closes = m.closes && (m.length > 1 || !unicode.IsDigit(before) || !unicode.IsDigit(behind))
	}
}

// isArithmetic reports whether a mark between these two belongs to a number or a formula.
func isArithmetic(before, behind rune) bool {
	return unicode.IsDigit(before) && (unicode.IsDigit(behind) || isVariable(behind)) || isVariable(before) && unicode.IsDigit(behind)
}

// isVariable reports whether a letter may stand for a number. Scripts in which a number follows a
// word without a space have no such letters: in 共**3**个 the number is bold.
func isVariable(r rune) bool { return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) }

// CloseBlock implements parser.CloseBlocker.
func (emphasis) CloseBlock(block ast.Node, _ text.Reader, pc parser.Context) {
	if pc.Get(marksKey) == nil {
		return
	}
	pc.Set(marksKey, nil)
	pairAll(block)
}

// pairAll pairs the marks in a node, and those in links and images below it.
func pairAll(in ast.Node) {
	var first, last *mark
	for c := in.FirstChild(); c != nil; c = c.NextSibling() {
		m, ok := c.(*mark)
		switch {
		case !ok:
			if c.HasChildren() {
				pairAll(c)
			}
		case last == nil:
			first, last = m, m
		default:
			m.previous, last.later = last, m
			last = m
		}
	}
	pairMarks(first)
	for m := first; m != nil; m = m.later {
		if m.Parent() != nil {
			m.toText()
		}
	}
}

// bottoms holds the first place at which the partner of a closing mark may begin. Four properties
// of that mark decide: its character, whether it opens as well, whether it is arithmetic, and its
// length modulo 3.
type bottoms [3][2][2][3]int

// entryFor returns the entry for a closing mark.
func (b *bottoms) entryFor(m *mark) *int {
	char, opens, arithmetic := 0, 0, 0
	switch m.char {
	case '_':
		char = 1
	case '~':
		char = 2
	}
	if m.opens {
		opens = 1
	}
	if m.arithmetic {
		arithmetic = 1
	}
	return &b[char][opens][arithmetic][m.length%3]
}

// findPartner returns the mark that m closes and that does not begin before bottom, or nil.
func (m *mark) findPartner(bottom int) *mark {
	for opening := m.previous; opening != nil && opening.segment.Start >= bottom; opening = opening.previous {
		if opening.canPair(m) {
			return opening
		}
	}
	return nil
}

// pairMarks makes emphasis of the marks of a list. Each search for a partner ends where an
// earlier one of the same kind has found none: that keeps it linear.
func pairMarks(first *mark) {
	var none bottoms
	for closing := first; closing != nil; {
		if !closing.closes {
			closing = closing.later
			continue
		}
		bottom := none.entryFor(closing)
		opening := closing.findPartner(*bottom)
		if opening == nil {
			*bottom = closing.segment.Start
			next := closing.later
			if !closing.opens {
				closing.remove()
			}
			closing = next
			continue
		}
		if encloseText(opening, closing); closing.segment.Len() == 0 {
			closing = closing.later
		}
	}
}

// canPair reports whether two marks may be partners (CommonMark 0.31, rules 9 and 10).
func (m *mark) canPair(closing *mark) bool {
	if !m.opens || m.char != closing.char || closing.arithmetic && m.inWord {
		return false
	}
	return !m.closes && !closing.opens || (m.length+closing.length)%3 != 0 || closing.length%3 == 0
}

// newNode returns an empty node of the kind that a mark opens.
func (m *mark) newNode(level int) ast.Node {
	if m.char == '~' {
		struck := extast.NewStrikethrough()
		struck.SetPos(m.segment.Start)
		return struck
	}
	emphasized := ast.NewEmphasis(level)
	emphasized.SetPos(m.segment.Start)
	return emphasized
}

// encloseText makes emphasis of the nodes between two marks, and shortens both marks by the
// characters that it uses.
func encloseText(opening, closing *mark) {
	level := 1
	if opening.segment.Len() >= 2 && closing.segment.Len() >= 2 {
		level = 2
	}
	for m := opening.later; m != closing; {
		next := m.later
		m.remove()
		m = next
	}
	node := opening.newNode(level)
	parent := opening.Parent()
	for c := opening.NextSibling(); c != closing; {
		next := c.NextSibling()
		node.AppendChild(node, c)
		c = next
	}
	parent.InsertAfter(parent, opening, node)
	opening.segment.Stop -= level
	closing.segment.Stop -= level
	for _, m := range [...]*mark{opening, closing} {
		if m.segment.Len() == 0 {
			m.remove()
		}
	}
}

// remove removes a mark from its list, and makes text of its remaining characters. later stays, for
// a caller that continues from there.
func (m *mark) remove() {
	if m.previous != nil {
		m.previous.later = m.later
	}
	if m.later != nil {
		m.later.previous = m.previous
	}
	m.toText()
}

// toText puts the remaining characters of a mark in its place as text.
func (m *mark) toText() {
	parent := m.Parent()
	if m.segment.Len() == 0 {
		parent.RemoveChild(parent, m)
		return
	}
	parent.ReplaceChild(parent, m, ast.NewTextSegment(m.segment))
}
