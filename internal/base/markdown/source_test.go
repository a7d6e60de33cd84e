package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"

	"sluice/internal/base/markdown/markdowntest"
)

// paragraphs returns the lines of a tree that is nothing but paragraphs of text, with an
// empty one between them. ok is false if there is anything else in it.
func paragraphs(root ast.Node, raw []byte) (lines []string, ok bool) {
	for p := root.FirstChild(); p != nil; p = p.NextSibling() {
		if p.Kind() != ast.KindParagraph {
			return nil, false
		}
		if lines != nil {
			lines = append(lines, "")
		}
		var line strings.Builder
		for c := p.FirstChild(); c != nil; c = c.NextSibling() {
			text, isText := c.(*ast.Text)
			if !isText || text.HardLineBreak() {
				return nil, false
			}
			line.Write(text.Segment.Value(raw))
			if text.SoftLineBreak() || c.NextSibling() == nil {
				lines = append(lines, line.String())
				line.Reset()
			}
		}
	}
	return lines, true
}

// A source that is plain is what the parser makes of it: paragraphs of its lines as they
// are.
func TestPlainSources(t *testing.T) {
	t.Parallel()
	texts := markdowntest.Texts(rand.New(rand.NewPCG(3, 4)))
	p, plain, marked := NewParser(), 0, 0
	for range 50_000 {
		source := p.Source(nil, texts())
		if !source.Plain() {
			marked++
			continue
		}
		plain++
		lines, ok := paragraphs(source.Tree())
		want := strings.Trim(source.Text(), "\n")
		for strings.Contains(want, "\n\n\n") {
			want = strings.ReplaceAll(want, "\n\n\n", "\n\n")
		}
		if got := strings.Join(lines, "\n"); !ok || got != want {
			t.Fatalf("%q is %q to the parser, which is plain text: %t", source.Text(), got, ok)
		}
	}
	if plain < 5_000 || marked < 5_000 {
		t.Errorf("%d texts are plain and %d are not", plain, marked)
	}
}

// A text that is too long for the parser is not plain either: who words it says that its markup
// was not looked at.
func TestLongSources(t *testing.T) {
	t.Parallel()
	p := NewParser()
	for size, want := range map[int]bool{maxSource: true, maxSource + 1: false} {
		source := p.Source(nil, strings.Repeat("a", size))
		if got := source.Plain(); got != want {
			t.Errorf("%d bytes are plain: %t", size, got)
		}
		if root, _ := source.Tree(); (root != nil) != want {
			t.Errorf("%d bytes have a tree: %t", size, root != nil)
		}
	}
}
