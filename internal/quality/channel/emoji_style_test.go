package channel

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"sluice/internal/base/markdown/markdowntest"
)

// What is shown as a picture by itself, what only with a sign, and what never is.
func TestIsEmoji(t *testing.T) {
	t.Parallel()
	for g, want := range map[string]bool{
		"😀": true, "✅": true, "🇩🇪": true, "👍🏽": true, "👨‍👩‍👧": true, "🏴\U000E0067\U000E0062\U000E007F": true,
		"☎": false, "☎\ufe0f": true, "☎\ufe0e": false, "✅\ufe0e": false, "❤": false, "❤\ufe0f": true, "❤\u200d🔥": true,
		"©": false, "©\ufe0f": true, "®": false, "™": false, "™\ufe0f": true, "☝": false, "☝🏻": true, "☝🏿": true, "☝\u0301": false,
		"1": false, "1\ufe0f": false, "1\ufe0f\u20e3": true, "#\ufe0f\u20e3": true, "*\u20e3": true, "0\u20e3": true, "a\u20e3": false, " \u20e3": false,
		"a": false, "é": false, "я": false, "你": false, "\u00a8": false, "→": false, "½": false, "\u2060": false,
	} {
		if got := isEmoji(g); got != want {
			t.Errorf("%q (%U) is an emoji: %t", g, []rune(g), got)
		}
	}
}

// The table of each property is that of Unicode 17, at its edges.
func TestEmojiData(t *testing.T) {
	t.Parallel()
	if len(pictographic.R16) == 0 || len(pictographic.R32) == 0 || len(presentation.R16) == 0 || len(presentation.R32) == 0 {
		t.Fatal("a table is empty")
	}
	for _, of := range [][]rune{{'©', '®', '‼', '⁉', '™', '↔', '⌚', '⌛', 0x1F004, 0x1F0CF, 0x1FAF0}} {
		for _, r := range of {
			if !isEmoji(string(r) + "\ufe0f") {
				t.Errorf("%U is no emoji", r)
			}
		}
	}
	for _, r := range []rune{'⌘', '⏏' + 0x100, 0x1F000 - 1, 0x20000, 'A', 0x2100} {
		if isEmoji(string(r) + "\ufe0f") {
			t.Errorf("%U is an emoji", r)
		}
	}
	if none := charsWith("No_Such_Property"); len(none.R16)+len(none.R32) > 0 {
		t.Error("there are characters with a property that does not exist")
	}
}

// Graphemes are those of Unicode up to 64 bytes; longer ones are parted between characters.
func TestGraphemes(t *testing.T) {
	t.Parallel()
	next := markdowntest.Texts(rand.New(rand.NewPCG(1, 2)))
	texts := []string{"a\u0301\u0302b", "क्षि", "👩🏽‍❤️‍💋‍👩🏿!", "🇩🇪🇫🇷", "각", "\r\na", "é"}
	for range 500 {
		texts = append(texts, next())
	}
	for _, text := range texts {
		text = strings.ToValidUTF8(text, "")
		at := 0
		for it := graphemes.FromString(text); it.Next(); {
			if len(it.Value()) > maxGrapheme {
				break
			}
			if end := endOfGrapheme(text, at); end != at+len(it.Value()) {
				t.Fatalf("%q: a grapheme ends at %d, and not at %d", text, end, at+len(it.Value()))
			}
			at += len(it.Value())
		}
	}
	heap := "a" + strings.Repeat("\u0301", 100)
	for at := 0; at < len(heap); {
		end := endOfGrapheme(heap, at)
		if end <= at || end-at > maxGrapheme || !strings.HasPrefix(heap[end:]+"\u0301", "\u0301") {
			t.Fatalf("a heap of accents is parted at %d", end)
		}
		at = end
	}
}

// Each emoji is asked for in order, and the spaces around one that goes are one.
func TestReplaceEmojis(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in, without, with string
		asked             []string
	}{
		{"", "", "", nil},
		{"none at all", "none at all", "none at all", nil},
		{"é ñ", "é ñ", "é ñ", nil},
		{"a 👍 b", "a b", "a X b", []string{"👍"}},
		{"a👍b", "ab", "aXb", []string{"👍"}},
		{"👍 a", "a", "X a", []string{"👍"}},
		{"a 👍", "a ", "a X", []string{"👍"}},
		{"a 👍, b 👍!", "a, b!", "a X, b X!", []string{"👍", "👍"}},
		{"a👍 b", "a b", "aX b", []string{"👍"}},
		{"👍👎", "", "XX", []string{"👍", "👎"}},
		{"👍 👎 c", "c", "X X c", []string{"👍", "👎"}},
		{"a 👍\u0301", "a ", "a X", []string{"👍\u0301"}},
		{"1️⃣ one", "one", "X one", []string{"1️⃣"}},
		{"1 © 2", "1 © 2", "1 © 2", nil},
	} {
		var asked []string
		for with, want := range map[string]string{"": tt.without, "X": tt.with} {
			asked = nil
			if got := replaceEmojis(tt.in, func(g string) string { asked = append(asked, g); return with }); got != want {
				t.Errorf("%q with %q is %q, want %q", tt.in, with, got, want)
			}
		}
		if !slices.Equal(asked, tt.asked) {
			t.Errorf("%q: asked for %q, want %q", tt.in, asked, tt.asked)
		}
		if got := replaceEmojis(tt.in, func(g string) string { return g }); got != tt.in {
			t.Errorf("%q with its own is %q", tt.in, got)
		}
	}
	if got := emojisIn("b 👍 ✅ a 👍 ©️"); !slices.Equal(got, []string{"👍", "✅", "©️"}) {
		t.Errorf("there are %q", got)
	}
}
