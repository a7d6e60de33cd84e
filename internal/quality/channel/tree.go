// This file makes our own tree of what goldmark parsed. The tree has only what channels
// distinguish, its texts are parts of the source (escapes and entities resolved), and its depth is
// bounded. Parts that a Markdown reader would not see are kept as text: raw HTML, definitions of
// links, cells beyond the header, the words after a fence.
//
// Here is also the only place that decides where a link may lead.

package channel

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"sluice/internal/base/markdown"
)

// kind is the kind of a node.
type kind uint8

const (
	document kind = iota
	paragraph
	heading
	codeBlock
	quote
	list
	item
	rule
	table
	row // the first one of a table is its header
	cell

	literal // text
	bold
	italic
	struck
	code
	link
	image
	lineBreak
)

// node is a part of the tree. Its strings are parts of the source if the source has the same text.
//
// It belongs to an arena and is valid until that is reset. Siblings are a list: channels
// walk once, in order.
type node struct {
	kind        kind
	kids        int32
	number      int   // of an item of a numbered list, a heading's level, a cell's alignment
	first, last *node // the children
	next        *node
	// text is that of literal, code and codeBlock, which ends without a line end. For an item it is
	// the mark and a space: "- ", "3. " or "3) ".
	text string
	to   *target // of link and image
}

// target is where a link leads.
type target struct {
	url   string // empty: it was dropped
	title string
}

// bullet is the mark of an item of a list without numbers.
const bullet = "- "

// arena hands out nodes. reset keeps the nodes for the next tree: they are most of the memory of a
// text.
//
// The zero value is empty. It does not shrink below keptSlabs, and a single long text does
// not make it keep more.
type arena struct {
	slabs [][]node
	slab  int // that nodes come from
	used  int // of that one
}

const (
	slabSize  = 128
	keptSlabs = 32 // about 300 KB, enough for a text of 32 KB
)

// newNode returns a new node.
//
// Its other fields are zero: reset has cleared the used nodes.
func (a *arena) newNode(k kind) *node {
	if a.slab < len(a.slabs) && a.used == slabSize {
		a.slab, a.used = a.slab+1, 0
	}
	if a.slab == len(a.slabs) {
		a.slabs = append(a.slabs, make([]node, slabSize))
	}
	n := &a.slabs[a.slab][a.used]
	a.used++
	n.kind = k
	return n
}

// reset takes all nodes back. The caller must not use a node after that.
func (a *arena) reset() {
	for i, slab := range a.slabs {
		if i < a.slab {
			clear(slab)
		} else if i == a.slab {
			clear(slab[:a.used])
		}
	}
	if len(a.slabs) > keptSlabs {
		clear(a.slabs[keptSlabs:])
		a.slabs = a.slabs[:keptSlabs]
	}
	a.slab, a.used = 0, 0
}

// tree makes nodes of what goldmark found.
//
// It is for one source. dropped and ignored are reported in the Metadata.
type tree struct {
	watch   *markdown.Watch // may be nil
	source  string
	raw     []byte
	nodes   *arena
	dropped int  // targets of links
	markup  bool // there is some
	depth   int
	ignored bool                // the markup was not read
	emojis  func(string) string // what becomes of those of a text; nil: they stay
}

// maxNesting is how deep blocks and spans are kept as such; what lies deeper belongs to
// the block around it.
const maxNesting = 40

// parseSource makes the tree of a source that is clean.
//
// A source whose nesting would cost a parser too much is not parsed: it is text, with ignored set.
// goldmark may keep parts of raw, a copy of the source. If the watch ends the work, the tree is
// incomplete.
func (t *tree) parseSource(source *markdown.Source) *node {
	t.source = source.Text()
	root := t.nodes.newNode(document)
	if source.Plain() {
		t.addPlain(root)
		return root
	}
	parsed, raw := source.Tree()
	if parsed == nil {
		t.ignored = true
		t.addPlain(root)
		return root
	}
	t.raw = raw
	t.addChildren(root, parsed)
	return root
}

// addPlain makes the source paragraphs of text.
func (t *tree) addPlain(root *node) {
	for para := range strings.SplitSeq(t.source, "\n\n") {
		if t.watch.IsOver() {
			return
		}
		if para = strings.Trim(para, "\n"); para == "" {
			continue
		}
		p := t.addNode(root, paragraph)
		for line := range strings.SplitSeq(para, "\n") {
			if t.watch.IsOver() {
				return
			}
			if p.first != nil {
				t.addNode(p, lineBreak)
			}
			t.addLiteral(p, line)
		}
		t.endLine(p)
	}
}

