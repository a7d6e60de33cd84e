package channel

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/internal/base/markdown"
	"sluice/internal/base/markdown/markdowntest"
)

// outline is a tree in brackets.
func outline(b *strings.Builder, n *node) {
	for c := n.first; c != nil; c = c.next {
		fmt.Fprintf(b, "(%d %d %q", c.kind, c.number, c.text)
		outline(b, c)
		b.WriteByte(')')
	}
}

// A text without markup has the same tree with and without the parser.
func TestTreeWithoutAParser(t *testing.T) {
	t.Parallel()
	texts := markdowntest.Texts(rand.New(rand.NewPCG(5, 6)))
	p, plain := markdown.NewParser(), 0
	for range 50_000 {
		source := p.Source(nil, clean(texts()))
		if !source.Plain() {
			continue
		}
		plain++
		var got, want strings.Builder
		for _, emojis := range []func(string) string{nil, New(Spec{Form: Plain, Emojis: emojisStrip}).newEmojiFilter()} {
			short := tree{nodes: new(arena), emojis: emojis}
			outline(&got, short.parseSource(source))
			root, raw := source.Tree()
			full := tree{nodes: new(arena), emojis: emojis, source: source.Text(), raw: raw}
			document := full.nodes.newNode(document)
			full.addChildren(document, root)
			outline(&want, document)
			if got.String() != want.String() || short.markup != full.markup || short.dropped != full.dropped {
				t.Fatalf("%q is %s, and %s to the parser", source.Text(), &got, &want)
			}
		}
	}
	if plain < 5_000 {
		t.Errorf("only %d texts are plain", plain)
	}
}
