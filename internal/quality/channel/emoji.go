// This file finds emojis and graphemes. emoji.txt is generated from Unicode's data. The boundaries
// of graphemes are those of Unicode Standard Annex 29. No channel parts a grapheme, since half a
// family shows as something else.

package channel

import (
	"cmp"
	_ "embed"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

//go:generate node testdata/emoji.mjs

// emojiData has a line for each property of emoji-data.txt that is read: its name, and the
// characters that have it.
//
//go:embed emoji.txt
var emojiData string

var pictographic, presentation = charsWith("Extended_Pictographic"), charsWith("Emoji_Presentation")

// charsWith returns the characters that have a property.
func charsWith(property string) *unicode.RangeTable {
	of := new(unicode.RangeTable)
	_, line, _ := strings.Cut(emojiData, "\n"+property+" ")
	line, _, _ = strings.Cut(line, "\n")
	for chars := range strings.FieldsSeq(line) {
		first, last, _ := strings.Cut(chars, "-")
		low, _ := strconv.ParseUint(first, 16, 32)
		high, _ := strconv.ParseUint(cmp.Or(last, first), 16, 32)
		if high < 1<<16 {
			of.R16 = append(of.R16, unicode.Range16{Lo: uint16(low), Hi: uint16(high), Stride: 1})
		} else {
			of.R32 = append(of.R32, unicode.Range32{Lo: uint32(low), Hi: uint32(high), Stride: 1})
		}
	}
	return of
}

// Signs that decide how the character before them is shown.
const (
	textStyle  = '\uFE0E'
	emojiStyle = '\uFE0F'
	joiner     = '\u200D'
	keycap     = '\u20E3'
)

// firstEmoji is the first character of Unicode that has a property of emojis, but for
// digits, # and *.
const firstEmoji = '\u00A9'

// isEmoji reports whether a grapheme is shown as a picture, by itself or because a sign after the
// character requests it. Digits, © and ☎ are characters without such a sign.
//
// g is one grapheme. Such a sign is the emoji style (FE0F), a joiner, or a tone of skin (1F3FB to
// 1F3FF).
func isEmoji(g string) bool {
	r, n := utf8.DecodeRuneInString(g)
	rest := g[n:]
	if r < firstEmoji {
		return strings.IndexByte("0123456789#*", g[0]) >= 0 && strings.ContainsRune(rest, keycap)
	}
	if !unicode.Is(pictographic, r) && !unicode.Is(presentation, r) {
		return false
	}
	style, _ := utf8.DecodeRuneInString(rest)
	return style != textStyle && (unicode.Is(presentation, r) || asksForPicture(style))
}

// asksForPicture reports whether a sign makes the character before it a picture.
func asksForPicture(style rune) bool {
	return style == emojiStyle || style == joiner || style >= 0x1F3FB && style <= 0x1F3FF
}

// maxGrapheme is the length in bytes of the longest grapheme that is kept whole. Families
// with tones of skin have 41; longer ones are heaps of accents.
const maxGrapheme = 64

// endOfGrapheme returns the end of the grapheme that begins at from.
//
// from is the begin of one, below len(s). Two bytes of ASCII in a row are two graphemes,
// but for CR LF; that path takes most texts without a look at the tables. A longer heap of
// accents than maxGrapheme is parted, so that one "character" cannot fill a message.
func endOfGrapheme(s string, from int) int {
	if next := from + 1; next >= len(s) || s[from] < 0x80 && s[next] < 0x80 && s[from] != '\r' {
		return next
	}
	near := s[from:min(len(s), from+maxGrapheme+utf8.UTFMax)]
	it := graphemes.FromString(near)
	it.Next()
	end := it.End()
	if end > maxGrapheme {
		for end = maxGrapheme; !utf8.RuneStart(near[end]); end-- {
		}
	}
	return from + end
}

// nextUnicode returns the place of the first non-ASCII byte from from on, or of the character
// before it, since that may be the base of a grapheme.
func nextUnicode(s string, from int) int {
	for i := from + asciiPrefix(s[from:]); i < len(s); i++ {
		if s[i] >= 0x80 {
			return max(from, i-1)
		}
	}
	return len(s)
}

// replaceEmojis returns s with what replace makes of each emoji.
//
// replace is called for each in order, also for one that comes again. s itself is returned
// if nothing changes.
func replaceEmojis(s string, replace func(string) string) string {
	var b strings.Builder
	copied := 0
	for at := nextUnicode(s, 0); at < len(s); {
		end := endOfGrapheme(s, at)
		if g := s[at:end]; len(g) > 1 && isEmoji(g) {
			with := replace(g)
			if with != g {
				before := s[copied:at]
				if with == "" && end < len(s) && closesText(s[end:]) {
					before = strings.TrimSuffix(before, " ")
				}
				b.WriteString(before)
				b.WriteString(with)
				copied = end
				if with == "" && end < len(s) && s[end] == ' ' && endOfGrapheme(s, end) == end+1 && (at == 0 || s[at-1] == ' ') {
					end++ // one space is enough where an emoji was
					copied = end
				}
			}
		}
		at = nextUnicode(s, end)
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// emojisIn lists those of s, each once.
func emojisIn(s string) []string {
	var list []string
	var seen map[string]bool // most texts are without emojis
	replaceEmojis(s, func(g string) string {
		if !seen[g] {
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[g] = true
			list = append(list, g)
		}
		return g
	})
	return list
}
