// This file reads the surroundings of an amount: its sign, its unit, and words such as "about".

package numbers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// readBefore reads the sign, the currency and words as "about" before an amount.
func (c *claim) readBefore(text string) {
	before := text[max(0, c.start-maxAround):c.start]
	signs := strings.TrimRight(before, "$€£¥₹+-−–~≈")
	if len(signs) < len(before) {
		between := before[len(signs):]
		r, _ := utf8.DecodeLastRuneInString(signs)
		c.negative = strings.ContainsAny(between, "-−–") && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		if strings.ContainsAny(between, "$€£¥₹") {
			c.unit = money
		}
		if strings.ContainsAny(between, "~≈") {
			c.rounded = near
		}
	}
	rest := strings.TrimRight(signs, " \u00a0\u202f(\"*")
	for range 3 {
		word := lastWord(rest)
		said := senseOf(word)
		if strings.HasSuffix(rest, "~") || strings.HasSuffix(rest, "≈") {
			said = near
		}
		switch {
		case said&(near|moreThan|under) != 0:
			c.rounded |= said & (near | moreThan | under)
			return
		case isCurrency(word):
			c.unit = money
		case said&(article|joint) == 0 || word == "and" || word == "und":
			return
		}
		rest = strings.TrimRight(rest[:len(rest)-len(word)], " \u00a0")
	}
}

// degreeOf returns the unit of a temperature from the text after its sign.
func degreeOf(text string) unit {
	u := measureOf(firstWord(strings.TrimLeft(text, " \u00a0")))
	if u == "c" || u == "f" {
		return u
	}
	return degree
}

// readUnit reads the text after an amount: %, a scale, a unit.
func (c *claim) readUnit(text string) {
	rest := text[c.end:min(len(text), c.end+maxAround)]
	rest = strings.TrimPrefix(strings.TrimLeft(rest, " \u00a0\u202f"), "-")
	r, size := utf8.DecodeRuneInString(rest)
	word := firstWord(rest)
	switch {
	case saysPercent(r, word, rest):
		c.percent = true
	case strings.ContainsRune("°℃℉", r):
		c.unit = degreeOf(rest[size:])
	case strings.ContainsRune("$€£¥₹", r) && size > 0:
		c.unit = money
	case counterOf(r) > 0:
		c.scale = counterOf(r)
	case counterUnitOf(r) != "":
		c.unit = counterUnitOf(r)
	default:
		c.readWord(word, rest)
	}
}

// saysPercent reports whether a text begins with a sign or a word for percent.
func saysPercent(r rune, word, rest string) bool {
	switch {
	case r == '%', r == '٪', r == '％':
		return true
	case word == "per", word == "por", word == "pour":
		return isCent(rest[len(word):])
	}
	return isPercent(word)
}

// readWord reads the word behind an amount as a scale or a unit.
func (c *claim) readWord(word, rest string) {
	after := rest[min(len(rest), len(word)):]
	switch {
	case strings.HasPrefix(after, "²"), strings.HasPrefix(after, "³"):
		return
	case speedOf(word, after) != "":
		c.unit = speedOf(word, after)
	case strings.HasPrefix(after, "/"):
		return // one by another, as mg/dl
	case word == "m" && c.unit != money && !strings.HasPrefix(rest, "M"):
		c.unit = "m"
	case scaleOf(word) > 0 && word != "mm":
		c.scale = scaleOf(word)
	case unitOf(word) != "" && (len(word) > 1 || word == "h" || !isWordBehind(after)):
		c.unit = unitOf(word)
	}
}

// speedOf returns the unit of a speed that is written in two words, or "".
func speedOf(word, after string) unit {
	isHour := hasPrefix(after, "/h", " per hour", " pro Stunde")
	switch {
	case word == "km" && isHour:
		return "kmh"
	case word == "m" && strings.HasPrefix(after, "/s"):
		return "mps"
	case word == "miles" && isHour:
		return "mph"
	}
	return ""
}

// isWordBehind reports whether another letter follows an apostrophe, as in "5 s'il".
func isWordBehind(after string) bool {
	return strings.HasPrefix(after, "'") || strings.HasPrefix(after, "’")
}

// isCent reports whether a text continues with the second half of "per cent".
func isCent(rest string) bool {
	switch firstWord(strings.TrimLeft(rest, " \u00a0")) {
	case "cent", "ciento", "cento":
		return true
	}
	return false
}
