package channel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/markdown"
)

// treeOf is the tree of a source, and what was noted of it.
func treeOf(source string) (*node, *tree) {
	t := &tree{nodes: new(arena)}
	return t.parseSource(markdown.NewParser().Source(nil, clean(source))), t
}

// names of kinds, in their order.
var names = [...]string{"document", "p", "h", "pre", "quote", "list", "item", "rule", "table", "row", "cell", "", "b", "i", "s", "code", "a", "img", "br"}

// sketch is a tree in brackets; a literal is its text alone.
func sketch(b *strings.Builder, n *node) {
	for c := n.first; c != nil; c = c.next {
		if c.kind == literal {
			b.WriteString("'" + c.text + "'")
			continue
		}
		b.WriteString(names[c.kind])
		if c.number > 0 {
			b.WriteString(string(rune('0' + c.number)))
		}
		if c.text != "" {
			b.WriteString("'" + c.text + "'")
		}
		if c.to != nil {
			b.WriteString("→" + c.to.url)
			if c.to.title != "" {
				b.WriteString("|" + c.to.title)
			}
		}
		b.WriteByte('(')
		sketch(b, c)
		b.WriteByte(')')
	}
}

// What becomes of Markdown, and what is counted.
func TestTree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, want string
		markup   bool
		dropped  int
	}{
		{"", "", false, 0},
		{"a", "p('a')", false, 0},
		{"a\n\nb", "p('a')p('b')", false, 0},
		{"a\nb", "p('a'br()'b')", false, 0},
		{"a\\\nb *c*", "p('a'br()'b 'i('c'))", true, 0},
		{"# a", "h1('a')", true, 0},
		{"a\n---", "h2('a')", true, 0},
		{"***", "rule()", true, 0},
		{"*a* **b** ~~c~~", "p(i('a')' 'b('b')' 's('c'))", true, 0},
		{"***a***", "p(i(b('a')))", true, 0},
		{"`a`", "p(code'a'())", true, 0},
		{"`a\nb`", "p(code'a b'())", true, 0},
		{"    a\n      b", "pre'a\n  b'()", true, 0},
		{"\ta\n\tb", "pre'a\nb'()", true, 0},
		{"```\na\n\n```", "pre'a'()", true, 0},
		{"```go\na\n```", "pre'a'()", true, 0},
		{"```go a.go\na\n```", "p('go a.go')pre'a'()", true, 0},
		{"> a", "quote(p('a'))", true, 0},
		{"- a", "list(item'- '(p('a')))", true, 0},
		{"* a", "list(item'- '(p('a')))", true, 0},
		{"2. a\n7. b", "list(item2'2. '(p('a'))item3'3. '(p('b')))", true, 0},
		{"2) a", "list(item2'2) '(p('a')))", true, 0},
		{"- [x] a", "list(item'- '(p('[x] ''a')))", true, 0},
		{"|a|b|c|d|\n|-|:-|-:|:-:|", "table(row(cell('a')cell1('b')cell2('c')cell3('d')))", true, 0},
		{"|a|b|\n|-|-|\n|c|", "table(row(cell('a')cell('b'))row(cell('c')cell()))", true, 0},
		{"|a|\n|-|\n|b|c | d|", "table(row(cell('a'))row(cell('b')cell('c')cell('d')))", true, 0},
		{"[a](http://b)", "p(a→http://b('a'))", true, 0},
		{"[a](http://b \"c  d\")", "p(a→http://b|c d('a'))", true, 0},
		{"[a](b)", "p(a→('a'))", true, 1},
		{"[a](b) ![c](d) [e](http://f)", "p(a→('a')' 'img→('c')' 'a→http://f('e'))", true, 2},
		{"[a](VBScript:b)", "p(a→('a'))", true, 1},
		{"[a](MAILTO:b)", "p(a→MAILTO:b('a'))", true, 0},
		{"[a]()", "p(a→('a'))", true, 0},
		{"<http://a>", "p(a→http://a('http://a'))", false, 0},
		{"<a@b.c>", "p(a→mailto:a@b.c('a@b.c'))", false, 0},
		{"www.a.bc", "p(a→http://www.a.bc('www.a.bc'))", false, 0},
		{"<i>a</i>", "p('<i>''a''</i>')", false, 0},
		{"<div>\n a\n</div>", "p('<div>'br()'a'br()'</div>')", false, 0},
		{"<!--\na\n--> b", "p('<!--'br()'a'br()'--> b')", false, 0},
		{"[a]: http://b", "p('[a]: http://b')", false, 0},
		{`\*a\* &lt; &#0; \a`, "p('*a* < \ufffd \\a')", false, 0},
	} {
		root, tr := treeOf(tt.in)
		var got strings.Builder
		sketch(&got, root)
		if diff := cmp.Diff(tt.want, got.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.in, diff)
		}
		if tr.markup != tt.markup || tr.dropped != tt.dropped || tr.ignored {
			t.Errorf("%q: markup %t, %d dropped, ignored %t", tt.in, tr.markup, tr.dropped, tr.ignored)
		}
	}
}

