package quality

import (
	"context"
	"strings"
	"time"

	"sluice/chat"
	"sluice/fault"
	"sluice/internal/markdown"
	"sluice/quality/check"
	"sluice/stream"
)

// sendingTime is what is left of a turn's time for sending, whatever takes longer.
const sendingTime = time.Second

// builtinFailure is sent in place of an answer that did not pass, unless the style says
// what is.
const builtinFailure = "I could not give a reliable answer. Please try again."

const (
	failedMessage      = "The answer did not pass its quality checks"
	unavailableMessage = "The quality checks could not be completed"
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

// first returns the first attempt.
func (t *turn) first() *attempt {
	return t.attempted(string(t.pieces.text), t.out.Reason, true)
}

// attempted notes an answer. What style adds around it belongs to what users
// see, and so is checked with it.
func (t *turn) attempted(text string, reason stream.FinishReason, unchanged bool) *attempt {
	a := &attempt{text: text, reason: reason, unchanged: unchanged}
	if strings.TrimSpace(text) != "" {
		a.before, a.after = t.before, t.after
	}
	return a
}

// styled returns the text with what the style adds.
func (a *attempt) styled() string { return a.before + a.text + a.after }

// format brings the attempt into the form of the turn's channel, if it has one. source is the
// styled text, shared with others that read it; nil: not shared. The error is why the turn has
// ended.
func (a *attempt) format(t *turn, source *markdown.Source) (err error) {
	if t.form != nil && a.formatted == nil {
		began := time.Now()
		a.formatted, err = t.form.Format(t.ctx, Text{
			RequestID: chat.RequestID(t.ctx), Markdown: a.text, Before: a.before, After: a.after, Subject: t.req.Subject,
			Locale: t.locale, At: time.Now().Truncate(time.Millisecond), Source: source,
		})
		t.costs.ms.Format += time.Since(began).Milliseconds()
		t.counts().step("format", began)
	}
	if err != nil {
		return fault.Cause(t.ctx)
	}
	return nil
}

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
	t.judgeOutcome(best)
	t.logValidation(best)
	return t.conclude(best)
}

// awaitPlan waits for the planner.
func (t *turn) awaitPlan() {
	if t.planning == nil || t.plan != nil {
		return
	}
	t.sink.Flush()
	p := t.planning.wait()
	t.plan = p
	t.costs.ms.Plan = p.elapsed.Milliseconds()
	t.spend(p.usage, p.elapsed)
	t.counts().observe("plan", p.elapsed)
	t.logInteraction("planner", "plan", p.elapsed, p.err, map[string]int{"question": len(t.req.Input)},
		map[string]int{"steps": len(p.steps), "criteria": len(p.criteria), "dropped": p.dropped})
	if p.err != nil && t.set.Mode == Enforce && t.ctx.Err() == nil {
		t.warn(fault.QualityUnavailable, unavailableMessage)
	}
}

// spend counts a call of a model.
func (t *turn) spend(u chat.Usage, elapsed time.Duration) {
	t.costs.usage.Add(u)
	t.out.Usage.Add(u)
	t.out.Model = append(t.out.Model, elapsed)
}

// working returns a context for calls of models, which leaves time for sending.
func (t *turn) working() (context.Context, context.CancelFunc) {
	end, bounded := t.ctx.Deadline()
	if !bounded {
		return context.WithCancel(t.ctx)
	}
	return context.WithDeadline(t.ctx, end.Add(-sendingTime))
}

// asking is working, for one question to planner or judge.
func (t *turn) asking() (context.Context, context.CancelFunc) {
	ctx, end := t.working()
	bounded, stop := context.WithTimeout(ctx, t.set.Timeout)
	return bounded, func() { stop(); end() }
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
	a.card = t.card
	a.verdicts = make([]verdict, len(a.card))
	for i, c := range a.card {
		if c.Check != nil && watch.Err() == nil {
			o := c.Check.Run(&in)
			a.verdicts[i] = verdict{given: true, passed: o.Passed, notApplicable: o.NotApplicable, feedback: o.Feedback}
		}
	}
	t.costs.ms.Check += time.Since(began).Milliseconds()
	t.counts().step("check", began)
	if !a.failedMust() && watch.Err() == nil {
		t.judge(a, in.Text)
	}
	passed, failed := a.ids()
	t.logChecked(a, began)
	t.sink.Emit(t.phase(stream.Validating, func(q *stream.Quality) { q.Passed, q.Failed = passed, failed }))
}

