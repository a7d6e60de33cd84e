package ask

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/clients/terminal"
	"sluice/stream/sse"
)

// everyFrame is a stream with every kind of event, one that is not known yet, and what
// steers a terminal wherever somebody else chose the words.
const everyFrame = `retry: 86400000
id: r:1
event: start
data: {"request_id":"r","model":"m\u001b[31m","protocol":"sluice/1"}

: ping

id: r:2
event: thinking
data: {"request_id":"r","content":"**Hm**\n\nLet me see.\u001b[2J\n\n"}

id: r:3
event: tool_call
data: {"request_id":"r","call_id":"1","tool_name":"add\u009b5m","server":"s","arguments":{"title": "eggs\u001b]0;owned\u0007"},"status":"in_progress"}

id: r:4
event: tool_call
data: {"request_id":"r","call_id":"1","tool_name":"add","server":"s","arguments":{},"status":"completed","duration_ms":12,"result":"{\n \"id\": \"t\u202e1\"\n}"}

id: r:5
event: response_delta
data: {"request_id":"r","delta":"Let\u001b[31m me` + "\u009b\u202e" + `\r"}

id: r:6
event: response_delta
data: {"request_id":"r","delta":" look\u00a0👩‍👧.\nThen"}

id: r:7
event: tool_call
data: {"request_id":"r","call_id":"2","tool_name":"rm","server":"s","arguments":{},"status":"in_progress"}

id: r:8
event: tool_call
data: {"request_id":"r","call_id":"2","tool_name":"rm","server":"s","arguments":{},"status":"failed","duration_ms":3,"error":"no such \u001b[1mthing"}

id: r:9
event: error
data: {"request_id":"r","error_type":"tool_execution_failed","message":"no such thing","recoverable":true,"fatal":false}

id: r:10
event: tool_call
data: {"request_id":"r","call_id":"3","tool_name":"mv","server":"s","arguments":{},"status":"in_progress"}

id: r:11
event: tool_call
data: {"request_id":"r","call_id":"3","tool_name":"mv","server":"s","arguments":{},"status":"unknown","duration_ms":3,"error":"it was cut"}

id: r:12
event: of_tomorrow
data: {"request_id":"r"}

id: r:13
event: response_delta
data: {"request_id":"r","delta":"Done."}

id: r:14
event: done
data: {"request_id":"r","final_output":"","tools_called":[],"success":true,"finish_reason":"stop\u001b[0m","usage":{"input_tokens":120,"output_tokens":7,"thinking_tokens":3,"cached_tokens":64},"timings":{"total_ms":1234,"first_delta_ms":50}}

`

const shown = `model m[31m
**Hm**

Let me see.[2J
→ add5m {"title": "eggs\u001b]0;owned\u0007"}
✓ add  12 ms  { "id": "t1" }

Let[31m me look` + "\u00a0" + `👩‍👧.
Then
→ rm {}
✗ rm  3 ms  no such [1mthing
error: no such thing (tool_execution_failed)
→ mv {}
? mv  unknown: it was cut

Done.

stop[0m · 120 tokens in (64 of them cached), 7 out, 3 thinking · first text 50ms, total 1.234s · r
`

func TestEventsAreShown(t *testing.T) {
	t.Parallel()
	d := deskAt(gatewayThatSays(t, everyFrame), "")
	d.want(t, "every event", d.Turn(t.Context(), Message{Text: "hi"}), Succeeded, "", "")
	if diff := cmp.Diff(shown, d.out.String()); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
}