// addNode adds a node as parent's last child.
func (t *tree) addNode(parent *node, k kind) *node {
	if k == lineBreak {
		t.endLine(parent)
	}
	n := t.nodes.newNode(k)
	if parent.first == nil {
		parent.first = n
	} else {
		parent.last.next = n
	}
	parent.last = n
	parent.kids++
	return n
}

// endLine takes the blanks that emojis have left from the end of a line.
func (t *tree) endLine(parent *node) {
	if last := parent.last; t.emojis != nil && last != nil && last.kind == literal {
		if text := strings.TrimRight(last.text, " "); text != "" {
			last.text = text
		}
	}
}

// addLiteral adds text.
func (t *tree) addLiteral(parent *node, s string) {
	if t.emojis != nil {
		s = t.emojis(s)
	}
	if s != "" {
		t.addNode(parent, literal).text = s
	}
}

// addChildren adds from's children to parent. Below maxNesting they are added
// without the node that holds them.
func (t *tree) addChildren(parent *node, from ast.Node) {
	t.depth++
	for c := from.FirstChild(); c != nil && !t.watch.IsOver(); c = c.NextSibling() {
		if from.Type() != ast.TypeInline && c.Type() == ast.TypeBlock {
			t.addBlock(parent, c)
		} else if s, ok := c.(*ast.Text); ok {
			c = t.addRun(parent, s)
		} else {
			t.addInline(parent, c)
		}
	}
	if from.Type() == ast.TypeBlock {
		t.endLine(parent)
	}
	t.depth--
}

// addRun adds texts that lie side by side as one: the parser parts them wherever it looked for
// markup. It returns the last of them.
func (t *tree) addRun(parent *node, from *ast.Text) ast.Node {
	segment, last := from.Segment, from
	for !last.SoftLineBreak() && !last.HardLineBreak() {
		next, ok := last.NextSibling().(*ast.Text)
		if !ok || next.Segment.Start != segment.Stop {
			break
		}
		segment.Stop, last = next.Segment.Stop, next
	}
	t.addLiteral(parent, t.resolveText(segment))
	if last.SoftLineBreak() || last.HardLineBreak() {
		t.addNode(parent, lineBreak)
	}
	return last
}

// addInside adds a node of kind k with the children of from. If it lies too deep, it adds only the
// children.
//
// Text that lies too deep is kept; only the markup around it goes.
func (t *tree) addInside(parent *node, k kind, from ast.Node) *node {
	t.markup = true
	if t.depth > maxNesting {
		t.addChildren(parent, from)
		return parent
	}
	n := t.addNode(parent, k)
	t.addChildren(n, from)
	return n
}

// addBlock adds a block.
func (t *tree) addBlock(parent *node, from ast.Node) {
	switch from := from.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		t.addChildren(t.addNode(parent, paragraph), from)
	case *ast.Heading:
		t.markup = true
		n := t.addNode(parent, heading)
		n.number = from.Level
		t.addChildren(n, from)
	case *ast.CodeBlock:
		t.addCode(parent, from.Lines(), "")
	case *ast.FencedCodeBlock:
		t.addFence(parent, from)
	case *ast.HTMLBlock:
		t.addHTML(parent, from)
	case *ast.Blockquote:
		t.addInside(parent, quote, from)
	case *ast.List:
		t.addList(parent, from)
	case *ast.ThematicBreak:
		t.markup = true
		t.addNode(parent, rule)
	case *ast.LinkReferenceDefinition:
		t.addDefinition(parent, from)
	case *extast.Table:
		t.addTable(parent, from)
	default:
		t.addChildren(parent, from)
	}
}

// joinLines returns the lines as one text, without the markup in front of them.
func (t *tree) joinLines(s *text.Segments) string {
	if s.Len() == 1 && s.At(0).Padding == 0 {
		return t.source[s.At(0).Start:s.At(0).Stop]
	}
	var b strings.Builder
	for i := range s.Len() {
		line := s.At(i)
		for range line.Padding {
			b.WriteByte(' ')
		}
		b.WriteString(t.source[line.Start:line.Stop])
	}
	return b.String()
}

