package quality

import (
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// reportChecks adds the reported and the stored results of the checks to the turn's result.
func (t *turn) reportChecks(err error) {
	defer t.logWaiting()
	if t.outcome == "" {
		t.outcome = stream.NotEvaluated
	}
	if t.awaitsPlan() { // the turn ended before the plan was needed
		t.planning.cancel()
		p := t.planning.awaitResult()
		t.countCall(p.usage, p.elapsed)
	}
	if t.form != nil && t.checks.Channel == nil { // nothing was sent: the client learns that
		t.checks.Channel = &stream.Formatted{Channel: t.channel}
		if none, err := t.form.Format(context.WithoutCancel(t.ctx), Text{RequestID: chat.RequestID(t.ctx), At: time.Now()}); err == nil {
			t.checks.Channel.Metadata = none.Metadata
		}
	}
	if t.watched {
		a := t.countedAttempt()
		t.counts().turns.Inc(string(t.outcome))
		t.counts().countVerdicts(a)
		if !t.set.HideReceipt {
			t.checks.Quality = t.newReceipt(a)
		}
		if t.req.Task != "" { // else nobody keeps it
			t.checks.Checked = t.storedState(a, err)
		}
	}
	if t.checks.Quality != nil || t.checks.Channel != nil || t.checks.Checked != nil || t.checks.Markdown != "" {
		t.out.Checks = &t.checks
	}
}

// newReceipt returns the receipt of the checks, for the client at the end of the turn.
func (t *turn) newReceipt(a *attempt) *stream.Receipt {
	r := &stream.Receipt{
		Passed: t.passed, Outcome: t.outcome, Refined: t.isRefined(), ScorecardID: t.scorecardID(),
		Criteria: make([]stream.CriterionCheck, 0, len(a.verdicts)), Millis: t.costs.ms,
		Usage: stream.TokenUsage{Input: t.costs.usage.InputTokens, Output: t.costs.usage.OutputTokens, Thinking: t.costs.usage.ThinkingTokens},
		Plan:  stream.ReceiptPlan{Steps: t.countSteps(t.req.Deliver), Ran: t.stepsRun(t.outcome != stream.NotEvaluated, t.triedDelivery())},
	}
	if t.cfg.Style != nil {
		r.StyleVersion = t.cfg.Style.Version()
	}
	for i, v := range a.verdicts {
		c := &a.card[i]
		line := stream.CriterionCheck{ID: c.ID, By: "judge", Must: c.Must, Planned: c.planned, NotApplicable: v.notApplicable}
		if c.Check != nil {
			line.By = "code"
		}
		if v.given {
			line.Passed = &a.verdicts[i].passed
		}
		line.FailedFirst = t.isRefined() && t.attempts[0].verdicts[i].hasFailed()
		r.Criteria = append(r.Criteria, line)
	}
	return r
}

// taskCriterion is a criterion as a task keeps it. Its feedback is made by code: the
// judge's own words may quote a text that was withheld.
type taskCriterion struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Expected    string `json:"expected"`
	Check       string `json:"check,omitempty"`
	Must        bool   `json:"must"`
	Passed      *bool  `json:"passed"`
	Feedback    string `json:"feedback,omitempty"`
}

// taskScorecard is the scorecard that is stored for later questions. Texts of answers are not in
// it.
type taskScorecard struct {
	ID        string          `json:"scorecard_id"`
	RequestID string          `json:"request_id"`
	Criteria  []taskCriterion `json:"criteria"`
	Passed    bool            `json:"overall_passed"`
	CreatedAt string          `json:"created_at"`
	At        string          `json:"evaluated_at,omitempty"`
}

// taskVerdict is a ValidationResult. A criterion without a verdict has not passed, and its id is
// among the failed ones. The list is empty if and only if Passed is true.
type taskVerdict struct {
	RequestID   string   `json:"request_id"`
	ScorecardID string   `json:"scorecard_id"`
	Passed      bool     `json:"passed"`
	Failed      []string `json:"failed_criteria_ids"`
	Feedback    string   `json:"feedback,omitempty"`
	At          string   `json:"validated_at"`
}

// taskState is the state of a turn as its task keeps it.
type taskState struct {
	RequestID  string           `json:"request_id"`
	Plan       jsontext.Value   `json:"execution_plan,omitempty"`
	Scorecard  taskScorecard    `json:"scorecard"`
	Data       []taskToolResult `json:"data"`
	Composed   *string          `json:"composed_response"`
	Formatted  jsontext.Value   `json:"formatted_response,omitempty"`
	Result     *taskVerdict     `json:"validation_result"`
	Refinement int              `json:"refinement_count"`
	Final      *string          `json:"final_response"`
	Status     string           `json:"status"`
	CreatedAt  string           `json:"created_at"`
	At         string           `json:"completed_at"`
}

