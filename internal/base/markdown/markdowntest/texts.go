// Package markdowntest makes texts for tests of code that reads Markdown.
package markdowntest

import (
	"math/rand/v2"
	"strings"
)

// Texts returns a function that makes texts of pieces that are, or nearly are, markup. In three of
// four texts most pieces are plain text.
func Texts(r *rand.Rand) func() string {
	tame := []string{
		"You have", " ", "  ", "\n", "\n\n", "32", "1.", "1)", "- ", "+ ", "=", "==", "---", "a.", "www.a.de", "http://a.de", "a:b", "12:30", "é", "你好", "\u00a0", "\u2028", "👍", "!", "(", ")", "'", "\"", "$5", "%", "^", "{", "}", "?", ",", ";", "& ", "&",
	}
	wild := append(tame[:len(tame):len(tame)],
		"*", "_", "**b**", "*i*", "`c`", "#", "# ", "# h\n", "> ", "|", "|a|b|\n|-|-|\n|c|d|\n", "[a](b)", "![a](b)", "[r]: <x>\n", "[r]", "<b>", "<!--", "-->", "&amp;", "&#65;", "\\", "\\*", "~", "~~", "~~s~~", "```\n", "~~~ go\n", "    ", "- [ ] ", "a@b.de", "<a@b.de>",
		"\t", "\r\n", "\x00", "\xff", "\x7f", "FTP://x.de", "mailto:x", "W.", "x\n", "=\n", "===\n", "\u0085", "...", "10,000.5", "\u202e", "\u2066a\u2069",
	)
	return func() string {
		pieces := tame
		if r.IntN(4) == 0 {
			pieces = wild
		}
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
}
