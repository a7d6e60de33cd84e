// This file reads the words around a number. They give the month of a day, or show that the number
// claims nothing: a label of a list or a figure of speech. The words themselves are in
// wordlists.go. Only some bytes on both sides are looked at (maxAround), so that a text takes time
// in proportion to its length.

package numbers

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAround is how far a word may reach that is looked at, in bytes.
const maxAround = 40

// monthNear returns the month that is named next to a day: 24th of November, Nov. 24.
//
// 0: none is near. Fillers such as "of" and "th" are passed over, three at most.
func monthNear(text string, n *number) int {
	if m := monthBehind(text[n.end:min(len(text), n.end+maxAround)]); m > 0 {
		return m
	}
	return monthBefore(text[max(0, n.start-maxAround):n.start])
}

// monthBehind returns the month that a text begins with, or 0.
func monthBehind(rest string) int {
	for range 5 {
		word := firstWord(rest)
		if m := monthOf(word); m > 0 {
			return m
		}
		skip := strings.TrimLeft(rest, " .,-\u00a0")
		switch {
		case isFiller(word):
			rest = skip[min(len(word), len(skip)):]
		case skip == rest:
			return 0
		default:
			rest = skip
		}
	}
	return 0
}

// monthBefore returns the month that a text ends with, or 0.
func monthBefore(before string) int {
	before = strings.TrimRight(before, " .,-\u00a0")
	word := lastWord(before)
	if m := monthOf(word); m > 0 {
		return m
	}
	if word == "the" {
		return monthOf(lastWord(strings.TrimRight(before[:len(before)-len(word)], " ")))
	}
	return 0
}

// isFiller reports whether a word may stand between a day and its month.
func isFiller(word string) bool {
	switch word {
	case "st", "nd", "rd", "th", "of", "de", "er", "º", "ª":
		return true
	}
	return false
}

// firstWord returns the letters that a text begins with, in lower case.
func firstWord(text string) string {
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			text = text[:i]
			break
		}
	}
	return strings.ToLower(text)
}

// lastWord returns the letters that a text ends with, in lower case.
func lastWord(text string) string {
	i := strings.LastIndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	if i >= 0 {
		_, n := utf8.DecodeRuneInString(text[i:])
		text = text[i+n:]
	}
	return strings.ToLower(text)
}

// labels recognizes numbers that count items: 1. … 2. …
//
// A value serves one text, in order. The zero value expects 1.
type labels struct{ next int }

// isLabel reports whether n is a label, and then expects the one that follows. Within a line labels
// count from 1 on without gaps; where they start a line they may begin anywhere.
//
// A number of more than three digits is never a label. A false label would hide a number that
// nothing backs, so that the forms are narrow.
func (l *labels) isLabel(text string, n *number) bool {
	if len(n.groups) > 1 || len(n.groups[0]) > 3 {
		return false
	}
	before, after := text[max(0, n.start-maxAround):n.start], text[n.end:min(len(text), n.end+maxAround)]
	if strings.HasPrefix(after, "\u20e3") || strings.HasPrefix(after, "\ufe0f\u20e3") { // a picture of a key
		return true
	}
	value := 0
	for _, c := range n.groups[0] {
		value = value*10 + int(c-'0')
	}
	if strings.HasSuffix(before, "[") && strings.HasPrefix(after, "]") && value < 100 { // a source
		return true
	}
	isNext := value == 1 || value == l.next
	if !startsItem(text[:n.start], before, after) && !(isNext && (isInline(before, after) || isHeading(before, after))) {
		return false
	}
	l.next = value + 1
	return true
}

// startsItem reports whether a number begins a line, as in an item of a list: 3. or 3). The
// argument all is the complete text before it, since the line may be longer than before.
func startsItem(all, before, after string) bool {
	line := lastLine(before)
	isWhole := len(all) == len(line) || all[len(all)-len(line)-1] == '\n'
	return isWhole && strings.Trim(line, " \t(#*_>") == "" && hasPrefix(after, ". ", ") ", ".\n", ")\n")
}

