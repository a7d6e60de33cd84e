package english

import "strings"

// A pattern describes a phrase, word by word:
//
//	delete|get_rid_of   one of these; an underscore stands for a blank
//	[just|already]      the same, or nothing
//	<todo>              one word or more, as few as will do; <todo?> may be none
//	<how=high|low>      one of these, with a name
//	^ and $             the text begins or ends here
//
// Punctuation between the words of a phrase does not matter.

// Found is where a pattern fits: the words [from,to), and the text of its <names>; that of places without a name is under "".
type Found struct {
	From, To int
	Texts    map[string]string
}

// oneOf returns how many words at i are one of the alternatives, whose own words are joined by _; 0: none.
func (s *Sentence) oneOf(i int, alternatives string) int {
	for phrase := range strings.SplitSeq(alternatives, "|") {
		n, fits := 0, true
		for w := range strings.SplitSeq(phrase, "_") {
			fits = fits && s.At(i+n) == w
			n++
		}
		if fits {
			return n
		}
	}
	return 0
}

// Match fits a pattern to the whole text.
//
// The parts that are captured take as few words as the rest of the pattern allows.
func (s *Sentence) Match(pattern string) (Found, bool) {
	f := Found{From: s.skipSigns(0), Texts: map[string]string{}}
	return f, s.matchFrom(f.From, append(strings.Fields(pattern), "$"), &f)
}

// Find fits a pattern to the first place where it can begin.
func (s *Sentence) Find(pattern string) (Found, bool) {
	elements := strings.Fields(pattern)
	f := Found{Texts: map[string]string{}}
	for f.From = range s.Words {
		if s.matchFrom(f.From, elements, &f) {
			return f, true
		}
	}
	return Found{}, false
}

// Cut removes the words that a pattern fits to, and reports whether it fits anywhere.
func (s *Sentence) Cut(pattern string) (*Sentence, Found, bool) {
	f, ok := s.Find(pattern)
	if !ok {
		return s, f, false
	}
	return s.Without(f.From, f.To), f, true
}

// matchFrom fits the remaining pattern to the words from i on.
//
// It goes back and tries again where an element could take more words; patterns and phrases
// are short, so that this costs little.
func (s *Sentence) matchFrom(i int, pattern []string, f *Found) bool {
	if len(pattern) == 0 {
		f.To = i
		return true
	}
	element, later := pattern[0], pattern[1:]
	switch {
	case element == "^":
		return i == 0 && s.matchFrom(s.skipSigns(0), later, f)
	case element == "$":
		f.To = len(s.Words)
		return s.skipSigns(i) == len(s.Words)
	case element[0] == '<':
		name, alternatives, literal := strings.Cut(strings.Trim(element, "<>"), "=")
		if literal {
			return s.matchLiteral(i, name, alternatives, later, f)
		}
		return s.captureWords(i, name, later, f)
	case element[0] == '[':
		return s.matchLiteral(i, "", strings.Trim(element, "[]"), later, f) || s.matchFrom(i, later, f)
	}
	return s.matchLiteral(i, "", element, later, f)
}

// matchLiteral fits one of the alternatives at word i, past signs if need be, and then the
// remaining pattern.
func (s *Sentence) matchLiteral(i int, name, alternatives string, later []string, f *Found) bool {
	n := s.oneOf(i, alternatives)
	if n == 0 && i > f.From {
		i = s.skipSigns(i)
		n = s.oneOf(i, alternatives)
	}
	if n == 0 || !s.matchFrom(i+n, later, f) {
		return false
	}
	f.Texts[name] = s.Span(i, i+n)
	return true
}

// captureWords gives the name as few words as will do.
func (s *Sentence) captureWords(i int, name string, later []string, f *Found) bool {
	name, optional := strings.CutSuffix(name, "?")
	to := i
	if !optional {
		to++
	}
	if len(later) == 1 && later[0] == "$" { // nothing follows: take all
		to = max(to, len(s.Words))
	}
	for ; to <= len(s.Words); to++ {
		if s.matchFrom(to, later, f) {
			f.Texts[name] = s.Span(i, to)
			return true
		}
	}
	return false
}

// skipSigns returns the place of the first word from i on.
func (s *Sentence) skipSigns(i int) int {
	for i < len(s.Words) && IsSign(s.At(i)) {
		i++
	}
	return i
}
