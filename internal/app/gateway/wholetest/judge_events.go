package wholetest

import (
	"slices"
	"strings"
	"unicode"

	"sluice/internal/base/fault"
)

// judgeEvent judges one event after the earlier ones: the grammar, and the rules between events.
func (j *judgement) judgeEvent(ev WireEvent, first bool) {
	j.judgeOrder(ev, first)
	judge := judges[ev.kind]
	if judge == nil {
		j.addFault("there is no event %q", ev.kind)
		return
	}
	judge(j, ev)
}

// judges are the known events, each with its judge.
var judges = map[string]func(*judgement, WireEvent){
	"start":           (*judgement).judgeStart,
	"model":           (*judgement).judgeModel,
	"thinking":        (*judgement).judgeThought,
	"tool_call":       (*judgement).toolCall,
	"response_delta":  (*judgement).judgeDelta,
	"response_reset":  (*judgement).judgeReset,
	"route":           (*judgement).judgeRoute,
	"agent":           (*judgement).judgeAgent,
	"approval":        (*judgement).judgeQuestion,
	"quality":         (*judgement).judgePhase,
	"inner_delta":     (*judgement).judgeDraft,
	"channel_message": (*judgement).judgeMessage,
	"error":           (*judgement).judgeError,
	"done":            (*judgement).judgeEnd,
}

func (j *judgement) judgeStart(ev WireEvent) {
	j.must(ev.Protocol == "sluice/1" && ev.Model != "", "start: protocol %q, model %q", ev.Protocol, ev.Model)
}

func (j *judgement) judgeModel(ev WireEvent) { j.must(ev.Model != "", "a model without a name") }

func (j *judgement) judgeThought(ev WireEvent) { j.must(ev.Content != "", "an empty thought") }

func (j *judgement) judgeReset(ev WireEvent) {
	j.must(len(ev.Accumulated) < len(j.text) && strings.HasPrefix(j.text, ev.Accumulated), "%q is taken back to %q", j.text, ev.Accumulated)
	j.text = ev.Accumulated
}

// judgeOrder judges an event by the earlier ones.
func (j *judgement) judgeOrder(ev WireEvent, first bool) {
	j.must(!j.done, "%s after done", ev.kind)
	j.must(j.fatal == "" || ev.kind == "done", "%s between a fatal error and done", ev.kind)
	j.must(!j.hasQuestion || ev.kind == "approval" || ev.kind == "done", "%s after a question", ev.kind)
	j.must((ev.kind == "start") == first, "%s is first: %v", ev.kind, first)
	j.judgeFailedCall(ev)
}

// judgeFailedCall judges the events around a failed call: an error is next, unless a person
// rejected the call or its server is known to be missing.
func (j *judgement) judgeFailedCall(ev WireEvent) {
	wrong := ev.kind == "tool_call" && (ev.Status == "failed" || ev.Status == "unknown")
	j.must(!j.explain || ev.kind == "error" || wrong, "%s after a call that went wrong", ev.kind)
	rejected := wrong && ev.ErrorType == string(fault.ApprovalRejected)
	j.must(!rejected || ev.Status == "failed", "a call that a person rejected is %s", ev.Status)
	j.explain = wrong && !rejected && !(ev.Error == fault.MCPUnavailableMessage && slices.Contains(j.missing, "mcp:"+ev.Server))
}

func (j *judgement) judgeQuestion(ev WireEvent) {
	j.hasQuestion = true
	j.must(len(j.calls) == 0 && j.fatal == "", "a question while something runs")
	j.must(ev.Prompt != "" && len(ev.Waiting) > 0 && Tokens.MatchString(ev.Token) && approvalIDs.MatchString(ev.ApprovalID), "a question that nobody can answer")
	for _, c := range ev.Waiting {
		j.must(c.CallID != "" && !slices.Contains(j.ids, c.CallID) && c.Reason != "" && strings.HasPrefix(string(c.Arguments), "{"), "it asks about %+v", c)
	}
}

func (j *judgement) toolCall(ev WireEvent) {
	j.must(strings.HasPrefix(string(ev.Arguments), "{"), "arguments are no object: %s", ev.Arguments)
	if ev.Status == "in_progress" {
		j.must(ev.CallID != "" && ev.Tool != "" && !slices.Contains(j.ids, ev.CallID), "call_id %q is used twice", ev.CallID)
		j.calls[ev.CallID] = ev
		j.ids, j.tools = append(j.ids, ev.CallID), append(j.tools, ev.Tool)
		return
	}
	began, ok := j.calls[ev.CallID]
	j.must(ok, "call %q is %s and is not under way", ev.CallID, ev.Status)
	same := began.Tool == ev.Tool && began.Server == ev.Server && string(began.Arguments) == string(ev.Arguments)
	j.must(same, "call %q is %s as another than it began", ev.CallID, ev.Status)
	if ev.Status == "progress" {
		j.judgeProgress(ev, began)
		return
	}
	delete(j.calls, ev.CallID)
	j.must(len(ev.Result) <= 2<<10, "a result of %d bytes", len(ev.Result))
	if ev.Status != "completed" {
		j.forPerson(ev.Error)
	}
}

// judgeProgress judges progress: it only grows, and its message is fit for a line.
func (j *judgement) judgeProgress(ev, before WireEvent) {
	j.must(before.Status == "in_progress" || ev.Progress > before.Progress, "progress %v after %v", ev.Progress, before.Progress)
	j.must(ev.Total == nil || *ev.Total > 0, "a total that is none")
	j.must(len(ev.Message) <= 256 && !strings.ContainsFunc(ev.Message, unicode.IsControl), "a message that is not fit for a line: %q", ev.Message)
	j.calls[ev.CallID] = ev
}

