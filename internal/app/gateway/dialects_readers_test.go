package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/stream"
)

// event is one event of a protocol, or a part of one.
type event map[string]any

func (e event) str(name string) string { s, _ := e[name].(string); return s }

func (e event) in(name string) event { m, _ := e[name].(map[string]any); return m }

func (e event) list(name string) (list []event) {
	all, _ := e[name].([]any)
	for _, v := range all {
		m, _ := v.(map[string]any)
		list = append(list, m)
	}
	return list
}

// arguments returns a member that is an object, as text.
func (e event) arguments(name string) string {
	text, err := json.Marshal(e[name], json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// eventsOf reads frames as the clients do that are strict: each has one line of data, which is
// one JSON object, and there is no other field. over says that the last one is [DONE].
func eventsOf(t *testing.T, body string) (list []event, over bool) {
	t.Helper()
	body, whole := strings.CutSuffix(body, "\n\n")
	for frame := range strings.SplitSeq(body, "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		if over = data == "[DONE]"; over {
			continue
		}
		var ev event
		if err := json.Unmarshal([]byte(data), &ev); err != nil || !ok || !whole || strings.ContainsAny(frame, "\r\n") {
			t.Fatalf("no frame: %q: %v", frame, err)
		}
		list = append(list, ev)
	}
	return list, over
}

// callsByID are calls as their events come, found by their ids.
type callsByID []seenCall

func (c *callsByID) begin(t *testing.T, call seenCall) {
	t.Helper()
	if slices.ContainsFunc(*c, func(other seenCall) bool { return other.ID == call.ID }) {
		t.Errorf("call %s begins twice", call.ID)
	}
	*c = append(*c, call)
}

// of returns the call with an id, which must have begun.
func (c *callsByID) of(t *testing.T, id string) *seenCall {
	t.Helper()
	i := slices.IndexFunc(*c, func(other seenCall) bool { return other.ID == id })
	if i < 0 {
		t.Fatalf("there is no call %q", id)
	}
	return &(*c)[i]
}

// Our own protocol.

const maxShown = 2 << 10 // of a result

func wantNative(f *folded) seen {
	s := seen{Text: f.Text(), Thoughts: f.thoughts.String(), Calls: f.calls(maxShown, ""), Verdict: string(f.Reason())}
	if e := f.Fatal(); e != nil {
		s.Verdict += " " + string(e.Type) + " " + e.Message
	}
	return s
}

// native reads events of our own protocol, wherever they come from.
type native struct {
	seen
	calls  callsByID
	failed string
}

func (n *native) add(t *testing.T, name string, data event) {
	t.Helper()
	switch name {
	case "response_delta":
		n.Text += data.str("delta")
	case "thinking":
		n.Thoughts += data.str("content")
	case "tool_call":
		switch status := data.str("status"); status {
		case "in_progress":
			n.calls.begin(t, seenCall{ID: data.str("call_id"), Name: data.str("tool_name"), Arguments: data.arguments("arguments")})
		case "client_required":
			n.calls.begin(t, seenCall{data.str("call_id"), data.str("tool_name"), data.arguments("arguments"), status, ""})
		case "progress":
			n.calls.of(t, data.str("call_id"))
		default:
			c := n.calls.of(t, data.str("call_id"))
			c.Outcome, c.Result = status, data.str("result")+data.str("error")
		}
	case "error":
		if data["fatal"] == true {
			n.failed = " " + data.str("error_type") + " " + data.str("message")
		}
	case "done":
		if data["final_output"] != n.Text {
			t.Errorf("the text was %q, and in the end %q", n.Text, data["final_output"])
		}
		n.Verdict = data.str("finish_reason") + n.failed
	}
}

func (n *native) all() seen {
	n.Calls = n.calls
	return n.seen
}

func readNative(t *testing.T, body string) seen {
	t.Helper()
	var n native
	for frame := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		_, rest, _ := strings.Cut(frame, "event: ")
		name, text, _ := strings.Cut(rest, "\ndata: ")
		var data event
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			t.Fatalf("%v: %q", err, frame)
		}
		n.add(t, name, data)
	}
	return n.all()
}

// The AI SDK. A lost result is a failure of the call, and a question to a person is text.

