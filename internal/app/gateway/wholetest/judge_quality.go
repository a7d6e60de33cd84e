package wholetest

import (
	"slices"
	"strings"
)

// qualityEvent holds the members of the events of answers that are checked or formatted.
type qualityEvent struct {
	Phase       string   `json:"phase"`
	Elapsed     int      `json:"elapsed_ms"`
	Chars       int      `json:"chars"`
	Failed      []string `json:"failed"`
	Channel     any      `json:"channel"`
	Sequence    int      `json:"sequence"`
	ContentType string   `json:"content_type"`
	Quality     *struct {
		Passed   bool   `json:"passed"`
		Outcome  string `json:"outcome"`
		Criteria []struct {
			ID     string `json:"id"`
			By     string `json:"by"`
			Must   bool   `json:"must"`
			Passed *bool  `json:"passed"`
		} `json:"criteria"`
		Usage map[string]int `json:"usage"`
		Plan  struct{ Steps, Ran int }
	} `json:"quality"`
}

// qualityJudgement is the judge's knowledge of the checks of a turn.
type qualityJudgement struct {
	attempt  int
	phases   []string
	drafts   map[int]string
	messages int
	total    float64
}

// parallel is 1 if a planner may have been asked while an agent was.
func (q *qualityJudgement) parallel() int {
	if slices.Contains(q.phases, "planning1") {
		return 1
	}
	return 0
}

func isDraft(ev WireEvent) bool { return ev.kind == "inner_delta" && ev.Attempt > 0 }

// judgePhase judges the phases: they come in their order, each once, but for those that may report
// more.
func (j *judgement) judgePhase(ev WireEvent) {
	order := []string{"planning1", "extracting1", "composing1", "formatting1", "validating1", "refining2", "formatting2", "validating2"}
	name := ev.Phase + string(rune('0'+ev.Attempt))
	last := len(j.quality.phases) - 1
	j.must(ev.Attempt >= j.quality.attempt, "attempt %d after %d", ev.Attempt, j.quality.attempt)
	j.quality.attempt = ev.Attempt
	if ev.Phase == "sending" || ev.Phase == "failed" {
		// An answer that streams while it is watched may end with a fatal error.
		j.must((j.text == "" || ev.Phase == "failed") && (last < 0 || slices.Contains(order, j.quality.phases[last])), "%s after %q", name, j.quality.phases)
		j.quality.phases = append(j.quality.phases, name)
		return
	}
	at := slices.Index(order, name)
	j.must(at >= 0, "phase %s", name)
	if last >= 0 {
		before := slices.Index(order, j.quality.phases[last])
		more := name == "composing1" && ev.Chars > 0 || ev.Phase == "validating" && ev.Failed != nil || ev.Phase == "planning"
		j.must(before >= 0 && (at > before || at == before && more), "%s after %q", name, j.quality.phases)
	}
	j.quality.phases = append(j.quality.phases, name)
}

// judgeDraft judges drafts: they do not follow a piece of the answer, or belong to an earlier
// attempt.
func (j *judgement) judgeDraft(ev WireEvent) {
	j.must(ev.Delta != "", "an empty draft")
	if !isDraft(ev) {
		return
	}
	j.must(j.text == "" && ev.Attempt == j.quality.attempt, "a draft of attempt %d at %d", ev.Attempt, j.quality.attempt)
	if j.quality.drafts == nil {
		j.quality.drafts = map[int]string{}
	}
	j.quality.drafts[ev.Attempt] += ev.Delta
}

// judgeMessage judges the sequence of messages: 1 to total, without gaps.
func (j *judgement) judgeMessage(ev WireEvent) {
	j.quality.messages++
	total := 0.0
	if ev.Total != nil {
		total = *ev.Total
	}
	j.must(ev.Sequence == j.quality.messages && float64(ev.Sequence) <= total && (ev.Sequence == 1 || total == j.quality.total),
		"message %d of %v", ev.Sequence, total)
	j.must(ev.ContentType != "", "a message without a type")
	j.quality.total = total
}

// judgeChecks judges the members of done about the checks.
func (j *judgement) judgeChecks(ev WireEvent) {
	j.must(float64(j.quality.messages) == j.quality.total, "%d messages of %v", j.quality.messages, j.quality.total)
	r := ev.Quality
	if r == nil {
		return
	}
	j.must(len(j.quality.phases) > 0, "a receipt without a phase")
	all := len(r.Criteria) > 0
	for _, c := range r.Criteria {
		all = all && c.Passed != nil && *c.Passed
		j.must(c.By == "code" || c.By == "judge", "criterion %s by %q", c.ID, c.By)
	}
	j.must(r.Passed == all || r.Outcome == "not_evaluated" && !r.Passed, "passed %v of %+v", r.Passed, r.Criteria)
	j.must(r.Passed == slices.Contains([]string{"passed", "refined"}, r.Outcome) || r.Outcome == "observed", "%s, and passed is %v", r.Outcome, r.Passed)
	j.must(r.Plan.Ran <= r.Plan.Steps, "%d of %d steps", r.Plan.Ran, r.Plan.Steps)
	j.must((r.Outcome == "refined") == (r.Passed && strings.Contains(strings.Join(j.quality.phases, " "), "refining2")), "%s after %q", r.Outcome, j.quality.phases)
	for name, n := range r.Usage {
		j.must(n <= ev.Usage[name], "%d %s of the checks, %d of all", n, name, ev.Usage[name])
	}
}
