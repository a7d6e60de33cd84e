package markdown

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// Each bound is of what goldmark's time grows with: what is at it is read, what is above is
// text, and what looks alike and costs nothing is read too.
func TestBearable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		source string
		want   bool
	}{
		"nothing":                      {"", true},
		"256 KiB":                      {strings.Repeat("a", maxSource), true},
		"more":                         {strings.Repeat("a", maxSource+1), false},
		"32 quotes":                    {strings.Repeat(">", MaxDepth) + "a", true},
		"33 quotes":                    {strings.Repeat(">", MaxDepth+1) + "a", false},
		"33 quotes with blanks":        {strings.Repeat("> ", MaxDepth+1) + "a", false},
		"33 quotes further on":         {"a\n\n" + strings.Repeat(">", MaxDepth+1) + "a", false},
		"33 items":                     {strings.Repeat("- ", MaxDepth+1) + "a", false},
		"33 numbers":                   {strings.Repeat("1. ", MaxDepth+1) + "a", false},
		"33 mixed":                     {strings.Repeat("> - 1) ", 11) + "a", false},
		"33 in words":                  {"a " + strings.Repeat(">", MaxDepth+1), true},
		"33 dashes":                    {strings.Repeat("-", MaxDepth+1), true},
		"2,000 definitions":            {strings.Repeat("[a]: b\n", maxDefinitions), true},
		"2,001 definitions":            {strings.Repeat("[a]: b\n", maxDefinitions+1), false},
		"2,001 definitions in a quote": {strings.Repeat("> [a]: b\n", maxDefinitions+1), false},
		"2,001 references":             {strings.Repeat("[a] b\n", maxDefinitions+1), true},
		"10,000 open brackets":         {strings.Repeat("[", maxOpen), true},
		"10,001 open brackets":         {strings.Repeat("[", maxOpen+1), false},
		"10,001 in lines":              {strings.Repeat(strings.Repeat("[", 100)+"\n", maxOpen/100) + "[", false},
		"10,001 in paragraphs":         {strings.Repeat("[", maxOpen) + "\n\n[", true},
		"10,001 in items":              {strings.Repeat("[", maxOpen) + "\n- [", true},
		"10,001 in items by a plus":    {strings.Repeat("[", maxOpen) + "\n+ [", true},
		"10,001 in items by a star":    {strings.Repeat("[", maxOpen) + "\n*\t[", true},
		"10,001 in an empty quote":     {strings.Repeat("[", maxOpen) + "\n>\n[", true},
		"10,001 without a blank":       {strings.Repeat("[", maxOpen) + "\n-[", false},
		"10,001 in indented lines":     {strings.Repeat("[", maxOpen) + "\n    - [", false},
		"10,001 in a numbered line":    {strings.Repeat("[", maxOpen) + "\n1. [", false},
		"10,001 that are closed":       {strings.Repeat("[a]", maxOpen+1), true},
		"brackets in one another":      {strings.Repeat("[", 3000) + strings.Repeat("]", 3000), false},
		"fewer of them":                {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), true},
		"targets without an end":       {strings.Repeat("[a](<b", 1500), false},
		"targets in brackets":          {strings.Repeat("[a](b(", 1500), false},
		"targets with an end":          {strings.Repeat("[a](<b>)", 1500), true},
		"targets with a blank":         {strings.Repeat("[a](b ", 1500), true},
		"lines of nested items":        {strings.Repeat(strings.Repeat(" ", 64)+"a\n", 3000), true},
		"more of them":                 {strings.Repeat(strings.Repeat(" ", 64)+"a\n", 3200), false},
		"empty lines in nested items":  {strings.Repeat("- ", MaxDepth) + "a" + strings.Repeat("\n", 7000), false},
		"empty lines":                  {"- a" + strings.Repeat("\n", 7000), true},
	} {
		if got := canRead(tt.source); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The marks of quotes and lists are counted as goldmark opens them, and what only looks like one
// is text.
func TestContainers(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "0 0", "a": "0 0", "  a": "0 2",
		">": "1 1", ">a": "1 1", "> a": "1 2", ">>a": "2 2", " > > a": "2 5",
		"- a": "1 2", "+ a": "1 2", "* a": "1 2", "-\ta": "1 2", "-a": "0 0", "-": "0 0", "**a**": "0 0", "_ a": "0 0",
		"1. a": "1 3", "12) a": "1 4", "1.a": "0 0", "1.": "0 0", "1 a": "0 0", "1> a": "0 0", "1- a": "0 0",
		"> - 1. a": "3 7", "- > a": "2 4", "- - a": "2 4", "- a - b": "1 2",
	} {
		depth, at := Containers(line)
		if got := fmt.Sprint(depth, at); got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
}

// How far a target may be looked at: to its end, or to where it cannot be one any more.
func TestTarget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "abc": 3, "abc)d": 3, "abc d": 3, "abc\td": 3, "a(b)c)d": 5, "a(b(c": 5, "a(b)": 4, ")": 0, "  ab)": 2,
		"<a b>)": 4, "<a b": 4, " <a>)": 2,
	} {
		if got := targetLength(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// An address is looked for only where one may stand that is not the plain target of a link.
func TestMayLink(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		"": false, "a b": false, "a://b": false, "www": false, "https:/b": false,
		"www.a": true, "a@b": true, "https://a": true, "see http://a.": true, "ftp://a": true,
		"[a b](https://c)": false, "[a b](https://c) d": false, "[a b](https://c) https://d": true, "[a b](ftp://c)": false,
		"[a](https://c)":      true, // may be the box of a task
		"[a b](https://c":     true, // does not end
		"[a b](https://c d)":  true, // ends at a blank
		"[a b](https://c(d))": true, // has brackets
		`\[a b](https://c)`:   true, "a b](https://c)": true, "[a`b](https://c)": true, "[a\nb](https://c)": true, "(https://c)": true, "[a b](https://ü)": true,
		"[" + strings.Repeat("a", 150) + "](https://c)": false,
		"[" + strings.Repeat("a", 250) + "](https://c)": true,
	} {
		if got := mayLink([]byte(source)); got != want {
			t.Errorf("%q: %t", source, got)
		}
	}
	const inTarget, inLabel = "([]\\<>|`\"'\t\x7f", "]\\<>|`\n"
	for _, c := range inTarget + inLabel {
		if source := "[a b](https://c" + string(c) + "d)"; strings.ContainsRune(inTarget, c) && !mayLink([]byte(source)) {
			t.Errorf("%q: the target may be something else", source)
		}
		if source := "[a" + string(c) + "b](https://c)"; strings.ContainsRune(inLabel, c) && !mayLink([]byte(source)) {
			t.Errorf("%q: the label may be something else", source)
		}
	}
}

// A table is one as long as its cells, filled up to the widest row, are no more than the bound.
func TestTablesAreBounded(t *testing.T) {
	t.Parallel()
	table := func(rows, columns int) string {
		return "|" + strings.Repeat("a|", columns) + "\n|" + strings.Repeat("-|", columns) + "\n" + strings.Repeat("|a|\n", rows)
	}
	for name, tt := range map[string]struct {
		source string
		want   bool
	}{
		"a table":       {table(3, 2), true},
		"a wide table":  {table(198, 198), true}, // 200 lines of 200 at most
		"a wider table": {table(199, 198), false},
		"no table":      {"a|b\nc|d\n", false},
	} {
		root, _ := NewParser().Source(nil, tt.source).Tree()
		if got := root.FirstChild().Kind() == extast.KindTable; got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A source is parsed once for all who ask, and not at all once its context has ended.
func TestSourceIsReadOnce(t *testing.T) {
	t.Parallel()
	p := NewParser()
	s := p.Source(NewWatch(t.Context()), "*a*")
	root, raw := s.Tree()
	if again, _ := s.Tree(); root == nil || again != root || string(raw) != "*a*" || s.Text() != "*a*" {
		t.Errorf("got %v, then %v, of %q", root, again, raw)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	w := NewWatch(ctx)
	if root, _ := p.Source(w, "*a*").Tree(); root != nil || !errors.Is(w.Err(), why) || !w.IsOver() {
		t.Errorf("after the end: got %v, %v", root, w.Err())
	}
}

// A text that is long to parse is left in the middle, and so is a line of it: what is behind is
// not looked at.
func TestParsingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	count := func(piece string, w *Watch) (n int) {
		root := NewParser().parseTree([]byte(strings.Repeat(piece, 10_000)), w)
		_ = ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
			if kind := node.Kind(); entering && (kind == ast.KindEmphasis || kind == ast.KindLink || kind == ast.KindAutoLink) {
				n++
			}
			return ast.WalkContinue, nil
		})
		return n
	}
	for name, piece := range map[string]string{"paragraphs": "*a*\n\n", "emphasis in a line": "*a* ", "links in a line": "[a](b) ", "addresses in a line": "www.a.example "} {
		if all, some := count(piece, nil), count(piece, NewWatch(ctx)); all != 10_000 || some > lookEvery {
			t.Errorf("%s: %d of %d are read after the end", name, some, all)
		}
	}
}

// A Watch looks at its context once in many steps, and stays over. None is never over.
func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w := NewWatch(ctx)
	for range 3 * lookEvery {
		if w.IsOver() || w.Err() != nil {
			t.Fatal("it is over before the end")
		}
	}
	cancel()
	steps := 1
	for ; !w.IsOver(); steps++ {
		if steps > lookEvery {
			t.Fatal("it never looks at its context")
		}
	}
	if steps != lookEvery || !w.IsOver() || !errors.Is(w.Err(), context.Canceled) {
		t.Errorf("over after %d steps: %v", steps, w.Err())
	}
	var none *Watch
	if none.IsOver() || none.Err() != nil {
		t.Error("no watch is over")
	}
}
