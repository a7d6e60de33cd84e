// This file derives numbers from others of their sentence: a difference, a product, a percentage,
// another period.

package numbers

import (
	"math"
	"slices"
	"strings"
)

// addSource records a number that is backed.
func (s *sentence) addSource(c *claim) {
	if c.forms&asAmount == 0 || c.meanings == 0 || len(s.sources) == maxSources {
		return
	}
	for _, r := range c.means[:c.meanings] {
		s.sources = append(s.sources, source{start: c.start, value: r.value * c.scale, percent: c.percent})
	}
}

// followsFromNumbers reports whether a claim follows from another number of the sentence.
func (s *sentence) followsFromNumbers(c *claim) bool {
	d := s.derivedValues()
	if c.forms&asClock != 0 && d.ended[c.clock.minute] {
		return true
	}
	if c.forms&asAmount == 0 {
		return false
	}
	if s.isBetween(c) || s.isTogether(c, d) || s.isPerPeriod(c) {
		return true
	}
	for i := range s.sources {
		from := &s.sources[i]
		if s.fromColumn(c, d, from) || s.fromOther(c, d, from, i) || c.percent && s.asShare(c, d, from, i) {
			return true
		}
	}
	return s.fromPercent(c, d)
}

// isBetween reports whether a claim is the difference of the two numbers right before it: 12 of 20
// are done, 8 are left.
func (s *sentence) isBetween(c *claim) bool {
	i := slices.IndexFunc(s.sources, func(from source) bool { return from.start > c.start })
	if i < 0 {
		i = len(s.sources)
	}
	if i < 2 || c.percent {
		return false
	}
	a, b := s.sources[i-2], s.sources[i-1]
	return a.start != b.start && a.percent == b.percent && c.equals(math.Abs(a.value-b.value), kind{way: reckoned}, s)
}

// isTogether reports whether a claim is the sum of all numbers of the sentence before it, or of
// these and an amount in no array.
func (s *sentence) isTogether(c *claim, d *derived) bool {
	sum, count := 0.0, 0
	for _, from := range s.sources {
		if !from.percent && from.start < c.start {
			sum += from.value
			count++
		}
	}
	return count > 1 && !c.percent && (c.equals(sum, kind{way: reckoned}, s) || s.isSumWith(c, sum, d.outside, kind{way: reckoned}))
}

// isPerPeriod reports whether a claim is a number of the sentence for another period of the
// calendar, and the sentence names both.
func (s *sentence) isPerPeriod(c *claim) bool {
	named := map[unit]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(s.text), func(r rune) bool { return !ofWord(r) }) {
		named[periodOf(word)] = true
	}
	for _, p := range [...]struct {
		long, short unit
		times       float64
	}{{year, "month", 12}, {year, week, 52}, {year, day, 365}, {"month", day, 30}, {"month", week, 4}, {week, day, 7}, {day, hour, 24}} {
		if named[p.long] && named[p.short] && !c.percent && s.isConverted(c, p.times) {
			return true
		}
	}
	return false
}

// isConverted reports whether a claim is times a number of the sentence, or that number divided by
// it.
func (s *sentence) isConverted(c *claim, times float64) bool {
	k := kind{way: reckoned}
	return slices.ContainsFunc(s.sources, func(from source) bool {
		return !from.percent && (c.equals(from.value*times, k, s) || c.equals(from.value/times, k, s))
	})
}

// fromColumn reports whether a claim is the sum or difference of a number and another value of its
// column.
func (s *sentence) fromColumn(c *claim, d *derived, from *source) bool {
	if c.percent {
		return false
	}
	for i := range d.columns {
		column := &d.columns[i]
		if anyIn(column.sorted, exactBounds(from.value)) && s.isSumWith(c, from.value, column.sorted, kind{way: reckoned}) {
			return true
		}
	}
	return false
}

// isSumWith reports whether a claim is v plus or minus one of sorted values.
func (s *sentence) isSumWith(c *claim, v float64, values []float64, k kind) bool {
	for _, r := range c.means[:c.meanings] {
		b := c.boundsOf(r, k, s)
		if anyIn(values, bounds{b.low - v, b.high - v}) || anyIn(values, bounds{b.low + v, b.high + v}) || anyIn(values, bounds{v - b.high, v - b.low}) {
			return true
		}
	}
	return false
}

