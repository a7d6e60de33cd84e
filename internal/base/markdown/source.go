package markdown

import "github.com/yuin/goldmark/ast"

// Source is a text that is read as Markdown when somebody asks what is in it, and then
// once for all who ask: what words an answer and what checks it look at the same one.
//
// It is for one goroutine at a time. What it returns must not be changed.
type Source struct {
	parser *Parser
	watch  *Watch
	text   string
	form   sourceForm
	raw    []byte
	root   ast.Node
}

// sourceForm is what was found out of a Source.
type sourceForm uint8

const (
	unread   sourceForm = iota
	plain               // it has no markup
	unparsed            // it may have some
	parsed              // root is what is in it; nil: that would take too long
)

// Source returns a text that the parser reads when it is asked for, and only until w is over.
func (p *Parser) Source(w *Watch, text string) *Source {
	return &Source{parser: p, watch: w, text: text}
}

// Text returns the text as it was given.
func (s *Source) Text() string { return s.text }

// Plain says whether the text has no markup by its very characters: it is paragraphs of
// lines that stand for themselves, parted by empty ones. A parser would find nothing else,
// and takes several times as long.
func (s *Source) Plain() bool {
	if s.form == unread {
		s.form = unparsed
		if len(s.text) <= maxSource && isPlain(s.text) {
			s.form = plain
		}
	}
	return s.form == plain
}

// Tree returns what is in the text, and the bytes that its nodes point into. It is nil for
// a text that cannot be read in time, and where its Watch was over before it was read.
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
