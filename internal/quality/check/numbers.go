// This file checks that each number of an answer is backed. One passes if it stands in the
// evidence, is a label, a name or a figure of speech, or follows from results: from the object
// or the array that its sentence may speak of, or from another number of its sentence. What is
// derived is narrow, because with many values some two of them give any number by chance.

package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// numbersBacked asks that every number is in the evidence, or follows from it.
//
// Without derived only numbers that stand in the evidence count, unrounded.
type numbersBacked struct {
	Derived *bool            `json:"derived"` // nil: true
	Allow   []jsontext.Value `json:"allow"`   // numbers, or texts with them

	derived bool
	allowed keys
}

// compile reads which numbers are allowed in any case.
func (c *numbersBacked) compile() (Check, error) {
	c.derived = c.Derived == nil || *c.Derived
	c.allowed = keys{}
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
	switch v.Kind() {
	case '0':
		c.allowed.addLiteral(string(v))
		return true
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return false
		}
		eachNumber(string(text), c.allowed.add)
		return holdsNumber(string(text))
	}
	return false
}

// Bounds of what is looked for: derived numbers cost more, and an answer with many that are
// not in the evidence is no good one.
const (
	maxListed  = 5    // numbers that the feedback names
	maxDerived = 1000 // claims that are looked for among the derived
	maxSources = 16   // numbers of a sentence from which others are derived
)

// Run wants that each number of the answer is one that a tool or the user said,
// or follows from such numbers. Without results of tools there is nothing to
// compare with.
func (c *numbersBacked) Run(in *Input) Outcome {
	if !slices.ContainsFunc(in.Evidence, func(call Evidence) bool { return call.Result != "" }) {
		return notApplicable("No tool has answered.")
	}
	text := in.prose().text
	if !holdsNumber(text) { // then there is nothing to read the results for
		return passed()
	}
	s := search{numbersBacked: c, evidence: in.evidence(), text: text, lists: in.prose().lists}
	s.run()
	if len(s.strange) == 0 {
		return passed()
	}
	slices.Sort(s.strange)
	return failed("These numbers are in no result of a tool and do not follow from one: " + strings.Join(slices.Compact(s.strange), ", ") + ".")
}

// search goes through the numbers of an answer.
//
// It is for one answer.
type search struct {
	*numbersBacked
	*evidence
	text     string
	lists    []int // how many items lists of the answer have
	labels   labels
	chains   []chainSpan
	capitals bool // nouns have capitals
	looked   int  // claims that were looked for among the derived
	compared int  // names that were compared with the answer
	strange  []string
}

// run collects the numbers that nothing backs, until there are maxListed.
func (s *search) run() {
	for _, c := range chains(s.text) {
		if s.long[c.digits] || s.long[strings.TrimLeft(c.digits, "0")] {
			s.chains = append(s.chains, c)
		}
	}
	s.capitals = hasCapitals(s.text)
	list := claims(s.text, func(n *number) bool { return s.labels.is(s.text, n) || isIdiom(s.text, n) || s.stopped() })
	start, end := 0, 0
	for from, to := 0, 0; from < len(list) && len(s.strange) < maxListed && !s.stopped(); from = to {
		for end <= list[from].start {
			start, end = end, end+sentenceLength(s.text[end:])
		}
		for to = from + 1; to < len(list) && list[to].start < end; to++ {
		}
		sentence := sentence{search: s, text: s.text[start:end], start: start, claims: list[from:to]}
		sentence.judge()
	}
}

// isStopped says whether nobody waits for the outcome any more: then it is worth nothing. It is
// asked after each step of some microseconds.
func (in *Input) isStopped() bool { return in.Watch.Over() }
