package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Emphasis is what goldmark makes of it, which takes longer.
func TestEmphasisIsThatOfCommonMark(t *testing.T) {
	t.Parallel()
	reference := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(extension.NewStrikethroughParser(), 500), util.Prioritized(extension.NewTaskCheckBoxParser(), 0))...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	own := NewParser()
	units := []string{"*", "*", "**", "***", "****", "_", "_", "__", "~", "~~", "~~~", "a", "b", " ", " ", "c d", ".", "(", ")", "[", "](x)", "![", "`", "\n", "\\", "é", "你", "> ", "- "}
	rng := rand.New(rand.NewPCG(5, 6))
	marked := 0
	for range 50_000 {
		var b strings.Builder
		for range 1 + rng.IntN(24) {
			b.WriteString(units[rng.IntN(len(units))])
		}
		source := []byte(b.String())
		want := shape(reference.Parse(text.NewReader(source)), source)
		if strings.Contains(want, "<Emphasis") {
			marked++
		}
		if got := shape(own.parseTree(source, nil), source); got != want {
			t.Fatalf("%q:\n got %s\nwant %s", source, got, want)
		}
	}
	if marked < 10_000 {
		t.Errorf("%d texts with emphasis are few", marked)
	}
}
