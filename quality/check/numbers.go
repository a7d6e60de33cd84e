// This file checks that each number of an answer is backed. A number passes if it stands in
// the evidence, is a label, a name or an idiom, or follows from one result: rounded, in
// another unit, a count, a sum, difference, product or ratio of two values, a share, a span
// of time. What is derived is bounded in number, because with many values some pair gives
// any number by chance.

package check

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// numbersBacked asks that every number is in the evidence, or follows from it.
//
// Without derived only numbers that stand in the evidence count.
type numbersBacked struct {
	Derived *bool            `json:"derived"` // nil: true
	Allow   []jsontext.Value `json:"allow"`   // numbers, or texts with them

	derived bool
	allowed map[string]bool
}

// compile reads which numbers are allowed in any case.
func (c *numbersBacked) compile() (Check, error) {
	c.derived = c.Derived == nil || *c.Derived
	c.allowed = map[string]bool{}
	if len(c.Allow) > maxTexts {
		return nil, &ArgsError{"/allow", "must have at most 100 numbers"}
	}
	for i, v := range c.Allow {
		if !c.allow(v) {
			return nil, &ArgsError{jsontext.Pointer("/allow").AppendToken(strconv.Itoa(i)), "must be a number, or a text with one"}
		}
	}
	return c, nil
}

// allow notes an allowed number, given as a number or a text.
func (c *numbersBacked) allow(v jsontext.Value) bool {
	e := &evidence{keys: c.allowed, dates: map[day]bool{}}
	switch v.Kind() {
	case '0':
		e.literal(string(v), nil)
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return false
		}
		before := len(c.allowed)
		eachNumber(string(text), func(n *number) { e.number(n, nil) })
		return len(c.allowed) > before
	default:
		return false
	}
	return true
}

// Bounds of what is looked for: derived numbers cost more, and an answer with many that are
// not in the evidence is no good one.
const (
	maxTold    = 5   // numbers that the feedback names
	maxDerived = 256 // different numbers that are looked for among the derived
)

// Run wants that each number of the answer is one that a tool or the user said,
// or follows from such numbers. Without results of tools there is nothing to
// compare with.
func (c *numbersBacked) Run(in *Input) Outcome {
	if !slices.ContainsFunc(in.Evidence, func(call Evidence) bool { return call.Result != "" }) {
		return notApplicable("No tool has answered.")
	}
	text := in.prose().text
	if !tellsNumber(text) { // then there is nothing to read the results for
		return passed()
	}
	s := search{numbersBacked: c, evidence: in.evidence(), known: map[string]bool{}}
	s.text(text)
	if len(s.strange) == 0 {
		return passed()
	}
	slices.Sort(s.strange)
	return failed("These numbers are in no result of a tool and do not follow from one: " + strings.Join(slices.Compact(s.strange), ", ") + ".")
}

// search goes through the numbers of an answer.
//
// It is for one answer. known remembers what was searched, since answers repeat their
// numbers.
type search struct {
	*numbersBacked
	*evidence
	labels  labels
	known   map[string]bool // numbers that were looked for among the derived
	strange []string
}

// text collects the numbers of a text that nothing backs, until there are maxTold.
//
// A number that is not backed alone may be part of a long one that is: it waits until the
// chain ends.
func (s *search) text(text string) {
	var open []string // of the chain at hand, without evidence of their own
	chain := chain{text: text}
	settle := func(ended []string) {
		for _, digits := range ended {
			if s.keys["#"+digits] || s.keys["#"+strings.TrimLeft(digits, "0")] {
				open = open[:0]
			}
		}
		s.strange = append(s.strange, open...)
		open = open[:0]
	}
	eachNumber(text, func(n *number) {
		if len(s.strange) >= maxTold {
			return
		}
		before := len(chain.digits)
		ended := chain.add(n)
		if ended != nil || before > 0 && len(chain.digits) == digitsOf(n) {
			settle(ended)
		}
		if s.labels.is(text, n) || s.direct(n) || isName(text, n) || isIdiom(text, n) || s.backed(newClaim(text, n)) {
			return
		}
		open = append(open, strings.TrimSpace(text[n.start:n.end]))
	})
	settle(chain.end())
}

// digitsOf counts the digits of a number.
func digitsOf(n *number) (count int) {
	for _, g := range n.groups {
		count += len(g)
	}
	return count
}

// direct says whether a number is in the evidence as it is.
func (s *search) direct(n *number) bool {
	for _, r := range n.readings() {
		if s.keys[r.key] || s.allowed[r.key] {
			return true
		}
	}
	if len(n.groups) == 1 {
		return false
	}
	raw := "=" + n.raw()
	return s.keys[raw] || s.allowed[raw]
}

