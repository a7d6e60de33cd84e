// This file has the one walk over the tree. It is recursive, which is safe as the tree's
// depth is bounded (maxNesting). A line break at the end of a block is dropped here, so
// that no form has to.

package channel

// form is what a channel makes of what the walk meets.
//
// Calls come in the order of the text. leave comes exactly once for each enter that
// returned true.
type form interface {
	// enter says whether the walk goes on into n. If not, leave is not called.
	enter(n *node) bool
	leave(n *node)
	// literal is a text, or nothing but a line break.
	literal(s string)
	lineBreak()
}

// walk tells f of the tree below n, in order.
func walk(f form, n *node) {
	for c := n.first; c != nil; c = c.next {
		switch c.kind {
		case literal:
			f.literal(c.text)
		case lineBreak:
			if c.next != nil {
				f.lineBreak()
			}
		default:
			if f.enter(c) {
				walk(f, c)
				f.leave(c)
			}
		}
	}
}

// textOf returns the text of a node without its markup.
func textOf(n *node) string {
	if n.first != nil && n.first.next == nil && n.first.kind == literal {
		return n.first.text
	}
	var b []byte
	return string(appendText(b, n))
}

// appendText appends the text of all below n, without markup.
func appendText(b []byte, n *node) []byte {
	for c := n.first; c != nil; c = c.next {
		switch c.kind {
		case literal, code, codeBlock:
			b = append(b, c.text...)
		case lineBreak:
			b = append(b, ' ')
		default:
			b = appendText(b, c)
			if c.kind >= paragraph && c.kind <= cell && c.next != nil {
				b = append(b, ' ')
			}
		}
	}
	return b
}

// shown says whether the target of a link is its text, so that it need not be told.
//
// http://example.org and example.org count as the same to a reader.
func shown(n *node, text string) bool {
	if text == "" {
		return false
	}
	if text == n.to.url {
		return true
	}
	for _, scheme := range [...]string{"mailto:", "tel:", "http://", "https://"} {
		if len(n.to.url) == len(scheme)+len(text) && n.to.url[:len(scheme)] == scheme && n.to.url[len(scheme):] == text {
			return true
		}
	}
	return false
}
