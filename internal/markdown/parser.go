// Package markdown reads Markdown as models write it, in time that is bounded.
package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// NewParser returns what reads Markdown: CommonMark with tables, strikethrough, task
// lists and links that are written as they are. It may be used at the same time.
func NewParser() parser.Parser {
	linkify := extension.NewLinkifyParser()
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(extension.NewStrikethroughParser(), 500),
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(linkify, 999))...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(),
			util.Prioritized(boundedTables{extension.NewTableParagraphTransformer()}, 200))...),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// boundedTables leaves a table alone whose rows would be filled up to more cells than a
// text of this size can have written: its lines stay text.
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
	if widest > 1 && widest*lines.Len() <= maxCells {
		b.ParagraphTransformer.Transform(node, reader, pc)
	}
}
