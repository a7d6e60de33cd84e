package quality

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/redact"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxLogged bounds a text in the log, in bytes.
const maxLogged = 8 << 10

// logged holds an agent's data for the log: counts, a plan, and texts of the types below.
type logged map[string]any

// openText is a text that may be in the log as soon as payloads are, such as a question.
type openText string

// answerText is a text that is in the log only if it was sent.
type answerText string

// logInteraction logs a part of the turn: counts, and with payloads texts. A line
// with an answer waits until it is known whether the answer is sent.
func (t *turn) logInteraction(agent, action string, elapsed time.Duration, err error, in, out logged) {
	level := zerolog.DebugLevel
	if err != nil {
		level = zerolog.WarnLevel
	}
	if t.log().GetLevel() > level {
		return
	}
	line := func() {
		details := zerolog.Dict().Str("agent_name", agent).Str("action", action).
			Dict("input_data", t.dataOf(in)).Dict("output_data", t.dataOf(out)).Bool("success", err == nil)
		if err != nil {
			details.AnErr("error", errors.New(fault.LogText(err, t.cfg.LogPayloads)))
		}
		t.log().WithLevel(level).Int64("duration_ms", elapsed.Milliseconds()).Dict("details", details).Msg("agent_interaction")
	}
	if t.cfg.LogPayloads && (in.hasAnswer() || out.hasAnswer()) {
		t.unlogged = append(t.unlogged, line)
		return
	}
	line()
}

// hasAnswer reports whether an answer is among the data.
func (l logged) hasAnswer() bool {
	for _, value := range l {
		if _, ok := value.(answerText); ok {
			return true
		}
	}
	return false
}

// logWaiting logs the lines that waited for the end of the turn.
func (t *turn) logWaiting() {
	for _, line := range t.unlogged {
		line()
	}
	t.unlogged = nil
}

// wasSent reports whether a client has a text, as it was written or in its form.
func (t *turn) wasSent(text string) bool {
	if !t.held {
		return true
	}
	a := t.sentAttempt(t.countedAttempt())
	return a != nil && (text == a.text || text == a.styledText() || a.formatted != nil && text == a.formatted.Content)
}

// payloadText returns a text as the log has it.
func payloadText(text string) string { return chat.Clip(redact.AllKinds.Payload(text), maxLogged) }

// dataOf logs data in the order of the names: a text that the log may not have by its length.
func (t *turn) dataOf(all logged) *zerolog.Event {
	d := zerolog.Dict()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch v := all[name].(type) {
		case openText:
			t.logText(d, name, string(v), true)
		case *plan:
			t.logText(d, name, v.asJSON(), true)
		case answerText:
			t.logText(d, name, string(v), t.cfg.LogPayloads && t.wasSent(string(v)))
		case int:
			d.Int(name, v)
		}
	}
	return d
}

// logText adds a text, or its length in bytes.
func (t *turn) logText(d *zerolog.Event, name, text string, isOpen bool) {
	if t.cfg.LogPayloads && isOpen {
		d.Str(name, payloadText(text))
		return
	}
	d.Int(name, len(text))
}

// logAgent logs an agent's part in the answer.
func (t *turn) logAgent(ev *stream.AgentRun) {
	var elapsed time.Duration
	if ev.Millis != nil {
		elapsed = time.Duration(*ev.Millis) * time.Millisecond
	}
	var err error
	if !*ev.Success {
		err = errors.New(string(ev.ErrorType))
	}
	t.logInteraction(ev.AgentID, "answer", elapsed, err, logged{"question": openText(t.req.Input), "attempt": ev.Attempt}, nil)
}

// logAnswer logs the inner run: the agent's part, if it was not logged by an event, and the
// composition of the parts.
func (t *turn) logAnswer(began time.Time, err error) {
	out := logged{"answer": answerText(t.pieces.text)}
	if len(t.ended) == 0 {
		t.logInteraction(cmp.Or(t.agent, "assistant"), "answer", time.Since(began), err, logged{"question": openText(t.req.Input)}, out)
	}
	if err == nil && !t.firstText.IsZero() {
		t.logInteraction("composer", "compose_response", time.Since(t.firstText), nil, logged{"agents": max(1, len(t.ended))}, out)
	}
}

// logChecked logs what checking found.
func (t *turn) logChecked(a *attempt, began time.Time) {
	t.logInteraction("quality", "validate", time.Since(began), nil, logged{"answer": answerText(a.text), "criteria": len(a.card)},
		logged{"failed": a.countFailed(), "open": a.countUnjudged()})
}

