package check

import (
	"strings"
	"testing"
)

// A text of each script is known by most of its letters.
func TestWritingOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                "",
		"12 – ?!":         "",
		"How many todos?": "Latin",
		"Größe":           "Latin",
		"Сколько задач?":  "Cyrillic",
		"Πόσες;":          "Greek",
		"כמה משימות":      "Hebrew",
		"كم مهمة":         "Arabic",
		"कितने कार्य":     "Devanagari",
		"কতগুলি কাজ":      "Bengali",
		"ਕਿੰਨੇ ਕੰਮ":       "Gurmukhi",
		"કેટલા કાર્યો":    "Gujarati",
		"எத்தனை":          "Tamil",
		"ఎన్ని":           "Telugu",
		"ಎಷ್ಟು":           "Kannada",
		"എത്ര":            "Malayalam",
		"කීයද":            "Sinhala",
		"กี่งาน":          "Thai",
		"ຈັກວຽກ":          "Lao",
		"ប៉ុន្មាន":        "Khmer",
		"ဘယ်နှစ်ခု":       "Myanmar",
		"ག་ཚོད":           "Tibetan",
		"რამდენი":         "Georgian",
		"քանի":            "Armenian",
		"ስንት":             "Ethiopic",
		"ᠬᠡᠳᠦ":            "Mongolian",
		"ކިތައް":          "Thaana",
		"今日の予定は":          "Japanese",
		"カタカナ":            "Japanese",
		"몇 개입니까":          "Korean",
		"今天的任务":           "Han",
		"韓國 한국":           "Korean", // Han stands in Korean texts
		"ㄅㄆㄇ":             "Han",
		"ᏣᎳᎩ":             "Latin", // not known: it counts as what was before it
		"App задач":       "Cyrillic",
		"Application да":  "Latin",
		"ab ба":           "Cyrillic", // a tie goes by the alphabet of the codes
	} {
		got := ""
		if w := writingOf(text); w != nil {
			got = w.name
		}
		if got != want {
			t.Errorf("%q is written in %q, want %q", text, got, want)
		}
	}
}

// A locale names its script, or the one that its language is written with.
func TestWritingOfLocale(t *testing.T) {
	t.Parallel()
	for want, locales := range map[string]string{
		"Latin":      "en de-DE fr es-419 it-IT pt-BR nl EN xx sr-Latn zh-Latn-CN az-latn uz vi tr sw",
		"Cyrillic":   "ru ru-RU uk bg sr sr-Cyrl mk be kk ky mn tg tt uz-Cyrl RU-ru",
		"Arabic":     "ar ar-EG fa ur ps ckb sd ug pa-Arab",
		"Han":        "zh zh-CN zh-Hans zh-Hant-TW yue zh-HANS",
		"Japanese":   "ja ja-JP ja-Hira ja-Kana",
		"Korean":     "ko ko-KR ko-Hang",
		"Greek":      "el el-GR",
		"Hebrew":     "he yi",
		"Devanagari": "hi mr ne sa hi-Deva", "Bengali": "bn as", "Gurmukhi": "pa", "Gujarati": "gu", "Tamil": "ta", "Telugu": "te", "Kannada": "kn", "Malayalam": "ml", "Sinhala": "si",
		"Thai": "th", "Lao": "lo", "Khmer": "km", "Myanmar": "my", "Tibetan": "bo dz", "Georgian": "ka", "Armenian": "hy", "Ethiopic": "am ti", "Thaana": "dv", "Mongolian": "mn-Mong",
		"": "en-Xxxx zh-1234",
	} {
		for locale := range strings.FieldsSeq(locales) {
			got := ""
			if w := writingOfLocale(locale); w != nil {
				got = w.name
			}
			if got != want {
				t.Errorf("%s is written in %q, want %q", locale, got, want)
			}
		}
	}
	if writingOfLocale("") != nil {
		t.Error("no locale is written in a script")
	}
}

// Sixty of a hundred letters must be of the script of the question, or of the locale.
func TestScript(t *testing.T) {
	t.Parallel()
	const russian = "script Cyrillic"
	for _, tt := range []struct{ question, locale, text, want string }{
		{"Сколько?", "", strings.Repeat("ж", 60) + strings.Repeat("a", 40), ""},
		{"Сколько?", "", strings.Repeat("ж", 59) + strings.Repeat("a", 41), russian},
		{"Сколько?", "", strings.Repeat("ж", 6) + " 1234567890 !?. " + strings.Repeat("a", 4), ""},
		{"Сколько?", "", "Три: `four five six` и [шесть](https://example.test/long/path)", ""},
		{"Сколько?", "", "Три:\n```\nfour five six seven\n```", ""},
		{"Сколько?", "", "three", russian},
		{"Сколько?", "en", "three", ""}, // the user's locale is as good
		{"Сколько?", "el", "three", "script Greek"},
		{"7", "ru", "three", russian},
		{"7", "ru", "три", ""},
		{"7", "", "three", "The question has no letter."},
		{"7", "en-Xxxx", "three", "The question has no letter."},
		{"How many?", "", "7", "The answer has no letter."},
		{"How many?", "", "", "The answer has no letter."},
		{"How many?", "", "Sieben.", ""}, // which language it is, code does not say
		{"How many?", "", "七つあります", "script Latin"},
		{"いくつ？", "", "七つあります", ""},
		{"いくつ？", "", "漢字", ""},
		{"몇 개?", "", "七 개", ""},
		{"几个？", "", "七个任务", ""},
		{"几个？", "", "七つあります", "script Han"},
	} {
		o := verdict(t, "script", "", Input{Question: tt.question, Locale: tt.locale, Text: tt.text})
		want := tt.want
		if strings.HasPrefix(want, "script") {
			want = "The answer must be written in the " + want + "."
		}
		if o.Feedback != want || o.Passed != !strings.HasPrefix(tt.want, "script") || o.NotApplicable != strings.HasSuffix(tt.want, "letter.") {
			t.Errorf("%q, %s: %q: %+v", tt.question, tt.locale, tt.text, o)
		}
	}
}

// Each script has its own letters alone, but for those that are written with another's.
func TestScriptsAreApart(t *testing.T) {
	t.Parallel()
	for code, w := range writings {
		if len(w.tables) > 1 || w.name == "" {
			continue
		}
		for other, v := range writings {
			if code != other && w.name == v.name {
				t.Errorf("%s and %s are both %s", code, other, w.name)
			}
		}
		for _, in := range w.tables[0].R16 {
			for r := rune(in.Lo); r <= rune(in.Hi); r += rune(in.Stride) {
				if isLetter(r) && codeOf(r, "") != code {
					t.Fatalf("%c of %s is of %s", r, code, codeOf(r, ""))
				}
			}
		}
	}
}
