package markdown

import (
	"bytes"
	"regexp"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// URLEnd returns the index in text behind the bare URL that begins at start. Channels, links
// and checks share it, so that they agree on each URL.
//
// A URL ends at white space, at <, and at CJK or typographic punctuation. Right behind a
// quotation mark, [ or < it also ends at the partner of that mark. Marks of a sentence and an
// unbalanced ) at its end do not belong to it. All other characters do:
// https://de.wikipedia.org/wiki/Köln is one URL, and so is https://a.b/?q=*c*&r=1.
func URLEnd(text []byte, start int) int {
	partner := rune(-1)
	if start > 0 {
		partner = partnerOf(text[start-1])
	}
	end, opening, closing := start, 0, 0
	for end < len(text) {
		r, n := rune(text[end]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[end:])
		}
		if r == partner || endsURL(r) {
			break
		}
		switch r {
		case '(':
			opening++
		case ')':
			closing++
		}
		end += n
	}
	return start + trimmedURL(text[start:end], closing-opening)
}

// trimmedURL returns the length of a URL without the marks at its end. It cuts at most
// surplus closing parentheses.
func trimmedURL(url []byte, surplus int) int {
	for n := len(url); n > 0; n-- {
		switch c := url[n-1]; {
		case bytes.IndexByte([]byte("?!.,:*_~"), c) >= 0:
		case c == ')' && surplus > 0:
			surplus--
		default:
			return n
		}
	}
	return 0
}

// partnerOf returns the character that closes c, or -1 if c opens nothing.
func partnerOf(c byte) rune {
	switch c {
	case '"', '\'', '`':
		return rune(c)
	case '[':
		return ']'
	case '<':
		return '>'
	}
	return -1
}

// endsURL reports whether no URL continues at r. It keeps the joiners of scripts and emojis,
// and punctuation within words, such as the dot of Catalan.
func endsURL(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r <= ' ' || r == '<' || r == 0x7f
	case r == utf8.RuneError, unicode.IsSpace(r), unicode.IsControl(r):
		return true
	case unicode.Is(unicode.Cf, r):
		return r != '\u200c' && r != '\u200d' && (r < 0xe0000 || r > 0xe007f)
	}
	return unicode.IsPunct(r) && unicode.Is(endingPunct, r)
}

// endingPunct has the blocks whose punctuation ends a URL: that of sentences in Latin,
// Arabic, Indic and CJK scripts.
var endingPunct = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00a1, 0x00b6, 1}, {0x00bb, 0x00bf, 1}, {0x060c, 0x060c, 1}, {0x061b, 0x061f, 1}, {0x06d4, 0x06d4, 1},
		{0x0964, 0x0965, 1}, {0x2010, 0x205e, 1}, {0x3000, 0x303f, 1}, {0x30fb, 0x30fb, 1}, {0xfe10, 0xfe6f, 1}, {0xff00, 0xffef, 1},
	},
	LatinOffset: 2,
}

// bareLinks finds bare links in place of goldmark's Linkify, which ends a URL at the first letter
// outside ASCII, and reads marks within it.
//
// It looks at each colon. By then the scheme before it is text of the block, and is taken
// back. Addresses of e-mail, and www. without a scheme, are found at the blank before them.
type bareLinks struct{ email parser.InlineParser }

// newBareLinks returns the parser of bare links. goldmark's reads addresses of e-mail alone.
func newBareLinks() bareLinks {
	never := regexp.MustCompile(`^\b\B`)
	return bareLinks{extension.NewLinkifyParser(extension.WithLinkifyURLRegexp(never), extension.WithLinkifyWWWRegexp(never))}
}

// Trigger implements parser.InlineParser.
func (l bareLinks) Trigger() []byte { return append([]byte{':'}, l.email.Trigger()...) }

// Parse implements parser.InlineParser.
func (l bareLinks) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	if line[0] != ':' {
		if node := l.parseWWW(parent, block, pc); node != nil {
			return node
		}
		return l.email.Parse(parent, block, pc)
	}
	source := block.Source()
	scheme := SchemeBefore(source[:segment.Start])
	last, isText := parent.LastChild().(*ast.Text)
	if !isText || scheme == 0 || last.Segment.Stop != segment.Start || last.Segment.Len() < scheme || !hasHost(line, "://") {
		return nil
	}
	start := segment.Start - scheme
	end := urlEndIn(parent, pc, source[:segment.Stop], start)
	block.Advance(end - segment.Start)
	if last.Segment = last.Segment.WithStop(start); last.Segment.Len() == 0 {
		parent.RemoveChild(parent, last)
	}
	return newBareLink(pc, start, end, nil)
}

// parseWWW reads an address that begins with www. at the line's start or behind a trigger.
func (l bareLinks) parseWWW(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, segment := block.PeekLine()
	skip := 0
	if bytes.IndexByte(l.email.Trigger(), line[0]) >= 0 {
		skip = 1
	}
	if !hasHost(line[skip:], "www.") {
		return nil
	}
	start := segment.Start + skip
	end := urlEndIn(parent, pc, block.Source()[:segment.Stop], start)
	if !bytes.ContainsRune(block.Source()[start+len("www."):end], '.') {
		return nil
	}
	if skip > 0 {
		ast.MergeOrAppendTextSegment(parent, segment.WithStop(start))
	}
	block.Advance(end - segment.Start)
	return newBareLink(pc, start, end, []byte("http"))
}

// hasHost reports whether text begins with prefix and a letter or digit of a host.
func hasHost(text []byte, prefix string) bool {
	if !bytes.HasPrefix(text, []byte(prefix)) {
		return false
	}
	r, _ := utf8.DecodeRune(text[len(prefix):])
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// urlEndIn is URLEnd within a table's cell or the label of a link, whose end comes first.
func urlEndIn(parent ast.Node, pc parser.Context, line []byte, start int) int {
	border := byte(0)
	if pc.IsInLinkLabel() {
		border = ']'
	} else if parent.Kind() == extast.KindTableCell {
		border = '|'
	}
	if border != 0 {
		if at := bytes.IndexByte(line[start:], border); at >= 0 {
			line = line[:start+at]
		}
	}
	return URLEnd(line, start)
}

// newBareLink returns the node of a bare URL: a link, or text in the label of another link.
func newBareLink(pc parser.Context, start, end int, protocol []byte) ast.Node {
	url := ast.NewTextSegment(text.NewSegment(start, end))
	if pc.IsInLinkLabel() {
		return url
	}
	link := ast.NewAutoLink(ast.AutoLinkURL, url)
	link.Protocol = protocol
	link.SetPos(start)
	return link
}