// logChannel logs the form that an answer got.
func (t *turn) logChannel(a *attempt, f *Formatted) {
	t.logInteraction("channel", "format_for_channel", time.Duration(t.costs.ms.Format)*time.Millisecond, nil, logged{"answer": answerText(a.styledText())},
		logged{"content": answerText(f.Content), "parts": len(f.Messages)})
}

// logDelivered logs how handing over ended.
func (t *turn) logDelivered(d *stream.Delivery, m *Message, began time.Time) {
	var err error
	if d.Status != "delivered" {
		err = errors.New(d.Status)
	}
	t.logInteraction("sender", "send", time.Since(began), err, logged{"parts": m.Parts}, logged{"attempts": d.Attempts})
	t.log().Info().Dict("details", zerolog.Dict().Str("channel", t.channel).Str("status", d.Status).Int("attempts", d.Attempts).
		Int("parts", m.Parts).Int("segments", m.Segments)).Msg("message_delivered")
}

// loggedAttempts returns the attempts for the log.
func loggedAttempts(attempts []*attempt) *zerolog.Array {
	list := zerolog.Arr()
	for _, a := range attempts {
		_, failed := a.criterionIDs()
		list.Dict(zerolog.Dict().Bool("passed", a.countFailed() == 0 && a.countUnjudged() == 0).Strs("failed_criteria_ids", failed).
			Int("answer_length", utf8.RuneCountInString(a.text)))
	}
	return list
}

// logValidation reports an answer that did not pass, at first or at all.
func (t *turn) logValidation(best *attempt) {
	first := t.attempts[0]
	if first.countFailed() == 0 && t.passed {
		return
	}
	details := zerolog.Dict()
	t.logQuestion(details)
	details.Dict("scorecard", t.loggedScorecard(best)).Array("validation_results", t.loggedCriteria(first)).
		Array("attempts", loggedAttempts(t.attempts)).Bool("refinement_attempted", t.attempt > 1)
	if t.attempt > 1 {
		details.Bool("refinement_succeeded", len(t.attempts) > 1 && !t.attempts[1].failedMust() && t.attempts[1].countUnjudged() == 0)
	} else {
		details.Interface("refinement_succeeded", nil)
	}
	details.Str("final_outcome", string(t.outcome)).Str("failure_reason", t.whyFailed(&t.set))
	t.log().Warn().Dict("details", details).Msg("validation_failed")
}

// loggedScorecard is the scorecard of an attempt; without payloads the ids of its criteria alone.
func (t *turn) loggedScorecard(a *attempt) *zerolog.Event {
	d := zerolog.Dict().Str("scorecard_id", t.scorecardID()).Bool("overall_passed", t.passed)
	if t.cfg.LogPayloads {
		return d.Str("request_id", chat.RequestID(t.ctx)).Array("criteria", t.loggedCriteria(a)).
			Str("created_at", formatTime(t.start)).Str("evaluated_at", formatTime(time.Now()))
	}
	ids := make([]string, len(a.card))
	for i := range a.card {
		ids[i] = a.card[i].ID
	}
	return d.Strs("criteria", ids)
}

// loggedCriteria returns the criteria of an attempt for the log. Without payloads it has the id
// and the verdict: descriptions may be a planner's, and feedback a judge's.
func (t *turn) loggedCriteria(a *attempt) *zerolog.Array {
	list := zerolog.Arr()
	for i, v := range a.verdicts {
		c, d := &a.card[i], zerolog.Dict()
		d.Str("id", c.ID)
		if v.given {
			d.Bool("passed", v.passed)
		} else {
			d.Interface("passed", nil)
		}
		if t.cfg.LogPayloads {
			d.Str("description", payloadText(c.Description)).Str("expected", payloadText(c.expectedAnswer()))
		}
		if t.cfg.LogPayloads && v.hasFailed() {
			d.Str("feedback", payloadText(cmp.Or(v.feedback, "Not fulfilled: "+c.Description)))
		}
		list.Dict(d)
	}
	return list
}

// logQuestion adds the question, or its length alone.
func (t *turn) logQuestion(details *zerolog.Event) {
	if !t.cfg.LogPayloads {
		details.Int("original_question", utf8.RuneCountInString(t.req.Input))
		return
	}
	details.Str("original_question", payloadText(t.req.Input))
}
