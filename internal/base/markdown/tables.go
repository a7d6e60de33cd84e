package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// boundedTables leaves the lines of a table as text if its rows would be filled up to more cells
// than a text of this size can contain.
type boundedTables struct{ parser.ParagraphTransformer }

const maxCells = 40_000

// Transform makes a table of a paragraph unless it would have too many cells:
// the parser's work grows with lines times columns.
func (b boundedTables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, widest := node.Lines(), 0
	for i := range lines.Len() {
		line := lines.At(i)
		widest = max(widest, 1+bytes.Count(line.Value(reader.Source()), []byte("|")))
	}
	if widest < 2 || widest*lines.Len() > maxCells {
		return
	}
	parent, previous, next := node.Parent(), node.PreviousSibling(), node.NextSibling()
	b.ParagraphTransformer.Transform(node, reader, pc)
	last := parent.LastChild()
	if next != nil {
		last = next.PreviousSibling()
	}
	for made := last; made != previous && made.Kind() == extast.KindTable; made = made.PreviousSibling() {
		for row := made.FirstChild(); row != nil; row = row.NextSibling() {
			addSurplus(row, reader.Source())
		}
	}
}

// addSurplus adds the cells of a row behind the last column of its header. goldmark drops
// them.
func addSurplus(row ast.Node, source []byte) {
	last := row.LastChild()
	if last == nil || last.Lines().Len() == 0 {
		return
	}
	at := last.Lines().At(last.Lines().Len() - 1).Stop
	line, _, _ := bytes.Cut(source[at:], []byte("\n"))
	line = bytes.TrimRight(line, " \t\r")
	if len(bytes.Trim(line, " \t|")) == 0 {
		return
	}
	if end := len(line) - 1; line[end] == '|' && line[end-1] != '\\' {
		line = line[:end]
	}
	stop := at + len(line)
	at += bytes.IndexByte(line, '|') + 1
	for from := at; from <= stop; from++ {
		if from < stop && (source[from] != '|' || source[from-1] == '\\') {
			continue
		}
		cell := extast.NewTableCell()
		segment := text.NewSegment(at, from)
		segment = segment.TrimLeftSpace(source)
		cell.Lines().Append(segment.TrimRightSpace(source))
		row.AppendChild(row, cell)
		at = from + 1
	}
}