// A program gets each event as a line, with nothing left out.
func TestEventsAsLinesOfJSON(t *testing.T) {
	t.Parallel()
	d := deskAt(gatewayThatSays(t, everyFrame), "")
	d.Raw = true
	d.want(t, "every event", d.Turn(t.Context(), Message{Text: "hi"}), Succeeded, `"event":"of_tomorrow"`, "")
	n := 0
	for line := range strings.Lines(d.out.String()) {
		n++
		var ev struct {
			ID    string         `json:"id"`
			Event string         `json:"event"`
			Data  map[string]any `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil || ev.ID != fmt.Sprintf("r:%d", n) || ev.Event == "" || ev.Data["request_id"] != "r" {
			t.Errorf("line %d: %v: %s", n, err, line)
		}
	}
	if n != 14 {
		t.Errorf("%d lines, want one for each of 14 events", n)
	}
}

// What others wrote is made harmless between the colours of its line.
func TestLineIsHarmless(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	view := &screen{out: &out, lines: &out, style: terminal.Style{Red: "\x1b[31m", Reset: "\x1b[0m"}}
	if err := view.printLine(view.style.Red, "%s", "no\x1b[2J"); err != nil || out.String() != "\x1b[31mno[2J\x1b[0m\n" {
		t.Errorf("%v: got %q", err, out.String())
	}
}

// A person reads when another model answers, and why.
func TestAnotherModelIsReported(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	view := &screen{out: &out, lines: &out}
	data := eventData{Key: "spare", Model: "gpt-5-mini", Previous: "fast", Reason: "rate_limited"}
	const want = "model gpt-5-mini (spare) in place of fast: rate limited\n"
	if err := view.showEvent(sse.Event{Type: "model"}, data); err != nil || out.String() != want {
		t.Errorf("%v: got %q", err, out.String())
	}
}

// While one agent's text is on the screen, what others do is kept until its end.
func TestTextStaysWhole(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	term := &screen{out: &out, lines: &out}
	for _, ev := range []struct {
		kind string
		data eventData
	}{
		{"route", eventData{teamData: teamData{AgentID: "a", Additional: []string{"b"}, Method: "rule"}}},
		{"agent", eventData{toolData: toolData{Status: "started"}, teamData: teamData{AgentID: "a"}}},
		{"agent", eventData{toolData: toolData{Status: "started"}, teamData: teamData{AgentID: "b"}}},
		{"response_delta", eventData{Delta: "One ", teamData: teamData{AgentID: "a"}}},
		{"tool_call", eventData{toolData: toolData{Tool: "x", Status: "in_progress", Arguments: []byte("{}")}, teamData: teamData{AgentID: "b"}}},
		{"agent", eventData{toolData: toolData{Status: "failed"}, teamData: teamData{AgentID: "b", Elapsed: 5, ErrorMessage: "no\x1b[2J"}}},
		{"error", eventData{Message: "no", ErrorType: "agent_failed", teamData: teamData{AgentID: "b"}}},
		{"response_delta", eventData{Delta: "two.", teamData: teamData{AgentID: "a"}}},
		{"agent", eventData{toolData: toolData{Status: "completed"}, teamData: teamData{AgentID: "a", Elapsed: 7}}},
		{"done", eventData{Finish: "stop"}},
	} {
		if err := term.showEvent(sse.Event{Type: ev.kind}, ev.data); err != nil {
			t.Fatal(err)
		}
	}
	want := "⇒ a + b  (rule)\n● a started\n● b started\n\nOne two.\n\n→ b: x {}\n● b failed  5ms  no[2J\nb: error: no (agent_failed)\n● a done  7ms\nstop · 0 tokens in, 0 out, 0 thinking · total 0s · \n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A gateway joins the texts of two agents, of which neither has the joint. If a line parts them on the
// screen, the second text begins its paragraph.
func TestTextOfTheNextAgentBeginsItsParagraph(t *testing.T) {
	t.Parallel()
	for _, joint := range []string{" ", ". ", "\n\n"} {
		delta, err := json.Marshal(joint)
		if err != nil {
			t.Fatal(err)
		}
		events := []string{
			`response_delta {"delta":"On","agent_id":"a"}`, `agent {"agent_id":"b","status":"started"}`,
			`response_delta {"delta":` + string(delta) + `}`, `response_delta {"delta":"Jazz","agent_id":"b"}`,
		}
		if diff := cmp.Diff("\nOn\n● b started\n\nJazz", screenOf(t, terminal.Style{}, events...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", joint, diff)
		}
		if got, want := screenOf(t, terminal.Style{}, events[0], events[2], events[3]), "\nOn"+joint+"Jazz"; got != want {
			t.Errorf("%q without a line: %q, want %q", joint, got, want)
		}
	}
}

// screenOf returns what a screen shows of events, which are type and data.
func screenOf(t *testing.T, style terminal.Style, events ...string) string {
	t.Helper()
	var out strings.Builder
	view := &screen{out: &out, lines: &out, style: style}
	for _, ev := range events {
		kind, text, _ := strings.Cut(ev, " ")
		var data eventData
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			t.Fatalf("%s: %v", ev, err)
		}
		if err := view.showEvent(sse.Event{Type: kind}, data); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// Decisions, agents, nodes and calls have a line each.
func TestLinesOfEvents(t *testing.T) {
	t.Parallel()
	for event, want := range map[string]string{
		`route {"agent_id":"a","method":"model","confidence":0.95,"duration_ms":7}`:                         "⇒ a  (95% sure, 7ms)\n",
		`route {"decision":"clarify","method":"rule_of_thumb","reasoning":"too little"}`:                    "⇒ a question to you  (rule of thumb)\n  too little\n",
		`route {"decision":"fallback","method":"none"}`:                                                     "⇒ no agent  (none)\n",
		`agent {"agent_id":"a","status":"retrying","attempt":2}`:                                            "↻ a is tried again, attempt 2\n",
		`agent {"agent_id":"a","status":"cancelled","execution_time_ms":1500,"error_message":"late"}`:       "● a cancelled  1.5s  late\n",
		`node {"node_id":"n","status":"started","type":"agent"}`:                                            "▸ n (agent)\n",
		`node {"node_id":"n","status":"skipped"}`:                                                           "▹ n skipped\n",
		`node {"node_id":"n","status":"waiting"}`:                                                           "▸ n waits for a person\n",
		`node {"node_id":"n","status":"completed","duration_ms":4,"iteration":3}`:                           "▸ n done  4ms  after 3 rounds\n",
		`node {"node_id":"n","status":"failed","duration_ms":4,"error_type":"timeout"}`:                     "▸ n failed  4ms  timeout\n",
		`tool_call {"tool_name":"t","status":"progress","progress":3,"total":10,"message":"page 3"}`:        "… t  3 of 10: page 3\n",
		`tool_call {"tool_name":"t","status":"progress","progress":0.5,"agent_id":"a"}`:                     "… a: t  0.5\n",
		`tool_call {"tool_name":"t","status":"completed","result":"` + strings.Repeat("é ", 80) + `"}`:      "✓ t  0 ms  " + strings.Repeat("é ", 50) + "…\n",
		`approval {"calls":[{"tool_name":"rm","arguments":{"a":1},"reason":"by_rule"}]}`:                    `! rm {"a":1}  waits to be allowed (by rule)` + "\n",
		`quality {"phase":"judging"}`:                                                                       "◇ judging\n",
		`quality {"phase":"drafting","chars":120}`:                                                          "◇ drafting  120 characters\n",
		`quality {"phase":"judged","failed":["a","b"]}`:                                                     "◇ failed: a, b\n",
		`quality {"phase":"judged","failed":[]}`:                                                            "◇ passed\n",
		`channel_message {"sequence":1,"total":1,"encoding":"GSM-7","units":52,"segments":1,"content":"x"}`: "✉ 1/1  GSM-7, 52 units, 1 segment\n",
		`channel_message {"sequence":1,"total":1,"subject":"Hello"}`:                                        "✉ 1/1  subject: Hello\n",
		`channel_message {"sequence":2,"total":3,"bytes":9,"content":"two"}`:                                "✉ 2/3  9 bytes\ntwo\n",
		`channel_message {"sequence":1,"total":1,"content":"été"}`:                                          "✉ 1/1  3 characters\n",
		`start {"model":"m","task_id":"task_1"}`:                                                            "model m · task_1\n",
	} {
		if got := screenOf(t, terminal.Style{}, event); got != want {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
}

// A draft that is refined is shown struck out; text within the turn that is no draft is not
// shown, and the next turn begins without one.
func TestDraftsAreStruckOut(t *testing.T) {
	t.Parallel()
	draft := []string{`start {"model":"m"}`, `inner_delta {"delta":"inner","attempt":0}`, `inner_delta {"delta":"One ","attempt":1}`, `inner_delta {"delta":"try.","attempt":1}`, `quality {"phase":"refining"}`}
	if got, want := screenOf(t, terminal.Style{}, draft...), "model m\n\nOne try.\n~~One try.~~\n◇ refining\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := screenOf(t, terminal.Style{Struck: "<s>", Reset: "<r>"}, draft[2:]...), "\nOne <r>try.<r>\n<s>One try.<r>\n◇ refining<r>\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	next := append(draft[:4:4], `start {"model":"m"}`, `quality {"phase":"failed"}`)
	if got := screenOf(t, terminal.Style{}, next...); strings.Contains(got, "~~") {
		t.Errorf("the draft of the turn before is struck out: %q", got)
	}
}

// At the end there is a row for each criterion.
func TestReceipt(t *testing.T) {
	t.Parallel()
	got := screenOf(t, terminal.Style{}, `done {"finish_reason":"stop","quality":{"passed":false,"outcome":"graceful_failure","ms":{"plan":1,"judge":2,"refine":3,"held":1004},"criteria":[
		{"id":"a","by":"code","must":true,"passed":true},
		{"id":"long_one","by":"judge","must":true,"planned":true,"passed":true,"failed_first":true},
		{"id":"c","by":"code","must":false,"passed":false},
		{"id":"d","by":"judge","must":true},
		{"id":"e","by":"code","must":true,"not_applicable":true}]}}`)
	const want = `quality graceful failure · planned in 1ms, judged in 2ms, refined in 3ms, held 1.004s
  a         code            passed
  long_one  judge, planned  passed after the refinement
  c         code            failed (not required)
  d         judge           no verdict
  e         code            not applicable
stop · 0 tokens in, 0 out, 0 thinking · total 0s · 
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// begunAgain is a turn whose answer begins again twice: behind what stays of it, and from nothing.
const begunAgain = `retry: 86400000
id: r:1
event: start
data: {"request_id":"r","model":"m","protocol":"sluice/1"}

id: r:2
event: response_delta
data: {"request_id":"r","delta":"I look that up. "}

id: r:3
event: response_delta
data: {"request_id":"r","delta":"It is h"}

id: r:4
event: model
data: {"request_id":"r","step":2,"key":"spare","model":"n","previous":"default","reason":"unavailable"}

id: r:5
event: response_reset
data: {"request_id":"r","accumulated":"I look that up. ","reason":"fallback"}

id: r:6
event: response_delta
data: {"request_id":"r","delta":"It \u001b[2Jis"}

id: r:7
event: response_reset
data: {"request_id":"r","accumulated":"","reason":"fallback"}

id: r:8
event: response_delta
data: {"request_id":"r","delta":"Eggs."}

id: r:9
event: done
data: {"request_id":"r","final_output":"Eggs.","tools_called":[],"success":true,"finish_reason":"stop","usage":{"input_tokens":1,"output_tokens":1,"thinking_tokens":0},"timings":{"total_ms":1}}

`

// A terminal takes nothing back: it says that the answer begins again, and writes it as far as it
// counts. The next turn brings along what counts in the end.
func TestTextThatIsTakenBack(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 2)
	base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, begunAgain)
	}))
	d := deskAt(base, "What is on my list?\nAnd now?\n")
	d.want(t, "an answer that begins again", d.Converse(t.Context(), Message{}), Succeeded, "", "")
	const again = "↺ the answer begins again: its text above does not count\n"
	turn, _, _ := strings.Cut(d.out.String(), "\nstop · ")
	want := "model m\n\nI look that up. It is h\nmodel n (spare) in place of default: unavailable\n" + again + "\nI look that up. It [2Jis\n" + again + "\nEggs.\n"
	if diff := cmp.Diff(want, turn); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
	if first, second := <-bodies, <-bodies; strings.Contains(first, "Eggs") || !strings.Contains(second, `"content":"Eggs."`) || strings.Contains(second, "look that up") {
		t.Errorf("the second turn brings along %s", second)
	}
}

