package agui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/agui"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// stored is the turn of all these tests.
func stored() dialect.StoredTurn {
	return dialect.StoredTurn{
		TurnID: "turn_1", RequestID: "req_1", Dialect: agui.Name, Began: time.Unix(1_800_000_000, 0), Facts: []byte(`{"threadId":"T","runId":"R"}`),
	}
}

func encoderOf(k dialect.StoredTurn) stream.Encoder {
	return agui.New(agui.Config{}).Routes()[0].Resume(k)
}

// encoded returns the frames of events. The seed of the ids is written as $.
func encoded(k dialect.StoredTurn, events ...stream.Event) string {
	enc := encoderOf(k)
	var text []byte
	for i, ev := range events {
		text = enc.Encode(text, stream.Stamp{N: i + 1}, ev)
	}
	return string(text)
}

// lines returns the data of frames, one a line, with the seed of the ids as $ and without the
// events of the head.
func lines(t *testing.T, frames string) []string {
	t.Helper()
	var all []string
	for f := range strings.SplitSeq(strings.TrimSuffix(frames, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(f, "data: ")
		if !ok || strings.ContainsAny(data, "\r\n") || !jsontext.Value(data).IsValid() {
			t.Fatalf("%q is no frame", f)
		}
		all = append(all, strings.ReplaceAll(data, chat.CallSeed("turn_1", "req_1", time.Time{}), "$"))
	}
	return all
}

func callOf(id, tool string) stream.Call {
	return stream.Call{ID: id, Tool: tool, Server: "todo", Arguments: jsontext.Value(`{"a":"x\"y"}`)}
}

func by(agent string) stream.Attribution { return stream.Attribution{AgentID: agent} }

// begun is the first event, and what it looks like.
var (
	begun      = &stream.Start{ConversationID: "conv_1", Model: "m", TaskID: "task_1", TurnID: "turn_1"}
	begunLines = []string{
		`{"type":"RUN_STARTED","threadId":"T","runId":"R"}`,
		`{"type":"CUSTOM","name":"sluice.start","value":{"request_id":"req_1","conversation_id":"conv_1","task_id":"task_1","turn_id":"turn_1","model":"m","protocol":"sluice/1"}}`,
	}
)

const (
	textOpen     = `{"type":"TEXT_MESSAGE_START","messageId":"msg_$_N","role":"assistant"}`
	textDelta    = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_$_N","delta":"D"}`
	textEnd      = `{"type":"TEXT_MESSAGE_END","messageId":"msg_$_N"}`
	thoughtOpen  = `{"type":"REASONING_START","messageId":"msg_$_N"}`
	thoughtStart = `{"type":"REASONING_MESSAGE_START","messageId":"msg_$_N","role":"reasoning"}`
	thoughtDelta = `{"type":"REASONING_MESSAGE_CONTENT","messageId":"msg_$_N","delta":"D"}`
	thoughtStop  = `{"type":"REASONING_MESSAGE_END","messageId":"msg_$_N"}`
	thoughtEnd   = `{"type":"REASONING_END","messageId":"msg_$_N"}`
	callArgs     = `{"type":"TOOL_CALL_ARGS","toolCallId":"N","delta":"{\"a\":\"x\\\"y\"}"}`
	callEnd      = `{"type":"TOOL_CALL_END","toolCallId":"N"}`
)

func in(line, n string) string { return strings.ReplaceAll(line, "N\"", n+"\"") }

func text(n string, deltas ...string) []string {
	return stretch([]string{textOpen}, textDelta, []string{textEnd}, n, deltas)
}

func thoughts(n string, deltas ...string) []string {
	return stretch([]string{thoughtOpen, thoughtStart}, thoughtDelta, []string{thoughtStop, thoughtEnd}, n, deltas)
}

func stretch(head []string, delta string, tail []string, n string, deltas []string) (all []string) {
	for _, l := range head {
		all = append(all, in(l, n))
	}
	for _, d := range deltas {
		all = append(all, strings.Replace(in(delta, n), `"D"`, `"`+d+`"`, 1))
	}
	for _, l := range tail {
		all = append(all, in(l, n))
	}
	return all
}

// called are the three events of a call with the parent msg_$_n.
func called(id, tool, n string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + tool + `","parentMessageId":"msg_$_` + n + `"}`,
		in(callArgs, id), in(callEnd, id),
	}
}