func wantAISDK(f *folded) seen {
	s := wantAISDKCalls(f)
	for _, q := range f.Questions {
		s.Text += q.Prompt
	}
	return s
}

// wantAISDKAsked is wantAISDK for a page that can ask a person: the first question is one about
// its calls.
func wantAISDKAsked(f *folded) seen {
	s := wantAISDKCalls(f)
	for i, q := range f.Questions {
		if len(q.Calls) == 0 {
			s.Text += q.Prompt
		}
		for _, c := range q.Calls {
			if i == 0 {
				s.Calls = append(s.Calls, seenCall{ID: c.CallID, Name: c.Tool, Arguments: compact(string(c.Arguments)), Outcome: "asked"})
			}
		}
	}
	return s
}

func wantAISDKCalls(f *folded) seen {
	s := seen{Text: f.Text(), Thoughts: f.thoughts.String(), Calls: f.calls(maxShown, " […]")}
	for i := range s.Calls {
		if s.Calls[i].Outcome == string(stream.CallUnknown) {
			s.Calls[i].Outcome = string(stream.CallFailed)
		}
	}
	switch f.Reason() {
	case stream.Stop, stream.InputRequired:
		s.Verdict = "stop"
	case stream.MaxTokens:
		s.Verdict = "length"
	case stream.ClientTools, stream.ApprovalRequired:
		s.Verdict = "tool-calls"
	case stream.MaxSteps:
		s.Verdict = "other"
	default:
		s.Verdict = "error " + f.Failure()
	}
	return s
}

func readAISDK(t *testing.T, body string) (s seen) {
	t.Helper()
	parts, over := eventsOf(t, body)
	if !over {
		t.Error("the stream has no end")
	}
	var calls callsByID
	open := map[string]bool{} // texts and reasonings
	for i, part := range parts {
		switch kind := part.str("type"); kind {
		case "start", "start-step", "data-sluice":
		case "finish-step":
			if len(open) > 0 {
				t.Errorf("a step ends with %v open", open)
			}
		case "text-start", "reasoning-start":
			open[part.str("id")] = true
		case "text-delta", "reasoning-delta":
			if !open[part.str("id")] {
				t.Errorf("a piece of %q, which is not open", part.str("id"))
			}
			if kind == "text-delta" {
				s.Text += part.str("delta")
			} else {
				s.Thoughts += part.str("delta")
			}
		case "text-end", "reasoning-end":
			delete(open, part.str("id"))
		case "tool-input-available":
			call := seenCall{ID: part.str("toolCallId"), Name: part.str("toolName"), Arguments: part.arguments("input")}
			if part["providerExecuted"] != true {
				call.Outcome = "client_required"
			}
			calls.begin(t, call)
		case "tool-output-available":
			c := calls.of(t, part.str("toolCallId"))
			c.Outcome, c.Result = "completed", part.str("output")
		case "tool-approval-request":
			calls.of(t, part.str("toolCallId")).Outcome = "asked"
		case "tool-output-error":
			c := calls.of(t, part.str("toolCallId"))
			c.Outcome, c.Result = "failed", part.str("errorText")
		case "finish", "error":
			if s.Verdict = part.str("finishReason"); kind == "error" {
				s.Verdict = "error " + part.str("errorText")
			}
			if i != len(parts)-1 {
				t.Errorf("%d parts behind the end", len(parts)-1-i)
			}
		default:
			t.Errorf("clients know no part %q", kind)
		}
	}
	s.Calls = calls
	return s
}

// AG-UI, which has one kind of result. What a person is asked about is a call without one, and
// so is the client's.

func wantAGUI(f *folded) seen {
	s := seen{Text: f.Text(), Thoughts: f.thoughts.String(), Calls: f.calls(maxShown, "")}
	for i := range s.Calls {
		s.Calls[i].Outcome = ""
	}
	switch e := f.Fatal(); {
	case e != nil:
		s.Verdict = string(e.Type) + " " + e.Message
	case len(f.Questions) > 0:
		s.Verdict = "interrupt"
		for _, c := range f.Questions[0].Calls {
			s.Calls = append(s.Calls, seenCall{ID: c.CallID, Name: c.Tool, Arguments: compact(string(c.Arguments))})
		}
	default:
		s.Verdict = "success"
	}
	return s
}

