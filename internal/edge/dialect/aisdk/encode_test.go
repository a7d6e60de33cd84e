package aisdk

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

var began = time.Unix(1_790_000_000, 0)

const requestID = "req_0123456789ab"

// encoded encodes events, and writes SEED for what makes ids unique, and D for the members of
// data-sluice behind its name.
func encoded(e *encoder, events ...stream.Event) string {
	var out []byte
	for i, ev := range events {
		out = e.Encode(out, stream.Stamp{N: i + 1}, ev)
	}
	return strings.ReplaceAll(string(out), chat.CallSeed("", requestID, began), "SEED")
}

// lines are what encoded returns, frame by frame, without what all frames have.
func lines(frames string) []string {
	var all []string
	for _, frame := range strings.Split(strings.TrimSuffix(frames, "\n\n"), "\n\n") {
		frame = strings.TrimPrefix(frame, "data: ")
		if rest, ok := strings.CutPrefix(frame, `{"type":"data-sluice","data":{"event":"`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			frame = "sluice " + name
		}
		all = append(all, frame)
	}
	return all
}

// Short forms of frames that many cases share.
const (
	startStep  = `{"type":"start-step"}`
	finishStep = `{"type":"finish-step"}`
	finish     = `{"type":"finish","finishReason":"stop"}`
	closed     = "[DONE]"
)

func opened(kind, n string) string { return `{"type":"` + kind + `-start","id":"SEED_` + n + `"}` }
func shut(kind, n string) string   { return `{"type":"` + kind + `-end","id":"SEED_` + n + `"}` }
func piece(kind, n, s string) string {
	return `{"type":"` + kind + `-delta","id":"SEED_` + n + `","delta":"` + s + `"}`
}

var milk = stream.Call{ID: "c1", Tool: "create_todo", Server: "todo", Arguments: []byte(`{"title":"milk"}`)}

const (
	milkIn  = `{"type":"tool-input-available","toolCallId":"c1","toolName":"create_todo","input":{"title":"milk"},"dynamic":true,"providerExecuted":true}`
	milkOut = `{"type":"tool-output-available","toolCallId":"c1","output":"{\"id\":1}","dynamic":true,"providerExecuted":true}`
)

