// This file reads the numbers of any language: digits of any script, groups of three or of lakhs, a
// comma or a point for decimals. The meaning of 1.234 is not certain. So a number has readings, and
// one backed reading is enough.

package numbers

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// number is a number as it is written: groups of digits and their separators.
//
// It points into its text by start and end and keeps no other part of it.
type number struct {
	start, end int      // in the text
	groups     []string // in ASCII, whatever the digits are
	seps       []rune   // one less; spaces that hold together are noBreak

	// Room for what most numbers have: an answer has many, and none of it is allocated.
	some  [2]string
	means [2]reading // what readings returns
}

// Separators of groups without an ASCII sign of their own.
const (
	noBreak    = '\u00a0'
	arabicDot  = '\u066b' // separates decimals
	arabicMark = '\u066c' // separates thousands
)

// digitOf returns the value of a decimal digit of any script (Nd).
//
// It relies on Unicode's rule that digits of a script are ten in a row.
func digitOf(r rune) (int, bool) {
	if r < 0x80 {
		return int(r - '0'), '0' <= r && r <= '9'
	}
	if !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	// The digits of a script follow one another from 0 on, and ranges hold whole scripts.
	for _, in := range unicode.Nd.R16 {
		if rune(in.Lo) <= r && r <= rune(in.Hi) {
			return int(r-rune(in.Lo)) % 10, true
		}
	}
	for _, in := range unicode.Nd.R32 {
		if rune(in.Lo) <= r && r <= rune(in.Hi) {
			return int(r-rune(in.Lo)) % 10, true
		}
	}
	return 0, false
}

// holdsNumber reports whether eachNumber finds one.
func holdsNumber(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { _, ok := digitOf(r); return ok })
}

