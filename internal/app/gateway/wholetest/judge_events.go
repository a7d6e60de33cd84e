package wholetest

import (
	"slices"
	"strings"
	"unicode"

	"sluice/internal/base/fault"
)

// event judges one event after those before it: the grammar, and what must hold
// between events.
func (j *judgement) event(ev WireEvent, first bool) {
	j.order(ev, first)
	judge := judges[ev.kind]
	if judge == nil {
		j.fault("there is no event %q", ev.kind)
		return
	}
	judge(j, ev)
}

// judges are the events that there are, each with what judges it by itself.
var judges = map[string]func(*judgement, WireEvent){
	"start":           (*judgement).start,
	"model":           (*judgement).model,
	"thinking":        (*judgement).thought,
	"tool_call":       (*judgement).toolCall,
	"response_delta":  (*judgement).delta,
	"response_reset":  (*judgement).reset,
	"route":           (*judgement).route,
	"agent":           (*judgement).agent,
	"approval":        (*judgement).question,
	"quality":         (*judgement).phase,
	"inner_delta":     (*judgement).draft,
	"channel_message": (*judgement).message,
	"error":           (*judgement).failure,
	"done":            (*judgement).end,
}

func (j *judgement) start(ev WireEvent) {
	j.must(ev.Protocol == "sluice/1" && ev.Model != "", "start: protocol %q, model %q", ev.Protocol, ev.Model)
}

func (j *judgement) model(ev WireEvent) { j.must(ev.Model != "", "a model without a name") }

func (j *judgement) thought(ev WireEvent) { j.must(ev.Content != "", "an empty thought") }

func (j *judgement) reset(ev WireEvent) {
	j.must(len(ev.Accumulated) < len(j.text) && strings.HasPrefix(j.text, ev.Accumulated), "%q is taken back to %q", j.text, ev.Accumulated)
	j.text = ev.Accumulated
}

// order judges an event by those before it.
func (j *judgement) order(ev WireEvent, first bool) {
	j.must(!j.done, "%s after done", ev.kind)
	j.must(j.fatal == "" || ev.kind == "done", "%s between a fatal error and done", ev.kind)
	j.must(!j.asked || ev.kind == "approval" || ev.kind == "done", "%s after a question", ev.kind)
	j.must((ev.kind == "start") == first, "%s is first: %v", ev.kind, first)
	j.explained(ev)
}

// explained judges what stands around a call that went wrong: an error is next, unless a person
// rejected the call or its server is known to be missing.
func (j *judgement) explained(ev WireEvent) {
	wrong := ev.kind == "tool_call" && (ev.Status == "failed" || ev.Status == "unknown")
	j.must(!j.explain || ev.kind == "error" || wrong, "%s after a call that went wrong", ev.kind)
	rejected := wrong && ev.ErrorType == string(fault.ApprovalRejected)
	j.must(!rejected || ev.Status == "failed", "a call that a person rejected is %s", ev.Status)
	j.explain = wrong && !rejected && !(ev.Error == fault.MCPUnavailableMessage && slices.Contains(j.missing, "mcp:"+ev.Server))
}

func (j *judgement) question(ev WireEvent) {
	j.asked = true
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
		j.progress(ev, began)
		return
	}
	delete(j.calls, ev.CallID)
	j.must(len(ev.Result) <= 2<<10, "a result of %d bytes", len(ev.Result))
	if ev.Status != "completed" {
		j.forPerson(ev.Error)
	}
}

// progress only grows, and its message is fit for a line.
func (j *judgement) progress(ev, before WireEvent) {
	j.must(before.Status == "in_progress" || ev.Progress > before.Progress, "progress %v after %v", ev.Progress, before.Progress)
	j.must(ev.Total == nil || *ev.Total > 0, "a total that is none")
	j.must(len(ev.Message) <= 256 && !strings.ContainsFunc(ev.Message, unicode.IsControl), "a message that is not fit for a line: %q", ev.Message)
	j.calls[ev.CallID] = ev
}

func (j *judgement) delta(ev WireEvent) {
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

func (j *judgement) failure(ev WireEvent) {
	rule, ok := errorTypes[ev.ErrorType]
	j.must(ok, "there is no error_type %q", ev.ErrorType)
	acted := ev.Fatal && len(j.ids) > 0 && !ev.Recoverable // what a call may have done is not done again
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

// forPerson: no path and no address.
func (j *judgement) forPerson(message string) {
	j.must(message != "" && !strings.ContainsAny(message, "/\\{}<>"), "a message that is not fit for a person: %q", message)
}

// fatalReasons says what a turn ends with after a fatal error; all others with "error".
var fatalReasons = map[string]string{"timeout": "timeout", "shutting_down": "shutdown"}

func (j *judgement) end(ev WireEvent) {
	j.done = true
	j.must(len(j.calls) == 0, "done while a tool is called")
	j.must(ev.FinalOutput == j.text, "final_output is %q, the deltas are %q", ev.FinalOutput, j.text)
	j.must(slices.Equal(ev.ToolsCalled, j.tools) && ev.ToolsCalled != nil, "tools_called %q, called were %q", ev.ToolsCalled, j.tools)
	j.must(ev.Success != nil && *ev.Success == (j.fatal == ""), "success %v after the fatal error %q", ev.Success, j.fatal)
	j.teamEnded(ev)
	j.checked(ev)
	want := []string{"stop", "max_tokens", "max_steps"}
	if j.clarified {
		want = []string{"input_required"}
	}
	if j.asked {
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
	j.times(ev)
}

// times judges the timings, which are rounded to milliseconds.
func (j *judgement) times(ev WireEvent) {
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
