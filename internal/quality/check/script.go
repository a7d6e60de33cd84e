// This file checks that an answer is in the script of its question. If the scripts differ, an
// answer in the wrong language is found without a model. It says nothing about languages of one
// script: English and German pass for each other.

package check

import (
	"slices"
	"strings"
	"unicode"
)

// sameScript asks that most letters are of the script of the question, or of the locale.
type sameScript struct{}

// compileCheck accepts no arguments.
func (c *sameScript) compileCheck() (Check, error) { return c, nil }

// minShare is how many of 100 letters must have the script: names and terms of another one
// are in most answers.
const minShare = 60

// Run requires the answer in the script of the question, or in that of the user's
// locale.
func (*sameScript) Run(in *Input) Outcome {
	var wanted []*writing
	for _, w := range []*writing{writingOf(in.Question), writingOfLocale(in.Locale)} {
		if w != nil {
			wanted = append(wanted, w)
		}
	}
	if len(wanted) == 0 {
		return notApplicable("The question has no letter.")
	}
	best, letters := 0, 0
	for _, w := range wanted {
		var own int
		own, letters = w.countLetters(in.answerProse().text)
		best = max(best, own)
	}
	switch {
	case letters == 0:
		return notApplicable("The answer has no letter.")
	case best*100 < letters*minShare:
		return failedOutcome("The answer must be written in the script " + wanted[len(wanted)-1].name + ".")
	}
	return passedOutcome()
}

// isLetter reports whether r is a letter of one script.
func isLetter(r rune) bool {
	return unicode.IsLetter(r) && (r < 0x80 || !unicode.In(r, unicode.Common, unicode.Inherited))
}

// writing is the script of a language, or its several scripts.
type writing struct {
	name      string
	languages string // that are written so, as subtags (CLDR 48, likely subtags)
	tables    []*unicode.RangeTable
}

// countLetters returns how many letters of a text are of w, and how many there are.
func (w *writing) countLetters(text string) (own, letters int) {
	for _, r := range text {
		if !isLetter(r) {
			continue
		}
		letters++
		if unicode.In(r, w.tables...) {
			own++
		}
	}
	return own, letters
}

// writings are those with several scripts, and the others by their code in ISO 15924.
var writings = map[string]*writing{
	"Jpan": {"Japanese", "ja", []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}},
	"Kore": {"Korean", "ko", []*unicode.RangeTable{unicode.Hangul, unicode.Han}},
	"Hani": {"Han", "zh yue", []*unicode.RangeTable{unicode.Han, unicode.Bopomofo}},
	"Latn": {"Latin", "", []*unicode.RangeTable{unicode.Latin}},
	"Arab": {"Arabic", "ar fa ur ps ckb sd ug", []*unicode.RangeTable{unicode.Arabic}},
	"Cyrl": {"Cyrillic", "ru uk bg sr mk be kk ky mn tg tt", []*unicode.RangeTable{unicode.Cyrillic}},
	"Grek": {"Greek", "el", []*unicode.RangeTable{unicode.Greek}},
	"Hebr": {"Hebrew", "he yi", []*unicode.RangeTable{unicode.Hebrew}},
	"Deva": {"Devanagari", "hi mr ne sa", []*unicode.RangeTable{unicode.Devanagari}},
	"Beng": {"Bengali", "bn as", []*unicode.RangeTable{unicode.Bengali}},
	"Guru": {"Gurmukhi", "pa", []*unicode.RangeTable{unicode.Gurmukhi}},
	"Gujr": {"Gujarati", "gu", []*unicode.RangeTable{unicode.Gujarati}},
	"Taml": {"Tamil", "ta", []*unicode.RangeTable{unicode.Tamil}},
	"Telu": {"Telugu", "te", []*unicode.RangeTable{unicode.Telugu}},
	"Knda": {"Kannada", "kn", []*unicode.RangeTable{unicode.Kannada}},
	"Mlym": {"Malayalam", "ml", []*unicode.RangeTable{unicode.Malayalam}},
	"Sinh": {"Sinhala", "si", []*unicode.RangeTable{unicode.Sinhala}},
	"Thai": {"Thai", "th", []*unicode.RangeTable{unicode.Thai}},
	"Laoo": {"Lao", "lo", []*unicode.RangeTable{unicode.Lao}},
	"Khmr": {"Khmer", "km", []*unicode.RangeTable{unicode.Khmer}},
	"Mymr": {"Myanmar", "my", []*unicode.RangeTable{unicode.Myanmar}},
	"Tibt": {"Tibetan", "bo dz", []*unicode.RangeTable{unicode.Tibetan}},
	"Geor": {"Georgian", "ka", []*unicode.RangeTable{unicode.Georgian}},
	"Armn": {"Armenian", "hy", []*unicode.RangeTable{unicode.Armenian}},
	"Ethi": {"Ethiopic", "am ti", []*unicode.RangeTable{unicode.Ethiopic}},
	"Mong": {"Mongolian", "", []*unicode.RangeTable{unicode.Mongolian}},
	"Thaa": {"Thaana", "dv", []*unicode.RangeTable{unicode.Thaana}},
}

// writingCode returns the key in writings of a script that a locale names.
func writingCode(script string) string {
	switch script {
	case "Hans", "Hant":
		return "Hani"
	case "Hang":
		return "Kore"
	case "Hira", "Kana":
		return "Jpan"
	}
	return script
}

// scriptOf returns the script of a language by its subtag in lower case. An unlisted language is
// written in Latin letters, or unknown.
func scriptOf(language string) string {
	for script, w := range writings {
		if slices.Contains(strings.Fields(w.languages), language) {
			return script
		}
	}
	return "Latn"
}

// writingOfLocale returns nil for none.
func writingOfLocale(locale string) *writing {
	if locale == "" {
		return nil
	}
	tags := strings.Split(locale, "-")
	code := scriptOf(strings.ToLower(tags[0]))
	if len(tags) > 1 && len(tags[1]) == 4 {
		code = writingCode(strings.ToUpper(tags[1][:1]) + strings.ToLower(tags[1][1:]))
	}
	return writings[code]
}

// writingOf returns the writing of most letters of a text, or nil without a known letter.
//
// It counts letters, and ties go to the code that comes first in the alphabet, so that the
// result is always the same.
func writingOf(text string) *writing {
	counts := map[string]int{}
	last := "Latn"
	for _, r := range text {
		if !isLetter(r) {
			continue
		}
		if !unicode.In(r, writings[last].tables...) {
			last = codeOf(r, last)
		}
		counts[last]++
	}
	// Han stands in Japanese and Korean texts as well.
	for _, code := range [...]string{"Jpan", "Kore"} {
		if counts[code] > 0 {
			counts[code] += counts["Hani"]
			counts["Hani"] = 0
		}
	}
	return writings[mostCounted(counts)]
}

// mostCounted returns the code that is counted most often; empty: none is.
func mostCounted(counts map[string]int) (most string) {
	for code, n := range counts {
		if n > counts[most] || n == counts[most] && n > 0 && code < most {
			most = code
		}
	}
	return most
}

// codeOf returns the script of a letter, or otherwise if it is not known.
func codeOf(r rune, otherwise string) string {
	if unicode.In(r, writings["Hani"].tables...) {
		return "Hani"
	}
	for code, w := range writings {
		if code != "Hani" && unicode.In(r, w.tables...) {
			return code
		}
	}
	return otherwise
}
