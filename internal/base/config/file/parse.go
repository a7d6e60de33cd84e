package file

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseTree returns the tree of a file that can be read, with all that strict YAML refuses listed
// as faults. It returns nil and a fault if it cannot make a tree.
func (d *document) parseTree(content []byte) *Node {
	if len(content) > maxSize {
		d.addFault(place{1, 1}, "", "the file has more than 1 MiB")
		return nil
	}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if !d.isText(content) {
		return nil
	}
	tokens := lexer.Tokenize(string(content))
	if !d.isModest(tokens) {
		return nil
	}
	// The parser would stop at the first key that is given twice.
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.badGrammar(err)
		return nil
	}
	body, ok := d.onlyDocument(parsed)
	if !ok {
		return nil
	}
	b := builder{document: d, anchors: map[string]ast.Node{}, open: map[string]bool{}}
	root := b.makeNode(body, nil, "", place{1, 1}, 0)
	if root.kind != objectKind {
		if !root.faulty {
			d.addFault(root.place, "", "must be an object whose keys are sections")
		}
		return nil
	}
	return root
}

// isText refuses what YAML does: other encodings, and control characters.
func (d *document) isText(content []byte) bool {
	at := place{1, 1}
	for len(content) > 0 {
		c, size := utf8.DecodeRune(content)
		switch {
		case c == utf8.RuneError && size == 1:
			d.addFault(at, "", "is not UTF-8 text")
			return false
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85, c == 0xfeff:
			d.addFault(at, "", "holds a control character")
			return false
		}
		at.column++
		if c == '\n' {
			at = place{at.line + 1, 1}
		}
		content = content[size:]
	}
	return true
}

// isModest refuses a file that the parser cannot handle. Deep nesting would use up the stack, and
// the parser nests tags in one another. The time for an object grows with the square of its keys
// (90,000 took minutes). A long key is copied into each value below it.
func (d *document) isModest(tokens token.Tokens) bool {
	keys := 0
	var around nesting
	for i, tk := range tokens {
		if at, text := tokenFault(tokens, i); text != "" {
			d.addFault(placeOf(at), "", text)
			return false
		}
		if tk.Type == token.MappingKeyType || tk.Type == token.MappingValueType {
			keys++
		}
		if keys > maxKeys {
			d.addFault(placeOf(tk), "", "the file has more than 10,000 keys")
			return false
		}
		if around.enterToken(tokens, i) > maxDepth+2 { // lists in an object can be as deep as their keys
			d.tooDeep(placeOf(tk), "")
			return false
		}
	}
	return true
}

// tokenFault returns the fault of a single token, or an empty text.
func tokenFault(tokens token.Tokens, i int) (at *token.Token, text string) {
	switch at = tokens[i]; {
	case at.Type == token.TagType:
		return at, "tags are not supported"
	case at.Type == token.AnchorType && i >= 2 && tokens[i-2].Type == token.AnchorType:
		return at, "a value can have one anchor only"
	case at.Type == token.MappingValueType && i > 0 && len(tokens[i-1].Value) > maxKey:
		return tokens[i-1], "is a key of more than 1 KiB"
	}
	return nil, ""
}

// nesting holds the brackets and blocks around a token.
type nesting struct {
	flow    int   // brackets and braces that are open
	columns []int // of the blocks
}

// enterToken goes on to the next token, and returns how deep it is nested.
func (n *nesting) enterToken(tokens token.Tokens, i int) int {
	column := 0 // of a block's entry
	switch tk := tokens[i]; tk.Type {
	case token.MappingStartType, token.SequenceStartType:
		n.flow++
	case token.MappingEndType, token.SequenceEndType:
		n.flow = max(0, n.flow-1)
	case token.SequenceEntryType, token.MappingKeyType:
		column = tk.Position.Column
	case token.MappingValueType:
		if i > 0 {
			column = tokens[i-1].Position.Column
		}
	}
	n.enterBlock(column)
	return n.flow + len(n.columns)
}

// enterBlock begins an entry of a block in a column. It ends the blocks that do not lie further
// left. Column 0, or a column within brackets, begins no entry.
func (n *nesting) enterBlock(column int) {
	if column == 0 || n.flow > 0 {
		return
	}
	for len(n.columns) > 0 && n.columns[len(n.columns)-1] >= column {
		n.columns = n.columns[:len(n.columns)-1]
	}
	n.columns = append(n.columns, column)
}

// tooDeep reports nesting that would take the stack of each reader after us.
func (d *document) tooDeep(at place, pointer string) {
	d.addFault(at, pointer, fmt.Sprintf("is nested deeper than %d levels", maxDepth))
}

// badGrammar rewords a parser's error, whose own text repeats the lines around it.
func (d *document) badGrammar(err error) {
	at, message := place{1, 1}, notYAML
	if e, ok := err.(interface{ GetToken() *token.Token }); ok && e.GetToken() != nil {
		at = placeOf(e.GetToken())
	}
	if e, ok := err.(interface{ GetMessage() string }); ok {
		message = reasonOf(e.GetMessage())
	}
	d.addFault(at, "", message)
}

// onlyDocument returns the body of the one document of a file.
func (d *document) onlyDocument(f *ast.File) (body ast.Node, ok bool) {
	var bodies []ast.Node
	for _, doc := range f.Docs {
		switch {
		case doc.Body == nil && doc.Start == nil:
		case doc.Body != nil && doc.Body.Type() == ast.DirectiveType:
			d.addFault(placeOf(doc.Body.GetToken()), "", "directives are not supported")
			return nil, false
		case len(bodies) == 1:
			at := placeOf(doc.Start)
			if doc.Start == nil {
				at = startOf(doc.Body, at)
			}
			d.addFault(at, "", "must hold one document only")
			return nil, false
		default:
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 || bodies[0] == nil {
		d.addFault(place{1, 1}, "", "the file is empty")
		return nil, false
	}
	return bodies[0], true
}

// placeOf returns where a token stands; the beginning of the file, if the
// parser does not say.
func placeOf(tk *token.Token) place {
	if tk == nil || tk.Position == nil {
		return place{1, 1}
	}
	return place{tk.Position.Line, tk.Position.Column}
}
