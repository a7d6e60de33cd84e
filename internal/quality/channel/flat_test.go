package channel

import (
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/internal/base/markdown"
	"sluice/internal/base/markdown/markdowntest"
)

// flatOf is the text of WhatsApp with its marks.
func flatOf(source string) *flat {
	p := markdown.NewParser()
	tr := tree{nodes: new(arena)}
	f := newTextForm(allFeatures, true, 0)
	walkTree(nil, f, tr.parseSource(p.Source(nil, clean(source))))
	f.trimSpaces()
	return f.makeFlat()
}

// visible shows a guard as ^.
func visible(s string) string { return strings.ReplaceAll(s, guard, "^") }

// A literal sign is guarded if it would pair on its line with another one or with a mark.
func TestGuards(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"one alone", `a \* b`, "a * b"},
		{"one at a word", `\*a`, "*a"},
		{"two around a word", `\*a\*`, "*^a*^"},
		{"two with blanks within", `\* a \*`, "* a *"},
		{"one opens, none closes", `\*a \*b`, "*a *b"},
		{"one closes before one opens", `a\* \*b`, "a* *b"},
		{"within words", `a\*b\*c`, "a*b*c"},
		{"on two lines", "\\*a\nb\\*", "*a\nb*"},
		{"two kinds", `\*a\_`, "*a_"},
		{"each kind", `\_a\_ \~b\~ \*c\*`, "_^a_^ ~^b~^ *^c*^"},
		{"backticks", "\\`a\\`", "`^a`^"},
		{"three", `\*a\* b\*`, "*^a*^ b*^"},
		{"next to a mark of ours", `**a** b\*`, "*a* b*^"},
		{"in front of a mark of ours", `\*a **b**`, "*^a *b*"},
		{"in a mark of ours", `**a \* b**`, "*a * b*"},
		{"closing in a mark of ours", `**a\* b**`, "*a*^ b*"},
		{"in code", "`*a*`", "`*a*`"},
		{"in a link", "[x](https://b.c/*d*)", "x (https://b.c/*d*)"},
		{"in a link and out of it", `[x](https://b.c/*d*) \*e\*`, "x (https://b.c/*d*) *^e*^"},
		{"behind a comma", `\*a,\* b`, "*^a,*^ b"},
	} {
		if got := visible(flatOf(tt.in).partText(0, len(flatOf(tt.in).text))); got != tt.want {
			t.Errorf("%s: %q is %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// A part closes what is open at its end and opens again what was open at its begin.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in          string
		cut         string // the text that the second part begins with
		first, next string
	}{
		{"**aa bb**", "bb", "*aa *", "*bb*"},
		{"**aa _bb cc_ dd**", "cc", "*aa _bb _*", "*_cc_ dd*"},
		{"**aa** bb", "bb", "*aa* ", "bb"},
		{"aa **bb**", "bb", "aa ", "*bb*"},
		{"`aa bb`", "bb", "`aa `", "`bb`"},
		{"```\naa\nbb\n```", "bb", "```\naa\n\n```", "```\nbb\n```"},
		{"> aa bb", "bb", "> aa ", "> bb"},
		{"> > aa bb", "bb", "> > aa ", "> > bb"},
		{"> aa\n> bb", "> bb", "> aa\n", "> bb"},
		{"> **aa bb**", "bb", "> *aa *", "> *bb*"},
		{`\*aa\* \*bb\*`, "*bb", "*^aa*^ ", "*^bb*^"},
		{"aa bb", "bb", "aa ", "bb"},
	} {
		f := flatOf(tt.in)
		at := strings.LastIndex(f.text, tt.cut)
		if first, next := visible(f.partText(0, at)), visible(f.partText(at, len(f.text))); first != tt.first || next != tt.next {
			t.Errorf("%q is %q and %q, want %q and %q", tt.in, first, next, tt.first, tt.next)
		}
		if got := f.partText(at, at); got != "" {
			t.Errorf("%q: a part of nothing is %q", tt.in, got)
		}
	}
}

// Marks of quotes are written again where they leave room for a text.
func TestQuoteAt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		at    int
		limit int
		want  string
	}{
		{"> a b", 4, 0, "> "},
		{"> > a b", 6, 0, "> > "},
		{"> a b", 0, 0, ""},
		{"x\n> a b", 6, 0, "> "},
		{"x\n> a b", 2, 0, ""},
		{">a b", 3, 0, ""},
		{"a > b c", 6, 0, ""},
		{"> a b", 4, 16, "> "},
		{"> a b", 4, 15, ""},
		{strings.Repeat("> ", markdown.MaxDepth) + "a b", 2*markdown.MaxDepth + 2, 0, strings.Repeat("> ", markdown.MaxDepth)},
		{strings.Repeat("> ", markdown.MaxDepth+1) + "a b", 2*markdown.MaxDepth + 4, 0, ""},
	} {
		f := &flat{text: tt.text, marked: true, limit: tt.limit}
		if got := f.quoteAt(tt.at); got != tt.want {
			t.Errorf("%q at %d with limit %d: %q, want %q", tt.text, tt.at, tt.limit, got, tt.want)
		}
	}
}

// What is put into a part never costs more than was counted.
func TestExtraIsEnough(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	next := markdowntest.Texts(rng)
	for range 2000 {
		f := flatOf(next())
		if f.text == "" {
			continue
		}
		for range 10 {
			start := graphemeBefore(f.text, 0, rng.IntN(len(f.text)+1))
			end := graphemeBefore(f.text, start, start+rng.IntN(len(f.text)-start+1))
			part := f.partText(start, end)
			if cost := lengthUTF16(part) - lengthUTF16(f.text[start:end]); cost > f.markCost(start, end) {
				t.Fatalf("%q from %d to %d costs %d more, and %d were counted: %q", f.text, start, end, cost, f.markCost(start, end), part)
			}
		}
	}
}

// A mark next to a letter or digit is no mark to WhatsApp, and goes.
func TestMarksWithinWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a**b**": "ab", "**a**b": "ab", "**a**, b": "*a*, b", "(**a**)": "(*a*)", "**a**1": "a1", "你**a**": "你a", "**a**\u0301": "*a*\u0301", "x **a** y": "x *a* y", "_a_**b**": "ab",
	} {
		if got := visible(flatOf(in).partText(0, len(flatOf(in).text))); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
