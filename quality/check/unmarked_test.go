package check

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// What is taken for text without a parser is what the parser makes of it.
func TestUnmarked(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"You have", " ", "  ", "\n", "\n\n", "32", "1.", "1)", "- ", "+ ", "=", "==", "---", "a.", "www.a.de", "http://a.de", "a:b", "12:30", "é", "你好", "\u00a0", "\u2028", "👍", "!", "(", ")", "'", "\"", "$5", "%", "^", "{", "}", "?", ",", ";",
		"*", "_", "**b**", "`c`", "#", "# ", "> ", "|", "[a](b)", "<b>", "&amp;", "\\", "~~", "a@b.de", "\t", "\r\n", "\x00", "\xff", "\x7f", "FTP://x.de", "mailto:x", "W.", "x\n", "=\n", "\u0085", "...", "10,000.5",
	}
	r := rand.New(rand.NewPCG(1, 2))
	plain := 0
	for range 50_000 {
		var b strings.Builder
		most := 36
		if r.IntN(4) == 0 {
			most = len(pieces)
		}
		for range r.IntN(9) {
			b.WriteString(pieces[r.IntN(most)])
		}
		source := b.String()
		text, ok := unmarked(source)
		if !ok {
			continue
		}
		plain++
		if want := parsed(source); want.text != text || len(want.links)+len(want.built) > 0 {
			t.Fatalf("%q is %q, the parser has %q %q %v", source, text, want.text, want.links, want.built)
		}
	}
	if plain < 5_000 {
		t.Errorf("only %d of the texts are plain", plain)
	}
}