// Nesting is bounded, and the text of what lies deeper is there.
func TestTreeIsBounded(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"lists":    strings.Repeat("- ", 30) + "end",
		"quotes":   strings.Repeat("> ", 30) + "end",
		"emphasis": strings.Repeat("*a **b ", 40) + "end" + strings.Repeat("** *", 40),
		"links":    strings.Repeat("> ", 29) + strings.Repeat("*a **b ", 20) + "[end](http://c)" + strings.Repeat("** *", 20),
	} {
		root, _ := treeOf(source)
		var depth func(n *node) int
		depth = func(n *node) (most int) {
			for c := n.first; c != nil; c = c.next {
				most = max(most, 1+depth(c))
			}
			return most
		}
		if got := depth(root); got > 2*maxNesting+3 {
			t.Errorf("%s are %d deep", name, got)
		}
		if !strings.Contains(textOf(root), "end") {
			t.Errorf("%s: %q", name, textOf(root))
		}
	}
}

// A node is new whatever the memory was used for, and memory of a long text is let go.
func TestArena(t *testing.T) {
	t.Parallel()
	var a arena
	for round, count := range []int{1, slabSize, slabSize + 1, 3*slabSize + 5, (keptSlabs + 3) * slabSize, 10} {
		seen := map[*node]bool{}
		for range count {
			n := a.newNode(bold)
			if *n != (node{kind: bold}) || seen[n] {
				t.Fatalf("round %d: a node is not new: %+v", round, n)
			}
			seen[n] = true
			n.text, n.kids, n.number, n.first, n.next, n.to = "x", 3, 4, n, n, &target{}
		}
		a.reset()
		if len(a.slabs) > keptSlabs {
			t.Errorf("%d slabs are kept", len(a.slabs))
		}
	}
}

// A target has no character that ends it in any form.
func TestTargetOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                        "",
		"https://a.b/c?d=e&f=(g)": "https://a.b/c?d=e&f=(g)",
		"https://a.b/c d":         "https://a.b/c%20d",
		`https://a.b/"c"`:         "https://a.b/%22c%22",
		"https://a.b/<c>":         "https://a.b/%3Cc%3E",
		"https://a.b/é/你":         "https://a.b/é/你",
		" https://a.b\t/c\n ":     "https://a.b/c",
		"java\x00script:a":        "javascript:a",
		"https://a.b/\u202ec":     "https://a.b/c",
		"https://a.b/\x7fc":       "https://a.b/c",
	} {
		if got := targetOf(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// Escapes and entities, once each.
func TestUnescaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                      "",
		"a b":                   "a b",
		`\*\_\\`:                `*_\`,
		`\a\1`:                  `\a\1`,
		`a\`:                    `a\`,
		"&amp;amp;":             "&amp;",
		`\&amp;`:                "&amp;",
		"&lt;&gt;":              "<>",
		"&#65;&#x42;":           "AB",
		"&nosuch;":              "&nosuch;",
		"&amp":                  "&amp",
		"& &amp;":               "& &",
		"&a&b;&lt;":             "&a&b;<",
		"&#x202a;a&#x2069;":     "a",
		"&#8235;&copy;&#x2066;": "©",
	} {
		if got := unescapeText(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// The text of a node, with blanks between its blocks and for its line ends.
func TestTextOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a":                            "a",
		"a **b _c_** `d`":              "a b c d",
		"a\nb":                         "a b",
		"a\n\nb":                       "a b",
		"- a\n- b":                     "a b",
		"|a|b|\n|-|-|\n|c|d|":          "a b c d",
		"> a\n\n```\nb\n```":           "a b",
		"[a](http://b) ![c](http://d)": "a c",
	} {
		root, _ := treeOf(in)
		if got := strings.TrimSpace(textOf(root)); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

// A target that is the text need not be written.
func TestShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, text string
		want      bool
	}{
		{"https://a.b", "https://a.b", true},
		{"https://a.b", "a.b", true},
		{"http://a.b", "a.b", true},
		{"https://a.b", "a.c", false},
		{"https://a.b/", "a.b", false},
		{"https://a.b", "", false},
		{"mailto:a@b.c", "a@b.c", true},
		{"mailto:a@b.c", "a @b.c", true},
		{"mailto:a@b.c", "a\u00a0@b.c", true},
		{"mailto:a@b.c", "a-@b.c", false},
		{"tel:+49301", "+49 (30) 1", true},
		{"tel:+49301", "+49/30-1.", true},
		{"tel:+49-30-1", "+49301", true},
		{"tel:112", "tel:112", true},
		{"tel:112", "tel:11-2", true},
		{"tel:112", "113", false},
		{"tel:112", "call 112", false},
	} {
		if got := showsTarget(&node{to: &target{url: tt.url}}, tt.text); got != tt.want {
			t.Errorf("%q shows %q: %t", tt.text, tt.url, got)
		}
	}
}