// addCode adds a block of code. Its language is written as text, as few channels show it.
func (t *tree) addCode(parent *node, lines *text.Segments, info string) {
	t.markup = true
	if info != "" {
		t.addLiteral(t.addNode(parent, paragraph), info)
	}
	t.addNode(parent, codeBlock).text = strings.TrimRight(t.joinLines(lines), "\n")
}

// addFence keeps the words after ``` as text. A single word is dropped: it names a language for
// colouring.
func (t *tree) addFence(parent *node, from *ast.FencedCodeBlock) {
	info := ""
	if from.Info != nil {
		info = strings.TrimSpace(t.resolveText(from.Info.Segment))
	}
	if !strings.ContainsAny(info, " \t") {
		info = ""
	}
	t.addCode(parent, from.Lines(), info)
}

// addHTML is text for us.
func (t *tree) addHTML(parent *node, from *ast.HTMLBlock) {
	s := t.joinLines(from.Lines())
	if from.HasClosure() {
		s += t.source[from.ClosureLine.Start:from.ClosureLine.Stop]
	}
	p := t.addNode(parent, paragraph)
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		if p.first != nil {
			t.addNode(p, lineBreak)
		}
		t.addLiteral(p, strings.TrimSpace(line))
	}
}

// addDefinition keeps a target that a reader of Markdown would see only where it is used.
func (t *tree) addDefinition(parent *node, from *ast.LinkReferenceDefinition) {
	t.addLiteral(t.addNode(parent, paragraph), strings.TrimSpace(t.joinLines(from.Lines())))
}

// addList adds a list, numbered as the source is.
func (t *tree) addList(parent *node, from *ast.List) {
	n, number := parent, from.Start
	if t.markup = true; t.depth <= maxNesting {
		n = t.addNode(parent, list)
	}
	for c := from.FirstChild(); c != nil; c = c.NextSibling() {
		child := t.addInside(n, item, c)
		if child == n {
			continue
		}
		child.text = bullet
		if from.IsOrdered() {
			child.number = number
			child.text = ordinalMark(number, from.Marker)
			number++
		}
	}
}

// addTable adds a table. A row may have more cells than the header.
func (t *tree) addTable(parent *node, from *extast.Table) {
	n := t.addNode(parent, table)
	t.markup = true
	t.depth++
	for r := from.FirstChild(); r != nil; r = r.NextSibling() {
		line := t.addNode(n, row)
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			column := t.addNode(line, cell)
			column.number = alignmentOf(c)
			t.addChildren(column, c)
		}
	}
	t.depth--
}

// alignmentOf returns that of a cell, as a number of alignments.
func alignmentOf(n ast.Node) int {
	c, _ := n.(*extast.TableCell)
	switch {
	case c == nil || c.Alignment == extast.AlignNone:
		return 0
	case c.Alignment == extast.AlignLeft:
		return 1
	case c.Alignment == extast.AlignRight:
		return 2
	}
	return 3
}

// addInline adds a node within a line.
func (t *tree) addInline(parent *node, from ast.Node) {
	switch from := from.(type) {
	case *ast.String:
		t.addLiteral(parent, string(from.Value))
	case *ast.CodeSpan:
		t.markup = true
		t.addNode(parent, code).text = t.spanText(from)
	case *ast.Emphasis:
		k := italic
		if from.Level == 2 {
			k = bold
		}
		t.addInside(parent, k, from)
	case *extast.Strikethrough:
		t.addInside(parent, struck, from)
	case *ast.Link:
		n := t.addInside(parent, link, from)
		if n == parent { // it lies too deep to be one
			n = t.addNode(parent, link)
		}
		t.setTarget(n, from.Destination, from.Title)
	case *ast.Image:
		n := t.addInside(parent, image, from)
		if n == parent {
			n = t.addNode(parent, image)
		}
		t.setTarget(n, from.Destination, from.Title)
	case *ast.AutoLink:
		t.autoLink(parent, from)
	case *ast.RawHTML:
		t.addLiteral(parent, strings.ReplaceAll(t.joinLines(from.Segments), "\n", " "))
	case *extast.TaskCheckBox:
		t.addTask(parent, from.IsChecked)
	default:
		t.addChildren(parent, from)
	}
}

