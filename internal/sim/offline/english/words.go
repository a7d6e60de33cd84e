// Package english reads short English phrases by patterns: the words of a text, the parts that a
// pattern captures, and dates and times. It knows neither todos nor models, and nothing of grammar.
//
// All of it is pure: the caller passes the time that relative dates need.
package english

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence is a text cut into words, so that rules can look at words and still
// quote the user's own.
type Sentence struct {
	Words []Word
}

// Word is a text between blanks ("3:30", "2026-12-05", "mom's", "#work"), without the punctuation
// around it. Each sign of punctuation is a word of its own.
type Word struct {
	Text  string
	Low   string // lower case, with straight apostrophes
	glued bool   // no blank stands before it
}

// Read takes a text apart into words and signs.
func Read(text string) *Sentence {
	s := new(Sentence)
	for field := range strings.FieldsSeq(text) {
		for rest := field; rest != ""; {
			_, n := utf8.DecodeRuneInString(rest)
			if rest[0] == '#' || !IsSign(rest[:n]) {
				n = len(rest)
				if i := strings.IndexAny(rest, ",;"); i > 0 {
					n = i
				}
				n = max(1, len(strings.TrimRightFunc(rest[:n], unicode.IsPunct)))
			}
			low := strings.ReplaceAll(strings.ToLower(rest[:n]), "’", "'")
			s.Words = append(s.Words, Word{rest[:n], low, len(rest) < len(field)})
			rest = rest[n:]
		}
	}
	return s
}

// IsSign reports whether w is a single character of punctuation.
func IsSign(w string) bool {
	r, size := utf8.DecodeRuneInString(w)
	return size == len(w) && unicode.IsPunct(r)
}

// At returns the word at i in lower case, "" outside the sentence.
func (s *Sentence) At(i int) string {
	if i < 0 || i >= len(s.Words) {
		return ""
	}
	return s.Words[i].Low
}

// Span returns the words [from,to) as the user wrote them; what lies outside the sentence is empty.
func (s *Sentence) Span(from, to int) string {
	var b strings.Builder
	from = max(0, from)
	for i := from; i < min(to, len(s.Words)); i++ {
		if i > from && !s.Words[i].glued {
			b.WriteByte(' ')
		}
		b.WriteString(s.Words[i].Text)
	}
	return b.String()
}

// Text returns the whole sentence.
func (s *Sentence) Text() string { return s.Span(0, len(s.Words)) }

// Without returns the sentence without the words [from,to).
func (s *Sentence) Without(from, to int) *Sentence {
	return &Sentence{slices.Delete(slices.Clone(s.Words), from, to)}
}

// In reports whether a list of words, each between blanks, holds w.
func In(list, w string) bool { return w != "" && strings.Contains(" "+list+" ", " "+w+" ") }

// Stem cuts the endings of English words, roughly: what matters is that the same
// word in two forms gives the same stem.
func Stem(w string) string {
	for _, ending := range []string{"'s", "ing", "ies", "ed", "es", "s", "y", "e"} {
		if base, ok := strings.CutSuffix(w, ending); ok && len(base) >= 3 && !strings.HasSuffix(w, "ss") {
			return base
		}
	}
	return w
}