func (j *judgement) judgeDelta(ev WireEvent) {
	j.must(ev.Delta != "", "an empty delta")
	j.must(j.quality.messages == 0, "a delta after the messages of a channel")
	j.text += ev.Delta
	has := ev.Accumulated != ""
	if j.accumulates == nil {
		j.accumulates = &has
	}
	j.must(has == *j.accumulates, "accumulated comes and goes")
	j.must(!has || ev.Accumulated == j.text, "accumulated is %q after %q", ev.Accumulated, j.text)
}

// errorTypes says of each error_type whether it is recoverable, and whether it is
// fatal: always, never or sometimes.
var errorTypes = map[string]struct {
	recoverable bool
	fatal       string
}{
	"tool_execution_failed": {true, "never"},
	"mcp_unavailable":       {true, "never"},
	"model_unavailable":     {true, "always"},
	"model_rate_limited":    {true, "always"},
	"model_blocked":         {false, "always"},
	"model_error":           {false, "always"},
	"timeout":               {true, "sometimes"},
	"shutting_down":         {true, "always"},
	"overloaded":            {true, "always"},
	"agent_failed":          {true, "never"},
	"agent_unavailable":     {true, "always"},
	"routing_failed":        {true, "always"},
	"internal_error":        {false, "always"},
	"quality_failed":        {true, "never"},
	"quality_unavailable":   {true, "never"},
	"content_truncated":     {false, "never"},
	"delivery_failed":       {true, "never"},
}

func (j *judgement) judgeError(ev WireEvent) {
	rule, ok := errorTypes[ev.ErrorType]
	j.must(ok, "there is no error_type %q", ev.ErrorType)
	acted := ev.Fatal && len(j.ids) > 0 && !ev.Recoverable // a call with possible effects is not repeated
	j.must(acted || ev.Recoverable == rule.recoverable, "%s with recoverable %v", ev.ErrorType, ev.Recoverable)
	j.must(rule.fatal == "sometimes" || ev.Fatal == (rule.fatal == "always"), "%s with fatal %v", ev.ErrorType, ev.Fatal)
	if ev.ErrorType == "mcp_unavailable" {
		j.must(!slices.Contains(j.missing, ev.Service), "%s is told to be unavailable twice", ev.Service)
		j.missing = append(j.missing, ev.Service)
	}
	j.must(ev.ErrorType != "model_unavailable" || acted || ev.RetryAfter > 0, "model_unavailable without retry_after_ms")
	j.forPerson(ev.Message)
	if ev.Fatal {
		j.must(len(j.calls) == 0, "a fatal error while a tool is called")
		j.fatal = ev.ErrorType
	}
}

// forPerson judges a message for a person: it must not have a path or an address.
func (j *judgement) forPerson(message string) {
	j.must(message != "" && !strings.ContainsAny(message, "/\\{}<>"), "a message that is not fit for a person: %q", message)
}

// fatalReasons maps fatal errors to finish reasons. Any other error ends a turn with "error".
var fatalReasons = map[string]string{"timeout": "timeout", "shutting_down": "shutdown"}

func (j *judgement) judgeEnd(ev WireEvent) {
	j.done = true
	j.must(len(j.calls) == 0, "done while a tool is called")
	j.must(ev.FinalOutput == j.text, "final_output is %q, the deltas are %q", ev.FinalOutput, j.text)
	j.must(slices.Equal(ev.ToolsCalled, j.tools) && ev.ToolsCalled != nil, "tools_called %q, called were %q", ev.ToolsCalled, j.tools)
	j.must(ev.Success != nil && *ev.Success == (j.fatal == ""), "success %v after the fatal error %q", ev.Success, j.fatal)
	j.teamEnded(ev)
	j.judgeChecks(ev)
	want := []string{"stop", "max_tokens", "max_steps"}
	if j.clarified {
		want = []string{"input_required"}
	}
	if j.hasQuestion {
		want = []string{"approval_required"}
	}
	if j.fatal != "" {
		want = []string{"error"}
		if r := fatalReasons[j.fatal]; r != "" {
			want = []string{r}
		}
	}
	j.must(slices.Contains(want, ev.Finish), "finish_reason %q, want one of %q", ev.Finish, want)
	for _, name := range []string{"input_tokens", "output_tokens", "thinking_tokens"} {
		n, ok := ev.Usage[name]
		figures := 3
		if _, keyed := ev.Usage["cached_tokens"]; keyed {
			figures = 4
		}
		j.must(ok && n >= 0 && len(ev.Usage) == figures, "usage %v", ev.Usage)
	}
	j.judgeTimings(ev)
}

// judgeTimings judges the timings, rounded to milliseconds.
func (j *judgement) judgeTimings(ev WireEvent) {
	t := ev.Timings
	j.must((t.FirstDelta != nil) == (j.text != ""), "first_delta_ms is there: %v, text: %q", t.FirstDelta != nil, j.text)
	if t.FirstDelta != nil {
		j.must(t.FirstEvent <= *t.FirstDelta && *t.FirstDelta <= t.Total, "timings out of order: %+v", t)
	}
	sum := 0
	for _, ms := range t.Model {
		sum += ms
	}
	j.must(sum <= t.Total*(max(len(j.agents), 1)+j.quality.parallel())+len(t.Model), "the model took %d ms of %d", sum, t.Total)
	called := slices.Clone(j.tools)
	for _, tool := range t.Tools {
		i := slices.Index(called, tool.Tool)
		j.must(i >= 0 && tool.MS <= t.Total, "timing of %q: %d ms", tool.Tool, tool.MS)
		if i >= 0 {
			called = slices.Delete(called, i, i+1)
		}
	}
}
