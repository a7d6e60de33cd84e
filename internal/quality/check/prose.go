// This file takes the Markdown of an answer apart: text that a person reads, links, and the
// constructs that are markup. Code is neither text nor claim, so that numbers in it are not
// judged.

package check

import (
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"sluice/internal/base/markdown"
)

// prose is Markdown, taken apart.
type prose struct {
	// text is without code, links and the numbers of lists. Blocks and cells end with a line end.
	text string
	// links are the targets of links and images, and links that are written as they are: in
	// text, in code within a line, in raw HTML.
	links []string
	lists []int // how many items each list has
	built map[built]bool
}

// built is a construct that is markup: its kind, and how its text begins.
type built struct{ kind, begin string }

// reader parses Markdown. It does not change, so all checks share it.
var reader = markdown.NewParser()

// answerProse is the answer's text without markup, parsed once.
func (in *Input) answerProse() *prose {
	f := in.sharedFindings()
	if f.prose == nil {
		source := in.Markdown
		if source == nil || source.Text() != in.sourceText() {
			source = reader.Source(in.Watch, in.sourceText())
		}
		f.prose = parseProse(in.Watch, source)
	}
	return f.prose
}

// parseProse takes Markdown apart, until w is over. Markdown that cannot be read in bounded time is
// text.
func parseProse(w *markdown.Watch, source *markdown.Source) *prose {
	if source.Plain() {
		return &prose{text: plainProse(source.Text()), links: linksInText(source.Text())}
	}
	root, raw := source.Tree()
	if root == nil {
		return &prose{text: source.Text(), links: append(linksInText(source.Text()), attributeTargets(source.Text())...)}
	}
	return proseOfTree(w, root, raw)
}

// proseOfTree takes apart the tree of a parser.
func proseOfTree(w *markdown.Watch, root ast.Node, raw []byte) *prose {
	p := &proseParser{watch: w, raw: raw, prose: prose{built: map[built]bool{}}}
	p.out.Grow(len(raw) + 1)
	_ = ast.Walk(root, p.visitNode) // p returns no error
	p.prose.text = p.out.String()
	p.prose.links = append(p.prose.links, linksInText(p.prose.text)...)
	return &p.prose
}

// plainProse is the prose of a source that is plain: its paragraphs, without the empty
// lines between them, and a line end behind the last one.
func plainProse(source string) string {
	text := strings.Trim(source, "\n")
	if text == "" {
		return ""
	}
	for strings.Contains(text, "\n\n") {
		text = strings.ReplaceAll(text, "\n\n", "\n")
	}
	return text + "\n"
}

// proseParser walks the tree of an answer and writes the text that a reader sees.
//
// It is for one source. open grows and shrinks with the depth of constructs.
type proseParser struct {
	watch *markdown.Watch
	raw   []byte
	prose prose
	out   strings.Builder
	plain []rune // letters and digits of all constructs, also of code
	open  []int  // in plain, where each construct began that is open
}

// maxBegin is how much of its text distinguishes one construct from another.
const maxBegin = 64

// visitNode is called for each node before and after its children.
//
// It never returns an error.
func (p *proseParser) visitNode(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if p.watch.IsOver() {
		return ast.WalkStop, nil
	}
	if entering {
		p.enterNode(n)
	} else {
		p.leaveNode(n)
	}
	if _, isCode := n.(*ast.CodeSpan); isCode && entering {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				p.appendPlain(string(t.Value(p.raw)))
				p.prose.links = append(p.prose.links, linksInText(string(t.Value(p.raw)))...)
			}
		}
		p.out.WriteByte(' ')
		return ast.WalkSkipChildren, nil
	}
	return ast.WalkContinue, nil
}

// enterNode writes the text of a node.
func (p *proseParser) enterNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		p.writeText(resolveText(n.Value(p.raw)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			p.out.WriteByte('\n')
		}
	case *ast.String:
		p.writeText(string(n.Value))
	case *ast.RawHTML:
		var tag strings.Builder
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			tag.Write(at.Value(p.raw))
		}
		p.writeHTML(tag.String())
	case *ast.HTMLBlock:
		var block strings.Builder
		p.eachLine(n, func(s string) { block.WriteString(s) })
		if n.HasClosure() {
			block.Write(n.ClosureLine.Value(p.raw))
		}
		p.writeHTML(block.String())
	case *ast.CodeBlock: // in a text, indented lines may be anything
		p.eachLine(n, p.appendPlain)
	case *ast.FencedCodeBlock:
		p.open = append(p.open, len(p.plain))
		p.eachLine(n, p.appendPlain)
	case *ast.AutoLink:
		p.prose.links = append(p.prose.links, string(n.URL(p.raw)))
		p.appendPlain(string(n.Label(p.raw)))
		p.out.WriteByte(' ')
	default:
		if constructName(n) != "" {
			p.open = append(p.open, len(p.plain))
		}
	}
}

// recordNode records links and the lengths of lists.
func (p *proseParser) recordNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.Link:
		p.prose.links = append(p.prose.links, resolveText(n.Destination))
	case *ast.Image:
		p.prose.links = append(p.prose.links, resolveText(n.Destination))
	case *ast.List:
		p.prose.lists = append(p.prose.lists, n.ChildCount())
	}
}

