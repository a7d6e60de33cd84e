package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// shape is a tree in brackets: its nodes, and its texts wherever they are parted.
func shape(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte('\n')
				}
			}
			return ast.WalkContinue, nil
		case *ast.Link:
			if entering {
				b.Write(n.Destination)
			}
		}
		b.WriteString(map[bool]string{true: "<" + n.Kind().String() + " ", false: ">"}[entering])
		return ast.WalkContinue, nil
	})
	return b.String()
}

// A text that is taken to have no address has none: the parser that looks for them finds
// the same in it.
func TestTextsWithoutAddresses(t *testing.T) {
	t.Parallel()
	units := []string{
		"[a b](https://c.d/e)", "[x](https://c.d)", "[", "](https://c.d/e)", "https://c.d", "http://", "://", "(", ")", "*", "_", "`", "\\", "!", "<", ">", "|", "word ", " ",
		"\n", "\n\n", "- ", "- [", "# ", "> ", "[label one](http://e.f/g?h=i)", "|a|b|\n|-|-|\n", "[r]: <x>\n",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	p, bare := NewParser(), 0
	for range 20_000 {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			b.WriteString(units[rng.IntN(len(units))])
		}
		source := []byte(b.String())
		if mayLink(source) {
			continue
		}
		bare++
		without, with := shape(p.bare().Parse(text.NewReader(source)), source), shape(p.all().Parse(text.NewReader(source)), source)
		if strings.Contains(with, "<AutoLink") != strings.Contains(without, "<AutoLink") || strings.Count(with, "<Link ") != strings.Count(without, "<Link ") {
			t.Fatalf("%q: %s, and with addresses %s", source, without, with)
		}
	}
	if bare < 5000 {
		t.Errorf("%d texts without addresses are few", bare)
	}
}
