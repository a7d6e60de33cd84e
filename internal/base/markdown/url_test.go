package markdown

import (
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
)

// A bare URL ends where white space, <, or punctuation outside ASCII begins, and never within
// letters of any script or at a mark.
func TestURLsEndAsOneRuleSays(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"https://de.wikipedia.org/wiki/Köln now": "https://de.wikipedia.org/wiki/Köln",
		"https://münchen.example/straße?x=ü.":    "https://münchen.example/straße?x=ü",
		"https://ca.example.org/Col·legi":        "https://ca.example.org/Col·legi",
		"https://he.example.org/צה״ל":            "https://he.example.org/צה״ל",
		"https://example.com/?q=*a*&r=1":         "https://example.com/?q=*a*&r=1",
		"https://example.com/_a_b__c__":          "https://example.com/_a_b__c",
		"https://example.com/~~a~~b":             "https://example.com/~~a~~b",
		"https://example.com/x|y":                "https://example.com/x|y",
		"https://example.com/😀":                  "https://example.com/😀",
		"https://example.com/👩\u200d💻":           "https://example.com/👩\u200d💻",
		"https://example.com/a<b":                "https://example.com/a",
		"https://example.com/a\u00a0b":           "https://example.com/a",
		"https://example.com/a\u200bb":           "https://example.com/a",
		"https://example.com/中文。后":               "https://example.com/中文",
		"https://example.com/a，b":                "https://example.com/a",
		"https://example.com/a“":                 "https://example.com/a",
		"https://example.com/a…":                 "https://example.com/a",
		"https://example.com/a?!.,:*_~":          "https://example.com/a",
		"https://example.com/a_(b)":              "https://example.com/a_(b)",
		"https://example.com/a).":                "https://example.com/a",
		"https://example.com/(a))*":              "https://example.com/(a)",
		"https://example.com/a;b":                "https://example.com/a;b",
		"http://localhost:8080/a_b_c":            "http://localhost:8080/a_b_c",
		"HTTPS://Example.com/A":                  "HTTPS://Example.com/A",
	} {
		if got := source[:URLEnd([]byte(source), 0)]; got != want {
			t.Errorf("%q: the URL is %q, want %q", source, got, want)
		}
		if got := linkIn(t, "See "+source); got != want {
			t.Errorf("%q: the link is %q, want %q", source, got, want)
		}
	}
	for source, want := range map[string]string{
		`"https://a.test/b" c`: "https://a.test/b", `'https://a.test/b' c`: "https://a.test/b",
		"[https://a.test/b] c": "https://a.test/b", "(https://a.test/b) c": "https://a.test/b",
		"看https://a.test/b": "https://a.test/b", "a,https://a.test/b": "https://a.test/b",
	} {
		start := strings.Index(source, "https")
		if got := source[start:URLEnd([]byte(source), start)]; got != want {
			t.Errorf("%q: the URL is %q, want %q", source, got, want)
		}
	}
}

// linkIn returns the URL of the first link that is written as it is.
func linkIn(t *testing.T, source string) (url string) {
	t.Helper()
	root, raw := NewParser().Source(nil, source).Tree()
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, isLink := n.(*ast.AutoLink); isLink && entering && url == "" {
			url = string(link.URL(raw))
		}
		return ast.WalkContinue, nil
	})
	return url
}

// A bare URL in the label of a link is no link of its own, and no mark stands in it. In a cell
// it ends at the border.
func TestURLsInLabelsAndCells(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"[a http://b.c/*d*](http://e)":        "<Paragraph http://e<Link a http://b.c/*d*>>",
		"*http://b.c/d*":                      "<Paragraph <Emphasis <AutoLink >>>",
		"**a: http://b.c/d**":                 "<Paragraph <Emphasis a: <AutoLink >>>",
		"~~www.b.cd~~":                        "<Paragraph <Strikethrough <AutoLink >>>",
		"|a|\n|-|\n|http://b.c/d|\n":          "<Table <TableHeader <TableCell a>><TableRow <TableCell <AutoLink >>>>",
		"xhttp://b.c and http:// and www.- c": "<Paragraph xhttp://b.c and http:// and www.- c>",
	} {
		if got := treeOf(t, source); got != want {
			t.Errorf("%q: got %s, want %s", source, got, want)
		}
	}
}

// A row may have more cells than its header. None is lost, and marks in each are read.
func TestSurplusCells(t *testing.T) {
	t.Parallel()
	for rows, want := range map[string]string{
		"|b|c|":               "<TableCell b><TableCell c>",
		"|b|**c**| d":         "<TableCell b><TableCell <Emphasis c>><TableCell d>",
		"b | c":               "<TableCell b><TableCell c>",
		"|b|| d |":            "<TableCell b><TableCell ><TableCell d>",
		"|b|c\\|d|":           "<TableCell b><TableCell c\\|d>",
		"|b| | |":             "<TableCell b>",
		"|b|c|\n|d|e|f|":      "<TableCell b><TableCell c>><TableRow <TableCell d><TableCell e><TableCell f>",
		"|b|c|\n\ntext":       "<TableCell b><TableCell c>",
		"|b|https://x.y/z| c": "<TableCell b><TableCell <AutoLink >><TableCell c>",
	} {
		got := treeOf(t, "|a|\n|-|\n"+rows)
		if want := "<Table <TableHeader <TableCell a>><TableRow " + want + ">>"; !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %s, want %s", rows, got, want)
		}
	}
}
