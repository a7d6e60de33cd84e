// This file makes the HTML of an e-mail. No markup of the source is taken over: the form writes a
// closed set of elements with fixed attributes, and escapes all text. Images, scripts, style sheets
// and remote addresses never occur. The targets of links, checked by tree.go, are the exception.

package channel

import (
	"cmp"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/bidi"
)

// htmlForm makes the HTML of an e-mail: elements of a closed set with inline style, all else
// escaped. Its output is what golang.org/x/net/html would write again, so that a sanitizer leaves
// every byte as it is.
//
// rows is the number of the row in the table at hand; 0 is its header. Tables do not nest in
// Markdown.
type htmlForm struct {
	features Features // that are shown as such
	degrade  func(kind)

	buf    []byte
	rows   int
	blocks []openBlock // the quotes and lists at hand
	turned bool        // the paragraph at hand runs against its list
}

// openBlock is a quote or a list. A tight list holds no paragraphs in its items.
type openBlock struct {
	tight bool
	dir   string
}

// Styles are those that clients of e-mail keep.
const (
	styleBody   = `font-family: Arial, Helvetica, sans-serif; font-size: 15px; line-height: 1.5`
	styleCode   = `font-family: Consolas, Menlo, monospace; font-size: 13px`
	styleBrand  = `margin: 0 0 16px 0; padding: 0 0 8px 0; border-bottom: 1px solid #cccccc; color: #666666`
	stylePre    = `padding: 8px; background-color: #f4f4f4; font-family: Consolas, Menlo, monospace; font-size: 13px; white-space: pre-wrap`
	styleQuote  = `margin: 0 0 0 8px; padding: 0 0 0 8px; border-left: 3px solid #cccccc`
	styleQuoted = `margin: 0 8px 0 0; padding: 0 8px 0 0; border-right: 3px solid #cccccc` // right to left
	styleWide   = `max-width: 100%; overflow-x: auto`
	styleTable  = `border-collapse: collapse`
	styleHeader = `padding: 4px 8px; border: 1px solid #cccccc; background-color: #f4f4f4; text-align: `
	styleCell   = `padding: 4px 8px; border: 1px solid #cccccc; text-align: `
)

// alignments are those that a cell may have, by its number.
var alignments = [...]string{"start", "left", "right", "center"}

// tags are the first and the last tag of a kind of node, whatever it contains.
var tags = [...]struct{ open, close string }{
	item:      {"<li>", "</li>\n"},
	rule:      {"<hr>\n", ""},
	table:     {"", "</tbody></table></div>\n"},
	row:       {"<tr>", "</tr>\n"},
	bold:      {"<strong>", "</strong>"},
	italic:    {"<em>", "</em>"},
	struck:    {"<del>", "</del>"},
	lineBreak: {},
}

// writeMarkup appends markup.
func (f *htmlForm) writeMarkup(s string) { f.buf = append(growBuffer(f.buf, len(s)), s...) }

// addText appends text, escaped.
func (f *htmlForm) addText(s string) { f.buf = appendHTML(f.buf, s) }

// lineBreak ends a line.
func (f *htmlForm) lineBreak() { f.writeMarkup("<br>\n") }

// entities are what characters of HTML are written as.
var entities = [256]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&#34;", '\'': "&#39;"}

// appendHTML escapes as golang.org/x/net/html does.
//
// It escapes quotes too, so that the same function serves attributes.
func appendHTML(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		if with := entities[s[i]]; with != "" {
			b = append(append(b, s[from:i]...), with...)
			from = i + 1
		}
	}
	return append(b, s[from:]...)
}

// enterNode begins a node. Its direction is that of its text: an answer may mix Arabic and English,
// and the effect of dir="auto" ends at the first block within.
func (f *htmlForm) enterNode(n *node) bool {
	if f.features.lacks(n.kind) {
		return f.beginText(n)
	}
	f.writeMarkup(tags[n.kind].open)
	switch n.kind {
	case paragraph:
		f.enterParagraph(n)
	case heading:
		f.writeMarkup("<h" + strconv.Itoa(n.number) + directionAttr(n) + ">")
	case codeBlock:
		f.writeMarkup("<pre" + directionAttr(n) + ` style="` + stylePre + `">`)
		if strings.HasPrefix(n.text, "\n") {
			f.writeMarkup("\n") // the first one is not shown
		}
		f.addText(n.text)
		f.writeMarkup("</pre>\n")
		return false
	case quote:
		f.enterQuote(n)
	case list:
		f.enterList(n)
	case table:
		f.writeMarkup(`<div style="` + styleWide + `"><table` + directionAttr(n) + ` style="` + styleTable + `"><tbody>` + "\n")
		f.rows = 0
	case cell:
		f.writeMarkup(f.cellTag(n))
	case code:
		f.writeMarkup(`<code style="` + styleCode + `">`)
		f.addText(n.text)
		f.writeMarkup("</code>")
		return false
	case link, image:
		return f.enterLink(n)
	}
	return true
}