func result(n, id, content string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"msg_$_` + n + `","toolCallId":"` + id + `","content":"` + content + `","role":"tool"}`
}

func all(parts ...[]string) (lines []string) {
	for _, p := range parts {
		lines = append(lines, p...)
	}
	return lines
}

func custom(name, members string) string {
	return `{"type":"CUSTOM","name":"sluice.` + name + `","value":{"request_id":"req_1",` + members + `}}`
}

func TestEncode(t *testing.T) {
	t.Parallel()
	a, b := callOf("a", "list"), callOf("b", "create")
	ofAgent := func(c stream.Call, agent string) stream.Call {
		c.AgentID = agent
		return c
	}
	draft := &stream.InnerDelta{Delta: "draft", Attempt: 1}
	draftLine := custom("inner_delta", `"delta":"draft","attempt":1`)
	tests := map[string]struct {
		events []stream.Event
		want   []string
	}{
		"text is one message": {
			[]stream.Event{&stream.Delta{Text: "a"}, &stream.Delta{Text: "\u2028\""}, &stream.Thinking{Content: "h"}},
			all(text("1", "a", `\u2028\"`), []string{in(thoughtOpen, "2"), in(thoughtStart, "2"), strings.Replace(in(thoughtDelta, "2"), `"D"`, `"h"`, 1)}),
		},
		"thoughts are one message in one span": {
			[]stream.Event{&stream.Thinking{Content: "a"}, &stream.Thinking{Content: "b\n"}, &stream.Delta{Text: "c"}, &stream.ToolStarted{Call: a}},
			all(thoughts("1", "a", `b\n`), text("2", "c"), called("a", "list", "2")),
		},
		"another speaker begins another message": {
			[]stream.Event{
				&stream.Delta{Attribution: by("x"), Text: "a"}, &stream.Delta{Text: " "}, &stream.Delta{Attribution: by("y"), Text: "b"},
				&stream.Delta{Attribution: stream.Attribution{AgentID: "y", NodeID: "n"}, Text: "c"}, &stream.ToolStarted{Call: a},
			},
			all(text("1", "a", " "), text("2", "b"), text("3", "c"), called("a", "list", "4")),
		},
		"a draft and a note end nothing": {
			[]stream.Event{draft, &stream.Thinking{Content: "a"}, draft, &stream.Thinking{Content: "b"}, &stream.ToolStarted{Call: a}},
			all([]string{draftLine, in(thoughtOpen, "1"), in(thoughtStart, "1"), strings.Replace(in(thoughtDelta, "1"), "\"D\"", `"a"`, 1), draftLine,
				strings.Replace(in(thoughtDelta, "1"), "\"D\"", `"b"`, 1), in(thoughtStop, "1"), in(thoughtEnd, "1")}, called("a", "list", "2")),
		},
		"calls of a step have one parent, those of the next another": {
			[]stream.Event{
				&stream.ToolStarted{Call: a}, &stream.ToolStarted{Call: b}, &stream.ToolCompleted{Call: b, Result: "two"}, &stream.ToolCompleted{Call: a, Result: "one"},
				&stream.ToolStarted{Call: callOf("c", "list")},
			},
			all(called("a", "list", "1"), called("b", "create", "1"), []string{result("2", "b", "two"), result("3", "a", "one")}, called("c", "list", "4")),
		},
		"a step lasts while one of its calls is open": {
			[]stream.Event{&stream.ToolStarted{Call: a}, &stream.ToolStarted{Call: b}, &stream.ToolCompleted{Call: a}, &stream.ToolStarted{Call: callOf("c", "list")}},
			all(called("a", "list", "1"), called("b", "create", "1"), []string{result("2", "a", "")}, called("c", "list", "1")),
		},
		"the text just before is the parent": {
			[]stream.Event{
				&stream.Delta{Text: "t"}, &stream.ToolStarted{Call: a}, &stream.ToolStarted{Call: b}, &stream.ToolCompleted{Call: a}, &stream.ToolCompleted{Call: b},
				&stream.ToolStarted{Call: callOf("c", "list")},
			},
			all(text("1", "t"), called("a", "list", "1"), called("b", "create", "1"), []string{result("2", "a", ""), result("3", "b", "")}, called("c", "list", "4")),
		},
		"thoughts after the text: it is not just before": {
			[]stream.Event{&stream.Delta{Text: "t"}, &stream.Thinking{Content: "h"}, &stream.ToolStarted{Call: a}},
			all(text("1", "t"), thoughts("2", "h"), called("a", "list", "3")),
		},
		"thoughts between calls begin a step": {
			[]stream.Event{&stream.ToolStarted{Call: a}, &stream.Thinking{Content: "h"}, &stream.ToolStarted{Call: b}},
			all(called("a", "list", "1"), thoughts("2", "h"), called("b", "create", "3")),
		},
		"a delegate's calls are not its caller's": {
			[]stream.Event{
				&stream.ToolStarted{Call: ofAgent(a, "x")}, &stream.ToolStarted{Call: ofAgent(b, "y")}, &stream.ToolStarted{Call: ofAgent(callOf("c", "list"), "x")},
				&stream.ToolCompleted{Call: ofAgent(b, "y")}, &stream.ToolStarted{Call: ofAgent(callOf("d", "list"), "x")},
			},
			all(called("a", "list", "1"), called("b", "create", "2"), called("c", "list", "1"), []string{result("3", "b", "")}, called("d", "list", "1")),
		},
		"text of another agent is no parent": {
			[]stream.Event{&stream.Delta{Attribution: by("x"), Text: "t"}, &stream.ToolStarted{Call: ofAgent(a, "y")}},
			all(text("1", "t"), called("a", "list", "2")),
		},
		"a result ends what is said": {
			[]stream.Event{&stream.ToolStarted{Call: a}, &stream.Delta{Text: "t"}, &stream.ToolCompleted{Call: a, Result: "r"}, &stream.ToolStarted{Call: b}},
			all(called("a", "list", "1"), text("2", "t"), []string{result("3", "a", "r")}, called("b", "create", "4")),
		},
		"every outcome is a result": {
			[]stream.Event{
				&stream.ToolStarted{Call: a}, &stream.ToolProgress{Call: a, Progress: 1, Message: "half"}, &stream.ToolFailed{Call: a, Message: "no"},
				&stream.ToolStarted{Call: b}, &stream.ToolUnknown{Call: b, Message: "lost"},
			},
			all(called("a", "list", "1"), []string{
				custom("tool_progress", `"call_id":"a","tool_name":"list","server":"todo","arguments":{"a":"x\"y"},"status":"progress","progress":1,"message":"half"`),
				result("2", "a", "no"),
			}, called("b", "create", "3"), []string{result("4", "b", "lost")}),
		},
		"a long result is cut": {
			[]stream.Event{&stream.ToolStarted{Call: a}, &stream.ToolCompleted{Call: a, Result: strings.Repeat("é", 2000)}},
			all(called("a", "list", "1"), []string{result("2", "a", strings.Repeat("é", 1024))}),
		},
		"a call of the client's has no result": {
			[]stream.Event{&stream.Delta{Text: "t"}, &stream.ToolRequired{Call: a}, &stream.ToolRequired{Call: b}, &stream.Done{Reason: stream.ClientTools}},
			all(text("1", "t"), called("a", "list", "1"), called("b", "create", "1"), []string{
				custom("done", `"final_output":"t","tools_called":[],"success":true,"finish_reason":"client_tools","usage":{"input_tokens":0,"output_tokens":0,"thinking_tokens":0},"timings":{"total_ms":0,"first_event_ms":0,"model_ms":[],"tools":[],"write_blocked_ms":0}`),
				`{"type":"RUN_FINISHED","threadId":"T","runId":"R","usage":[{"model":"m","inputTokens":0,"outputTokens":0,"reasoningTokens":0,"totalTokens":0}]}`,
			}),
		},
		"agents are steps": {
			[]stream.Event{
				&stream.AgentRun{AgentID: "x", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentStarted},
				&stream.AgentRun{AgentID: "x", Role: stream.RolePrimary, Attempt: 2, Status: stream.AgentRetrying},
				&stream.AgentRun{AgentID: "y", Role: stream.RoleDelegate, Attempt: 1, Status: stream.AgentStarted, SessionID: "s", CallID: "a"},
				&stream.AgentRun{AgentID: "y", Role: stream.RoleDelegate, Attempt: 1, Status: stream.AgentFailed, SessionID: "s", CallID: "a"},
				&stream.AgentRun{AgentID: "x", Role: stream.RolePrimary, Attempt: 2, Status: stream.AgentCompleted},
				&stream.AgentRun{AgentID: "x", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentStopped},
			},
			[]string{
				`{"type":"STEP_STARTED","stepName":"x"}`, custom("agent", `"agent_id":"x","role":"primary","attempt":1,"status":"started"`),
				custom("agent", `"agent_id":"x","role":"primary","attempt":2,"status":"retrying"`),
				`{"type":"STEP_STARTED","stepName":"y/s"}`, custom("agent", `"agent_id":"y","role":"delegate","attempt":1,"status":"started","session_id":"s","call_id":"a"`),
				custom("agent", `"agent_id":"y","role":"delegate","attempt":1,"status":"failed","session_id":"s","call_id":"a"`), `{"type":"STEP_FINISHED","stepName":"y/s"}`,
				custom("agent", `"agent_id":"x","role":"primary","attempt":2,"status":"completed"`), `{"type":"STEP_FINISHED","stepName":"x"}`,
				custom("agent", `"agent_id":"x","role":"primary","attempt":1,"status":"cancelled"`), `{"type":"STEP_FINISHED","stepName":"x"}`,
			},
		},
		"an error that is not fatal ends nothing": {
			[]stream.Event{&stream.Delta{Text: "a"}, &stream.Error{Type: fault.ToolFailed, Message: "no", Service: "mcp:todo"}, &stream.Delta{Text: "b"}},
			[]string{in(textOpen, "1"), strings.Replace(in(textDelta, "1"), `"D"`, `"a"`, 1),
				custom("error", `"error_type":"tool_execution_failed","message":"no","recoverable":false,"fatal":false,"service":"mcp:todo"`), strings.Replace(in(textDelta, "1"), `"D"`, `"b"`, 1)},
		},
		"a fatal error is the last event": {
			[]stream.Event{&stream.Thinking{Content: "a"}, &stream.Error{Type: fault.ModelError, Message: "It \"failed\"", Fatal: true}, &stream.Done{Reason: stream.Failed}},
			all(thoughts("1", "a"), []string{`{"type":"RUN_ERROR","message":"It \"failed\"","code":"model_error"}`}),
		},
		"done ends what is open": {
			[]stream.Event{
				&stream.Thinking{Content: "h"}, &stream.ToolStarted{Call: a}, &stream.ToolCompleted{Call: a, Result: "r"}, &stream.Delta{Text: "b\""},
				&stream.Done{Reason: stream.MaxTokens, Usage: chat.Usage{InputTokens: 10, OutputTokens: 5, ThinkingTokens: 3}},
			},
			all(thoughts("1", "h"), called("a", "list", "2"), []string{result("3", "a", "r")}, text("4", `b\"`), []string{
				custom("done", `"final_output":"b\"","tools_called":["list"],"success":true,"finish_reason":"max_tokens","usage":{"input_tokens":10,"output_tokens":5,"thinking_tokens":3},"timings":{"total_ms":0,"first_event_ms":0,"model_ms":[],"tools":[],"write_blocked_ms":0}`),
				`{"type":"RUN_FINISHED","threadId":"T","runId":"R","usage":[{"model":"m","inputTokens":10,"outputTokens":8,"reasoningTokens":3,"totalTokens":18}]}`,
			}),
		},
		"arguments that are no object are an empty one": {
			[]stream.Event{&stream.ToolStarted{Call: stream.Call{ID: "a", Tool: "t"}}},
			[]string{
				`{"type":"TOOL_CALL_START","toolCallId":"a","toolCallName":"t","parentMessageId":"msg_$_1"}`,
				`{"type":"TOOL_CALL_ARGS","toolCallId":"a","delta":"{}"}`, `{"type":"TOOL_CALL_END","toolCallId":"a"}`,
			},
		},
		"an event of the gateway's own": {
			[]stream.Event{&stream.ModelChanged{Step: 1, Key: "b", Model: "m", Previous: "a", Reason: "timeout"}},
			[]string{custom("model", `"step":1,"key":"b","model":"m","previous":"a","reason":"timeout"`)},
		},
		"nothing": {[]stream.Event{nil}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := lines(t, encoded(stored(), append([]stream.Event{begun}, tt.events...)...))
			if diff := cmp.Diff(all(begunLines, tt.want), got); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}

