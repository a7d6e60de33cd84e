// This file judges the numbers of one sentence. The names in a sentence decide the objects that it
// may speak of. Its words decide the numbers that may be rounded or compared.

package numbers

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentence is one of an answer, with its numbers.
type sentence struct {
	*search
	text   string
	start  int // in the answer
	claims []claim
	senses sense

	named   []*object // elements of arrays that it names
	pool    pool      // values that follow from named; nil until they are needed
	sources []source  // numbers that are backed
}

// source is a number of the sentence that is backed.
type source struct {
	start   int // in the answer
	value   float64
	percent bool
}

// isBeforeCapital reports whether a text is a capital with a space or more before it.
func isBeforeCapital(text string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(text, " "))
	return unicode.IsUpper(r) && text[0] == ' '
}

// wideMark returns the size of the mark that a text begins with, in a language without capitals, or
// 0.
func wideMark(text string) int {
	for _, mark := range [...]string{"。", "！", "？", "।"} {
		if strings.HasPrefix(text, mark) {
			return len(mark)
		}
	}
	return 0
}

// sentenceLength returns how long the sentence is that a text begins with. It ends with its line,
// at a mark before a capital, and at the marks of languages without them.
func sentenceLength(text string) int {
	for i := range len(text) {
		switch text[i] {
		case '\n':
			return i + 1
		case '.', '!', '?':
			if isBeforeCapital(text[i+1 : min(len(text), i+maxAround)]) {
				return i + 2
			}
		case 0xe0, 0xe3, 0xef: // of the first byte of these
			if size := wideMark(text[i:]); size > 0 {
				return i + size
			}
		}
	}
	return len(text)
}

// hasSense reports whether a word of the sentence has one of the senses.
func (s *sentence) hasSense(what sense) bool { return s.senses&what != 0 }

// countsDerived reports whether derived numbers count.
func (s *sentence) countsDerived() bool { return s.derived }

// judgeNumbers adds the numbers that nothing backs to the strange ones.
//
// A number that is derived from the sentence needs another number there that is backed otherwise.
func (s *sentence) judgeNumbers() {
	for _, word := range strings.FieldsFunc(s.text, func(r rune) bool { return !ofWord(r) }) {
		s.senses |= senseOf(strings.ToLower(word))
	}
	var open []*claim
	for i := range s.claims {
		c := &s.claims[i]
		if s.isBacked(c) {
			s.addSource(c)
		} else {
			open = append(open, c)
		}
	}
	for _, c := range open {
		s.judgeOpen(c)
	}
}

// judgeOpen judges a number that the evidence does not have.
func (s *sentence) judgeOpen(c *claim) {
	switch {
	case s.derived && s.looked < maxDerived && s.followsFromNumbers(c):
		s.addSource(c)
		slices.SortStableFunc(s.sources, func(a, b source) int { return a.start - b.start })
	case len(s.strange) < maxListed:
		s.strange = append(s.strange, strings.TrimSpace(s.search.text[c.start:c.end]))
	}
}

// isBacked reports whether a claim stands in the evidence, claims nothing, or follows from results
// alone.
func (s *sentence) isBacked(c *claim) bool {
	switch {
	case s.hasMoment(c), c.forms&asToken != 0 && s.isToken(c), c.forms&asVersion != 0 && s.isVersion(c), c.forms&asPair != 0 && s.isPair(c), s.isAllowed(c), s.isLong(c):
		return true
	case c.forms&asAmount == 0:
		return false
	}
	if known, ok := s.isNamed(c); known {
		return ok
	}
	return s.itself.has(c, s) || s.arePieces(c) || s.isCount(c) || s.isEmergency(c) || s.derived && s.isDerived(c)
}

// hasMoment reports whether a claim is a date or a time of day of the evidence; one that is both
// must be both.
func (s *sentence) hasMoment(c *claim) bool {
	isDate := c.forms&asDate != 0 && s.hasDate(c)
	isClock := c.forms&asClock != 0 && s.hasClock(c)
	if c.forms == asDate|asClock {
		return isDate && isClock
	}
	return isDate || isClock
}