// eachNumber gives each the numbers of a text in their order.
//
// n is written over by the next one.
func eachNumber(text string, each func(n *number)) {
	n := new(number)
	for at := 0; at < len(text); {
		if c := text[at]; c < 0x80 && (c < '0' || c > '9') {
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		if _, ok := digitOf(r); !ok {
			at += size
			continue
		}
		n.readAt(text, at)
		each(n)
		at = n.end
	}
}

// readAt reads a number with its groups and separators. Their meaning depends on the language, so
// all readings are kept.
func (n *number) readAt(text string, start int) {
	n.start, n.groups, n.seps = start, n.some[:0], n.seps[:0]
	group, at := digitsAt(text, start)
	for {
		n.groups = append(n.groups, group)
		n.end = at
		sep, size := separatorAt(text, at)
		if size == 0 {
			return
		}
		next, end := digitsAt(text, at+size)
		if next == "" || !n.mayJoin(sep, next) {
			return
		}
		n.seps = append(n.seps, sep)
		group, at = next, end
	}
}

// digitsAt reads those that a text has at a place.
func digitsAt(text string, at int) (group string, end int) {
	end = at
	for end < len(text) && isDigitByte(text[end]) {
		end++
	}
	if end > at && (end == len(text) || text[end] < 0x80) {
		return text[at:end], end
	}
	return foreignDigits(text, at)
}

// foreignDigits is digits for those of any script.
func foreignDigits(text string, at int) (group string, end int) {
	var b strings.Builder
	for end = at; ; {
		r, size := utf8.DecodeRuneInString(text[end:])
		v, ok := digitOf(r)
		if !ok {
			break
		}
		b.WriteByte(byte('0' + v))
		end += size
	}
	return b.String(), end
}

// separatorAt returns a possible separator of groups. size is 0 without one.
func separatorAt(text string, at int) (sep rune, size int) {
	r, size := utf8.DecodeRuneInString(text[at:])
	switch r {
	case '.', ',', '\'', ' ', arabicDot, arabicMark:
		return r, size
	case '．':
		return '.', size
	case '，':
		return ',', size
	case '’':
		return '\'', size
	case noBreak, '\u202f', '\u2009', '\u2007':
		return noBreak, size
	}
	return 0, 0
}

// mayJoin reports whether a group may belong to n. Behind a space or an apostrophe only three
// digits do, if all that is before is grouped alike.
func (n *number) mayJoin(sep rune, next string) bool {
	switch sep {
	case ' ', noBreak, '\'':
		if len(next) != 3 || len(n.groups[0]) > 3 {
			return false
		}
		if last := len(n.seps) - 1; last >= 0 && n.seps[last] != sep { // all before it are alike
			return false
		}
	}
	return true
}

// reading is a possible meaning of a number.
//
// Two readings are the same value if their keys are equal; value is for arithmetic.
type reading struct {
	key      string // its digits without redundant zeros: 1200, 0.5
	value    float64
	decimals int // that are written
}

// readings returns what n means as one number: 1.234 is 1234 and 1.234. It is empty for
// dates and versions.
//
// There are two at most. They are those of n, which keeps them.
func (n *number) readings() []reading {
	last, list := len(n.seps)-1, n.means[:0]
	if last < 0 {
		return append(list, newReading(n.groups[0], ""))
	}
	if isGrouped(n.groups, n.seps) {
		list = append(list, newReading(strings.Join(n.groups, ""), ""))
	}
	sep, whole := n.seps[last], n.groups[:last+1]
	if !isDecimal(sep) {
		return list
	}
	if last == 0 || isGrouped(whole, n.seps[:last]) && n.seps[0] != sep {
		list = append(list, newReading(strings.Join(whole, ""), n.groups[last+1]))
	}
	return list
}

// isDecimal reports whether a separator may be that of the decimals.
func isDecimal(sep rune) bool { return sep == '.' || sep == ',' || sep == arabicDot }

// isGrouped reports whether groups are thousands, or lakhs and crores.
//
// It wants one separator throughout and a first group without a leading zero.
func isGrouped(groups []string, seps []rune) bool {
	for _, s := range seps {
		if s != seps[0] || s == arabicDot {
			return false
		}
	}
	first, last := groups[0], len(groups)-1
	if len(first) > 3 || first[0] == '0' || len(groups[last]) != 3 {
		return false
	}
	size := len(groups[1])
	if size == 2 && (seps[0] != ',' || len(first) > 2) {
		return false
	}
	for _, g := range groups[1:last] {
		if len(g) != size || size < 2 {
			return false
		}
	}
	return true
}

// newReading makes a reading of digits. Its key is the same for all ways to write the
// same value.
func newReading(whole, fraction string) reading {
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	r := reading{key: whole, decimals: len(fraction)}
	if f := strings.TrimRight(fraction, "0"); f != "" {
		r.key += "." + f
	}
	r.value, _ = strconv.ParseFloat(r.key, 64) // out of range it is infinite, and near nothing
	return r
}

// raw is n as it is written, in ASCII.
func (n *number) raw() string {
	var b strings.Builder
	for i, g := range n.groups {
		if i > 0 {
			b.WriteRune(n.seps[i-1])
		}
		b.WriteString(g)
	}
	return b.String()
}

// pieces returns the numbers that n may be instead of one: those between spaces. Without a reading
// of n, they are those of a date or a list. A version or an address is one thing.
//
// nil: it is one number and nothing else.
func (n *number) pieces() []*number {
	var list []*number
	splitAt := func(sep rune) bool { return sep == ' ' }
	if len(n.readings()) == 0 {
		if !slices.Contains(n.seps, ',') && !n.isDate() {
			return nil
		}
		splitAt = func(rune) bool { return true }
	}
	from := 0
	for i := range n.groups {
		if i == len(n.seps) || splitAt(n.seps[i]) {
			list = append(list, &number{start: n.start, end: n.end, groups: n.groups[from : i+1], seps: n.seps[from:i]})
			from = i + 1
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// isDate reports whether n is written as 24.11.2026, 24.11.26 or 2026.11.24.
func (n *number) isDate() bool {
	if len(n.groups) != 3 {
		return false
	}
	first, last := len(n.groups[0]), len(n.groups[2])
	return len(n.groups[1]) <= 2 && (first <= 2 && (last == 2 || last == 4) || first == 4 && last <= 2)
}
