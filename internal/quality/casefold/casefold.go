// Package casefold brings texts into one form for comparison, whatever their case, width and
// compatibility form.
package casefold

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold returns a text in the form NFKC with its case folded (Unicode's CaseFolding.txt, status C
// and F for ß). It drops characters that only join or order others, since channels insert some.
//
// It is idempotent; it may be longer than text.
func Fold(text string) string {
	if isLowerASCII(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range norm.NFKC.String(text) {
		switch {
		case r < 0x80:
			b.WriteByte(byte(unicode.ToLower(r)))
		case r == 'ß' || r == 'ẞ':
			b.WriteString("ss")
		case unicode.Is(unicode.Cf, r):
		default:
			b.WriteRune(foldRune(r))
		}
	}
	return norm.NFKC.String(b.String())
}

// isLowerASCII reports whether folding would change nothing, which saves an allocation.
func isLowerASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x80 || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// foldRune returns one of the characters that differ from r in their case alone, the same
// for all of them.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}