func readAGUI(t *testing.T, body string) (s seen) {
	t.Helper()
	all, _ := eventsOf(t, body)
	var calls callsByID
	steps, said := map[string]bool{}, "" // what is open
	for i, ev := range all {
		id := ev.str("messageId") + ev.str("toolCallId") + ev.str("stepName")
		switch kind := ev.str("type"); kind {
		case "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR":
			if (kind == "RUN_STARTED") != (i == 0) || (kind != "RUN_STARTED") != (i == len(all)-1) || kind == "RUN_FINISHED" && len(steps)+len(said) > 0 {
				t.Errorf("event %d of %d is %s, and open are %q and %v", i+1, len(all), kind, said, steps)
			}
			switch {
			case kind == "RUN_ERROR":
				s.Verdict = ev.str("code") + " " + ev.str("message")
			case ev["outcome"] != nil:
				s.Verdict = ev.in("outcome").str("type")
			default:
				s.Verdict = "success"
			}
		case "STEP_STARTED":
			steps[id] = true
		case "STEP_FINISHED":
			delete(steps, id)
		case "TEXT_MESSAGE_START", "REASONING_MESSAGE_START":
			if said != "" || id == "" {
				t.Errorf("%q begins while %q is open", id, said)
			}
			said = id
		case "TEXT_MESSAGE_END", "REASONING_MESSAGE_END":
			said = ""
		case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT":
			if said != id {
				t.Errorf("a piece of %q, which is not open", id)
			}
			if kind == "TEXT_MESSAGE_CONTENT" {
				s.Text += ev.str("delta")
			} else {
				s.Thoughts += ev.str("delta")
			}
		case "TOOL_CALL_START":
			if said != "" {
				t.Errorf("a call begins while %q is open", said)
			}
			calls.begin(t, seenCall{ID: ev.str("toolCallId"), Name: ev.str("toolCallName")})
		case "TOOL_CALL_ARGS":
			calls.of(t, ev.str("toolCallId")).Arguments += compact(ev.str("delta"))
		case "TOOL_CALL_RESULT":
			calls.of(t, ev.str("toolCallId")).Result = ev.str("content")
		case "TOOL_CALL_END", "REASONING_START", "REASONING_END", "CUSTOM":
		default:
			t.Errorf("clients know no event %q", kind)
		}
	}
	s.Calls = calls
	return s
}

// Chat Completions, where only the client's own calls are shown.

func wantCompletion(f *folded) seen {
	s := seen{Text: f.Text(), Thoughts: f.thoughts.String(), Calls: f.required()}
	for i := range s.Calls {
		s.Calls[i].Outcome = ""
	}
	for _, q := range f.Questions { // no transcript has text behind a question
		if s.Text != "" && q.Prompt != "" {
			s.Text += "\n\n"
		}
		s.Text += q.Prompt
	}
	switch f.Reason() {
	case stream.Stop, stream.MaxSteps, stream.InputRequired, stream.ApprovalRequired:
		s.Verdict = "stop"
	case stream.MaxTokens:
		s.Verdict = "length"
	case stream.ClientTools:
		s.Verdict = "tool_calls"
	default:
		e := f.Fatal()
		if s.Verdict = string(e.Type) + " " + e.Message; e.Type == fault.ModelBlocked {
			s.Verdict = "content_filter"
		}
	}
	return s
}

func readChunks(t *testing.T, body string) (s seen) {
	t.Helper()
	chunks, over := eventsOf(t, body)
	for _, chunk := range chunks {
		if failed := chunk.in("error"); failed != nil {
			s.Verdict = failed.str("code") + " " + failed.str("message")
			continue
		}
		for _, choice := range chunk.list("choices") {
			delta := choice.in("delta")
			s.Text += delta.str("content")
			s.Thoughts += delta.str("reasoning_content")
			for _, call := range delta.list("tool_calls") {
				if int(call["index"].(float64)) != len(s.Calls) {
					t.Errorf("call %v has number %v", call["id"], call["index"])
				}
				s.Calls = append(s.Calls, completionCall(call))
			}
			s.Verdict += choice.str("finish_reason")
		}
	}
	if last := chunks[len(chunks)-1]; over == (last["error"] != nil) || over && last.in("usage") == nil {
		t.Errorf("the end is %v, with [DONE]: %t", last, over)
	}
	return s
}

