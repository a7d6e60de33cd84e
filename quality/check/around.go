package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// claim is a number with what the words around it make of it.
type claim struct {
	*number
	text    string
	percent bool
	scale   float64 // of "million"; 0: none
	minutes float64 // of "hours"; 0: it is no time
	month   int     // that is named beside it; 0: none
}

// maxAround is how far a word may reach that is looked at, in bytes.
const maxAround = 40

// newClaim reads what stands around a number: its unit makes a different claim
// of it.
func newClaim(text string, n *number) claim {
	c := claim{number: n, text: text}
	rest := text[n.end:min(len(text), n.end+maxAround)]
	rest = strings.TrimPrefix(strings.TrimLeft(rest, " \u00a0\u202f"), "-")
	r, _ := utf8.DecodeRuneInString(rest)
	if r == '%' || r == '٪' || r == '％' {
		c.percent = true
		return c
	}
	after := firstWord(rest)
	c.percent = slices.Contains(percents[:], after)
	c.scale = scales[after]
	c.minutes = units[after]
	if c.scale == 0 {
		c.scale = counters[r]
	}
	if c.minutes == 0 {
		c.minutes = counterUnits[r]
	}
	c.month = months[after]
	if r == '月' {
		c.month = 0
	}
	if c.month == 0 {
		c.month = monthNear(text, n)
	}
	return c
}

// monthNear returns the month that is named beside a day: 24th of November, Nov. 24.
func monthNear(text string, n *number) int {
	rest := text[n.end:min(len(text), n.end+maxAround)]
	for range 3 {
		word := firstWord(rest)
		if m := months[word]; m > 0 {
			return m
		}
		skip := strings.TrimLeft(rest, " .,-\u00a0")
		if word == "" || !slices.Contains(fillers[:], word) {
			if skip == rest {
				break
			}
			rest = skip
			continue
		}
		rest = skip[min(len(word), len(skip)):]
	}
	before := text[max(0, n.start-maxAround):n.start]
	before = strings.TrimRight(before, " .,-\u00a0")
	word := lastWord(before)
	if m := months[word]; m > 0 {
		return m
	}
	if word == "the" {
		return months[lastWord(strings.TrimRight(before[:len(before)-len(word)], " "))]
	}
	return 0
}

// fillers stand between a day and its month.
var fillers = [...]string{"st", "nd", "rd", "th", "of", "de", "er", "º", "ª"}

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

// labels are numbers that count off what follows: 1. … 2. …
type labels struct{ next int }

// is says whether n is a label. Within a line labels count from 1 on without gaps.
func (l *labels) is(text string, n *number) bool {
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
	line := before[strings.LastIndexByte(before, '\n')+1:]
	startsLine := strings.Trim(line, " \t(#*_>") == "" && (n.start-len(line) == 0 || text[n.start-len(line)-1] == '\n')
	if startsLine && (strings.HasPrefix(after, ". ") || strings.HasPrefix(after, ") ") || strings.HasPrefix(after, ".\n") || strings.HasPrefix(after, ")\n")) {
		l.next = value + 1
		return true
	}
	if strings.HasSuffix(before, "[") && strings.HasPrefix(after, "]") && value < 100 { // a source
		return true
	}
	if value != 1 && value != l.next {
		return false
	}
	isLabel := strings.HasPrefix(after, ")") && (strings.HasSuffix(before, "(") || strings.HasSuffix(before, " ")) ||
		strings.HasPrefix(after, ": ") && lastWord(strings.TrimRight(before, " #")) != "" ||
		startsAfterWord(line) && (after == "" || after[0] == '\n' || strings.HasPrefix(after, " – ") || strings.HasPrefix(after, " — ") || strings.HasPrefix(after, ". "))
	if isLabel {
		l.next = value + 1
	}
	return isLabel
}

// startsAfterWord says whether a line has one word so far: Step 1
func startsAfterWord(line string) bool {
	word := strings.Trim(line, " \t#*_>")
	return word != "" && strings.HasSuffix(line, " ") && firstWord(word) == strings.ToLower(word)
}

// isName says whether n is part of a name: MP3, GPT-4, 3D. Money is none: EUR50.
func isName(text string, n *number) bool {
	before := text[max(0, n.start-maxAround):n.start]
	r, _ := utf8.DecodeLastRuneInString(before)
	isHyphen := r == '-' && len(n.groups) == 1 && len(n.groups[0]) < 3
	if isHyphen {
		before = before[:len(before)-1]
		r, _ = utf8.DecodeLastRuneInString(before)
	}
	if unicode.IsUpper(r) || unicode.IsLower(r) || r == '_' {
		return !slices.Contains(currencies[:], lastWord(before))
	}
	return len(n.groups) == 1 && len(n.groups[0]) == 1 && slices.Contains(dimensions[:], n.groups[0]+firstWord(text[n.end:min(len(text), n.end+maxAround)]))
}

var dimensions = [...]string{"2d", "3d", "2fa", "2g", "3g", "4g", "5g"}

var currencies = [...]string{"usd", "eur", "gbp", "chf", "jpy", "inr", "cny", "aud", "cad", "sek", "nok", "dkk", "pln", "czk", "brl", "mxn", "zar", "try", "krw", "sgd", "hkd", "nzd", "rs", "us", "r"}

// idioms are figures of speech, and spans that the calendar has: nobody counted them.
var idioms = [...]string{
	"24/7/365", "24/7", "7/24", "50/50", "50-50", "9-to-5", "9 to 5", "52-week", "52 weeks a year", "365-day", "365 days a year", "366-day", "24-hour", "24 hours a day", "12-hour", "12-month", "12 months a year",
	"7-day", "7 days a week", "60-minute", "60-second",
}

// idiomatic are the numbers in idioms.
var idiomatic = [...]string{"24", "7", "365", "366", "50", "9", "5", "52", "12", "60"}

// hyphens are those that idioms are written with.
var hyphens = strings.NewReplacer("‑", "-", "–", "-")

// isIdiom says whether n stands in a figure of speech.
func isIdiom(text string, n *number) bool {
	if !slices.Contains(idiomatic[:], n.raw()) {
		return false
	}
	near := text[max(0, n.start-8):min(len(text), n.end+24)]
	at := n.start - max(0, n.start-8)
	at = len(strings.ToLower(hyphens.Replace(near[:at])))
	lower := strings.ToLower(hyphens.Replace(near))
	for _, idiom := range idioms {
		for from := 0; ; {
			i := strings.Index(lower[from:], idiom)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(idiom)
			if start <= at && at < end && !isWordAt(lower, start-1) && !isWordAt(lower, end) {
				return true
			}
			from = start + 1
		}
	}
	return false
}

// isWordAt says whether a word goes on at that byte.
func isWordAt(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '/' || c == ',' && at+1 < len(text) && text[at+1] >= '0' && text[at+1] <= '9'
}
