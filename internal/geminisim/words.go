package geminisim

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is a text cut into words, so that rules can look at words and still
// cut the original by offsets.
type sentence struct {
	text  string
	words []word
}

// word is a run of letters and digits, with what may stand between them
// ("3:30", "2026-12-05", "mom's", "p.m"), or one other character.
type word struct {
	low      string // lower case, with straight apostrophes
	from, to int    // bytes of the text
}

func readWords(text string) *sentence {
	s := &sentence{text: text}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end := i + size
		if unicode.IsSpace(r) {
			i = end
			continue
		}
		if inWord(r) {
			end = wordEnd(text, end)
		}
		low := strings.ReplaceAll(strings.ToLower(text[i:end]), "’", "'")
		s.words = append(s.words, word{low: low, from: i, to: end})
		i = end
	}
	return s
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '#'
}

func wordEnd(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if strings.ContainsRune("'’:./-+_", r) { // only between letters or digits
			next, _ := utf8.DecodeRuneInString(text[i+size:])
			if !unicode.IsLetter(next) && !unicode.IsDigit(next) {
				return i
			}
		} else if !inWord(r) {
			return i
		}
		i += size
	}
	return i
}

// at returns the word at i in lower case, "" outside the sentence.
func (s *sentence) at(i int) string {
	if i < 0 || i >= len(s.words) {
		return ""
	}
	return s.words[i].low
}

// match says whether the words from i on are those of pattern, and how many they are.
func (s *sentence) match(i int, pattern string) int {
	n := 0
	for pattern != "" {
		w, rest, _ := strings.Cut(pattern, " ")
		if s.at(i+n) != w {
			return 0
		}
		n, pattern = n+1, rest
	}
	return n
}

// matchAny is match for the first of several patterns that fits.
func (s *sentence) matchAny(i int, patterns ...string) int {
	for _, p := range patterns {
		if n := s.match(i, p); n > 0 {
			return n
		}
	}
	return 0
}

// without returns the text without the words [from,to).
func (s *sentence) without(from, to int) string {
	if from >= to {
		return s.text
	}
	return s.text[:s.words[from].from] + " " + s.text[s.words[to-1].to:]
}

// isWord says whether w begins with a letter, as against a number or a sign.
func isWord(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsLetter(r)
}