// beginText begins a node that is shown without markup of its own. A block becomes the lines that
// it has in the plain form.
func (f *htmlForm) beginText(n *node) bool {
	f.degrade(n.kind)
	switch n.kind {
	case heading:
		f.writeMarkup("<p" + directionAttr(n) + ">")
	case struck:
		f.addText("[struck out: ")
	case bold, italic:
	case code:
		f.addText(n.text)
		return false
	case link, image:
		return f.beginTarget(n)
	default:
		f.plainLines(n)
		return false
	}
	return true
}

// beginTarget begins a link or an image, and shows its text.
func (f *htmlForm) beginTarget(n *node) bool {
	text := textOf(n)
	if text != "" && !showsTarget(n, text) {
		return true
	}
	f.addText(cmp.Or(text, n.to.url))
	f.writeTitle(n)
	return false
}

// plainLines writes the lines that a node has in the plain form.
func (f *htmlForm) plainLines(n *node) {
	text, one := newTextForm(0, false, 0), *n
	one.next = nil
	walkTree(nil, text, &node{first: &one})
	f.writeMarkup("<p" + directionAttr(n) + ">")
	for i, line := range strings.Split(string(text.buf), "\n") {
		if i > 0 {
			f.lineBreak()
		}
		f.addText(keepIndent(line))
	}
	f.writeMarkup("</p>\n")
}

// endText ends what beginText began.
func (f *htmlForm) endText(n *node) {
	switch n.kind {
	case heading:
		f.writeMarkup("</p>\n")
	case struck:
		f.addText("]")
	case link, image:
		if n.to.url != "" {
			f.addText(" (" + n.to.url + ")")
		}
		f.writeTitle(n)
	}
}

// writeTitle writes a link's title as text where it cannot be an attribute.
func (f *htmlForm) writeTitle(n *node) {
	if n.to.title != "" {
		f.addText(` "` + n.to.title + `"`)
	}
}

// enterQuote begins a quote, whose line stands where its text begins.
func (f *htmlForm) enterQuote(n *node) {
	dir, style := directionAttr(n), styleQuote
	if dir == rightToLeft {
		style = styleQuoted
	}
	f.writeMarkup("<blockquote" + dir + ` style="` + style + `">` + "\n")
	f.blocks = append(f.blocks, openBlock{false, dir})
}

// enterParagraph begins a paragraph. The text of an item gets a tag only if its direction differs
// from the list's.
func (f *htmlForm) enterParagraph(n *node) {
	if !f.inItem() {
		f.writeMarkup("<p" + directionAttr(n) + ">")
	} else if dir := directionAttr(n); dir != "" && dir != f.blocks[len(f.blocks)-1].dir {
		f.turned = true
		f.writeMarkup("<span" + dir + ">")
	}
}

// leaveParagraph ends what enterParagraph began.
func (f *htmlForm) leaveParagraph(n *node) {
	switch {
	case !f.inItem():
		f.writeMarkup("</p>\n")
		return
	case f.turned:
		f.turned = false
		f.writeMarkup("</span>")
	}
	if n.next != nil {
		f.writeMarkup("\n")
	}
}

// closeBlock ends a quote or a list.
func (f *htmlForm) closeBlock(s string) {
	f.writeMarkup(s)
	f.blocks = f.blocks[:len(f.blocks)-1]
}

// inItem reports whether a paragraph is the text of an item and so needs tags only for its
// direction.
func (f *htmlForm) inItem() bool { return len(f.blocks) > 0 && f.blocks[len(f.blocks)-1].tight }

// enterList begins a list, which counts from the number that the source has.
func (f *htmlForm) enterList(n *node) {
	tag, dir := "<ul", directionAttr(n)
	if n.first != nil && n.first.text != bullet {
		tag = "<ol"
		if n.first.number != 1 {
			tag += ` start="` + strconv.Itoa(n.first.number) + `"`
		}
	}
	f.writeMarkup(tag + dir + ">\n")
	f.blocks = append(f.blocks, openBlock{isTight(n), dir})
}