// A whole turn, byte for byte.
func TestFramesOfATurn(t *testing.T) {
	t.Parallel()
	got := encoded(newEncoder("", requestID, began, facts{}),
		&stream.Start{ConversationID: "conv_1", Model: "m"},
		&stream.Delta{Text: "Hello\u2028\"you\""},
		&stream.Done{Reason: stream.Stop, Timings: stream.Timings{Total: time.Second}},
	)
	want := `data: {"type":"start","messageId":"msg_SEED"}

data: {"type":"data-sluice","data":{"event":"start","request_id":"req_0123456789ab","conversation_id":"conv_1","model":"m","protocol":"sluice/1"},"transient":true}

data: {"type":"start-step"}

data: {"type":"text-start","id":"SEED_1"}

data: {"type":"text-delta","id":"SEED_1","delta":"Hello\u2028\"you\""}

data: {"type":"text-end","id":"SEED_1"}

data: {"type":"finish-step"}

data: {"type":"data-sluice","data":{"event":"done","request_id":"req_0123456789ab","final_output":"Hello\u2028\"you\"","tools_called":[],"success":true,"finish_reason":"stop","usage":{"input_tokens":0,"output_tokens":0,"thinking_tokens":0},"timings":{"total_ms":1000,"first_event_ms":0,"model_ms":[],"tools":[],"write_blocked_ms":0}},"transient":true}

data: {"type":"finish","finishReason":"stop"}

data: [DONE]

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each case is what is between the start of a turn and what is said of it here.
func TestParts(t *testing.T) {
	t.Parallel()
	started, completed := &stream.ToolStarted{Call: milk}, &stream.ToolCompleted{Call: milk, Result: `{"id":1}`}
	second := stream.Call{ID: "c2", Tool: "list"}
	a, b := stream.Attribution{AgentID: "a"}, stream.Attribution{AgentID: "b"}
	done := &stream.Done{Reason: stream.Stop}
	tests := []struct {
		name   string
		events []stream.Event
		want   []string
	}{
		{"nothing is said", []stream.Event{done}, []string{finishStep, "sluice done", finish, closed}},
		{"thoughts, then text", []stream.Event{&stream.Thinking{Content: "hm"}, &stream.Thinking{Content: "m"}, &stream.Delta{Text: "x"}, &stream.Delta{Text: "y"}},
			[]string{opened("reasoning", "1"), piece("reasoning", "1", "hm"), piece("reasoning", "1", "m"), shut("reasoning", "1"), opened("text", "2"), piece("text", "2", "x"), piece("text", "2", "y")}},
		{"a joint is of who spoke before", []stream.Event{&stream.Delta{Attribution: a, Text: "x"}, &stream.Delta{Text: "-"}, &stream.Delta{Attribution: a, Text: "y"}, &stream.Delta{Attribution: b, Text: "z"}},
			[]string{opened("text", "1"), piece("text", "1", "x"), piece("text", "1", "-"), piece("text", "1", "y"), shut("text", "1"), opened("text", "2"), piece("text", "2", "z")}},
		{"another session is another speaker", []stream.Event{&stream.Thinking{Content: "x"}, &stream.Thinking{Attribution: stream.Attribution{SessionID: "s"}, Content: "y"}},
			[]string{opened("reasoning", "1"), piece("reasoning", "1", "x"), shut("reasoning", "1"), opened("reasoning", "2"), piece("reasoning", "2", "y")}},
		{"a call ends the text, and what follows its result is another step", []stream.Event{&stream.Delta{Text: "x"}, started, completed, &stream.Delta{Text: "y"}, done},
			[]string{opened("text", "1"), piece("text", "1", "x"), shut("text", "1"), milkIn, milkOut, finishStep, startStep, opened("text", "2"), piece("text", "2", "y"), shut("text", "2"), finishStep, "sluice done", finish, closed}},
		{"a step ends with the last of its calls", []stream.Event{started, &stream.ToolStarted{Call: second}, completed, &stream.ToolFailed{Call: second, Message: "no"}, &stream.Thinking{Content: "x"}},
			[]string{milkIn, `{"type":"tool-input-available","toolCallId":"c2","toolName":"list","input":{},"dynamic":true,"providerExecuted":true}`, milkOut,
				`{"type":"tool-output-error","toolCallId":"c2","errorText":"no","dynamic":true,"providerExecuted":true}`, finishStep, startStep, opened("reasoning", "1"), piece("reasoning", "1", "x")}},
		{"a step of calls, then another", []stream.Event{started, completed, &stream.ToolStarted{Call: second}},
			[]string{milkIn, milkOut, finishStep, startStep, `{"type":"tool-input-available","toolCallId":"c2","toolName":"list","input":{},"dynamic":true,"providerExecuted":true}`}},
		{"an outcome that is not known", []stream.Event{started, &stream.ToolUnknown{Call: milk, Message: "lost"}, done},
			[]string{milkIn, `{"type":"tool-output-error","toolCallId":"c1","errorText":"lost","dynamic":true,"providerExecuted":true}`, finishStep, "sluice done", finish, closed}},
		{"a result that is too long", []stream.Event{started, &stream.ToolCompleted{Call: milk, Result: strings.Repeat("x", maxOutput+1)}},
			[]string{milkIn, `{"type":"tool-output-available","toolCallId":"c1","output":"` + strings.Repeat("x", maxOutput) + ` […]","dynamic":true,"providerExecuted":true}`}},
		{"progress is for who asks", []stream.Event{started, &stream.ToolProgress{Call: milk, Progress: 1}}, []string{milkIn, "sluice tool_call"}},
		{"calls for the client", []stream.Event{&stream.ToolRequired{Call: milk}, &stream.ToolRequired{Call: second}, &stream.Done{Reason: stream.ClientTools}},
			[]string{`{"type":"tool-input-available","toolCallId":"c1","toolName":"create_todo","input":{"title":"milk"},"dynamic":true}`,
				`{"type":"tool-input-available","toolCallId":"c2","toolName":"list","input":{},"dynamic":true}`, finishStep, "sluice done", `{"type":"finish","finishReason":"tool-calls"}`, closed}},
		{"an error that is not fatal", []stream.Event{&stream.Delta{Text: "x"}, &stream.Error{Type: fault.Timeout}, &stream.Delta{Text: "y"}},
			[]string{opened("text", "1"), piece("text", "1", "x"), "sluice error", piece("text", "1", "y")}},
		{"an error between two steps", []stream.Event{started, completed, &stream.Error{Type: fault.Timeout}, &stream.Error{Type: fault.Timeout}, &stream.Delta{Text: "y"}},
			[]string{milkIn, milkOut, finishStep, "sluice error", "sluice error", startStep, opened("text", "1"), piece("text", "1", "y")}},
		{"an error behind the last step", []stream.Event{started, completed, &stream.Error{Type: fault.Timeout}, done},
			[]string{milkIn, milkOut, finishStep, "sluice error", "sluice done", finish, closed}},
		{"a fatal error is the end", []stream.Event{&stream.Delta{Text: "x"}, &stream.Error{Type: fault.ModelError, Message: "broken", Fatal: true}, &stream.Done{Reason: stream.Failed}},
			[]string{opened("text", "1"), piece("text", "1", "x"), shut("text", "1"), finishStep, "sluice error", `{"type":"error","errorText":"broken"}`, closed}},
		{"an extension does not end the text", []stream.Event{&stream.Delta{Text: "x"}, &stream.Quality{Phase: stream.Composing}, &stream.Delta{Text: "y"}},
			[]string{opened("text", "1"), piece("text", "1", "x"), "sluice quality", piece("text", "1", "y")}},
		{"an extension begins a step, a draft does not", []stream.Event{started, completed, &stream.InnerDelta{Attempt: 1, Delta: "d"}, &stream.Quality{Phase: stream.Composing}},
			[]string{milkIn, milkOut, "sluice inner_delta", finishStep, startStep, "sluice quality"}},
		{"a question that is answered elsewhere", []stream.Event{&stream.Delta{Text: "x"}, &stream.Approval{ID: "ap_1", Prompt: "Send it?"}, &stream.Done{Reason: stream.ApprovalRequired}},
			[]string{opened("text", "1"), piece("text", "1", "x"), shut("text", "1"), opened("text", "2"), piece("text", "2", "Send it?"), shut("text", "2"), "sluice approval", finishStep, "sluice done", `{"type":"finish","finishReason":"tool-calls"}`, closed}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newEncoder("", requestID, began, facts{})
			e.Encode(nil, stream.Stamp{N: 1}, &stream.Start{})
			if diff := cmp.Diff(test.want, lines(encoded(e, test.events...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What data-sluice says at the end of the turn is whole, though its pieces came as parts.
func TestTheEndRepeatsTheTurn(t *testing.T) {
	t.Parallel()
	got := encoded(newEncoder("", requestID, began, facts{}), &stream.Start{}, &stream.ToolStarted{Call: milk}, &stream.ToolCompleted{Call: milk},
		&stream.Delta{Attribution: stream.Attribution{AgentID: "a"}, Text: "x\n"}, &stream.Delta{Text: "y"}, &stream.Done{Reason: stream.Stop})
	if want := `"final_output":"x\ny","tools_called":["create_todo"],`; !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for r, want := range map[stream.FinishReason]string{
		stream.Stop: "stop", stream.MaxTokens: "length", stream.MaxSteps: "other", stream.ClientTools: "tool-calls",
		stream.ApprovalRequired: "tool-calls", stream.InputRequired: "stop",
	} {
		if got := finishReason(r); got != want {
			t.Errorf("%s: got %s, want %s", r, got, want)
		}
	}
}

// What the client calls its message stays when the answer continues it: another id would make
// a second one of it.
func TestContinuedMessageHasNoID(t *testing.T) {
	t.Parallel()
	got := lines(encoded(newEncoder("", requestID, began, facts{Continues: true}), &stream.Start{}))
	if want := []string{`{"type":"start"}`, "sluice start", startStep}; !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
}

// A log makes the bytes that its first reader got.
func TestLogMakesTheSameBytes(t *testing.T) {
	t.Parallel()
	events := []stream.Event{&stream.Start{TurnID: "turn_1", TaskID: "task_1"}, &stream.Thinking{Content: "hm"}, &stream.ToolStarted{Call: milk},
		&stream.ToolCompleted{Call: milk}, &stream.Delta{Text: "x"}, &stream.Done{Reason: stream.Stop}}
	for _, continues := range []bool{false, true} {
		kept := dialect.StoredTurn{TurnID: "turn_1", RequestID: requestID, Dialect: protocolName, Began: began, Facts: facts{Continues: continues}.encodeFacts()}
		first, again := encoded(resumeEncoder(kept).(*encoder), events...), encoded(resumeEncoder(kept).(*encoder), events...)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Error(diff)
		}
		if got := strings.Contains(first, `"messageId":"msg_`+chat.CallSeed("turn_1", "", began)); got == continues {
			t.Errorf("continues %v: %s", continues, first)
		}
	}
	native := resumeEncoder(dialect.StoredTurn{TurnID: "turn_1", Dialect: dialect.Native, Facts: []byte(`{"continues":true}`)}).(*encoder)
	if native.continues {
		t.Error("the facts of another protocol count")
	}
}

func TestHeartbeatIsAComment(t *testing.T) {
	t.Parallel()
	if got := string(newEncoder("", requestID, began, facts{}).Heartbeat()); !strings.HasPrefix(got, ":") {
		t.Errorf("%q", got)
	}
}

// deltas returns an encoder in the middle of a stretch.
func deltas() (*encoder, *stream.Delta, []byte) {
	e, d := newEncoder("", requestID, began, facts{}), &stream.Delta{Text: "five and twenty letters, "}
	return e, d, e.Encode(make([]byte, 0, 4096), stream.Stamp{}, d)[:0]
}

// In a stretch, a piece costs nothing but its frame, and the growth of what Done repeats.
func TestSteadyDeltaCostsNoAllocation(t *testing.T) {
	e, d, buf := deltas()
	if n := testing.AllocsPerRun(2000, func() { e.Encode(buf, stream.Stamp{}, d) }); n != 0 {
		t.Errorf("%v allocations a piece", n)
	}
}

func BenchmarkDelta(b *testing.B) {
	e, d, buf := deltas()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n%200 == 199 {
			e, d, buf = deltas()
		}
		e.Encode(buf, stream.Stamp{}, d)
	}
}
