package offline

import "strings"

// A pattern describes a phrase, word by word:
//
//	delete|get_rid_of   one of these; an underscore stands for a blank
//	[just|already]      the same, or nothing
//	<todo>              one word or more, as few as will do; <todo?> may be none
//	<how=high|low>      one of these, with a name
//	*                   any word, or none
//	^ and $             the text begins or ends here
//
// Punctuation between the words of a phrase does not matter.

// found is where a pattern fits: the words [from,to), and the text of its <names>.
type found struct {
	from, to int
	texts    map[string]string
}

// name keeps what stands in a place of the pattern. Without a name the place is only skipped.
func (f *found) name(name, text string) {
	if name == "" {
		return
	}
	if f.texts == nil {
		f.texts = map[string]string{}
	}
	f.texts[name] = text
}

// oneOf returns how many words at i are one of the alternatives; 0: none.
func (s *sentence) oneOf(i int, alternatives string) int {
	for more := true; more; {
		var phrase string
		phrase, alternatives, more = strings.Cut(alternatives, "|")
		if n := s.phrase(i, phrase); n > 0 {
			return n
		}
	}
	return 0
}

// phrase returns how many words, from i on, are those of a phrase, which are joined by _; 0: they are not.
func (s *sentence) phrase(i int, phrase string) int {
	for n, more := 0, true; ; n++ {
		if !more {
			return n
		}
		var w string
		if w, phrase, more = strings.Cut(phrase, "_"); s.at(i+n) != w {
			return 0
		}
	}
}

// match fits a pattern to the whole text.
//
// The parts that are captured take as few words as the rest of the pattern allows.
func (s *sentence) match(pattern string) (found, bool) {
	f := found{from: s.skipSigns(0)}
	return f, s.rest(f.from, append(strings.Fields(pattern), "$"), &f)
}

// find fits a pattern to the first place where it can begin.
func (s *sentence) find(pattern string) (found, bool) {
	elements := strings.Fields(pattern)
	for i := range s.words {
		if f := (found{from: i}); s.rest(i, elements, &f) {
			return f, true
		}
	}
	return found{}, false
}

// cut removes what a pattern fits to.
func (s *sentence) cut(pattern string) (*sentence, found, bool) {
	f, ok := s.find(pattern)
	if !ok {
		return s, f, false
	}
	return s.without(f.from, f.to), f, true
}

// rest fits what is left of a pattern to the words from i on.
//
// It goes back and tries again where an element could take more words; patterns and phrases
// are short, so that this costs little.
func (s *sentence) rest(i int, pattern []string, f *found) bool {
	if len(pattern) == 0 {
		f.to = i
		return true
	}
	element, later := pattern[0], pattern[1:]
	switch {
	case element == "^":
		return i == 0 && s.rest(s.skipSigns(0), later, f)
	case element == "$":
		f.to = len(s.words)
		return s.skipSigns(i) == len(s.words)
	case element == "*":
		return s.rest(i, later, f) || i < len(s.words) && s.rest(i+1, later, f)
	case element[0] == '<':
		name, alternatives, literal := strings.Cut(strings.Trim(element, "<>"), "=")
		if literal {
			return s.literal(i, name, alternatives, later, f)
		}
		return s.capture(i, name, later, f)
	case element[0] == '[':
		return s.literal(i, "", strings.Trim(element, "[]"), later, f) || s.rest(i, later, f)
	}
	return s.literal(i, "", element, later, f)
}

// literal fits one of the alternatives at word i, past signs if need be, and then what is
// left.
func (s *sentence) literal(i int, name, alternatives string, later []string, f *found) bool {
	n := s.oneOf(i, alternatives)
	if n == 0 && i > f.from {
		i = s.skipSigns(i)
		n = s.oneOf(i, alternatives)
	}
	if n == 0 || !s.rest(i+n, later, f) {
		return false
	}
	f.name(name, s.span(i, i+n))
	return true
}

// capture gives the name as few words as will do.
func (s *sentence) capture(i int, name string, later []string, f *found) bool {
	name, optional := strings.CutSuffix(name, "?")
	to := i
	if !optional {
		to++
	}
	if len(later) == 1 && later[0] == "$" { // nothing follows: take all
		to = max(to, len(s.words))
	}
	for ; to <= len(s.words); to++ {
		if s.rest(to, later, f) {
			f.name(name, s.span(i, to))
			return true
		}
	}
	return false
}

// skipSigns returns the place of the first word from i on.
func (s *sentence) skipSigns(i int) int {
	for i < len(s.words) && isSign(s.at(i)) {
		i++
	}
	return i
}
