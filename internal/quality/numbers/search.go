package numbers

import "strings"

// Bounds of the search: derived numbers cost more, and an answer with many numbers that are
// not in the evidence is not a good one.
const (
	maxListed  = 5    // numbers that are returned
	maxDerived = 1000 // claims that are looked for among the derived
	maxSources = 16   // numbers of a sentence to derive others from
)

// search goes through the numbers of an answer.
//
// It is for one answer.
type search struct {
	*evidence
	derived  bool
	allowed  Set
	text     string
	lists    []int // how many items lists of the answer have
	labels   labels
	chains   []chainSpan
	capitals bool // nouns have capitals
	looked   int  // claims that were looked for among the derived
	compared int  // names that were compared with the answer
	strange  []string
}

// findUnbacked collects the numbers that nothing backs, until there are maxListed.
func (s *search) findUnbacked() {
	for _, c := range chainsIn(s.text) {
		if s.long[c.digits] || s.long[strings.TrimLeft(c.digits, "0")] {
			s.chains = append(s.chains, c)
		}
	}
	s.capitals = hasCapitals(s.text)
	list := claimsIn(s.text, func(n *number) bool { return s.labels.isLabel(s.text, n) || isIdiom(s.text, n) || s.stopped() })
	start, end := 0, 0
	for from, to := 0, 0; from < len(list) && len(s.strange) < maxListed && !s.stopped(); from = to {
		for end <= list[from].start {
			start, end = end, end+sentenceLength(s.text[end:])
		}
		for to = from + 1; to < len(list) && list[to].start < end; to++ {
		}
		sentence := sentence{search: s, text: s.text[start:end], start: start, claims: list[from:to]}
		sentence.judgeNumbers()
	}
}
