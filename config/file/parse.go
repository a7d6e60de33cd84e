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

// parse returns the tree of a file that can be read, with all that strict YAML refuses
// listed as faults. It returns nil if there is no tree to check, which a fault tells.
func (d *document) parse(content []byte) *Node {
	if len(content) > maxSize {
		d.fault(place{1, 1}, "", "the file has more than 1 MiB")
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
	root := b.node(body, nil, "", place{1, 1}, 0)
	if root.kind != objectKind {
		if !root.faulty {
			d.fault(root.place, "", "must be an object whose keys are sections")
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
			d.fault(at, "", "is not UTF-8 text")
			return false
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85, c == 0xfeff:
			d.fault(at, "", "holds a control character")
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

// isModest finds what the parser could not cope with: what is nested too deep would use
// up the stack, tags too, of which it nests one in the other; and the time for an object
// grows with the square of its keys (90,000 took minutes). A long key is copied into each
// value below it.
func (d *document) isModest(tokens token.Tokens) bool {
	flow, keys := 0, 0
	var columns []int // of the blocks around the token
	for i, tk := range tokens {
		column := 0 // of a block's entry
		switch tk.Type {
		case token.TagType:
			d.fault(placeOf(tk), "", "tags are not supported")
			return false
		case token.AnchorType:
			if i >= 2 && tokens[i-2].Type == token.AnchorType {
				d.fault(placeOf(tk), "", "a value can have one anchor only")
				return false
			}
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType:
			column = tk.Position.Column
			if tk.Type == token.MappingKeyType {
				keys++
			}
		case token.MappingValueType:
			keys++
			if i == 0 {
				break
			}
			column = tokens[i-1].Position.Column
			if len(tokens[i-1].Value) > maxKey {
				d.fault(placeOf(tokens[i-1]), "", "is a key of more than 1 KiB")
				return false
			}
		}
		if keys > maxKeys {
			d.fault(placeOf(tk), "", "the file has more than 10,000 keys")
			return false
		}
		if column > 0 && flow == 0 {
			for len(columns) > 0 && columns[len(columns)-1] >= column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, column)
		}
		if flow+len(columns) > maxDepth+2 { // lists in an object can be as deep as their keys
			d.tooDeep(placeOf(tk), "")
			return false
		}
	}
	return true
}

// tooDeep reports nesting that would take the stack of each reader after us.
func (d *document) tooDeep(at place, pointer string) {
	d.fault(at, pointer, fmt.Sprintf("is nested deeper than %d levels", maxDepth))
}

// badGrammar rewords a parser's error, whose own text repeats the lines around it.
func (d *document) badGrammar(err error) {
	at := place{1, 1}
	if e, ok := err.(interface{ GetToken() *token.Token }); ok && e.GetToken() != nil {
		at = placeOf(e.GetToken())
	}
	d.fault(at, "", "is not valid YAML")
}

// onlyDocument returns the body of the one document of a file.
func (d *document) onlyDocument(f *ast.File) (body ast.Node, ok bool) {
	var bodies []ast.Node
	for _, doc := range f.Docs {
		switch {
		case doc.Body == nil && doc.Start == nil:
		case doc.Body != nil && doc.Body.Type() == ast.DirectiveType:
			d.fault(placeOf(doc.Body.GetToken()), "", "directives are not supported")
			return nil, false
		case len(bodies) == 1:
			at := placeOf(doc.Start)
			if doc.Start == nil {
				at = start(doc.Body, at)
			}
			d.fault(at, "", "must hold one document only")
			return nil, false
		default:
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 || bodies[0] == nil {
		d.fault(place{1, 1}, "", "the file is empty")
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
