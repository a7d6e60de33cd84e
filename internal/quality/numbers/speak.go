// This file derives values from the names in a sentence: elements of arrays by one of their texts,
// and lines by a word. It also uses the numbers that the sentence compares with.

package numbers

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/internal/quality/casefold"
)

// Bounds of the names in a sentence.
const (
	maxNamed    = 32
	maxCompared = 20_000 // in the whole answer
)

// collectNamed collects the objects that the sentence names, and derives from them.
func (s *sentence) collectNamed(d *derived) {
	s.pool = pool{}
	text := casefold.Fold(s.text)
	for at := 0; at < len(text) && s.compared < maxCompared && len(s.named) < maxNamed; {
		word := firstToken(text[at:])
		if word == "" {
			_, size := utf8.DecodeRuneInString(text[at:])
			at += size
			continue
		}
		for _, n := range d.names[word] {
			if s.compared++; s.compared > maxCompared || len(s.named) == maxNamed {
				break
			}
			rest, ok := strings.CutPrefix(text[at:], n.text)
			if r, _ := utf8.DecodeRuneInString(rest); ok && !isWord(r) && !slices.Contains(s.named, n.of) {
				s.named = append(s.named, n.of)
			}
		}
		at += len(word)
	}
	for _, o := range s.named {
		s.deriveNamed(d, o)
	}
	s.compareNamed(d)
	s.lineCounts(d)
	s.countCompared(d)
	s.pool.sort()
}

// deriveNamed derives from one that is named.
func (s *sentence) deriveNamed(d *derived, o *object) {
	d.derivePairs(s.pool, o.amounts)
	askedOf(s.pool, o.amounts, s.askedNumbers)
	d.deriveShares(s.pool, o)
	for _, a := range o.amounts[:min(len(o.amounts), maxPaired)] {
		if !a.isName {
			s.pool.add(kind{unit: a.unit, near: true, row: o.array != nil, percent: a.percent}, a.value)
		}
		if o.array != nil && o.array.holder != nil && !a.isName {
			s.withHolder(a, o.array.holder)
		}
	}
}

// withHolder compares an amount with those of the object that holds its array.
func (s *sentence) withHolder(a amount, holder *object) {
	for _, h := range holder.amounts {
		if h.isName || h.unit != a.unit || h.percent != a.percent {
			continue
		}
		addSums(s.pool, a, h)
		addPercentages(s.pool, a.value, h.value)
	}
}

// valuesIn returns the values of a column that the objects named have.
func (s *sentence) valuesIn(c *column) (values []float64) {
	for _, o := range s.named {
		if o.array == c.of {
			values = append(values, c.values[o.index])
		}
	}
	return values
}

// compareNamed compares the named elements of one array.
func (s *sentence) compareNamed(d *derived) {
	for i := range d.columns {
		c := &d.columns[i]
		if len(s.named) < 2 || len(c.of.numbers) > 0 {
			continue
		}
		values := s.valuesIn(c)
		if len(values) == 2 {
			addSums(s.pool, amount{value: values[0], memberKind: c.memberKind}, amount{value: values[1], memberKind: c.memberKind})
			addPercentages(s.pool, values[0], values[1])
		}
		if len(values) > 2 && len(values) < len(c.of.rows) {
			s.pool.add(kind{way: summed, unit: c.unit, percent: c.percent}, totalOf(c.memberKind, values).sum)
		}
	}
}

// lineCounts counts the lines of plain text that have a word of the sentence.
func (s *sentence) lineCounts(d *derived) {
	for _, word := range longWords(s.text) {
		if count := d.lines[word]; count > 0 {
			s.pool.add(kind{way: counted}, float64(count))
		}
	}
}

// isCompared reports whether a claim is an amount that a word of the sentence compares with.
func (s *sentence) isCompared(c *claim) bool {
	return c.forms&asAmount != 0 && c.meanings > 0 && (c.rounded != 0 || s.hasSense(less|change|moreThan|under))
}

// countCompared counts the elements above and below a number of the sentence that a word compares
// with.
func (s *sentence) countCompared(d *derived) {
	for _, c := range s.claims {
		if !s.isCompared(&c) {
			continue
		}
		for i := range d.columns {
			for _, count := range d.columns[i].countAgainst(c.signedValue(c.means[0])) {
				if count > 0 {
					s.pool.add(kind{way: counted}, count)
				}
			}
		}
	}
}

// isWord reports whether r makes a segment a word.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
