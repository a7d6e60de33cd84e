package channel

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What no channel may have goes, line ends are one, and the rest stays.
func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"ASCII", "a\tb\nc ~", "a\tb\nc ~"},
		{"other scripts", "é 你 😀 \u00a0 \u2027 \u202f \u2065 \u206a", "é 你 😀 \u00a0 \u2027 \u202f \u2065 \u206a"},
		{"CR LF", "a\r\nb", "a\nb"},
		{"CR alone, and twice", "a\rb\r\r\nc", "a\nb\n\nc"},
		{"form feed and vertical tab", "a\fb\vc", "a\nb\nc"},
		{"separators of lines", "a\u2028b\u2029c\u0085d", "a\nb\nc\nd"},
		{"controls", "a\x00b\x08c\x1bd\x1fe\x7ff", "abcdef"},
		{"controls of Latin-1", "a\u0080b\u0084c\u0086d\u009fe\u00a0f", "abcde\u00a0f"},
		{"a control behind Unicode", "é\x01è", "éè"},
		{"broken UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"a character for what was broken", "a\ufffdb", "a\ufffdb"},
		{"overrides", "a\u202db\u202ec", "abc"},
		{"an embedding in pairs", "\u202aa\u202c \u202bb\u202c", "\u202aa\u202c \u202bb\u202c"},
		{"isolates in pairs", "\u2066a\u2069\u2067b\u2069\u2068c\u2069", "\u2066a\u2069\u2067b\u2069\u2068c\u2069"},
		{"pairs within pairs", "\u2067a\u202bb\u202cc\u2069", "\u2067a\u202bb\u202cc\u2069"},
		{"one that is not closed", "a\u2067b", "ab"},
		{"one that nothing opens", "a\u2069b\u202cc", "abc"},
		{"one too many", "\u2067a\u2069\u2069", "\u2067a\u2069"},
		{"closed by another kind", "\u2067a\u202c", "a"},
		{"an embedding closed by another kind", "\u202ba\u2069", "a"},
		{"the inner one is open", "\u2067a\u202bb\u2069c", "abc"},
		{"closed on another line", "\u2067a\nb\u2069", "a\nb"},
		{"an override does not close", "\u202da\u202cb", "ab"},
	} {
		got := clean(tt.in)
		if got != tt.want {
			t.Errorf("%s: %q is %q, want %q", tt.name, tt.in, got, tt.want)
		}
		if again := clean(got); again != got {
			t.Errorf("%s: cleaned again it is %q", tt.name, again)
		}
	}
}

// Each character is judged alike where it is looked for and where it is taken out.
func TestCleanByCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x3000; r++ {
		if strings.ContainsRune(orderControls, r) {
			continue // whether it stays is a matter of its partner
		}
		in := "a" + string(r) + "b"
		got := stripControls(in)
		want := in
		switch {
		case r == '\n', r == '\t':
		case r == '\r', r == '\f', r == '\v', r == 0x85, r == 0x2028, r == 0x2029:
			want = "a\nb"
		case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x202d, r == 0x202e:
			want = "ab"
		}
		if got != want || isClean(in) != (in == want) {
			t.Errorf("%U: %q, and that it is clean: %t", r, got, isClean(in))
		}
	}
	for _, control := range orderControls {
		if isClean("a" + string(control)) {
			t.Errorf("%U is not looked at", control)
		}
	}
}

// Whatever comes in is UTF-8, with no controls, and balanced in each line.
func FuzzClean(f *testing.F) {
	f.Add("a\u2067b\u202bc\u2069\r\nd\u202c")
	f.Add("\xe2\x81\xa7\xe2\x81")
	f.Fuzz(func(t *testing.T, in string) {
		got := clean(in)
		if !utf8.ValidString(got) || !strings.Contains(in, "\u202e") && isClean(in) && got != in || clean(got) != got {
			t.Fatalf("%q is %q", in, got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			var open []bool
			for _, r := range line {
				switch r {
				case lre, rle:
					open = append(open, false)
				case lri, lri + 1, fsi:
					open = append(open, true)
				case pdf, pdi:
					if n := len(open); n == 0 || open[n-1] != (r == pdi) {
						t.Fatalf("%q: %q closes what is not open", in, line)
					} else {
						open = open[:n-1]
					}
				case lro, rlo, '\r', 0, 0x1b, 0x7f:
					t.Fatalf("%q has %U", got, r)
				}
			}
			if len(open) > 0 {
				t.Fatalf("%q: %q is not closed", in, line)
			}
		}
	})
}
