package casefold

import (
	"strings"
	"testing"
	"unicode"
)

// Texts are compared without their case, width and form, and without what only joins or orders
// characters.
func TestFolded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                "",
		"abc 12":          "abc 12",
		"ABC":             "abc",
		"Straße":          "strasse",
		"STRAẞE":          "strasse",
		"ÀÉ":              "àé",
		"e\u0301":         "é",
		"ﬁle":             "file",
		"Ａ１":              "a1",
		"a\u00adb":        "ab", // a soft hyphen
		"a\u200bb":        "ab",
		"a\u2060b\u200db": "abb",
		"\u202eabc\u202c": "abc",
		"ΌΣΟΣ":            "όσοσ",
		"όσος":            "όσοσ",
		"İ":               "i",
		"K":               "k", // the sign of kelvin
		"ſ":               "s",
		"µ":               "μ",
		"½":               "1⁄2",
		"Привет":          "привет",
		"①":               "1",
		"\xff":            "\ufffd",
		"a\u00a0b":        "a b",
		"ǅ":               "dž",
		"ಠ":               "ಠ",
		"Ꭰ":               "ꭰ",
	} {
		if got := Fold(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Folding again changes nothing, and neither does the case of what is folded.
func FuzzFolded(f *testing.F) {
	for _, text := range []string{"Straße ΌΣΟΣ ﬁ İ", "e\u0301\u200b\u0301K", "\u1e9e\u00df\u0345\u1fb3", "\xff\u202eA"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Fold(text)
		if again := Fold(once); again != once {
			t.Fatalf("%q is %q, and that is %q", text, once, again)
		}
		if strings.ContainsFunc(once, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
			t.Fatalf("%q has what cannot be seen: %q", text, once)
		}
		if isLowerASCII(text) && once != text {
			t.Fatalf("%q is %q", text, once)
		}
	})
}
