// Package markdown reads Markdown as models write it, in time that is bounded.
package markdown

import (
	"bytes"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Parser reads Markdown: CommonMark with tables, strikethrough, task lists and links that
// are written as they are. It may be used at the same time.
//
// Its tables are made for the first text: each has 40 KB, and most gateways read none.
type Parser struct {
	all func() parser.Parser
	// bare does not search for bare links. The other parser stops at each space of a text for them,
	// which takes a sixth of its time.
	bare func() parser.Parser
}

// NewParser returns a Parser.
func NewParser() *Parser {
	return &Parser{
		all:  sync.OnceValue(func() parser.Parser { return newParser(util.Prioritized(newBareLinks(), 999)) }),
		bare: sync.OnceValue(func() parser.Parser { return newParser() }),
	}
}

// newParser returns goldmark's parser with our rules, and more of them.
func newParser(more ...util.PrioritizedValue) parser.Parser {
	inline := append([]util.PrioritizedValue{
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(parser.NewCodeSpanParser(), 100),
		util.Prioritized(parser.NewLinkParser(), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(parser.NewRawHTMLParser(), 400),
		util.Prioritized(emphasis{}, 500),
	}, more...)
	for i, p := range inline {
		inline[i].Value = watched{p.Value.(parser.InlineParser)}
	}
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(inline...),
		parser.WithParagraphTransformers(
			util.Prioritized(definitions{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(boundedTables{extension.NewTableParagraphTransformer()}, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
}

// parseTree returns the document of a source. Texts of the tree may be parted at any space. It
// is not all of it if w is over.
func (p *Parser) parseTree(source []byte, w *Watch) ast.Node {
	pc := parser.NewContext()
	pc.Set(watchKey, w)
	reader := watchedReader{text.NewReader(source), w}
	if mayLink(source) {
		return p.all().Parse(reader, parser.WithContext(pc))
	}
	return p.bare().Parse(reader, parser.WithContext(pc))
}

// definitions searches a paragraph for definitions of links only if it begins like one: the reader
// that goldmark makes for each paragraph costs more than the paragraph.
type definitions struct{ parser.ParagraphTransformer }

// Transform takes the definitions out of a paragraph.
func (d definitions) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if lines := node.Lines(); lines.Len() > 0 {
		first := lines.At(0)
		line := bytes.TrimLeft(first.Value(reader.Source()), " \t")
		if len(line) > 0 && line[0] > ' ' && line[0] != '[' {
			return
		}
	}
	d.ParagraphTransformer.Transform(node, reader, pc)
}
