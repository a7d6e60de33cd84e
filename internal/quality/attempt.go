package quality

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// attempt is one text with its verdicts.
type attempt struct {
	text      string // as a model wrote it
	before    string // added by the style
	after     string
	unchanged bool // the pieces of the turn are this text
	reason    stream.FinishReason

	formatted *Formatted // nil: not formatted yet, or without a form
	card      []criterion
	verdicts  []verdict
}

// styledText returns the text with the style's greeting and sign-off.
func (a *attempt) styledText() string { return a.before + a.text + a.after }

// failedMust reports whether a required criterion has failed.
func (a *attempt) failedMust() bool {
	return a.countCriteria(func(c *criterion, v verdict) bool { return c.Must && v.hasFailed() }) > 0
}

// countCriteria counts the criteria for which is returns true.
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

// criterionIDs returns the ids of the criteria that passed, and of those that failed.
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

// acceptVerdicts takes over the verdicts. The first verdict on a criterion counts. Verdicts on
// other criteria are ignored.
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

// textOrNote returns the text, or a note in place of an empty one: a RefinementRequest needs a
// text.
func (a *attempt) textOrNote() string {
	if a.text == "" {
		return "(no text)"
	}
	return a.text
}
