// This file makes the HTML of an e-mail. Nothing of the source is taken over as markup: the
// form writes a closed set of elements with fixed attributes, and all text is escaped.
// There are no images, scripts, style sheets or remote addresses but the targets of links,
// which tree.go has checked.

package channel

import (
	"cmp"
	"strconv"
	"strings"
)

// htmlForm makes the HTML of an e-mail: elements of a closed set with inline style, all
// else escaped. What it writes is what golang.org/x/net/html writes of it, so that a
// sanitizer leaves every byte as it is.
//
// rows is the number of the row in the table at hand; 0 is its header. Tables do not nest,
// as Markdown has no such thing.
type htmlForm struct {
	features Features // that are shown as such
	degrade  func(kind)

	buf   []byte
	rows  int
	tight []bool // of the lists at hand: their items hold no paragraphs
}

// Styles are those that clients of e-mail keep.
const (
	styleBody   = `font-family: Arial, Helvetica, sans-serif; font-size: 15px; line-height: 1.5`
	styleCode   = `font-family: Consolas, Menlo, monospace; font-size: 13px`
	styleBrand  = `margin: 0 0 16px 0; padding: 0 0 8px 0; border-bottom: 1px solid #cccccc; color: #666666`
	stylePre    = `padding: 8px; background-color: #f4f4f4; font-family: Consolas, Menlo, monospace; font-size: 13px; white-space: pre-wrap`
	styleQuote  = `margin: 0 0 0 8px; padding: 0 0 0 8px; border-left: 3px solid #cccccc`
	styleTable  = `border-collapse: collapse`
	styleHeader = `padding: 4px 8px; border: 1px solid #cccccc; text-align: start; background-color: #f4f4f4`
	styleCell   = `padding: 4px 8px; border: 1px solid #cccccc; text-align: start`
)

// write appends markup.
func (f *htmlForm) write(s string) { f.buf = append(grown(f.buf, len(s)), s...) }

// literal appends text, escaped.
func (f *htmlForm) literal(s string) { f.buf = appendHTML(f.buf, s) }

// lineBreak ends a line.
func (f *htmlForm) lineBreak() { f.write("<br>\n") }

// appendHTML escapes as golang.org/x/net/html does.
//
// It escapes quotes too, so that the same function serves attributes.
func appendHTML(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		var with string
		switch s[i] {
		case '&':
			with = "&amp;"
		case '<':
			with = "&lt;"
		case '>':
			with = "&gt;"
		case '"':
			with = "&#34;"
		case '\'':
			with = "&#39;"
		default:
			continue
		}
		b = append(append(b, s[from:i]...), with...)
		from = i + 1
	}
	return append(b, s[from:]...)
}

// enter begins a node. Directions are automatic: an answer may hold Arabic and
// English.
func (f *htmlForm) enter(n *node) bool {
	if featureOf(n.kind) != 0 && !f.features.has(n.kind) {
		return f.tell(n)
	}
	switch n.kind {
	case paragraph:
		if !f.inItem() {
			f.write(`<p dir="auto">`)
		}
	case heading:
		f.write(`<h` + strconv.Itoa(n.number) + ` dir="auto">`)
	case codeBlock:
		f.write(`<pre dir="auto" style="` + stylePre + `">`)
		if strings.HasPrefix(n.text, "\n") {
			f.write("\n") // the first one is not shown
		}
		f.literal(n.text)
		f.write("</pre>\n")
		return false
	case quote:
		f.open(`<blockquote dir="auto" style="` + styleQuote + `">` + "\n")
	case list:
		f.enterList(n)
	case item:
		f.write(`<li dir="auto">`)
	case rule:
		f.write("<hr>\n")
	case table:
		f.write(`<table dir="auto" style="` + styleTable + `"><tbody>` + "\n")
		f.rows = 0
	case row:
		f.write("<tr>")
	case cell:
		f.write(f.cell())
	case bold:
		f.write("<strong>")
	case italic:
		f.write("<em>")
	case struck:
		f.write("<del>")
	case code:
		f.write(`<code style="` + styleCode + `">`)
		f.literal(n.text)
		f.write("</code>")
		return false
	case link, image:
		return f.link(n)
	}
	return true
}

// tell begins a node that is shown without markup of its own. A block becomes the lines that
// it has in the plain form.
func (f *htmlForm) tell(n *node) bool {
	f.degrade(n.kind)
	switch n.kind {
	case heading:
		f.write(`<p dir="auto">`)
	case struck:
		f.literal("[struck out: ")
	case bold, italic:
	case code:
		f.literal(n.text)
		return false
	case link, image:
		text := textOf(n)
		if text != "" && !shown(n, text) {
			return true
		}
		f.literal(cmp.Or(text, n.to.url))
		f.title(n)
		return false
	default:
		text, one := newTextForm(0, false, 0), *n
		one.next = nil
		walk(text, &node{first: &one})
		f.write(`<p dir="auto">`)
		for i, line := range strings.Split(string(text.buf), "\n") {
			if i > 0 {
				f.lineBreak()
			}
			f.literal(indented(line))
		}
		f.write("</p>\n")
		return false
	}
	return true
}