// zone is where the user's dates are meant.
func (t *turn) zone() *time.Location {
	if t.req.Location != nil {
		return t.req.Location
	}
	return t.cfg.Location
}

// failedMust says whether a required criterion has failed.
func (a *attempt) failedMust() bool {
	return a.count(func(c *criterion, v verdict) bool { return c.Must && v.failed() }) > 0
}

// count counts the criteria of which is holds.
func (a *attempt) count(is func(*criterion, verdict) bool) (n int) {
	for i := range a.card {
		if is(&a.card[i], a.verdicts[i]) {
			n++
		}
	}
	return n
}

// failures counts criteria that were judged and not met.
func (a *attempt) failures() int {
	return a.count(func(_ *criterion, v verdict) bool { return v.failed() })
}

// open counts criteria that nobody judged.
func (a *attempt) open() int { return a.count(func(_ *criterion, v verdict) bool { return !v.given }) }

// ids returns those of the criteria that passed, and of those that failed.
func (a *attempt) ids() (passed, failed []string) {
	passed, failed = []string{}, []string{}
	for i, v := range a.verdicts {
		switch {
		case v.failed():
			failed = append(failed, a.card[i].ID)
		case v.given:
			passed = append(passed, a.card[i].ID)
		}
	}
	return passed, failed
}

// refines says whether an attempt is to be written once more.
func (t *turn) refines(a *attempt) bool {
	if t.set.Mode != Enforce || a.failures() == 0 || t.ctx.Err() != nil || t.cfg.Writer == nil {
		return false
	}
	if end, bounded := t.ctx.Deadline(); bounded && time.Until(end) < t.set.Reserve {
		return false
	}
	return !chat.TurnOf(t.ctx).Budget.Reached(chat.Usage{})
}

// best returns the attempt that counts: one without a failed requirement before one with,
// then the one that fails less, and the second one before the first.
func (t *turn) best() *attempt {
	best := t.attempts[0]
	for _, a := range t.attempts[1:] {
		switch {
		case a.failedMust() != best.failedMust():
			if best.failedMust() {
				best = a
			}
		case !a.failedMust() || a.failures() <= best.failures():
			best = a
		}
	}
	return best
}

// judgeOutcome sets what became of the answer.
func (t *turn) judgeOutcome(a *attempt) {
	t.passed = a.failures() == 0 && a.open() == 0
	switch {
	case t.set.Mode == Observe:
		t.outcome = stream.Observed
	case a.failedMust() && t.set.OnFail == Graceful:
		t.outcome = stream.GracefulFailure
	case a.failedMust():
		t.outcome = stream.SentFailed
	case a.open() > 0:
		t.outcome = stream.Unjudged
	case a.failures() > 0:
		t.outcome = stream.SentFailed
	case a.unchanged:
		t.outcome = stream.Passed
	default:
		t.outcome = stream.Refined
	}
}

// withheld says whether the failure text stands in place of the answer: no attempt passed,
// or none was judged and the settings want no such answer.
func (t *turn) withheld() bool {
	return t.outcome == stream.GracefulFailure || t.outcome == stream.Unjudged && t.set.OnUnjudged == Graceful
}

// conclude sends what the outcome says.
func (t *turn) conclude(a *attempt) error {
	var err *fault.Error
	switch {
	case t.outcome == stream.GracefulFailure, t.outcome == stream.SentFailed && a.failedMust():
		err = &fault.Error{Type: fault.QualityFailed, Message: failedMessage}
	case t.outcome == stream.Unjudged && (t.plan == nil || t.plan.err == nil): // else it was reported
		err = &fault.Error{Type: fault.QualityUnavailable, Message: unavailableMessage}
	}
	switch {
	case !t.held:
		t.say(t.after)
		return nil
	case t.withheld():
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
