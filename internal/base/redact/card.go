package redact

import (
	"unicode"
	"unicode/utf8"
)

// maxApart is how many separators may stand between two digits of a card: two, and a space
// behind the marks of bold text.
const maxApart = 3

// cardDigits are the digits of a number that may be a card's, and where each of them ends.
type cardDigits struct {
	value [maxDigits + 1]byte
	end   [maxDigits + 1]int
	apart [maxDigits + 1]bool // from the digit before
	count int
}

// cardEnd returns the end of a card's number that begins at at, or at. Its digits are those of
// ASCII or full width. Up to three of spaces, hyphens, points, asterisks, line ends and characters
// of format may stand between two digits, as in formatted text. If another number follows the
// card's, the longest valid card counts.
func cardEnd(text string, at int) int {
	var d cardDigits
	d.readDigits(text, at)
	for n := min(d.count, maxDigits); n >= leastCard; n-- {
		whole := n == d.count
		if whole && isCut(text[d.end[n-1]:]) || !whole && !d.apart[n] {
			continue
		}
		if hasIssuer(d.value[:n]) && d.isGroupedAsCard(n) && passesLuhn(d.value[:n]) {
			return d.end[n-1]
		}
	}
	return at
}

// leastCard is the length of the shortest card.
const leastCard = 13

// readDigits reads the digits.
func (d *cardDigits) readDigits(text string, at int) {
	gap := 0
	for i := at; i < len(text) && d.count < len(d.value); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		i += size
		if r >= '０' && r <= '９' {
			r += '0' - '０'
		}
		if r >= '0' && r <= '9' {
			d.value[d.count], d.end[d.count], d.apart[d.count] = byte(r-'0'), i, gap > 0
			d.count++
			gap = 0
			continue
		}
		if gap++; gap > maxApart || !isBetweenDigits(r) {
			return
		}
	}
}

// isBetweenDigits reports whether r may stand between two digits of a card.
func isBetweenDigits(r rune) bool {
	switch r {
	case ' ', '-', '.', '*', '\n', '\r':
		return true
	}
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Pd)
}

// isGroupedAsCard reports whether the first n digits stand in groups like those of cards. These are
// one group, at most five groups of which the first has four digits, or equal groups of one or two.
func (d *cardDigits) isGroupedAsCard(n int) bool {
	first, groups, run, equal := n, 1, 1, true
	for i := 1; i < n; i++ {
		if !d.apart[i] {
			run++
			continue
		}
		if groups == 1 {
			first = run
		}
		equal = equal && run == first
		groups, run = groups+1, 1
	}
	return groups == 1 || first == 4 && groups <= 5 || equal && first <= 2 && run <= first
}

// passesLuhn checks a number's last digit (ISO/IEC 7812-1, annex B).
func passesLuhn(v []byte) bool {
	sum := 0
	for i := range v {
		n := int(v[len(v)-1-i])
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}