func completionCall(call event) seenCall {
	function := call.in("function")
	return seenCall{ID: call.str("id"), Name: function.str("name"), Arguments: compact(function.str("arguments"))}
}

// wantDocument is wantCompletion for a reply that a fatal error makes a refusal.
func wantDocument(f *folded) seen {
	if e := f.Fatal(); e != nil && e.Type != fault.ModelBlocked {
		return seen{Verdict: "refused"}
	}
	return wantCompletion(f)
}

func readCompletion(t *testing.T, body string) (s seen) {
	t.Helper()
	if body == "" {
		return seen{Verdict: "refused"}
	}
	var whole event
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, choice := range whole.list("choices") {
		message := choice.in("message")
		s.Text, s.Thoughts, s.Verdict = message.str("content"), message.str("reasoning_content"), choice.str("finish_reason")
		for _, call := range message.list("tool_calls") {
			s.Calls = append(s.Calls, completionCall(call))
		}
	}
	return s
}

// Responses, where the calls of the gateway's servers have ids of the response, and one that a
// person is asked about is a request of its own.

func wantResponse(f *folded) seen {
	s := seen{Text: f.Text(), Thoughts: f.thoughts.String(), Calls: f.calls(maxShown, "")}
	for i := range f.Calls {
		c := &s.Calls[i]
		if c.ID = ""; c.Outcome == string(stream.CallUnknown) {
			c.Outcome = "incomplete"
		}
	}
	for i, q := range f.Questions {
		if len(q.Calls) == 0 {
			s.Text += q.Prompt
		}
		for _, c := range q.Calls {
			if i == 0 { // one is answered at a time
				s.Calls = append(s.Calls, seenCall{Name: c.Tool, Arguments: compact(string(c.Arguments)), Outcome: "asked"})
			}
		}
	}
	e := f.Fatal()
	switch reason := f.Reason(); {
	case reason == stream.MaxTokens:
		s.Verdict = "incomplete max_output_tokens"
	case e == nil:
		s.Verdict = "completed"
	case e.Type == fault.ModelBlocked:
		s.Verdict = "incomplete content_filter"
	case e.Type == fault.Cancelled:
		s.Verdict = "cancelled server_error " + e.Message
	case e.Type == fault.ModelRateLimited:
		s.Verdict = "failed rate_limit_exceeded " + e.Message
	default:
		s.Verdict = "failed server_error " + e.Message
	}
	return s
}

// wantResponseDocument is wantResponse for the whole response, which has no call that has not
// ended.
func wantResponseDocument(f *folded) seen {
	s := wantResponse(f)
	s.Calls = slices.DeleteFunc(s.Calls, func(c seenCall) bool { return c.Outcome == "" })
	if len(s.Calls) == 0 {
		s.Calls = nil
	}
	return s
}

func readResponse(t *testing.T, body string) (s seen) {
	t.Helper()
	var whole event
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, item := range whole.list("output") {
		s.item(t, item)
	}
	s.respond(whole)
	return s
}

// respond reads how a response has ended.
func (s *seen) respond(response event) {
	s.Verdict = response.str("status")
	if why := response.in("incomplete_details"); why != nil {
		s.Verdict += " " + why.str("reason")
	}
	if e := response.in("error"); e != nil {
		s.Verdict += " " + e.str("code") + " " + e.str("message")
	}
}

// item reads an item of a response that is complete.
func (s *seen) item(t *testing.T, item event) {
	t.Helper()
	switch kind := item.str("type"); kind {
	case "message":
		for _, part := range item.list("content") {
			s.Text += part.str("text")
		}
	case "reasoning":
		for _, part := range item.list("summary") {
			s.Thoughts += part.str("text")
		}
	case "mcp_call":
		c := seenCall{Name: item.str("name"), Arguments: compact(item.str("arguments")), Outcome: item.str("status"), Result: item.str("output")}
		for _, part := range item.in("error").list("content") {
			c.Result += part.str("text")
		}
		s.Calls = append(s.Calls, c)
	case "function_call":
		s.Calls = append(s.Calls, seenCall{ID: item.str("call_id"), Name: item.str("name"), Arguments: compact(item.str("arguments")), Outcome: "client_required"})
	case "mcp_approval_request":
		s.Calls = append(s.Calls, seenCall{Name: item.str("name"), Arguments: compact(item.str("arguments")), Outcome: "asked"})
	default:
		t.Errorf("clients know no item %q", kind)
	}
}

