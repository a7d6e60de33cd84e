package check

import (
	"strings"
	"unicode"
)

// sameScript asks that most letters are of the script of the question, or of the locale.
type sameScript struct{}

// compile has nothing to check.
func (c *sameScript) compile() (Check, error) { return c, nil }

// minShare is how many of 100 letters must have the script: names and terms of another one
// are in most answers.
const minShare = 60

// Run wants the answer in the script of the question, or in that of the user's
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
		own := 0
		letters = 0
		for _, r := range in.prose().text {
			if !isLetter(r) {
				continue
			}
			letters++
			if unicode.In(r, w.tables...) {
				own++
			}
		}
		best = max(best, own)
	}
	switch {
	case letters == 0:
		return notApplicable("The answer has no letter.")
	case best*100 < letters*minShare:
		return failed("The answer must be written in the script " + wanted[len(wanted)-1].name + ".")
	}
	return passed()
}

// isLetter leaves out what is of all scripts.
func isLetter(r rune) bool {
	return unicode.IsLetter(r) && (r < 0x80 || !unicode.In(r, unicode.Common, unicode.Inherited))
}

// writing is what a language is written with: a script, or several.
type writing struct {
	name   string
	tables []*unicode.RangeTable
}

// writings are those with several scripts, and the others by their code in ISO 15924.
var writings = map[string]*writing{
	"Jpan": {"Japanese", []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana}},
	"Kore": {"Korean", []*unicode.RangeTable{unicode.Hangul, unicode.Han}},
	"Hani": {"Han", []*unicode.RangeTable{unicode.Han, unicode.Bopomofo}},
	"Latn": {"Latin", []*unicode.RangeTable{unicode.Latin}},
	"Arab": {"Arabic", []*unicode.RangeTable{unicode.Arabic}},
	"Cyrl": {"Cyrillic", []*unicode.RangeTable{unicode.Cyrillic}},
	"Grek": {"Greek", []*unicode.RangeTable{unicode.Greek}},
	"Hebr": {"Hebrew", []*unicode.RangeTable{unicode.Hebrew}},
	"Deva": {"Devanagari", []*unicode.RangeTable{unicode.Devanagari}},
	"Beng": {"Bengali", []*unicode.RangeTable{unicode.Bengali}},
	"Guru": {"Gurmukhi", []*unicode.RangeTable{unicode.Gurmukhi}},
	"Gujr": {"Gujarati", []*unicode.RangeTable{unicode.Gujarati}},
	"Taml": {"Tamil", []*unicode.RangeTable{unicode.Tamil}},
	"Telu": {"Telugu", []*unicode.RangeTable{unicode.Telugu}},
	"Knda": {"Kannada", []*unicode.RangeTable{unicode.Kannada}},
	"Mlym": {"Malayalam", []*unicode.RangeTable{unicode.Malayalam}},
	"Sinh": {"Sinhala", []*unicode.RangeTable{unicode.Sinhala}},
	"Thai": {"Thai", []*unicode.RangeTable{unicode.Thai}},
	"Laoo": {"Lao", []*unicode.RangeTable{unicode.Lao}},
	"Khmr": {"Khmer", []*unicode.RangeTable{unicode.Khmer}},
	"Mymr": {"Myanmar", []*unicode.RangeTable{unicode.Myanmar}},
	"Tibt": {"Tibetan", []*unicode.RangeTable{unicode.Tibetan}},
	"Geor": {"Georgian", []*unicode.RangeTable{unicode.Georgian}},
	"Armn": {"Armenian", []*unicode.RangeTable{unicode.Armenian}},
	"Ethi": {"Ethiopic", []*unicode.RangeTable{unicode.Ethiopic}},
	"Mong": {"Mongolian", []*unicode.RangeTable{unicode.Mongolian}},
	"Thaa": {"Thaana", []*unicode.RangeTable{unicode.Thaana}},
}

// other names of scripts in locales.
var aliases = map[string]string{"Hans": "Hani", "Hant": "Hani", "Hang": "Kore", "Hira": "Jpan", "Kana": "Jpan"}

// languages that are not written in Latin letters (CLDR 48, likely subtags).
var languages = map[string]string{
	"ar": "Arab", "fa": "Arab", "ur": "Arab", "ps": "Arab", "ckb": "Arab", "sd": "Arab", "ug": "Arab",
	"ru": "Cyrl", "uk": "Cyrl", "bg": "Cyrl", "sr": "Cyrl", "mk": "Cyrl", "be": "Cyrl", "kk": "Cyrl", "ky": "Cyrl", "mn": "Cyrl", "tg": "Cyrl", "tt": "Cyrl",
	"el": "Grek", "he": "Hebr", "yi": "Hebr", "hi": "Deva", "mr": "Deva", "ne": "Deva", "sa": "Deva", "bn": "Beng", "as": "Beng", "pa": "Guru", "gu": "Gujr",
	"ta": "Taml", "te": "Telu", "kn": "Knda", "ml": "Mlym", "si": "Sinh", "th": "Thai", "lo": "Laoo", "km": "Khmr", "my": "Mymr", "bo": "Tibt", "dz": "Tibt",
	"ka": "Geor", "hy": "Armn", "am": "Ethi", "ti": "Ethi", "dv": "Thaa", "ja": "Jpan", "ko": "Kore", "zh": "Hani", "yue": "Hani",
}

// writingOfLocale returns nil for none.
func writingOfLocale(locale string) *writing {
	if locale == "" {
		return nil
	}
	tags := strings.Split(locale, "-")
	code := "Latn"
	if c, ok := languages[strings.ToLower(tags[0])]; ok {
		code = c
	}
	if len(tags) > 1 && len(tags[1]) == 4 {
		code = strings.ToUpper(tags[1][:1]) + strings.ToLower(tags[1][1:])
		if c, ok := aliases[code]; ok {
			code = c
		}
	}
	return writings[code]
}

// writingOf returns what most letters of a text are; nil: it has none that is known.
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
	var most string
	for code, n := range counts {
		if n > counts[most] || n == counts[most] && n > 0 && code < most {
			most = code
		}
	}
	return writings[most]
}

// codeOf returns the script of a letter, or otherwise if it is not known.
func codeOf(r rune, otherwise string) string {
	if unicode.Is(unicode.Han, r) {
		return "Hani"
	}
	for code, w := range writings {
		if code != "Hani" && unicode.In(r, w.tables...) {
			return code
		}
	}
	return otherwise
}
