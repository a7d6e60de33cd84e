package offline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is a text cut into words, so that rules can look at words and still
// quote the visitor's own.
type sentence struct {
	words []word
}

// word is what stands between blanks ("3:30", "2026-12-05", "mom's", "#work"),
// without the punctuation around it, each sign of which is a word of its own.
type word struct {
	text  string
	low   string // lower case, with straight apostrophes
	glued bool   // no blank stands before it
}

// readWords takes a text apart into words and signs.
func readWords(text string) *sentence {
	s := new(sentence)
	for field := range strings.FieldsSeq(text) {
		for rest := field; rest != ""; {
			_, n := utf8.DecodeRuneInString(rest)
			if rest[0] == '#' || !isSign(rest[:n]) {
				n = len(rest)
				if i := strings.IndexAny(rest, ",;"); i > 0 {
					n = i
				}
				n = max(1, len(strings.TrimRightFunc(rest[:n], unicode.IsPunct)))
			}
			low := strings.ReplaceAll(strings.ToLower(rest[:n]), "’", "'")
			s.words = append(s.words, word{rest[:n], low, len(rest) < len(field)})
			rest = rest[n:]
		}
	}
	return s
}

// isSign says whether w is a single character of punctuation.
func isSign(w string) bool {
	r, size := utf8.DecodeRuneInString(w)
	return size == len(w) && unicode.IsPunct(r)
}

// at returns the word at i in lower case, "" outside the sentence.
func (s *sentence) at(i int) string {
	if i < 0 || i >= len(s.words) {
		return ""
	}
	return s.words[i].low
}

// span returns the words [from,to) as the visitor wrote them.
func (s *sentence) span(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i > from && !s.words[i].glued {
			b.WriteByte(' ')
		}
		b.WriteString(s.words[i].text)
	}
	return b.String()
}

func (s *sentence) text() string { return s.span(0, len(s.words)) }

// without returns the sentence without the words [from,to).
func (s *sentence) without(from, to int) *sentence {
	return &sentence{slices.Delete(slices.Clone(s.words), from, to)}
}

// in says whether a list of words, each between blanks, holds w.
func in(list, w string) bool { return w != "" && strings.Contains(" "+list+" ", " "+w+" ") }