// hasDate reports whether a date is one of the evidence.
func (s *sentence) hasDate(c *claim) bool {
	d := c.date
	if s.dates[d] || s.dates[civil{anyYear, d.month, d.day}] {
		return true
	}
	return c.forms&asPair != 0 && s.dates[civil{0, d.day, d.month}] || d.year > 0 && s.dates[civil{d.year, d.day, d.month}]
}

// hasClock reports whether a time of day is one of the evidence.
func (s *sentence) hasClock(c *claim) bool {
	if isSpan := s.pairs[plainSpan(s.search.text[c.start:c.end])]; isSpan || c.hasSeconds { // 7:45 may be of minutes
		return isSpan
	}
	if s.inUTC[c.clock.minute] && (strings.Contains(s.text, "UTC") || strings.Contains(s.text, "GMT")) {
		return true
	}
	return s.hasTime(c.clock)
}

// hasTime reports whether a time of day is one of the evidence, in any of its forms.
func (e *evidence) hasTime(t clockTime) bool {
	const halfDay = 720
	return e.clocks[t.minute] || t.twelve && e.clocks[(t.minute+halfDay)%(2*halfDay)] || t.minute == 2*halfDay && e.clocks[0]
}

// isToken reports whether a token is one of the evidence, or unlike any that is there: then it is a
// name.
func (s *sentence) isToken(c *claim) bool {
	word := plainToken(s.search.text[c.start:c.end])
	return s.tokens[word] || !s.prefixes[firstWord(word)] || isDimension(word)
}

// isVersion reports whether a version is in the evidence, or the evidence lacks versions.
func (s *sentence) isVersion(c *claim) bool {
	return len(s.versions) == 0 || s.versions[s.search.text[c.start:c.end]]
}

// isPair reports whether a pair is backed. It stands in the evidence, or both its numbers are
// amounts of one object or of none, or both follow in the same way.
func (s *sentence) isPair(c *claim) bool {
	raw := s.search.text[c.start:c.end]
	if s.pairs[raw] || s.pairs[plainSpan(raw)] {
		return true
	}
	var parts []claim
	eachNumber(raw, func(n *number) {
		part := claim{scale: 1}
		part.meanings = copy(part.means[:], n.readings())
		parts = append(parts, part)
	})
	all := func(backs func(part *claim) bool) bool {
		return !slices.ContainsFunc(parts, func(part claim) bool { return !backs(&part) })
	}
	if all(func(part *claim) bool { return anyIn(s.itself[kind{}], exactBounds(part.means[0].value)) }) {
		return true
	}
	holders := s.withValue(parts[0].means[0].value)
	for _, o := range holders[:min(len(holders), maxNamed)] {
		if all(func(part *claim) bool {
			return slices.ContainsFunc(o.amounts, func(a amount) bool { return a.value == part.means[0].value })
		}) {
			return true
		}
	}
	if !s.derived {
		return false
	}
	d := s.derivedValues()
	for _, w := range [...]way{counted, mean} {
		if all(func(part *claim) bool {
			for k, values := range d.values {
				if k.way == w && anyIn(values, part.boundsOf(part.means[0], kind{way: mean}, s)) {
					return true
				}
			}
			return false
		}) {
			return true
		}
	}
	return false
}

// isAllowed reports whether all numbers of a claim are allowed by the arguments.
func (s *sentence) isAllowed(c *claim) bool {
	if len(s.allowed) == 0 {
		return false
	}
	all := true
	eachNumber(s.search.text[c.start:c.end], func(n *number) { all = all && s.allowed.has(n) })
	return all
}

// isLong reports whether a claim is part of a long number of the evidence.
func (s *sentence) isLong(c *claim) bool {
	i, _ := slices.BinarySearchFunc(s.chains, c.start, func(span chainSpan, at int) int { return span.end - at - 1 })
	return i < len(s.chains) && s.chains[i].start <= c.start
}