// Where stdout is a pipe it gets the answer alone, as the model wrote it.
func TestAnswerAlone(t *testing.T) {
	t.Parallel()
	d := deskAt(gatewayThatSays(t, everyFrame), "")
	var answer gatewaytest.SafeBuffer
	d.Stdout = &answer
	if got := d.Turn(t.Context(), Message{Text: "hi"}); got != Succeeded {
		t.Errorf("outcome %d", got)
	}
	const want = "Let[31m me look\u00a0👩‍👧.\nThenDone.\n"
	if diff := cmp.Diff(want, answer.String()); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
	for _, line := range []string{"model m", "Let me see.", "→ add", "error: no such thing", "120 tokens in"} {
		if !strings.Contains(d.err.String(), line) {
			t.Errorf("%q is not on stderr:\n%s", line, d.err.String())
		}
	}
}

// In a pipe text that was taken back is nowhere.
func TestAnswerAloneThatIsTakenBack(t *testing.T) {
	t.Parallel()
	d := deskAt(gatewayThatSays(t, begunAgain), "")
	var answer gatewaytest.SafeBuffer
	d.Stdout = &answer
	if got := d.Turn(t.Context(), Message{Text: "hi"}); got != Succeeded || answer.String() != "Eggs.\n" {
		t.Errorf("outcome %d, %q", got, answer.String())
	}
}

// At a terminal with colours Markdown is shown as what it means, up to a line about something
// else and after it.
func TestMarkdownAtATerminal(t *testing.T) {
	t.Parallel()
	const stream = "event: response_delta\ndata: {\"delta\":\"# So\\n- **a\"}\n\n" +
		"event: tool_call\ndata: {\"tool_name\":\"x\",\"arguments\":{},\"status\":\"in_progress\"}\n\n" +
		"event: response_delta\ndata: {\"delta\":\"**b**\"}\n\n" +
		"event: done\ndata: {\"success\":true,\"finish_reason\":\"stop\",\"usage\":{},\"timings\":{}}\n\n"
	d := deskAt(gatewayThatSays(t, stream), "")
	d.Lookup = gatewaytest.LookupIn(nil)
	d.Turn(t.Context(), Message{Text: "hi"})
	got := d.out.String()
	for _, want := range []string{"\x1b[1mSo\x1b[0m\n", "• **a\n", "→ x", "\x1b[1mb\x1b[0m\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}
