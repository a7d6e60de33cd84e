// This file compares a claim with values: the values that may back it at all, and the allowed
// distance from the written number. Values are in sorted pools by their kind, so that a claim costs
// a search in each of a few lists.

package numbers

import (
	"math"
	"slices"
)

// way is how a value follows from the evidence.
type way uint8

// Ways.
const (
	itself   way = iota
	reckoned     // a difference or product
	summed
	counted
	mean
	quotient
	share      // as a percentage
	difference // as a percentage
	span       // of time, from one thing to another
)

// kind is the kind of a value.
type kind struct {
	way      way
	unit     unit
	near     bool // each sentence may speak of it
	row      bool // of an element of an array
	isName   bool
	percent  bool
	negative bool
}

// pool has values without their signs, by kind.
type pool map[kind][]float64

// add adds a value.
func (p pool) add(k kind, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	k.negative = v < 0
	p[k] = append(p[k], math.Abs(v))
}

// sort must be called between add and has.
func (p pool) sort() {
	for k, values := range p {
		slices.Sort(values)
		p[k] = slices.Compact(values)
	}
}

// has reports whether a value backs a claim.
func (p pool) has(c *claim, s *sentence) bool {
	for k, values := range p {
		if c.mayBe(k, s) && c.isIn(values, k, s) {
			return true
		}
	}
	return false
}

// anyIn reports whether one of sorted values lies within bounds.
func anyIn(values []float64, b bounds) bool {
	i, _ := slices.BinarySearch(values, b.low)
	return i < len(values) && values[i] <= b.high
}

// signedValue is a reading with its scale.
func (c *claim) signedValue(r reading) float64 {
	if c.negative {
		return -r.value * c.scale
	}
	return r.value * c.scale
}

// mayHaveSign reports whether a claim may be of a kind by its sign: words may stand for it.
func (c *claim) mayHaveSign(k kind, s *sentence) bool {
	return k.negative == c.negative || k.negative && (s.hasSense(less) || k.row && !isTemperature(c.unit))
}

// mayBe reports whether the words around a claim allow it to be of a kind.
func (c *claim) mayBe(k kind, s *sentence) bool {
	switch k.way {
	case itself:
		return c.mayHaveSign(k, s)
	case counted:
		return c.mayCount()
	case summed:
		return isAdditive(c.unit) && (!c.percent || k.percent)
	case quotient:
		return !c.percent && s.hasSense(ratio)
	case share:
		return c.percent
	case difference:
		return c.percent && s.hasSense(change)
	case span:
		return c.unit == k.unit || isMeasure(c.unit) && isMeasure(k.unit)
	}
	return !c.percent || k.percent
}

// mayCount reports whether a claim may be how many there are of a thing.
func (c *claim) mayCount() bool {
	dimension, _ := dimensionOf(c.unit)
	return !c.percent && (dimension == 0 || c.unit == day) && c.means[0].decimals == 0
}

// isIn reports whether a claim is one of the sorted values of a kind.
func (c *claim) isIn(values []float64, k kind, s *sentence) bool {
	for _, r := range c.means[:c.meanings] {
		b := c.boundsOf(r, k, s)
		if !c.isOther(k.unit) && anyIn(values, b) {
			return true
		}
		written := roundingBounds(r.value*c.scale, ulp(r)*c.scale)
		if s.countsDerived() {
			for _, in := range written.inUnit(c.unit, k.unit) {
				if anyIn(values, in) {
					return true
				}
			}
		}
		if k.way == itself && c.percent && !k.isName && c.isShare(values, k, r, s) {
			return true
		}
	}
	return false
}

// isOther reports whether a unit differs from the claim's, so that only converted values are equal.
func (c *claim) isOther(u unit) bool {
	if c.unit == u || c.percent && u == "" {
		return false
	}
	return isMeasure(c.unit) && isMeasure(u)
}

// isMeasure reports whether a unit is one of a single kind of thing.
func isMeasure(u unit) bool {
	dimension, _ := dimensionOf(u)
	return dimension != 0 || isTemperature(u) && u != degree
}

// isShare reports whether a percentage is one of the values from 0 to 1, or the remainder of a near
// value to 100.
func (c *claim) isShare(values []float64, k kind, r reading, s *sentence) bool {
	b := exactBounds(r.value / 100)
	if s.countsDerived() {
		b = roundingBounds(r.value/100, ulp(r)/100)
	}
	if b.high <= 1+ulp(r) && anyIn(values, bounds{b.low, min(b.high, 1)}) {
		return true
	}
	rest := exactBounds(100 - r.value)
	return s.countsDerived() && k.near && k.percent && (anyIn(values, rest) || anyIn(values, bounds{rest.low / 100, rest.high / 100}))
}

// ulp is the value of the last digit that is written.
func ulp(r reading) float64 { return math.Pow10(-r.decimals) }

// minQuotient is from where on a quotient may be rounded to a whole number.
const minQuotient = 100

// roundingBounds returns the values that are rounded to v, where unit is the value of the last
// digit. A half is rounded up.
func roundingBounds(v, unit float64) bounds {
	within := min(floatError(v), unit/1000)
	return bounds{v - unit/2 - within, v + unit/2 - within}
}

// exactBounds returns the values that equal v, apart from errors of float arithmetic.
func exactBounds(v float64) bounds { return bounds{v - floatError(v), v + floatError(v)} }

// floatError is what arithmetic of floats may add to a value. It is less than the last digit of a
// number of twelve digits, so that two accounts are never equal.
func floatError(v float64) float64 { return 1e-9 + 1e-13*math.Abs(v) }

// boundsOf returns the bounds of a value of a kind for a reading of the claim.
//
// A number of the evidence may be rounded if something says so. A derived number may be rounded if
// it has decimals.
func (c *claim) boundsOf(r reading, k kind, s *sentence) bounds {
	v := r.value * c.scale
	if !s.countsDerived() {
		return exactBounds(v)
	}
	if c.rounded == 0 {
		if !c.isRounded(r, k, s) {
			return exactBounds(v)
		}
		return roundingBounds(v, ulp(r)*c.scale)
	}
	unit := lastDigit(r) * c.scale
	b := roundingBounds(v, unit)
	if c.rounded&moreThan != 0 {
		b.high = v + unit
	}
	if c.rounded&under != 0 {
		b.low = v - unit
	}
	return b
}

// isRounded reports whether a claim may be rounded as it is written, though no word says so.
func (c *claim) isRounded(r reading, k kind, s *sentence) bool {
	switch k.way {
	case itself:
		return k.near && (k.unit == "" || c.unit != "" || c.percent) || c.scale > 1 || c.unit != "" && c.unit != money
	case mean:
		return r.decimals > 0 || s.hasSense(average)
	case share, difference:
		return true
	case quotient:
		return r.decimals > 0 || r.value >= minQuotient
	}
	return r.decimals > 0
}

// lastDigit is the value of the last digit that is written, of a whole number of the last that
// is not 0.
func lastDigit(r reading) float64 {
	if r.decimals > 0 || r.value == 0 || r.value > 1e15 {
		return ulp(r)
	}
	unit := 1.0
	for v := int64(r.value); v%10 == 0; v /= 10 {
		unit *= 10
	}
	return unit
}

// equals reports whether a claim is a value that is derived from the numbers of its sentence.
func (c *claim) equals(v float64, k kind, s *sentence) bool {
	for _, r := range c.means[:c.meanings] {
		if b := c.boundsOf(r, k, s); b.low <= v && v <= b.high {
			return true
		}
	}
	return false
}
