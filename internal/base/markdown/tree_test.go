package markdown

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
)

// treeOf is what the parser makes of a source, in the form of shape without the document itself.
func treeOf(t *testing.T, source string) string {
	t.Helper()
	root, raw := NewParser().Source(nil, source).Tree()
	if root == nil {
		t.Fatalf("%.40q is not read", source)
	}
	return strings.TrimSuffix(strings.TrimPrefix(shape(root, raw), "<Document "), ">")
}

// What models write is read as GitHub reads it, links as they are written among it.
func TestTrees(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                      "",
		"a\nb\n\nc":             "<Paragraph a\nb><Paragraph c>",
		"# a *b*":               "<Heading a <Emphasis b>>",
		"- a\n- b":              "<List <ListItem <TextBlock a>><ListItem <TextBlock b>>>",
		"- [x] a":               "<List <ListItem <TextBlock <TaskCheckBox >a>>>",
		"> a\n> b":              "<Blockquote <Paragraph a\nb>>",
		"a `*b*` c":             "<Paragraph a <CodeSpan *b*> c>",
		"~~a~~ ~b~":             "<Paragraph <Strikethrough a> <Strikethrough b>>",
		"a ~~~b~~~":             "<Paragraph a ~~~b~~~>",
		"~a~~b~":                "<Paragraph <Strikethrough a~~b>>",
		"[a](b)":                "<Paragraph b<Link a>>",
		"[*a](b)*":              "<Paragraph b<Link *a>*>",
		"*[a](b)*":              "<Paragraph <Emphasis b<Link a>>>",
		"![*a*](b)":             "<Paragraph <Image <Emphasis a>>>",
		"[a]\n\n[a]: /b":        "<Paragraph /b<Link a>><LinkReferenceDefinition >",
		"see https://a.example": "<Paragraph see <AutoLink >>",
		"me@a.example":          "<Paragraph <AutoLink >>",
		"<b>a</b>":              "<Paragraph <RawHTML >a<RawHTML >>",
		"***":                   "<ThematicBreak >",
		"|a|\n|-|\n|*b*|":       "<Table <TableHeader <TableCell a>><TableRow <TableCell <Emphasis b>>>>",
		"a|b\n--":               "<Heading a|b>",
		"a\\*b\\*":              `<Paragraph a\*b\*>`,
	} {
		if diff := cmp.Diff(want, treeOf(t, source)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", source, diff)
		}
	}
}

// Between digits, or a digit and a letter of a formula, marks are text; in scripts that write a
// number and a word without a space they are not.
func TestMarksInNumbers(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"2*3*4":       "2*3*4",
		"2**3**4":     "2**3**4",
		"2*x*4":       "2*x*4",
		"x*2*y":       "x*2*y",
		"2*π*4":       "2*π*4",
		"2*ж*4":       "2*ж*4",
		"٢*٣*٤":       "٢*٣*٤",
		"共**3**个":     "共<Emphasis 3>个",
		"x*y*z":       "x<Emphasis y>z",
		"2 *3* 4":     "2 <Emphasis 3> 4",
		"(*3*)":       "(<Emphasis 3>)",
		"*2*3*":       "<Emphasis 2*3>",
		"**2 * 3**":   "<Emphasis 2 * 3>",
		"snake_1_2":   "snake_1_2",
		"~2~3~":       "<Strikethrough 2~3>",
		"a*b*2":       "a*b*2",
		"**5**x":      "<Emphasis 5>x",
		"*5*x":        "<Emphasis 5>x",
		"**2**nd":     "<Emphasis 2>nd",
		"~~2~~nd":     "<Strikethrough 2>nd",
		"**v**2":      "<Emphasis v>2",
		"**5**3":      "<Emphasis 5>3",
		"x**2+y**2":   "x**2+y**2",
		"*2*3*4*":     "<Emphasis 2*3*4>",
		"a * b * c":   "a * b * c",
		"*a **b** c*": "<Emphasis a <Emphasis b> c>",
		"*a_b*c_":     "<Emphasis a_b>c_",
		"**a*":        "*<Emphasis a>",
		"*a**":        "<Emphasis a>*",
		"***a** b*":   "<Emphasis <Emphasis a> b>",
		"_(a)_b":      "_(a)_b",
	} {
		if got := treeOf(t, source); got != "<Paragraph "+want+">" {
			t.Errorf("%q: got %s, want %s", source, got, want)
		}
	}
}

// Emphasis of one and of two marks differ, and know where their marks begin.
func TestLevelsOfEmphasis(t *testing.T) {
	t.Parallel()
	root, _ := NewParser().Source(nil, "*a* **b** ***c***").Tree()
	var got [][2]int
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if e, ok := n.(*ast.Emphasis); ok && entering {
			got = append(got, [2]int{e.Level, e.Pos()})
		}
		return ast.WalkContinue, nil
	})
	if diff := cmp.Diff([][2]int{{1, 0}, {2, 4}, {1, 10}, {2, 10}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A line is plain only if no character in it can be markup where it stands.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "\n\n": true, "a": true, "A text, with points. And more!": true, "a\nb\n\nc\n": true, "é 你好": true, "1 apple": true, "2026": true,
		"12:30": true, "a & b": true, "a.b": true, "x = y": true, "a - b": true, "a # b": true, "(a) > b": true, "$5 + 5%": true, "a: b": true, "a &": true, "a:": true,
		" a": false, "a ": false, "a\nb ": false, "a\n b": false, "- a": false, "-": false, "+ a": false, "=": false, "# a": false, "> a": false,
		"1. a": false, "12) a": false, "1.5 m": false, "a*b": false, "a_b": false, "a~b": false, "a`b": false, "[a": false, "a]": false, "a|b": false,
		"a<b": false, "a\\b": false, "a@b": false, "www.a": false, "WWW.a": false, "w.a": false, "a w. b": false, "http://a": false, "a:/b": false, "&amp;": false, "a &b": false,
		"a\tb": false, "a\r\nb": false, "a\x00b": false, "a\x7fb": false, "a\n\n- b": false,
	} {
		if got := isPlain(text); got != want {
			t.Errorf("%q is plain: %t", text, got)
		}
		if got := NewParser().Source(nil, text).Plain(); got != want {
			t.Errorf("the source %q is plain: %t", text, got)
		}
	}
}

// Sources that share a parser do not share what is in them, and each is read once it is asked.
func TestSourcesShareAParser(t *testing.T) {
	t.Parallel()
	p := NewParser()
	first, second := p.Source(nil, "*a*\n\n[x]: /y"), p.Source(nil, "[x]")
	one, raw := first.Tree()
	two, other := second.Tree()
	if got := shape(one, raw); !strings.Contains(got, "<Emphasis a>") {
		t.Errorf("the first is %s", got)
	}
	if got := shape(two, other); got != "<Document <Paragraph [x]>>" {
		t.Errorf("the second is %s, which has no definition", got)
	}
	if !p.Source(nil, "a").Plain() || first.Plain() || second.Plain() {
		t.Error("a source is plain by another's text")
	}
}
