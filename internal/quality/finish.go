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

// builtinFailure is sent in place of an answer that did not pass, unless the style says
// what is.
const builtinFailure = "I could not give a reliable answer. Please try again."

// finish brings an answer to its end: it is checked, perhaps refined, and sent.
func (t *turn) finish() error {
	a := t.first()
	if !t.watched {
		t.report(stream.Formatting)
		return t.send(a, stream.Sending, nil)
	}
	if t.drafts {
		t.show(a.after, stream.Attribution{})
	}
	t.awaitPlan()
	t.card = t.scorecard()
	t.validate(a)
	if t.sink.Err == nil && t.refines(a) {
		if second := t.refine(a); second != nil {
			t.validate(second)
		}
	}
	if err := fault.Cause(t.ctx); err != nil || t.sink.Err != nil {
		return err
	}
	best := t.best()
	t.decide(&t.set, best)
	t.logValidation(best)
	return t.conclude(best)
}

// validate checks an attempt: first code, then the judge what is left. A turn that ends
// meanwhile leaves it unfinished.
func (t *turn) validate(a *attempt) {
	t.attempts = append(t.attempts, a)
	t.report(stream.Formatting)
	styled := a.styled()
	watch := markdown.NewWatch(t.ctx)
	source := t.own.markdown.Source(watch, styled)
	in := check.Input{
		Text: styled, Source: styled, Markdown: source, Watch: watch, Question: t.req.Input, Locale: t.locale, Now: time.Now().In(t.zone()),
		Evidence: t.evidence.all(), Finish: string(a.reason), Parts: 1,
	}
	if a.format(t, source) != nil {
		return
	}
	if f := a.formatted; f != nil {
		in.Text, in.Parts, in.Segments = f.Content, len(f.Messages), f.Segments
	}
	if strings.TrimSpace(a.text) == "" {
		in.Text, in.Source = "", ""
	}
	t.report(stream.Validating)
	began := time.Now()
	a.check(t.card, &in)
	t.costs.ms.Check += time.Since(began).Milliseconds()
	t.counts().step("check", began)
	if !a.failedMust() && watch.Err() == nil {
		t.judge(a, in.Text)
	}
	passed, failed := a.ids()
	t.logChecked(a, began)
	t.sink.Emit(t.phase(stream.Validating, func(q *stream.Quality) { q.Passed, q.Failed = passed, failed }))
}

// refines says whether an attempt is to be written once more.
func (t *turn) refines(a *attempt) bool {
	if t.set.Mode != modeEnforce || a.failures() == 0 || t.ctx.Err() != nil || t.cfg.Writer == nil {
		return false
	}
	if end, bounded := t.ctx.Deadline(); bounded && time.Until(end) < t.set.Reserve {
		return false
	}
	return !chat.TurnOf(t.ctx).Budget.Reached(chat.Usage{})
}

// check gives the criteria of a scorecard that code checks their verdicts.
func (a *attempt) check(card []criterion, in *check.Input) {
	a.card = card
	a.verdicts = make([]verdict, len(card))
	for i, c := range card {
		if c.Check != nil && in.Watch.Err() == nil {
			o := c.Check.Run(in)
			a.verdicts[i] = verdict{given: true, passed: o.Passed, notApplicable: o.NotApplicable, feedback: o.Feedback}
		}
	}
}

// faultOf returns what the outcome reports besides the answer; nil: nothing.
func (t *turn) faultOf(a *attempt) *fault.Error {
	switch {
	case t.outcome == stream.GracefulFailure, t.outcome == stream.SentFailed && a.failedMust():
		return &fault.Error{Type: fault.QualityFailed, Message: failedMessage}
	case t.outcome == stream.Unjudged && (t.plan == nil || t.plan.err == nil): // else it was reported
		return &fault.Error{Type: fault.QualityUnavailable, Message: unavailableMessage}
	}
	return nil
}

// conclude sends what the outcome says.
func (t *turn) conclude(a *attempt) error {
	err := t.faultOf(a)
	switch {
	case !t.held:
		t.say(t.after)
		return nil
	case t.withheld(&t.set):
		text := builtinFailure
		if t.cfg.Style != nil {
			if own := t.cfg.Style.Failure(t.req); own != "" {
				text = own
			}
		}
		return t.send(&attempt{text: text}, stream.Failing, err)
	default:
		return t.send(a, stream.Sending, err)
	}
}