// isTight reports whether no item of a list holds two paragraphs.
//
// A tight list is shown without space between items (CommonMark 0.31.2, section 5.3, as far as the
// tree shows it).
func isTight(n *node) bool {
	for it := n.first; it != nil; it = it.next {
		for c, seen := it.first, false; c != nil; c = c.next {
			if c.kind == paragraph && seen {
				return false
			}
			seen = seen || c.kind == paragraph
		}
	}
	return true
}

// cellTag opens a cell. Styles stand in attributes, because mail programs drop
// style sheets.
func (f *htmlForm) cellTag(n *node) string {
	if f.rows == 0 {
		return "<th" + directionAttr(n) + ` style="` + styleHeader + alignments[n.number] + `">`
	}
	return "<td" + directionAttr(n) + ` style="` + styleCell + alignments[n.number] + `">`
}

// enterLink writes a link. An image becomes one too: mails load nothing from afar.
//
// A link whose target was dropped is its text alone. The target is escaped as an attribute.
func (f *htmlForm) enterLink(n *node) bool {
	if n.to.url == "" {
		return true
	}
	f.writeMarkup(`<a href="`)
	f.addText(n.to.url)
	f.writeMarkup(`"`)
	if n.to.title != "" {
		f.writeMarkup(` title="`)
		f.addText(n.to.title)
		f.writeMarkup(`"`)
	}
	f.writeMarkup(">")
	if textOf(n) == "" {
		f.addText(n.to.url)
		f.writeMarkup("</a>")
		return false
	}
	return true
}

// leaveNode ends a node.
func (f *htmlForm) leaveNode(n *node) {
	if f.features.lacks(n.kind) {
		f.endText(n)
		return
	}
	f.writeMarkup(tags[n.kind].close)
	switch n.kind {
	case paragraph:
		f.leaveParagraph(n)
	case heading:
		f.writeMarkup("</h" + strconv.Itoa(n.number) + ">\n")
	case quote:
		f.closeBlock("</blockquote>\n")
	case list:
		tag := "</ul>\n"
		if n.first != nil && n.first.text != bullet {
			tag = "</ol>\n"
		}
		f.closeBlock(tag)
	case row:
		f.rows++
	case cell:
		f.writeMarkup("</" + f.cellTag(n)[1:3] + ">")
	case link, image:
		if n.to.url != "" {
			f.writeMarkup("</a>")
		} else {
			f.writeTitle(n)
		}
	}
}

// writeHead begins the document of an e-mail. lang is a language tag, or empty.
//
// title and brand are texts and are escaped, dir is the direction of the whole. The caller
// closes the div, the body and the document.
func (f *htmlForm) writeHead(lang, dir, title, brand string) {
	f.writeMarkup("<!DOCTYPE html>\n<html")
	if lang != "" {
		f.writeMarkup(` lang="`)
		f.addText(lang)
		f.writeMarkup(`"`)
	}
	f.writeMarkup(`><head><meta charset="utf-8"><title>`)
	f.addText(title)
	f.writeMarkup("</title></head>\n" + `<body><div` + cmp.Or(dir, leftToRight) + ` style="` + styleBody + `">` + "\n")
	if brand != "" {
		f.writeMarkup(`<p` + directionAttr(&node{first: &node{kind: literal, text: brand}}) + ` style="` + styleBrand + `">`)
		f.addText(brand)
		f.writeMarkup("</p>\n")
	}
}

// Attributes of direction.
const (
	leftToRight = ` dir="ltr"`
	rightToLeft = ` dir="rtl"`
)

// directionOf returns the attribute for text of a direction, or "".
func directionOf(class bidi.Class) string {
	switch class {
	case bidi.L:
		return leftToRight
	case bidi.R:
		return rightToLeft
	}
	return ""
}

// directionAttr returns the attribute for the direction of a node: that of the first strong
// character of its text. It is empty without a strong character: the node takes the direction
// around it.
func directionAttr(n *node) string {
	if n.kind == codeBlock || n.kind == code || n.kind == literal {
		if dir := directionOf(strongClass(n.text)); dir != "" {
			return dir
		}
	}
	for c := n.first; c != nil; c = c.next {
		if dir := directionAttr(c); dir != "" {
			return dir
		}
	}
	return ""
}