// minLoose is from where on a whole number may follow from any two numbers.
const minLoose = 20

// fromOther reports whether a claim is the sum, difference or product of a number and another one
// of the sentence, an amount in no array, or the sum of a column.
func (s *sentence) fromOther(c *claim, d *derived, from *source, i int) bool {
	if c.percent {
		return false
	}
	k := kind{way: reckoned}
	others := s.othersThan(i)
	if r := c.means[0]; r.decimals > 0 || r.value*c.scale >= minLoose {
		for _, list := range [...][]float64{others, d.near, d.sums} {
			if s.isSumWith(c, from.value, list, k) {
				return true
			}
		}
	}
	factors := slices.Concat(others, s.askedNumbers[:min(len(s.askedNumbers), maxAsked)])
	if c.means[0].decimals > 0 {
		factors = append(factors, d.outside[:min(len(d.outside), maxPaired)]...)
	}
	return slices.ContainsFunc(factors, func(f float64) bool { return c.equals(from.value*f, k, s) })
}

// othersThan returns the values of all sources but that at i, sorted.
func (s *sentence) othersThan(i int) []float64 {
	var others []float64
	for j, other := range s.sources {
		if j != i {
			others = append(others, other.value)
		}
	}
	slices.Sort(others)
	return others
}

// asShare reports whether a claim is the percentage of one number in another, in either direction.
func (s *sentence) asShare(c *claim, d *derived, from *source, i int) bool {
	if from.percent || from.value == 0 {
		return false
	}
	k := kind{way: share}
	var others []float64
	for j, other := range s.sources {
		if j != i && !other.percent {
			others = append(others, other.value)
		}
	}
	slices.Sort(others)
	compared := [][]float64{others, d.outside, d.sums, s.askedNumbers}
	for i := range d.columns {
		if column := &d.columns[i]; s.hasSense(change) && anyIn(column.sorted, exactBounds(from.value)) {
			compared = append(compared, column.sorted)
		}
	}
	for _, values := range compared {
		for _, r := range c.means[:c.meanings] {
			b := c.boundsOf(r, k, s)
			if b.low > 0 && (from.isShareOf(values, b) || s.hasSense(change) && from.hasChanged(values, b)) {
				return true
			}
		}
	}
	return false
}

// isShareOf reports whether a number is so many percent of one of sorted values, or one of these of
// the number.
func (from *source) isShareOf(values []float64, b bounds) bool {
	return anyIn(values, bounds{from.value * 100 / b.high, from.value * 100 / b.low}) || anyIn(values, bounds{from.value * b.low / 100, from.value * b.high / 100})
}

// hasChanged reports whether one of sorted values is a number with so many percent more or less.
func (from *source) hasChanged(values []float64, b bounds) bool {
	return anyIn(values, bounds{from.value * (1 + b.low/100), from.value * (1 + b.high/100)}) || anyIn(values, bounds{from.value * (1 - b.high/100), from.value * (1 - b.low/100)})
}

// fromPercent reports whether a claim follows from a percentage of the sentence: that share of a
// near amount or a number of the sentence, or the amount plus or minus the share.
func (s *sentence) fromPercent(c *claim, d *derived) bool {
	k := kind{way: reckoned}
	for _, p := range s.sources {
		if !p.percent || p.value == 0 {
			continue
		}
		if c.equals(100-p.value, k, s) {
			return true
		}
		if c.percent {
			continue
		}
		for _, factor := range [...]float64{p.value / 100, 1 - p.value/100, 1 + p.value/100} {
			for _, r := range c.means[:c.meanings] {
				b := c.boundsOf(r, k, s)
				if factor > 0 && (anyIn(d.near, bounds{b.low / factor, b.high / factor}) || anyIn(d.sums, bounds{b.low / factor, b.high / factor})) {
					return true
				}
			}
			if slices.ContainsFunc(s.sources, func(from source) bool { return !from.percent && c.equals(from.value*factor, k, s) }) {
				return true
			}
		}
	}
	return false
}