// resolveText returns a text without escapes and with what its entities stand for.
//
// An entity can stand for a control, so the result is stripped again. The marks of text order are
// balanced by now, over complete lines; s may be a part of one.
func (t *tree) resolveText(s text.Segment) string {
	part := t.source[s.Start:s.Stop]
	if !strings.ContainsAny(part, `\&`) {
		return part
	}
	return stripControls(unescapeText(part))
}

// unescapeText resolves backslashes and entities, as CommonMark does in text.
func unescapeText(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	from := 0 // an escaped & does not begin an entity, so the text between escapes is resolved on its own
	for i := 0; i < len(s)-1; i++ {
		if s[i] == '\\' && util.IsPunct(s[i+1]) {
			resolveEntities(&b, s[from:i])
			b.WriteByte(s[i+1])
			i++
			from = i + 1
		}
	}
	resolveEntities(&b, s[from:])
	return b.String()
}

// resolveEntities resolves named and numbered entities, one by one. It drops those for marks of
// text order, because they were not balanced.
func resolveEntities(b *strings.Builder, s string) {
	for {
		at := strings.IndexByte(s, '&')
		end := at + strings.IndexByte(s[at+1:], ';') + 2
		if at < 0 || end < at+2 {
			b.WriteString(s)
			return
		}
		if next := strings.LastIndexByte(s[:end], '&'); next > at { // the others begin none
			at = next
		}
		b.WriteString(s[:at])
		entity := s[at:end]
		if is := string(util.ResolveEntityNames(util.ResolveNumericReferences([]byte(entity)))); is == entity || !strings.ContainsAny(is, orderControls) {
			b.WriteString(is)
		}
		s = s[end:]
	}
}

// spanText returns the text of a code span; its line ends count as spaces.
func (t *tree) spanText(from *ast.CodeSpan) string {
	var b strings.Builder
	for c := from.FirstChild(); c != nil; c = c.NextSibling() {
		if s, ok := c.(*ast.Text); ok {
			b.WriteString(strings.TrimSuffix(t.source[s.Segment.Start:s.Segment.Stop], "\n"))
			if strings.HasSuffix(t.source[s.Segment.Start:s.Segment.Stop], "\n") {
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

// autoLink adds an address that links to itself.
func (t *tree) autoLink(parent *node, from *ast.AutoLink) {
	n := t.addNode(parent, link)
	t.addNode(n, literal).text = string(from.Label(t.raw))
	url := from.URL(t.raw)
	if from.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(url, []byte("mailto:")) {
		url = append([]byte("mailto:"), url...)
	}
	t.setTarget(n, url, nil)
}

// addTask marks the item that parent's paragraph begins.
func (t *tree) addTask(parent *node, done bool) {
	mark := "[ ] "
	if done {
		mark = "[x] "
	}
	t.addNode(parent, literal).text = mark
}

// isAllowedURL reports whether a link may lead to a URL. Other schemes run code, or mean nothing on
// the reader's machine.
//
// An address without a scheme is refused too, because a message lacks a page that it could be
// relative to.
func isAllowedURL(url string) bool {
	scheme, _, found := strings.Cut(url, ":")
	if !found {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto", "tel":
		return true
	}
	return false
}

// setTarget sets where a link leads, in characters that no channel ends a link at.
//
// A target that is refused is dropped and counted; the link's text stays.
func (t *tree) setTarget(n *node, url, title []byte) {
	to := &target{url: targetOf(unescapeText(string(url)))}
	if len(title) > 0 {
		to.title = clean(strings.Join(strings.Fields(unescapeText(string(title))), " "))
	}
	if to.url != "" && !isAllowedURL(to.url) {
		t.dropped++
		to.url = ""
	}
	n.to = to
}

// targetOf makes a target safe to stand in any of the forms.
func targetOf(url string) string {
	if !isPrintable(url) || strings.ContainsAny(url, ` <>"`) {
		return escapedTarget(url)
	}
	return url
}

// escapedTarget escapes what would end a target early.
//
// Other characters than ASCII stay as they are, since readers of all channels show them and
// browsers encode them.
func escapedTarget(url string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(clean(url)) {
		switch {
		case r == '\t' || r == '\n':
		case strings.ContainsRune(` <>"`, r):
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[r>>4])
			b.WriteByte("0123456789ABCDEF"[r&15])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ordinalMark is an item's mark, as the source has it, and a space.
func ordinalMark(number int, delimiter byte) string {
	return strconv.Itoa(number) + string([]byte{delimiter, ' '})
}
