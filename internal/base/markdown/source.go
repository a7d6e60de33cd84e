package markdown

import "github.com/yuin/goldmark/ast"

// Source is a text that is parsed as Markdown on the first request, and then shared: the code that
// formats an answer and the code that checks it see the same tree.
//
// It is for one goroutine at a time. Callers must not change its results.
type Source struct {
	parser *Parser
	watch  *Watch
	text   string
	form   sourceForm
	raw    []byte
	root   ast.Node
}

// sourceForm is the form of a Source, as far as it is known.
type sourceForm uint8

const (
	unread   sourceForm = iota
	plain               // it is without markup
	unparsed            // it may have some
	parsed              // root is the tree; nil if parsing would take too long
)

// Source returns a text that the parser reads when it is asked for, and only until w is over.
func (p *Parser) Source(w *Watch, text string) *Source {
	return &Source{parser: p, watch: w, text: text}
}

// Text returns the text as it was given.
func (s *Source) Text() string { return s.text }

// Plain reports whether the text is without markup, judged by its characters alone. It then
// consists of paragraphs of plain lines, separated by empty lines. A parser would find nothing
// else, and takes several times as long.
func (s *Source) Plain() bool {
	if s.form == unread {
		s.form = unparsed
		if len(s.text) <= maxSource && isPlain(s.text) {
			s.form = plain
		}
	}
	return s.form == plain
}

// Tree returns the tree of the text, and the bytes that its nodes point into. It is nil for a text
// that cannot be read in time, and where its Watch was over before it was read.
func (s *Source) Tree() (root ast.Node, raw []byte) {
	if s.form != parsed {
		s.form = parsed
		if canRead(s.text) {
			s.raw = []byte(s.text)
			s.root = s.parser.parseTree(s.raw, s.watch)
		}
		if s.watch.Err() != nil {
			s.root = nil
		}
	}
	return s.root, s.raw
}
