package quality

import (
	"cmp"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/fault"
	"sluice/internal/redact"
	"sluice/stream"
)

// maxLogged bounds a text in the log, in bytes.
const maxLogged = 8 << 10

// logInteraction says what one of those that take part did: counts, no text.
func (t *turn) logInteraction(agent, action string, elapsed time.Duration, err error, in, out map[string]int) {
	line := t.log().Debug()
	if err != nil {
		line = t.log().Warn()
	}
	if line == nil {
		return
	}
	details := zerolog.Dict().Str("agent_name", agent).Str("action", action).
		Dict("input_data", countsOf(in)).Dict("output_data", countsOf(out)).Bool("success", err == nil)
	if err != nil {
		details.AnErr("error", errors.New(fault.LogText(err, t.cfg.LogPayloads)))
	}
	line.Int64("duration_ms", elapsed.Milliseconds()).Dict("details", details).Msg("agent_interaction")
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
	t.logInteraction(ev.AgentID, "answer", elapsed, err, map[string]int{"question": len(t.req.Input), "attempt": ev.Attempt}, nil)
}

// logAnswer logs what the inner runner did: the agent's part, if no event has reported it, and
// the part that made one text of the others.
func (t *turn) logAnswer(began time.Time, err error) {
	out := map[string]int{"answer": len(t.pieces.text)}
	if len(t.ended) == 0 {
		t.logInteraction(cmp.Or(t.agent, "assistant"), "answer", time.Since(began), err, map[string]int{"question": len(t.req.Input)}, out)
	}
	if err == nil && !t.firstText.IsZero() {
		t.logInteraction("composer", "compose_response", time.Since(t.firstText), nil, map[string]int{"agents": max(1, len(t.ended))}, out)
	}
}

// countsOf logs counts in the order of their names.
func countsOf(all map[string]int) *zerolog.Event {
	d := zerolog.Dict()
	for _, name := range slices.Sorted(keys(all)) {
		d.Int(name, all[name])
	}
	return d
}

// keys yields the names of a map.
func keys(all map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range all {
			if !yield(name) {
				return
			}
		}
	}
}

// logChecked logs what checking found: sizes and counts, never the answer.
func (t *turn) logChecked(a *attempt, began time.Time) {
	t.logInteraction("quality", "validate", time.Since(began), nil, map[string]int{"answer": len(a.text), "criteria": len(a.card)},
		map[string]int{"failed": a.failures(), "open": a.open()})
}

// logChannel logs the form that an answer got.
func (t *turn) logChannel(a *attempt, f *Formatted) {
	t.logInteraction("channel", "format_for_channel", time.Duration(t.costs.ms.Format)*time.Millisecond, nil, map[string]int{"answer": len(a.styled())},
		map[string]int{"content": len(f.Content), "parts": len(f.Messages)})
}

// logDelivered logs how handing over ended.
func (t *turn) logDelivered(d *stream.Delivery, m *Message, began time.Time) {
	var err error
	if d.Status != "delivered" {
		err = errors.New(d.Status)
	}
	t.logInteraction("sender", "send", time.Since(began), err, map[string]int{"parts": m.Parts}, map[string]int{"attempts": d.Attempts})
	t.log().Info().Dict("details", zerolog.Dict().Str("channel", t.channel).Str("status", d.Status).Int("attempts", d.Attempts).
		Int("parts", m.Parts).Int("segments", m.Segments)).Msg("message_delivered")
}

// loggedAttempts is what the log has of each attempt.
func loggedAttempts(attempts []*attempt) *zerolog.Array {
	list := zerolog.Arr()
	for _, a := range attempts {
		_, failed := a.ids()
		list.Dict(zerolog.Dict().Bool("passed", a.failures() == 0 && a.open() == 0).Strs("failed_criteria_ids", failed).
			Int("answer_length", utf8.RuneCountInString(a.text)))
	}
	return list
}

// logValidation reports an answer that did not pass, at first or at all.
func (t *turn) logValidation(best *attempt) {
	first := t.attempts[0]
	if first.failures() == 0 && t.passed {
		return
	}
	details := zerolog.Dict()
	t.logQuestion(details)
	ids := make([]string, len(best.card))
	for i := range best.card {
		ids[i] = best.card[i].ID
	}
	details.Dict("scorecard", zerolog.Dict().Str("scorecard_id", t.scorecardID()).Strs("criteria", ids).Bool("overall_passed", t.passed)).
		Array("validation_results", loggedAttempts(t.attempts)).Bool("refinement_attempted", t.attempt > 1)
	if t.attempt > 1 {
		details.Bool("refinement_succeeded", len(t.attempts) > 1 && !t.attempts[1].failedMust() && t.attempts[1].open() == 0)
	} else {
		details.Interface("refinement_succeeded", nil)
	}
	details.Str("final_outcome", string(t.outcome)).Str("failure_reason", t.whyFailed(&t.set))
	t.log().Warn().Dict("details", details).Msg("validation_failed")
}

// logQuestion adds the question, or its length alone.
func (t *turn) logQuestion(details *zerolog.Event) {
	if !t.cfg.LogPayloads {
		details.Int("original_question", utf8.RuneCountInString(t.req.Input))
		return
	}
	details.Str("original_question", chat.Clip(redact.AllKinds.Payload(t.req.Input), maxLogged))
}
