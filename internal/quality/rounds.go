package quality

import (
	"strings"

	"sluice/stream"
)

// rounds are the attempts at an answer, two at most, and what became of it. All of them are judged
// by one card, and outcome and passed are of the best one.
type rounds struct {
	card     []criterion
	attempt  int        // under way, from 1
	attempts []*attempt // that were judged, or begun to be
	outcome  stream.Outcome
	passed   bool
}

// bestAttempt returns the attempt that counts: one without a failed requirement before one with. If
// both are without such a failure, the second counts. If both have one, the attempt with fewer
// failures counts, or the second if they are equal.
func (r *rounds) bestAttempt() *attempt {
	best := r.attempts[0]
	for _, a := range r.attempts[1:] {
		switch {
		case a.failedMust() != best.failedMust():
			if best.failedMust() {
				best = a
			}
		case !a.failedMust() || a.countFailed() <= best.countFailed():
			best = a
		}
	}
	return best
}

// countedAttempt returns the attempt that the receipt is about.
func (r *rounds) countedAttempt() *attempt {
	if r.outcome == stream.NotEvaluated || len(r.attempts) == 0 {
		return new(attempt)
	}
	return r.bestAttempt()
}

// decideOutcome sets the outcome of the answer. a is the attempt that counts.
func (r *rounds) decideOutcome(set *Settings, a *attempt) {
	r.passed = a.countFailed() == 0 && a.countUnjudged() == 0
	switch {
	case set.Mode == modeObserve:
		r.outcome = stream.Observed
	case a.failedMust() && set.OnFail == fallbackGraceful:
		r.outcome = stream.GracefulFailure
	case a.failedMust():
		r.outcome = stream.SentFailed
	case a.countUnjudged() > 0:
		r.outcome = stream.Unjudged
	case a.countFailed() > 0:
		r.outcome = stream.SentFailed
	case a.unchanged:
		r.outcome = stream.Passed
	default:
		r.outcome = stream.Refined
	}
}

// isWithheld reports whether the failure text stands in place of the answer: no attempt passed, or
// none was judged and the settings want no such answer.
func (r *rounds) isWithheld(set *Settings) bool {
	return r.outcome == stream.GracefulFailure || r.outcome == stream.Unjudged && set.OnUnjudged == fallbackGraceful
}

// isRefined reports whether there is a second attempt.
func (r *rounds) isRefined() bool { return len(r.attempts) > 1 }

// whyFailed says why an attempt, of that name, did not pass.
func (a *attempt) whyFailed(name string) (parts []string) {
	if _, failed := a.criterionIDs(); len(failed) > 0 {
		parts = append(parts, name+" failed "+strings.Join(failed, ", "))
	}
	if a.countUnjudged() > 0 && !a.failedMust() {
		parts = append(parts, name+" has no verdict of the judge on "+strings.Join(a.unjudgedIDs(), ", "))
	}
	return parts
}

// whyFailed says in words of our own why an answer did not pass.
func (r *rounds) whyFailed(set *Settings) string {
	var parts []string
	for i, a := range r.attempts {
		attempt := []string{"the first attempt", "the second attempt"}[i]
		parts = append(parts, a.whyFailed(attempt)...)
	}
	switch {
	case set.Mode == modeEnforce && r.attempt == 1 && r.attempts[0].countFailed() > 0:
		parts = append(parts, "there was no time left for a second one")
	case r.attempt > 1 && len(r.attempts) == 1:
		parts = append(parts, "the refinement did not come")
	}
	return strings.Join(parts, "; ")
}
