package quality

import (
	"strings"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/base/markdown"
	"sluice/internal/quality/check"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// builtinFailure is sent in place of an answer that did not pass, unless the style has a text for
// that.
const builtinFailure = "I could not give a reliable answer. Please try again."

// finishAnswer brings an answer to its end: it is checked, perhaps refined, and sent.
func (t *turn) finishAnswer() error {
	a := t.firstAttempt()
	if !t.watched {
		t.reportPhase(stream.Formatting)
		return t.sendAttempt(a, stream.Sending, nil)
	}
	if t.drafts {
		t.showDraft(a.after, stream.Attribution{})
	}
	t.awaitPlan()
	t.card = t.makeScorecard()
	t.validateAttempt(a)
	if t.sink.Err == nil && t.shouldRefine(a) {
		if second := t.refineAnswer(a); second != nil {
			t.validateAttempt(second)
		}
	}
	if err := fault.Cause(t.ctx); err != nil || t.sink.Err != nil {
		return err
	}
	best := t.bestAttempt()
	t.decideOutcome(&t.set, best)
	t.logValidation(best)
	return t.sendOutcome(best)
}

// validateAttempt checks an attempt: code first, then the judge for the open criteria. A turn that
// ends meanwhile leaves it unfinished.
func (t *turn) validateAttempt(a *attempt) {
	t.attempts = append(t.attempts, a)
	t.reportPhase(stream.Formatting)
	styled := a.styledText()
	watch := markdown.NewWatch(t.ctx)
	source := t.standards.markdown.Source(watch, styled)
	in := check.Input{
		Text: styled, Source: styled, Markdown: source, Watch: watch, Question: t.req.Input, Locale: t.locale, Now: time.Now().In(t.userZone()),
		Evidence: t.evidence.snapshot(), Finish: string(a.reason), Parts: 1,
	}
	if a.applyForm(t, source) != nil {
		return
	}
	if f := a.formatted; f != nil {
		in.Text, in.Parts, in.Segments = f.Content, len(f.Messages), f.Segments
	}
	if strings.TrimSpace(a.text) == "" {
		in.Text, in.Source = "", ""
	}
	t.reportPhase(stream.Validating)
	began := time.Now()
	a.runChecks(t.card, &in)
	t.costs.ms.Check += time.Since(began).Milliseconds()
	t.counts().observeSince("check", began)
	if !a.failedMust() && watch.Err() == nil {
		t.judgeAttempt(a, in.Text)
	}
	passed, failed := a.criterionIDs()
	t.logChecked(a, began)
	t.sink.Emit(t.phaseEvent(stream.Validating, func(q *stream.Quality) { q.Passed, q.Failed = passed, failed }))
}

// shouldRefine reports whether an attempt is to be written once more.
func (t *turn) shouldRefine(a *attempt) bool {
	if t.set.Mode != modeEnforce || a.countFailed() == 0 || t.ctx.Err() != nil || t.cfg.Writer == nil {
		return false
	}
	if end, bounded := t.ctx.Deadline(); bounded && time.Until(end) < t.set.Reserve {
		return false
	}
	return !chat.TurnOf(t.ctx).Budget.Reached(chat.Usage{})
}

// runChecks gives the criteria of a scorecard that code checks their verdicts.
func (a *attempt) runChecks(card []criterion, in *check.Input) {
	a.card = card
	a.verdicts = make([]verdict, len(card))
	for i, c := range card {
		if c.Check != nil && in.Watch.Err() == nil {
			o := c.Check.Run(in)
			a.verdicts[i] = verdict{given: true, passed: o.Passed, notApplicable: o.NotApplicable, feedback: o.Feedback}
		}
	}
}

// faultOf returns the fault that the turn reports besides the answer, or nil.
func (t *turn) faultOf(a *attempt) *fault.Error {
	switch {
	case t.outcome == stream.GracefulFailure, t.outcome == stream.SentFailed && a.failedMust():
		return &fault.Error{Type: fault.QualityFailed, Message: failedMessage}
	case t.outcome == stream.Unjudged && (t.plan == nil || t.plan.err == nil): // else it was reported
		return &fault.Error{Type: fault.QualityUnavailable, Message: unavailableMessage}
	}
	return nil
}

// sendOutcome sends the answer or the failure text, by the outcome.
func (t *turn) sendOutcome(a *attempt) error {
	err := t.faultOf(a)
	switch {
	case !t.held:
		t.sendText(t.after)
		return nil
	case t.isWithheld(&t.set):
		text := builtinFailure
		if t.cfg.Style != nil {
			if own := t.cfg.Style.Failure(t.req); own != "" {
				text = own
			}
		}
		return t.sendAttempt(&attempt{text: text}, stream.Failing, err)
	default:
		return t.sendAttempt(a, stream.Sending, err)
	}
}
