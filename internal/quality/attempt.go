package quality

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// attempt is one text, and what was found of it.
type attempt struct {
	text      string // as a model wrote it
	before    string // what the style adds
	after     string
	unchanged bool // the pieces of the turn are this text
	reason    stream.FinishReason

	formatted *Formatted // nil: not yet, or there is no form
	card      []criterion
	verdicts  []verdict
}

// styledText returns the text with what the style adds.
func (a *attempt) styledText() string { return a.before + a.text + a.after }

// failedMust says whether a required criterion has failed.
func (a *attempt) failedMust() bool {
	return a.countCriteria(func(c *criterion, v verdict) bool { return c.Must && v.hasFailed() }) > 0
}

// countCriteria counts the criteria of which is holds.
func (a *attempt) countCriteria(is func(*criterion, verdict) bool) (n int) {
	for i := range a.card {
		if is(&a.card[i], a.verdicts[i]) {
			n++
		}
	}
	return n
}

// countFailed counts criteria that were judged and not met.
func (a *attempt) countFailed() int {
	return a.countCriteria(func(_ *criterion, v verdict) bool { return v.hasFailed() })
}

// countUnjudged counts criteria that nobody judged.
func (a *attempt) countUnjudged() int {
	return a.countCriteria(func(_ *criterion, v verdict) bool { return !v.given })
}

// criterionIDs returns those of the criteria that passed, and of those that failed.
func (a *attempt) criterionIDs() (passed, failed []string) {
	passed, failed = []string{}, []string{}
	for i, v := range a.verdicts {
		switch {
		case v.hasFailed():
			failed = append(failed, a.card[i].ID)
		case v.given:
			passed = append(passed, a.card[i].ID)
		}
	}
	return passed, failed
}

// unjudgedIDs lists the criteria that nobody judged.
func (a *attempt) unjudgedIDs() (ids []string) {
	for i, v := range a.verdicts {
		if !v.given {
			ids = append(ids, a.card[i].ID)
		}
	}
	return ids
}

// acceptVerdicts takes over the verdicts. The first one on a criterion counts, and those on what was
// not asked do not.
func (a *attempt) acceptVerdicts(text jsontext.Value) error {
	var said struct {
		Verdicts []struct {
			ID       string
			Passed   bool
			Feedback string
		}
	}
	if err := json.Unmarshal(text, &said, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	for _, v := range said.Verdicts {
		i := slices.IndexFunc(a.card, func(c criterion) bool { return c.ID == v.ID && c.Check == nil })
		if i >= 0 && !a.verdicts[i].given {
			a.verdicts[i] = verdict{given: true, passed: v.Passed, feedback: chat.Clip(v.Feedback, maxDescription)}
		}
	}
	return nil
}

// textOrNote returns the text, which a RefinementRequest cannot be without.
func (a *attempt) textOrNote() string {
	if a.text == "" {
		return "(no text)"
	}
	return a.text
}