// arePieces reports whether one possible number is several numbers of the evidence: 1 200.
func (s *sentence) arePieces(c *claim) bool {
	found := false
	eachNumber(s.search.text[c.start:c.end], func(n *number) {
		pieces := n.pieces()
		found = len(pieces) > 0
		for _, piece := range pieces {
			part := claim{scale: 1}
			part.meanings = copy(part.means[:], piece.readings())
			found = found && s.itself.has(&part, s)
		}
	})
	return found
}

// isCount reports whether a claim is how many items the answer lists, or an ordinal up to the
// length of an array.
func (s *sentence) isCount(c *claim) bool {
	r := c.means[0]
	if r.decimals > 0 || c.percent || c.unit != "" {
		return false
	}
	if slices.ContainsFunc(s.lists, func(n int) bool { return float64(n) == r.value }) {
		return true
	}
	return c.forms&asRank != 0 && slices.ContainsFunc(s.arrays, func(a *array) bool { return r.value >= 1 && r.value <= float64(a.length) })
}

// isEmergency reports whether a claim is a number to call for help.
func (s *sentence) isEmergency(c *claim) bool {
	switch s.search.text[c.start:c.end] {
	case "112", "911", "999", "110", "113", "115", "117", "118", "119", "000", "111", "988", "101", "102", "103", "144", "15", "17", "18", "061", "116", "211", "311":
		return s.hasSense(help)
	}
	return false
}

// isNamed reports whether a claim is a number in a name, as in Error 404, and whether the evidence
// allows it. If the evidence has the word before numbers, it must be one of these.
func (s *sentence) isNamed(c *claim) (known, ok bool) {
	if !c.isBare() || c.means[0].decimals > 0 || c.means[0].value > 9999 || c.rounded != 0 {
		return false, false
	}
	before := strings.TrimRight(s.search.text[s.start:c.start], " \u00a0")
	word := before[len(strings.TrimRightFunc(before, ofWord)):]
	if len(before) == 0 || len(word) == 0 || isCapitalWord(before, word) == 0 || s.capitals && isCapitalWord(before, word) < 2 {
		return false, false
	}
	lower := strings.ToLower(word)
	if monthOf(lower) > 0 || senseOf(lower) != 0 || isCurrency(lower) {
		return false, false
	}
	if values := s.afterWord[lower]; len(values) > 0 {
		return true, slices.Contains(values, c.means[0].value)
	}
	isName := !s.hasWord(lower)
	return isName, isName
}

// isCapitalWord returns how many capitals the last word of a text has; 0 also if it is the first
// of its sentence.
func isCapitalWord(before, word string) int {
	r, _ := utf8.DecodeRuneInString(word)
	if !unicode.IsUpper(r) && strings.ToLower(word) == word || strings.Trim(before[:len(before)-len(word)], " \t*_#>•-–\"'(") == "" {
		return 0
	}
	count := 0
	for _, r := range word {
		if unicode.IsUpper(r) {
			count++
		}
	}
	return count
}

// hasCapitals reports whether over a quarter of the words have a capital that begin no sentence, as
// nouns of German do.
func hasCapitals(text string) bool {
	words, capitals := 0, 0
	for len(text) > 0 {
		size := sentenceLength(text)
		for i, word := range strings.FieldsFunc(text[:size], func(r rune) bool { return !ofWord(r) }) {
			if r, _ := utf8.DecodeRuneInString(word); i > 0 && unicode.IsUpper(r) {
				capitals++
			}
			words += min(i, 1)
		}
		text = text[size:]
	}
	return capitals*4 > words
}

// isDerived reports whether a claim follows from results and from the objects that the sentence
// names.
func (s *sentence) isDerived(c *claim) bool {
	if s.looked++; s.looked > maxDerived {
		return false
	}
	d := s.derivedValues()
	if d.values.has(c, s) {
		return true
	}
	if s.pool == nil {
		s.collectNamed(d)
	}
	isNear := func(o *object) bool { return o.array != nil && o.isNear() }
	return s.pool.has(c, s) || !slices.ContainsFunc(s.named, isNear) && d.rows.has(c, s)
}