// told ends what tell began.
func (f *htmlForm) told(n *node) {
	switch n.kind {
	case heading:
		f.write("</p>\n")
	case struck:
		f.literal("]")
	case link, image:
		if n.to.url != "" {
			f.literal(" (" + n.to.url + ")")
		}
		f.title(n)
	}
}

// title tells a link's title where it cannot be an attribute.
func (f *htmlForm) title(n *node) {
	if n.to.title != "" {
		f.literal(` "` + n.to.title + `"`)
	}
}

// open opens an element in which paragraphs have their tags.
func (f *htmlForm) open(s string) {
	f.write(s)
	f.tight = append(f.tight, false)
}

// close closes what open opened.
func (f *htmlForm) close(s string) {
	f.write(s)
	f.tight = f.tight[:len(f.tight)-1]
}

// inItem says whether a paragraph is the text of an item, and so has no tags.
func (f *htmlForm) inItem() bool { return len(f.tight) > 0 && f.tight[len(f.tight)-1] }

// enterList begins a list, which counts from the number that the source has.
func (f *htmlForm) enterList(n *node) {
	tag := "<ul>\n"
	if n.first != nil && n.first.text != bullet {
		tag = "<ol>\n"
		if n.first.number != 1 {
			tag = `<ol start="` + strconv.Itoa(n.first.number) + "\">\n"
		}
	}
	f.write(tag)
	f.tight = append(f.tight, isTight(n))
}

// isTight says whether no item of a list holds two paragraphs.
//
// A tight list is shown without the space between items (CommonMark 0.31.2, section 5.3, by
// what the tree still knows of it).
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

// cell opens a cell. Styles stand in attributes, because mail programs drop
// style sheets.
func (f *htmlForm) cell() string {
	if f.rows == 0 {
		return `<th dir="auto" style="` + styleHeader + `">`
	}
	return `<td dir="auto" style="` + styleCell + `">`
}

// link writes a link, which an image is too: nothing is loaded from afar.
//
// A link whose target was dropped is its text alone. The target is escaped as an attribute.
func (f *htmlForm) link(n *node) bool {
	if n.to.url == "" {
		return true
	}
	f.write(`<a href="`)
	f.literal(n.to.url)
	f.write(`"`)
	if n.to.title != "" {
		f.write(` title="`)
		f.literal(n.to.title)
		f.write(`"`)
	}
	f.write(">")
	if textOf(n) == "" {
		f.literal(n.to.url)
		f.write("</a>")
		return false
	}
	return true
}

// leave ends a node.
func (f *htmlForm) leave(n *node) {
	if featureOf(n.kind) != 0 && !f.features.has(n.kind) {
		f.told(n)
		return
	}
	switch n.kind {
	case paragraph:
		if !f.inItem() {
			f.write("</p>\n")
		} else if n.next != nil {
			f.write("\n")
		}
	case heading:
		f.write("</h" + strconv.Itoa(n.number) + ">\n")
	case quote:
		f.close("</blockquote>\n")
	case list:
		tag := "</ul>\n"
		if n.first != nil && n.first.text != bullet {
			tag = "</ol>\n"
		}
		f.close(tag)
	case item:
		f.write("</li>\n")
	case table:
		f.write("</tbody></table>\n")
	case row:
		f.write("</tr>\n")
		f.rows++
	case cell:
		f.write("</" + f.cell()[1:3] + ">")
	case bold:
		f.write("</strong>")
	case italic:
		f.write("</em>")
	case struck:
		f.write("</del>")
	case link, image:
		if n.to.url != "" {
			f.write("</a>")
		} else {
			f.title(n)
		}
	}
}

// head begins the document of an e-mail. lang is a language tag, or empty.
//
// title and brand are texts and are escaped. The caller closes the div, the body and the
// document.
func (f *htmlForm) head(lang, title, brand string) {
	f.write("<!DOCTYPE html>\n<html")
	if lang != "" {
		f.write(` lang="`)
		f.literal(lang)
		f.write(`"`)
	}
	f.write(`><head><meta charset="utf-8"><title>`)
	f.literal(title)
	f.write("</title></head>\n" + `<body><div dir="auto" style="` + styleBody + `">` + "\n")
	if brand != "" {
		f.write(`<p dir="auto" style="` + styleBrand + `">`)
		f.literal(brand)
		f.write("</p>\n")
	}
}
