package check

import (
	"math/rand/v2"
	"testing"

	"sluice/internal/base/markdown/markdowntest"
)

// What is taken for text without a parser is what the parser makes of it, and what no
// parser is asked about has none of the constructs that it would find.
func TestProseWithoutAParser(t *testing.T) {
	t.Parallel()
	texts := markdowntest.Texts(rand.New(rand.NewPCG(1, 2)))
	plain, spared := 0, 0
	for range 50_000 {
		text := texts()
		source := reader.Source(nil, text)
		got, isPlain := parseProse(nil, source), source.Plain()
		root, raw := source.Tree()
		want := proseOfTree(nil, root, raw)
		if isPlain {
			plain++
			if want.text != got.text || len(want.links)+len(want.built) > 0 {
				t.Fatalf("%q is %q, the parser has %q %q %v", text, got.text, want.text, want.links, want.built)
			}
		}
		for b := range want.built {
			if !mayHave(text, b.kind) {
				t.Fatalf("%q has %s", text, b.kind)
			}
		}
		if !mayHave(text, "a heading") {
			spared++
		}
	}
	if plain < 5_000 || spared < 5_000 {
		t.Errorf("only %d of the texts are plain, and %d without what a heading needs", plain, spared)
	}
}