// backed says whether a number that is not in the evidence follows from it.
func (s *search) backed(c claim) bool {
	readings := c.readings()
	if len(readings) > 0 && readings[0].decimals == 0 && s.dates[day{c.month, int(readings[0].value)}] {
		return true
	}
	for _, r := range readings {
		if s.follows(c, r) {
			return true
		}
	}
	pieces := c.pieces()
	for _, piece := range pieces {
		if !s.backedPiece(c, piece, len(readings) > 0) {
			return false
		}
	}
	return len(pieces) > 0
}

// backedPiece looks for a part of a number. Those of dates and versions are never derived.
func (s *search) backedPiece(c claim, piece *number, mayFollow bool) bool {
	for _, r := range piece.readings() {
		if s.keys[r.key] || s.allowed[r.key] || mayFollow && s.follows(claim{number: piece, text: c.text}, r) {
			return true
		}
	}
	return false
}

// follows says whether a number is one of the evidence in another form, or derived from
// it.
//
// Beyond maxDerived different numbers nothing is searched any more, and what is left counts
// as not backed.
func (s *search) follows(c claim, r reading) bool {
	key := r.key + " " + strconv.Itoa(r.decimals) + " " + strconv.FormatFloat(c.scale, 'g', -1, 64) + strconv.FormatBool(c.percent) + strconv.FormatFloat(c.minutes, 'g', -1, 64)
	found, ok := s.known[key]
	if !ok && len(s.known) < maxDerived {
		found = s.inOtherForm(c, r) || s.derived && s.isDerived(c, r)
		s.known[key] = found
	}
	return found
}

// exact is the tolerance where nothing is rounded.
const exact = 1e-9

// inOtherForm says whether the same value stands in the evidence in another
// form, rounded or with another unit.
func (s *search) inOtherForm(c claim, r reading) bool {
	within := exact
	if s.derived {
		within = tolerance(r.decimals)
	}
	if s.derived && near(s.values, r.value, within) {
		return true
	}
	if c.scale > 0 && near(s.values, r.value*c.scale, within*c.scale) {
		return true
	}
	return c.percent && near(s.values, r.value/100, within/100)
}

// near says whether one of sorted values is at most so far from x.
func near(values []float64, x, within float64) bool {
	i, _ := slices.BinarySearch(values, x-within)
	return i < len(values) && values[i] <= x+within
}

// isDerived says whether a number follows from one result: a count, a sum, a
// difference, a share, an age.
//
// All operands come from one result: numbers of two tools have nothing to do with each
// other, as a rule.
func (s *search) isDerived(c claim, r reading) bool {
	for _, from := range s.results {
		if r.decimals == 0 && slices.Contains(from.lengths, r.value) {
			return true
		}
		if r.decimals == 0 && s.yearsAgo(from, r.value) {
			return true
		}
		if c.minutes > 0 && s.apart(from, r.value, c.minutes, tolerance(r.decimals)) {
			return true
		}
		p := pairs{from.values}
		within := tolerance(r.decimals)
		if p.have(r.value, within, r.decimals > 0) || c.scale > 0 && p.have(r.value*c.scale, within*c.scale, true) {
			return true
		}
		if c.percent && p.percentage(r.value, within) {
			return true
		}
	}
	return false
}

// pairs are two numbers of a result.
//
// values are sorted and without signs.
type pairs struct{ values []float64 }

// roundRatio is from where on a ratio may be rounded to a whole number.
const roundRatio = 100

// have says whether x is a sum, difference, product or ratio of two. A small ratio without
// decimals must be exact: 40 to 32 is not 1.
//
// It takes n log n steps for n values, which maxOperands bounds.
func (p pairs) have(x, within float64, rounded bool) bool {
	ratio := within
	if !rounded && x < roundRatio {
		ratio = exact * max(1, x)
	}
	for i, a := range p.values {
		if p.other(i, x-a-within, x-a+within) || p.other(i, x+a-within, x+a+within) {
			return true
		}
		if a == 0 {
			continue
		}
		if p.other(i, (x-within)/a, (x+within)/a) || p.other(i, a*(x-ratio), a*(x+ratio)) {
			return true
		}
	}
	return false
}

// percentage says whether one number is x percent of another, or differs by as much.
func (p pairs) percentage(x, within float64) bool {
	low, high := (x-within)/100, (x+within)/100
	for i, a := range p.values {
		if a != 0 && (p.other(i, a*low, a*high) || p.other(i, a*(1+low), a*(1+high)) || p.other(i, a*(1-high), a*(1-low))) {
			return true
		}
	}
	return false
}

// other says whether a value but the one at i lies between two bounds. Numbers are
// compared without their sign.
func (p pairs) other(i int, low, high float64) bool {
	if math.IsNaN(low) || math.IsInf(low, 0) {
		return false
	}
	k, _ := slices.BinarySearch(p.values, low)
	if k == i {
		k++
	}
	return k < len(p.values) && p.values[k] <= high
}