// The ids are made of the turn's, or of the request's and its time: so two runs of a thread
// share none, and a log encoded again has the same.
func TestIDs(t *testing.T) {
	t.Parallel()
	frames := func(turn, request string, began int64) string {
		k := stored()
		k.RequestID, k.Began = request, time.Unix(began, 0)
		return encoded(k, &stream.Start{Model: "m", TurnID: turn}, &stream.Delta{Text: "a"}, &stream.ToolStarted{Call: callOf("a", "t")})
	}
	idOf := func(frames string) string {
		_, after, _ := strings.Cut(frames, `"messageId":"`)
		id, _, _ := strings.Cut(after, `"`)
		return id
	}
	if first := frames("turn_1", "req_1", 1); first != frames("turn_1", "req_1", 1) || first != frames("turn_1", "req_1", 2) {
		t.Error("a log that is encoded again gives other bytes")
	}
	ids := map[string]bool{}
	for _, f := range []string{frames("turn_1", "r", 1), frames("turn_2", "r", 1), frames("", "r", 1), frames("", "r", 2), frames("", "q", 1)} {
		ids[idOf(f)] = true
	}
	if len(ids) != 5 || ids[""] {
		t.Errorf("ids of five turns: %v", ids)
	}
}

// A turn that was asked for in another protocol has ids all the same.
func TestTurnOfAnotherProtocol(t *testing.T) {
	t.Parallel()
	k := stored()
	k.Dialect = dialect.Native
	got := lines(t, encoded(k, begun))
	if want := `{"type":"RUN_STARTED","threadId":"turn_1","runId":"turn_1"}`; got[0] != want {
		t.Errorf("it begins with %s, want %s", got[0], want)
	}
}

func TestHeartbeatIsAComment(t *testing.T) {
	t.Parallel()
	if got := string(encoderOf(stored()).Heartbeat()); got != ": ping\n\n" {
		t.Errorf("heartbeat %q", got)
	}
}