// leaveNode records links and ends blocks.
func (p *proseParser) leaveNode(n ast.Node) {
	p.recordNode(n)
	if n.Type() == ast.TypeBlock || n.Kind() == extast.KindTableCell {
		p.out.WriteByte('\n')
	}
	kind := constructName(n)
	if kind == "" {
		return
	}
	last := len(p.open) - 1
	from := p.open[last]
	p.open = p.open[:last]
	if begin := p.plain[from:min(len(p.plain), from+maxBegin)]; len(begin) > 0 {
		p.prose.built[built{kind, string(begin)}] = true
	}
}

// constructName names a construct that must not be in a plain text. Marks of lists, quotes and
// tasks are allowed: plain texts have them as well.
//
// It returns "" for an allowed node. The names are words of the feedback.
func constructName(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Emphasis:
		if n.Level > 1 {
			return "bold text"
		}
		return "emphasis"
	case *extast.Strikethrough:
		return "struck text"
	case *ast.Heading:
		return "a heading"
	case *ast.CodeSpan:
		return "code"
	case *ast.FencedCodeBlock:
		return "a block of code"
	case *ast.Link:
		return "a link"
	case *ast.Image:
		return "an image"
	case *extast.Table:
		return "a table"
	}
	return ""
}

// writeText adds text that is neither code nor a link.
func (p *proseParser) writeText(s string) {
	p.out.WriteString(s)
	p.appendPlain(s)
}

// writeHTML writes raw HTML, which some client may make a page of.
func (p *proseParser) writeHTML(s string) {
	p.writeText(s)
	p.prose.links = append(p.prose.links, attributeTargets(s)...)
}

// appendPlain records letters and digits of constructs, by which two forms of the same text can be
// compared. Text outside of constructs is ignored.
func (p *proseParser) appendPlain(s string) {
	if len(p.open) == 0 {
		return
	}
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			p.plain = append(p.plain, r)
		}
	}
}

// eachLine calls each with the lines of a block, as they stand.
func (p *proseParser) eachLine(n ast.Node, each func(string)) {
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		each(string(at.Value(p.raw)))
	}
}

// resolveText is a text of the source without its escapes and entities.
func resolveText(s []byte) string {
	plain := true
	for _, c := range s {
		plain = plain && c != '\\' && c != '&'
	}
	if plain {
		return string(s)
	}
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(s))))
}

// mayBeIn reports whether a text may have one of the constructs. Most texts that were formatted
// have not the characters for it, and then no parser needs to look.
func (p *prose) mayBeIn(text string) bool {
	for b := range p.built {
		if mayHave(text, b.kind) {
			return true
		}
	}
	return false
}

// mayHave reports whether a text has the characters that each construct of a kind needs.
func mayHave(text, kind string) bool {
	switch kind {
	case "a heading":
		return strings.Contains(text, "#") || hasUnderline(text)
	case "a block of code":
		return strings.Contains(text, "```") || strings.Contains(text, "~~~")
	case "code":
		return strings.Count(text, "`") > 1
	case "a link", "an image":
		return strings.Contains(text, "[")
	case "a table":
		return strings.Contains(text, "|")
	case "struck text":
		return mayPair(text, "~")
	}
	return mayPair(text, "*") || mayPair(text, "_")
}

// mayPair reports whether a sign with text behind it is followed, in the same block, by one with
// text in front of it. Only such a pair is markup.
func mayPair(text, sign string) bool {
	open := false
	for at := strings.Index(text, sign); at >= 0; {
		if open && !isBlank(text, at-1) {
			return true
		}
		open = open || !isBlank(text, at+1)
		next := strings.Index(text[at+1:], sign)
		if next < 0 {
			break
		}
		open = open && !strings.Contains(text[at:at+1+next], "\n\n")
		at += 1 + next
	}
	return false
}

// isBlank reports whether a place is outside the text, or holds a space, a tab or a line end.
func isBlank(text string, at int) bool {
	return at < 0 || at >= len(text) || text[at] == ' ' || text[at] == '\n' || text[at] == '\t'
}

// hasUnderline reports whether a line ends as one does that makes a heading of the line before it.
func hasUnderline(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if strings.HasSuffix(line, "=") || strings.HasSuffix(line, "-") {
			return true
		}
	}
	return false
}

// plainText asks that no markup of the source is left in the text.
type plainText struct{}

// compileCheck accepts no arguments.
func (c *plainText) compileCheck() (Check, error) { return c, nil }

// Run requires an answer without Markdown. Escaped characters that only look like markup are ignored.
func (*plainText) Run(in *Input) Outcome {
	source := in.answerProse()
	left := source
	switch {
	case len(source.built) == 0: // nothing could be left
		return passedOutcome()
	case in.Text != in.sourceText():
		if !source.mayBeIn(in.Text) {
			return passedOutcome()
		}
		left = parseProse(in.Watch, reader.Source(in.Watch, in.Text))
	}
	// A construct that only the text has was written as characters.
	var kinds []string
	for b := range left.built {
		if source.built[b] {
			kinds = append(kinds, b.kind)
		}
	}
	if len(kinds) > 0 {
		return failedOutcome("The answer must be plain text, and has " + slices.Min(kinds) + " as Markdown.")
	}
	return passedOutcome()
}
