package breaksim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Rows is the place in Texts of 100 equal rows: a seam within them may lose a row.
const Rows = 10

// Texts returns 200 answers. The first ones are hard to cut. No sentence stands in a text twice,
// but for Rows. No text begins as an answer of the manners that do not follow the note.
func Texts() []string {
	texts := []string{
		"Yes.",
		" \n\t \u00a0\n",
		"The family 👩‍👩‍👧‍👦 went to the sea 🏖️ and took 🇫🇷 flags, 👍🏽 signs and a 🧑‍🚀 with them on the way.",
		"שלום עולם, זהו טקסט ארוך שנכתב מימין לשמאל כדי לבדוק את החיבור. והנה עוד משפט אחד.",
		"E\u0301te\u0301 et a\u0300 la fin de l'anne\u0301e, les e\u0301le\u0300ves ont cre\u0301e\u0301 une pie\u0300ce tre\u0300s dro\u0302le.",
		"First line\r\nsecond line\r\n\r\nThird line behind an empty one.\r\nAnd a last line.\r\n",
		"Prices:\u00a01\u00a0234\u00a0€, then\u00a02\u00a0345\u00a0€, and in the end\u00a03\u00a0456\u00a0€ for all of it.",
		"He wrote «go on from here» and then «stop», and nobody knew which « of » the two was meant, not even «he».",
		`{"title": "A long title with \"quotes\" in it", "items": ["one", "two", "three and a half"], "note": "an open str`,
		"| a | b |\n|---|---|\n| 1 | one |\n| 2 | two |\n\n```go\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n```\n",
		strings.Repeat("| equal | row |\n", 100),
		"“Curly” and \"straight\" quotes, ‘single’ and 'plain' ones, stand “next to” each other in this 'sentence'.",
		"今日は良い天気ですね。明日は雨が降るかもしれません。傘を持って行ったほうがいいと思います。",
	}
	random := rand.New(rand.NewPCG(3, 8))
	pick := func(list string) string {
		words := strings.Fields(list)
		return words[random.IntN(len(words))]
	}
	for len(texts) < 200 {
		var b strings.Builder
		for i := range 1 + random.IntN(5) {
			fmt.Fprintf(&b, "%s %d %s %s%s", pick("Gate Stream Token Étage Поезд Straße"), len(texts)*10+i,
				pick("opens closes — sends **reads** `holds` zählt"), pick("early late 🚢 12.5% (twice) «so» naïve"), pick(". ! ;")+pick("| || |||"))
		}
		texts = append(texts, strings.NewReplacer("|||", "\n\n- ", "||", "\n", "|", " ").Replace(b.String()))
	}
	return texts
}