// lastLine returns the text after the last line end.
func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// hasPrefix reports whether a text begins with one of them.
func hasPrefix(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// isInline reports whether a number counts off within a line: (2) or 2) or step 2: …
func isInline(before, after string) bool {
	return strings.HasPrefix(after, ")") && (strings.HasSuffix(before, "(") || strings.HasSuffix(before, " ")) ||
		strings.HasPrefix(after, ": ") && lastWord(strings.TrimRight(before, " #")) != ""
}

// isHeading reports whether a number stands behind the only word of its line, and nothing or a dash
// or a full stop behind it: Step 2 – …
func isHeading(before, after string) bool {
	return startsAfterWord(lastLine(before)) && (after == "" || after[0] == '\n' || hasPrefix(after, " – ", " — ", ". "))
}

// startsAfterWord reports whether a line has one word so far: Step 1
func startsAfterWord(line string) bool {
	word := strings.Trim(line, " \t#*_>")
	return word != "" && strings.HasSuffix(line, " ") && firstWord(word) == strings.ToLower(word)
}

// isDimension reports whether a name begins with a digit but is not an amount.
func isDimension(name string) bool {
	switch name {
	case "2d", "3d", "2fa", "2g", "3g", "4g", "5g":
		return true
	}
	return false
}

// isCurrency reports whether a word may stand before an amount without a space: codes of ISO 4217,
// and short forms. With other letters before it a number is part of a name.
func isCurrency(word string) bool {
	switch word {
	case "usd", "eur", "gbp", "chf", "jpy", "inr", "cny", "aud", "cad", "sek", "nok", "dkk", "pln", "czk", "brl", "mxn", "zar", "try", "krw", "sgd", "hkd", "nzd", "rs", "us", "r":
		return true
	}
	return false
}

// isIdiomatic spares most numbers the search: no idiom has another number.
func isIdiomatic(raw string) bool {
	switch raw {
	case "24", "7", "365", "366", "50", "9", "5", "52", "12", "60":
		return true
	}
	return false
}

// plainHyphens writes the hyphens of idioms as ASCII has them.
func plainHyphens(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "‑", "-"), "–", "-")
}

// isIdiom reports whether n stands in a figure of speech.
//
// The text near the number is folded to lower case and ASCII hyphens, and compared as whole
// words.
func isIdiom(text string, n *number) bool {
	// Figures of speech, and spans that the calendar has: nobody counted them.
	idioms := [...]string{
		"24/7/365", "24/7", "7/24", "50/50", "50-50", "9-to-5", "9 to 5", "52-week", "52 weeks a year", "365-day", "365 days a year", "366-day", "24-hour", "24 hours a day", "12-hour", "12-month", "12 months a year",
		"7-day", "7 days a week", "60-minute", "60-second",
	}
	if !isIdiomatic(n.raw()) {
		return false
	}
	near := text[max(0, n.start-8):min(len(text), n.end+24)]
	at := n.start - max(0, n.start-8)
	at = len(strings.ToLower(plainHyphens(near[:at])))
	lower := strings.ToLower(plainHyphens(near))
	for _, idiom := range idioms {
		if coversIdiom(lower, idiom, at) {
			return true
		}
	}
	return false
}

// coversIdiom reports whether an idiom stands in a text as whole words, over the byte at.
func coversIdiom(text, idiom string, at int) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], idiom)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(idiom)
		if start <= at && at < end && !isWordAt(text, start-1) && !isWordAt(text, end) {
			return true
		}
		from = start + 1
	}
}

// isWordAt reports whether a word continues at that byte.
func isWordAt(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	if text[at] == ',' {
		return at+1 < len(text) && isDigitByte(text[at+1])
	}
	return strings.IndexByte("/0123456789abcdefghijklmnopqrstuvwxyz", text[at]) >= 0
}