// responseItem is an item as its events come.
type responseItem struct {
	said  string // by its deltas
	begun event  // as it was added
	whole event  // as it is when it is done; nil: it is open
}

func readResponseEvents(t *testing.T, body string) (s seen) {
	t.Helper()
	var items []*responseItem
	frames := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	for i, frame := range frames {
		name, text, _ := strings.Cut(strings.TrimPrefix(frame, "event: "), "\ndata: ")
		var ev event
		if err := json.Unmarshal([]byte(text), &ev); err != nil || ev.str("type") != name || ev["sequence_number"] != float64(i) {
			t.Fatalf("event %d: %q: %v", i, frame, err)
		}
		var item *responseItem
		if at, ok := ev["output_index"].(float64); ok && name != "response.output_item.added" {
			if item = items[int(at)]; item.whole != nil {
				t.Errorf("%s for an item that is done", name)
			}
		}
		switch name {
		case "response.output_item.added":
			if ev["output_index"] != float64(len(items)) {
				t.Errorf("item %d has the index %v", len(items), ev["output_index"])
			}
			items = append(items, &responseItem{begun: ev.in("item")})
		case "response.output_text.delta", "response.reasoning_summary_text.delta", "response.mcp_call_arguments.delta", "response.function_call_arguments.delta":
			item.said += ev.str("delta")
		case "response.output_item.done":
			item.whole = ev.in("item")
		case "response.completed", "response.incomplete", "response.failed":
			if i != len(frames)-1 {
				t.Errorf("%d events behind the end", len(frames)-1-i)
			}
			s.fromItems(t, items, ev.in("response"))
			s.respond(ev.in("response"))
		case "response.created", "response.in_progress":
			if len(ev.in("response").list("output")) > 0 {
				t.Errorf("%s has an output", name)
			}
		}
	}
	return s
}

// fromItems reads the items of a response by their events, and compares them with those that
// the whole response has.
func (s *seen) fromItems(t *testing.T, items []*responseItem, response event) {
	t.Helper()
	var done []event
	for _, item := range items {
		if item.whole == nil {
			s.Calls = append(s.Calls, seenCall{Name: item.begun.str("name"), Arguments: compact(item.said)})
			continue
		}
		done = append(done, item.whole)
		var own seen
		own.item(t, item.whole)
		said := own.Text + own.Thoughts
		if len(own.Calls) > 0 && own.Calls[0].Outcome != "asked" {
			said = item.whole.str("arguments")
		}
		if said != item.said {
			t.Errorf("an item is %v, and its pieces %q", item.whole, item.said)
		}
		s.item(t, item.whole)
	}
	if diff := cmp.Diff(done, response.list("output")); diff != "" {
		t.Errorf("(-items that are done +output of the response)\n%s", diff)
	}
}

// ChatKit, whose tasks are for people: a call is its title and its result, under the name of the
// server. Thoughts are shortened there, and have tests of their own. Tools of the client it has
// none.

func wantChatKit(f *folded) seen {
	s := seen{Text: f.Text()}
	for _, q := range f.Questions {
		s.Text += q.Prompt
	}
	for i, c := range f.calls(1<<10, " …")[:len(f.Calls)] {
		c.ID, c.Arguments = "", ""
		if server := f.Calls[i].Server; server != "" {
			c.Name += " on " + server
		}
		s.Calls = append(s.Calls, c)
	}
	switch reason := f.Reason(); {
	case f.Fatal() != nil:
		s.Verdict = fmt.Sprintf("error, again: %t", f.Fatal().Recoverable)
	case reason == stream.MaxTokens:
		s.Verdict = "Cut short"
	case reason == stream.MaxSteps:
		s.Verdict = "Stopped early"
	case reason == stream.Stop && s.Text == "":
		s.Verdict = "No answer"
	}
	return s
}

