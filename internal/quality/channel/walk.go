// This file has the one walk over the tree. It is recursive, and safe because the tree's depth is
// bounded (maxNesting). A line break at the end of a block is dropped here, so that no form has to.

package channel

import (
	"strings"

	"sluice/internal/base/markdown"
)

// form writes the nodes of a walk in the form of a channel.
//
// Calls come in the order of the text. leaveNode comes exactly once for each enterNode that
// returned true.
type form interface {
	// enterNode reports whether the walk continues into n. If not, leaveNode is not called.
	enterNode(n *node) bool
	leaveNode(n *node)
	// addText is a text, or nothing but a line break.
	addText(s string)
	lineBreak()
}

// walkTree gives f the tree below n, in order, until w is over.
func walkTree(w *markdown.Watch, f form, n *node) {
	for c := n.first; c != nil && !w.IsOver(); c = c.next {
		switch c.kind {
		case literal:
			f.addText(c.text)
		case lineBreak:
			if c.next != nil {
				f.lineBreak()
			}
		default:
			if f.enterNode(c) {
				walkTree(w, f, c)
				f.leaveNode(c)
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

// showsTarget reports whether the target of a link is its text, so that it need not be written.
//
// http://example.org and example.org count as the same to a reader, and so does a number
// however its digits are parted (RFC 3966, section 3).
func showsTarget(n *node, text string) bool {
	if text == "" {
		return false
	}
	if text == n.to.url {
		return true
	}
	for _, scheme := range [...]string{"mailto:", "http://", "https://"} {
		if rest, ok := strings.CutPrefix(n.to.url, scheme); ok {
			return rest == text || removeSigns(rest, " ") == removeSigns(text, " \u00a0")
		}
	}
	const separators = " \u00a0-.()/"
	number, ok := strings.CutPrefix(n.to.url, "tel:")
	return ok && removeSigns(number, separators) == removeSigns(strings.TrimPrefix(text, "tel:"), separators)
}

// removeSigns returns a text without any of signs.
func removeSigns(text, signs string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(signs, r) {
			return -1
		}
		return r
	}, text)
}