// maxTaskResult bounds the part of a tool's result that a task stores, and maxTaskForm that of a
// channel's form, in bytes.
const (
	maxTaskResult = 2 << 10
	maxTaskForm   = 64 << 10
)

// taskToolResult is a result of a tool as a task keeps it: JSON as it is, and another text as a string.
type taskToolResult struct {
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments,omitempty"`
	Result    jsontext.Value `json:"result"`
	Truncated bool           `json:"truncated,omitzero"`
}

// storedResults returns the results of tools as the task keeps them.
func (t *turn) storedResults() []taskToolResult {
	all := []taskToolResult{}
	for _, r := range t.shownResults() {
		result, cut := chat.Truncate(r.Result, maxTaskResult)
		k := taskToolResult{Tool: r.Tool, Result: valueOf(result), Truncated: r.Truncated || cut}
		if r.Arguments != "" {
			k.Arguments = valueOf(r.Arguments)
		}
		all = append(all, k)
	}
	return all
}

// valueOf returns a text that is an object or a list of JSON as it is, and another one as a string.
func valueOf(text string) jsontext.Value {
	if v := jsontext.Value(strings.TrimSpace(text)); v.IsValid() && (v.Kind() == '{' || v.Kind() == '[') {
		return v
	}
	quoted, _ := jsontext.AppendQuote(nil, text)
	return quoted
}

// addCriteria adds the criteria of an attempt with their verdicts. It returns those that it does
// not fulfil, in words.
func (s *taskScorecard) addCriteria(a *attempt) (feedback []string) {
	for i, v := range a.verdicts {
		c := &a.card[i]
		k := taskCriterion{ID: c.ID, Description: c.Description, Expected: c.expectedAnswer(), Check: c.Name, Must: c.Must}
		if v.given {
			k.Passed = &v.passed
		}
		switch {
		case v.hasFailed():
			k.Feedback = "Not fulfilled: " + c.Description
			feedback = append(feedback, c.ID+": "+c.Description)
		case !v.given:
			feedback = append(feedback, c.ID+" has no verdict: "+c.Description)
		}
		s.Criteria = append(s.Criteria, k)
	}
	return feedback
}

// storedState returns the state of the checks, for the turn's task. Texts are in it only if they
// were sent.
func (t *turn) storedState(a *attempt, err error) jsontext.Value {
	now := formatTime(time.Now())
	s := taskState{
		RequestID: chat.RequestID(t.ctx), Data: t.storedResults(), Refinement: t.attempt - 1, Status: "completed",
		CreatedAt: formatTime(t.start), At: now,
		Scorecard: taskScorecard{ID: t.scorecardID(), RequestID: chat.RequestID(t.ctx), Criteria: []taskCriterion{}, Passed: t.passed, CreatedAt: formatTime(t.start)},
	}
	status := planCompleted
	if err != nil || t.isWithheld(&t.set) {
		s.Status, status = "failed", planFailed
	}
	s.Plan = t.executionPlan(status)
	feedback := s.Scorecard.addCriteria(a)
	if a.verdicts != nil {
		s.Scorecard.At = now
		_, failed := a.criterionIDs()
		failed = append(failed, a.unjudgedIDs()...)
		s.Result = &taskVerdict{s.RequestID, s.Scorecard.ID, len(failed) == 0, failed, strings.Join(feedback, "; "), now}
	}
	t.addSentTexts(&s, a)
	text, _ := json.Marshal(s, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	return text
}

// sentAttempt returns the attempt that was sent, or nil. It is a if the answer was only observed.
func (t *turn) sentAttempt(a *attempt) *attempt {
	switch {
	case t.sink.Err != nil:
		return nil
	case t.outcome == stream.Observed && t.final == nil:
		return a
	}
	return t.final
}

// addSentTexts adds the texts that were sent.
func (t *turn) addSentTexts(s *taskState, a *attempt) {
	sent := t.sentAttempt(a)
	if sent == nil {
		return
	}
	if sent == a {
		s.Composed = &sent.text
	}
	final := sent.styledText()
	s.Final = &final
	if sent.formatted != nil {
		s.Final = &sent.formatted.Content
		if whole := sent.formatted.Response(); len(whole) <= maxTaskForm {
			s.Formatted = whole
		}
	}
}

// plannedID stands for the ids of planned criteria.
const plannedID = "planned"

// countVerdicts counts each criterion by its result. Criteria that a model planned
// share one id: their names are its own.
func (in *instruments) countVerdicts(a *attempt) {
	for i, v := range a.verdicts {
		id, result := a.card[i].ID, "open"
		if a.card[i].planned {
			id = plannedID
		}
		switch {
		case v.notApplicable:
			result = "not_applicable"
		case v.hasFailed():
			result = "failed"
		case v.given:
			result = "passed"
		}
		in.criteria.Inc(id, result)
	}
}