// chatKitCalls are the forms of a call's title, which go with how it ended.
var chatKitCalls = []struct{ before, behind, outcome string }{
	{"Calling ", "", ""}, {"Called ", "", "completed"}, {"", " has failed", "failed"}, {"", ": outcome not known", "unknown"},
}

func readChatKit(t *testing.T, body string) (s seen) {
	t.Helper()
	all, _ := eventsOf(t, body)
	flows := map[string][]*seenCall{} // by workflow, nil for a thought
	done := map[string]bool{}         // items that are complete
	whole := ""                       // the texts of those
	var calls []*seenCall
	for _, ev := range all {
		switch ev.str("type") {
		case "error":
			s.Verdict = fmt.Sprintf("error, again: %v", ev["allow_retry"])
		case "notice":
			if ev.str("level") == "info" {
				s.Verdict = ev.str("title")
			}
		case "thread.item.done":
			item := ev.in("item")
			done[item.str("id")] = true
			for _, part := range item.list("content") {
				if item.str("type") == "assistant_message" {
					whole += part.str("text")
				}
			}
		case "thread.item.updated":
			update := ev.in("update")
			s.Text += update.str("delta")
			task, flow := update.in("task"), ev.str("item_id")
			if done[flow] {
				t.Errorf("%s was complete, and changes: %v", flow, update)
			}
			if update.str("type") == "workflow.task.added" {
				flows[flow] = append(flows[flow], nil)
				if task.str("type") == "custom" {
					calls = append(calls, new(seenCall))
					flows[flow][len(flows[flow])-1] = calls[len(calls)-1]
				}
			}
			if task.str("type") == "custom" {
				*flows[flow][int(update["task_index"].(float64))] = chatKitCall(task)
			}
		}
	}
	for _, c := range calls {
		s.Calls = append(s.Calls, *c)
	}
	if whole != s.Text {
		t.Errorf("the pieces are %q, and the items %q", s.Text, whole)
	}
	return s
}

// chatKitCall reads the task of a call.
func chatKitCall(task event) (c seenCall) {
	for _, form := range chatKitCalls {
		name, ok := strings.CutPrefix(task.str("title"), form.before)
		name, ends := strings.CutSuffix(name, form.behind)
		if ok && ends && (form.before != "" || form.behind != "") {
			c.Name, c.Outcome = name, form.outcome
			break
		}
	}
	text := task.str("content")
	if strings.HasPrefix(text, "Arguments: ") {
		_, text, _ = strings.Cut(text, "\n\n")
	}
	c.Result = strings.TrimPrefix(text, "Result: ")
	c.Result, _, _ = strings.Cut(c.Result, "\n\nIt may have taken effect")
	return c
}

// A2A: the artifact is the answer, and the extension has all events of our own.

func readA2A(t *testing.T, body string) seen {
	t.Helper()
	all, _ := eventsOf(t, body)
	var n native
	text, state := "", ""
	for _, ev := range all {
		result := ev.in("result")
		piece := result.in("artifactUpdate")
		if piece != nil && piece["append"] != true {
			text = ""
		}
		for _, part := range piece.in("artifact").list("parts") {
			text += part.str("text")
		}
		update := result.in("statusUpdate")
		if update == nil {
			update = result.in("task")
		}
		if s := update.in("status").str("state"); s != "" {
			state = s
		}
		if extra := update.in("metadata").in("urn:sluice:events:v1"); extra != nil {
			if extra.str("event") == "done" {
				n.Text = text // the artifact is what counts
			}
			n.add(t, extra.str("event"), extra.in("data"))
		}
	}
	s := n.all()
	want := map[string]string{"cancelled": "TASK_STATE_CANCELED", "approval_required": "TASK_STATE_INPUT_REQUIRED", "input_required": "TASK_STATE_INPUT_REQUIRED",
		"stop": "TASK_STATE_COMPLETED", "max_tokens": "TASK_STATE_COMPLETED", "max_steps": "TASK_STATE_COMPLETED", "client_tools": "TASK_STATE_COMPLETED"}
	reason, _, _ := strings.Cut(s.Verdict, " ")
	if state != want[reason] && (want[reason] != "" || state != "TASK_STATE_FAILED") {
		t.Errorf("the task ends as %s, and the turn as %s", state, s.Verdict)
	}
	return s
}
