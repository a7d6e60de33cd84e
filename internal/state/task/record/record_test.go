package record_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/base/fault"
	"sluice/internal/base/redact"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// timed is an event and when it comes.
type timed struct {
	at time.Duration
	ev stream.Event
}

// recorded returns the trace of a turn with these events.
func recorded(spec record.Spec, over bool, events ...timed) *record.Trace {
	r := record.New(spec, "turn_1", begin)
	for _, e := range events {
		r.Observe(e.at*time.Millisecond, e.ev)
	}
	p, err := record.Read(r.Part(over).Encode())
	if err != nil {
		panic(err)
	}
	return record.Join("task_1", []*record.Part{p})
}

func call(id, agent, args string) stream.Call {
	return stream.Call{ID: id, Tool: "add", Server: "todo", Arguments: jsontext.Value(args), Attribution: stream.Attribution{AgentID: agent}}
}

func ms(n int64) *int64 { return &n }

func TestSteps(t *testing.T) {
	t.Parallel()
	got := recorded(record.Spec{}, true,
		timed{1, &stream.Start{}},
		timed{2, &stream.Delta{Text: "I look. "}},
		timed{3, &stream.ToolStarted{Call: call("c1", "", `{"a":1}`)}},
		timed{4, &stream.ToolStarted{Call: call("c2", "", `{"a":2}`)}},
		timed{9, &stream.ToolCompleted{Call: call("c1", "", ""), Duration: 6 * time.Millisecond, Result: "one"}},
		timed{10, &stream.ToolFailed{Call: call("c2", "", ""), Duration: 5 * time.Millisecond, Message: "no"}},
		timed{20, &stream.Delta{Text: "Do"}},
		timed{21, &stream.Delta{Text: "ne."}},
		timed{30, &stream.Done{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 3, OutputTokens: 2}}},
	)
	want := &record.Trace{
		TaskID: "task_1", Sessions: map[string]record.Session{},
		CreatedAt: "2026-01-02T03:04:05.000Z", UpdatedAt: "2026-01-02T03:04:05.030Z",
		Steps: []record.Step{
			{ID: "turn_1:0", Name: record.Turn, Message: "stop", Status: record.Info, Timestamp: "2026-01-02T03:04:05.000Z", Millis: ms(30), Usage: &record.Usage{Input: 3, Output: 2}},
			{ID: "turn_1:1", ParentID: "turn_1:0", Name: record.Speak, Message: "I look. ", Status: record.Warning, Timestamp: "2026-01-02T03:04:05.002Z", Started: 2, Millis: ms(18), Calls: []record.Call{
				{CallID: "c1", Server: "todo", Tool: "add", Arguments: jsontext.Value(`{"a":1}`), Result: &record.Result{Text: "one"}, Started: 3, Millis: ms(6), Outcome: record.Completed},
				{CallID: "c2", Server: "todo", Tool: "add", Arguments: jsontext.Value(`{"a":2}`), Error: "no", Started: 4, Millis: ms(5), Outcome: record.Failed},
			}},
			{ID: "turn_1:2", ParentID: "turn_1:0", Name: record.Speak, Message: "Done.", Status: record.Info, Timestamp: "2026-01-02T03:04:05.020Z", Started: 20, Millis: ms(10)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the trace (-want +got):\n%s", diff)
	}
}

// lines is a trace, a step a line.
func lines(tr *record.Trace) (all []string) {
	for _, s := range tr.Steps {
		line := strings.TrimPrefix(s.ID, "turn_1:") + " in " + strings.TrimPrefix(s.ParentID, "turn_1:") + ": " + s.Name + " " + s.Agent + s.NodeID + " " + string(s.Status) + " " + s.Message
		for _, c := range s.Calls {
			line += " [" + c.CallID + " " + string(c.Outcome) + "]"
		}
		all = append(all, line)
	}
	return all
}

// A result that counts although something is wrong with it is a warning of its step.
func TestOddResult(t *testing.T) {
	t.Parallel()
	tr := recorded(record.Spec{}, true,
		timed{1, &stream.Start{}},
		timed{2, &stream.ToolStarted{Call: call("c1", "", `{}`)}},
		timed{3, &stream.ToolCompleted{Call: call("c1", "", ""), Result: "one", Warning: "no id"}},
		timed{4, &stream.Done{Reason: stream.Stop}},
	)
	s := tr.Steps[len(tr.Steps)-1] // the first is the turn
	if len(s.Calls) != 1 {
		t.Fatalf("%+v", tr.Steps)
	}
	if c := s.Calls[0]; s.Status != record.Warning || c.Outcome != record.Completed || c.Error != "no id" || c.Result.Text != "one" {
		t.Errorf("the step is %+v", s)
	}
}

func TestTeamsAndWorkflows(t *testing.T) {
	t.Parallel()
	a, b := stream.Attribution{AgentID: "a"}, stream.Attribution{AgentID: "b"}
	node := stream.Attribution{NodeID: "n"}
	got := recorded(record.Spec{}, true,
		timed{5, &stream.Route{AgentID: "a", Reasoning: "why", Millis: 4}},
		timed{6, &stream.AgentRun{AgentID: "a", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentStarted}},
		timed{6, &stream.AgentRun{AgentID: "b", Role: stream.RoleAdditional, Attempt: 1, Status: stream.AgentStarted}},
		timed{7, &stream.ToolStarted{Call: call("c1", "b", "{}")}},
		timed{8, &stream.Delta{Attribution: a, Text: "A"}},
		timed{9, &stream.ToolUnknown{Call: call("c1", "b", ""), Message: "lost"}},
		timed{9, &stream.Delta{Attribution: b, Text: "B"}},
		timed{10, &stream.AgentRun{AgentID: "a", Status: stream.AgentCompleted}},
		timed{11, &stream.AgentRun{AgentID: "b", Status: stream.AgentFailed, ErrorMessage: "bad"}},
		timed{12, &stream.NodeRun{NodeID: "n", Type: "agent", Attempt: 1, Status: stream.NodeStarted}},
		timed{13, &stream.ToolStarted{Call: stream.Call{ID: "c2", Attribution: node}}},
		timed{14, &stream.NodeRun{NodeID: "m", Type: "tool", Attempt: 1, Status: stream.NodeSkipped}},
		timed{15, &stream.Error{Type: fault.TurnLost, Message: "gone", Fatal: true}},
		timed{15, &stream.Done{Reason: stream.Failed}},
	)
	want := []string{
		"0 in : turn  error turn_lost: gone",
		"1 in 0: route a info why",
		"2 in 0: agent a info primary",
		"3 in 0: agent b warning bad",
		"4 in 3: step b warning  [c1 unknown]",
		"5 in 2: step a info A",
		"6 in 3: step b info B",
		"7 in 0: node n warning agent",
		"8 in 7: call n warning  [c2 running]",
		"9 in 0: node m info skipped",
	}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// A turn that is under way has no durations where nothing has ended, and one that was cut
// says so.
func TestTurnsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	events := []timed{{1, &stream.Start{}}, {2, &stream.Delta{Text: "wor"}}, {3, &stream.ToolStarted{Call: call("c1", "", "{}")}}}
	running, cut := recorded(record.Spec{}, false, events...), recorded(record.Spec{}, true, events...)
	for i, s := range running.Steps {
		if s.Millis != nil || s.Status != record.Info {
			t.Errorf("step %d of a running turn: %+v", i, s)
		}
	}
	if running.Steps[1].Message != "wor" {
		t.Errorf("a running step says %q", running.Steps[1].Message)
	}
	for i, s := range cut.Steps {
		if s.Millis == nil || s.Status != record.Warning {
			t.Errorf("step %d of a turn that was cut: %+v", i, s)
		}
	}
}

// Drafts, tokens of questions, personal data and secrets are in no trace; with names
// alone, no texts are.
func TestWhatIsHidden(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 10_000)
	events := []timed{
		{1, &stream.InnerDelta{Delta: "canary-draft", Attempt: 1}},
		{2, &stream.Delta{Text: "Mail jo@exam"}}, {3, &stream.Delta{Text: "ple.org. plaintext " + long}},
		{4, &stream.ToolStarted{Call: call("c1", "", `{"password":"canary-word","mail":"jo@example.org","plaintext":1}`)}},
		{5, &stream.ToolCompleted{Call: call("c1", "", ""), Result: "jo@example.org plaintext " + long}},
		{6, &stream.ToolStarted{Call: call("c2", "", `{"x":"plaintext `+long+`"}`)}},
		{7, &stream.ToolFailed{Call: call("c2", "", ""), Message: "jo@example.org plaintext"}},
		{8, &stream.Approval{ID: "ap_1", Prompt: "plaintext jo@example.org?", Token: "canary-token", Calls: []stream.ApprovalCall{{CallID: "c3", Arguments: jsontext.Value(`{"mail":"jo@example.org","p":"plaintext"}`)}}}},
		{9, &stream.Done{Reason: stream.ApprovalRequired}},
	}
	full := string(recorded(record.Spec{}, true, events...).Encode())
	for _, hidden := range []string{"canary", "jo@", "example.org"} {
		if strings.Contains(full, hidden) {
			t.Errorf("%s is in %.3000s", hidden, full)
		}
	}
	if n := strings.Count(full, "plaintext"); n != 7 || strings.Count(full, "[email]") != 6 || !strings.Contains(full, `"truncated":true`) {
		t.Errorf("%d texts: %.3000s", n, full)
	}
	if len(full) > 4*(8<<10) {
		t.Errorf("%d bytes", len(full))
	}
	names := string(recorded(record.Spec{NamesOnly: true}, true, events...).Encode())
	if strings.Contains(names, "plaintext") || strings.Contains(names, "jo@") || !strings.Contains(names, `"tool":"add"`) {
		t.Error(names)
	}
}

// Results that are JSON are redacted as JSON, and the configuration's own secrets and blocks of
// PEM are in no text of a trace.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	const own, pem = "canary-of-the-config", "-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----"
	spec := record.Spec{Secrets: redact.New([]string{own})}
	full := string(recorded(spec, true,
		timed{1, &stream.Delta{Text: "I say canary-of-"}}, timed{2, &stream.Delta{Text: "the-config, password=canary"}},
		timed{3, &stream.ToolStarted{Call: call("c1", "", `{"`+own+`":"`+own+`","pem":"`+strings.ReplaceAll(pem, "\n", `\n`)+`"}`)}},
		timed{4, &stream.ToolCompleted{Call: call("c1", "", ""), Result: `{"Cookie":"canary","inner":"{\"password\":\"canary\"}","long":"` + strings.Repeat("word ", 5000) + `","password":"canary"}`}},
		timed{5, &stream.ToolStarted{Call: call("c2", "", `{}`)}}, timed{6, &stream.ToolFailed{Call: call("c2", "", ""), Message: "no: " + pem}},
		timed{7, &stream.Done{Reason: stream.Stop}},
	).Encode())
	if i := strings.Index(full, "canary"); i >= 0 {
		t.Errorf("…%s…", full[max(0, i-200):min(len(full), i+100)])
	}
}

// Each step has an agent and a list of calls, and each call arguments and an error, so that
// strict readers take a trace; exported ones have all members.
func TestMembersOfAStep(t *testing.T) {
	t.Parallel()
	shown := recorded(record.Spec{}, true, timed{1, &stream.Delta{Text: "hi"}}, timed{2, &stream.ToolStarted{Call: call("c1", "", "")}}, timed{3, &stream.Done{Reason: stream.Stop}}).Encode()

	for text, members := range map[string]map[string][]string{
		string(shown):                  {"step": {"agent", "tool_calls"}, "call": {"server", "tool", "arguments", "error"}},
		string(record.Exported(shown)): {"step": {"step_name", "message", "timestamp", "status", "agent", "tool_calls", "duration_ms"}, "call": {"server", "tool", "arguments", "result", "error", "duration_ms"}},
	} {
		var trace struct{ Steps []map[string]any }
		if err := json.Unmarshal([]byte(text), &trace); err != nil || len(trace.Steps) < 2 {
			t.Fatal(err, text)
		}
		calls := 0
		for _, step := range trace.Steps {
			wantMembers(t, step, members["step"])
			for _, c := range step["tool_calls"].([]any) {
				calls++
				wantMembers(t, c.(map[string]any), members["call"])
			}
		}
		if calls != 1 {
			t.Errorf("%d calls: %s", calls, text)
		}
	}
}

func wantMembers(t *testing.T, object map[string]any, names []string) {
	t.Helper()
	for _, name := range names {
		if object[name] == nil {
			t.Errorf("%s is missing in %v", name, object)
		}
	}
}

// A part is bounded, however long its turn is.
func TestPartIsBounded(t *testing.T) {
	t.Parallel()
	r := record.New(record.Spec{}, "turn_1", begin)
	text := strings.Repeat("word ", 2000)
	for i := range 2000 {
		c := call("c"+string(rune(i)), "", `{"x":"`+text+`"}`)
		r.Observe(1, &stream.Delta{Text: text})
		r.Observe(1, &stream.ToolStarted{Call: c})
		r.Observe(1, &stream.ToolCompleted{Call: c, Result: text})
	}
	if n := len(r.Part(true).Encode()); n > 2<<20 {
		t.Errorf("%d bytes", n)
	}
}

// Turns of a task come in their order, each once.
func TestJoin(t *testing.T) {
	t.Parallel()
	one, two := record.New(record.Spec{}, "turn_1", begin), record.New(record.Spec{}, "turn_2", begin.Add(time.Minute))
	one.Observe(time.Second, &stream.Done{Reason: stream.ApprovalRequired})
	two.Observe(time.Second, &stream.Done{Reason: stream.Stop})
	tr := record.Join("t", []*record.Part{two.Part(true), one.Part(true), one.Part(true)})
	if len(tr.Steps) != 2 || tr.Steps[0].ID != "turn_1:0" || tr.Steps[1].Started != 60_000 || tr.UpdatedAt != "2026-01-02T03:05:06.000Z" {
		t.Errorf("%+v", tr)
	}
}

func TestSection(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]record.Spec{"{}": {}, "{payloads: full}": {}, "{payloads: names}": {NamesOnly: true}} {
		var s record.Spec
		r := file.Table{record.Section(&s)}.Read("f", []byte("trace: "+content), config.Sources{Lookup: func(string) (string, bool) { return "", false }})
		if s != want || len(r.Faults) > 0 {
			t.Errorf("%s: %+v %v", content, s, r.Faults)
		}
	}
	var s record.Spec
	if r := (file.Table{record.Section(&s)}).Read("f", []byte("trace: {payloads: off}"), config.Sources{Lookup: func(string) (string, bool) { return "", false }}); len(r.Faults) != 1 {
		t.Errorf("%v", r.Faults)
	}
}

// An agent that another one calls works within the call, and what it says is its own, as
// is what a node says that is not the answer.
func TestWhoIsCalledIsWithinTheCall(t *testing.T) {
	t.Parallel()
	in, node := stream.Attribution{AgentID: "b", SessionID: "s1"}, stream.Attribution{AgentID: "a", NodeID: "n"}
	got := recorded(record.Spec{}, true,
		timed{1, &stream.NodeRun{NodeID: "n", Type: "agent", Attempt: 1, Status: stream.NodeStarted}},
		timed{2, &stream.ToolStarted{Call: stream.Call{ID: "c1", Tool: "delegate_to_b", Attribution: node}}},
		timed{3, &stream.AgentRun{AgentID: "b", Role: stream.RoleDelegate, SessionID: "s1", CallID: "c1", Attempt: 1, Status: stream.AgentStarted}},
		timed{4, &stream.InnerDelta{Attribution: in, Delta: "So it is."}},
		timed{5, &stream.AgentRun{AgentID: "b", SessionID: "s1", CallID: "c1", Status: stream.AgentCompleted}},
		timed{6, &stream.ToolCompleted{Call: stream.Call{ID: "c1", Attribution: node}}},
		timed{7, &stream.InnerDelta{Attribution: node, Delta: "Noted."}},
		timed{8, &stream.NodeRun{NodeID: "n", Attempt: 1, Status: stream.NodeCompleted, Output: "Noted."}},
		timed{9, &stream.Done{Reason: stream.Stop}},
	)
	want := []string{"0 in : turn  info stop", "1 in 0: node n info Noted.", "2 in 1: step an info  [c1 completed]", "3 in 2: agent b info delegate", "4 in 3: step b info So it is.", "5 in 1: step an info Noted."}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// A delegate's session has a part of its own, next to that of the same agent.
func TestSessions(t *testing.T) {
	t.Parallel()
	in := stream.Attribution{AgentID: "a", SessionID: "s1"}
	got := recorded(record.Spec{}, true,
		timed{1, &stream.AgentRun{AgentID: "a", Role: stream.RolePrimary, Attempt: 1, Status: stream.AgentStarted}},
		timed{2, &stream.AgentRun{AgentID: "a", Role: stream.RoleDelegate, SessionID: "s1", Attempt: 1, Status: stream.AgentStarted}},
		timed{3, &stream.ToolStarted{Call: stream.Call{ID: "c1", Attribution: in}}},
		timed{4, &stream.ToolCompleted{Call: stream.Call{ID: "c1", Attribution: in}}},
		timed{5, &stream.AgentRun{AgentID: "a", SessionID: "s1", Status: stream.AgentFailed}},
		timed{6, &stream.Delta{Attribution: stream.Attribution{AgentID: "a"}, Text: "Hi"}},
		timed{7, &stream.AgentRun{AgentID: "a", Status: stream.AgentCompleted}},
		timed{8, &stream.Done{Reason: stream.Stop}},
	)
	want := []string{"0 in : turn  info stop", "1 in 0: agent a info primary", "2 in 0: agent a warning failed", "3 in 2: step a info  [c1 completed]", "4 in 1: step a info Hi"}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if s := got.Sessions["s1"]; s != (record.Session{SessionID: "s1", Agent: "a", MessageCount: 3, Status: "failed"}) {
		t.Errorf("%+v", s)
	}
}

// An agent that has thought, is tried again and ends then leaves nothing open, and its end is its
// own.
func TestAgentThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	of := stream.Attribution{AgentID: "a"}
	tr := recorded(record.Spec{}, true,
		timed{1, &stream.Start{}},
		timed{2, &stream.AgentRun{AgentID: "a", Attempt: 1, Status: stream.AgentStarted}},
		timed{3, &stream.Thinking{Attribution: of, Content: "Hm."}},
		timed{4, &stream.AgentRun{AgentID: "a", Attempt: 2, Status: stream.AgentRetrying}},
		timed{9, &stream.AgentRun{AgentID: "a", Attempt: 2, Status: stream.AgentCompleted}},
		timed{10, &stream.Done{Reason: stream.Stop}},
	)
	for _, s := range tr.Steps {
		if s.Name == record.Agent && s.Attempt == 2 && (s.Millis == nil || *s.Millis != 5) || s.Millis == nil {
			t.Errorf("%+v", s)
		}
	}
}

// What is taken back of an answer was said by nobody: the end of what its author says goes, as far
// as it is in the trace, and the texts of others stay.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	a, b := stream.Attribution{AgentID: "a"}, stream.Attribution{AgentID: "b"}
	long := strings.Repeat("x", 64<<10)
	for name, tt := range map[string]struct {
		by      stream.Attribution
		left    string // of the answer, which is that of a, and then that of b
		message [2]string
	}{
		"the end":                   {b, "One. Tw", [2]string{"One. ", "Tw!"}},
		"all of it":                 {b, "One. ", [2]string{"One. ", "!"}},
		"more than its author said": {b, "", [2]string{"One. ", "!"}},
		"of the first":              {a, "One. T", [2]string{"On", "Two.!"}},
		"of somebody else":          {stream.Attribution{AgentID: "c"}, "One. ", [2]string{"One. ", "Two.!"}},
	} {
		r := record.New(record.Spec{}, "turn_1", begin)
		r.Observe(1, &stream.Delta{Attribution: a, Text: "One. "})
		r.Observe(2, &stream.Delta{Attribution: b, Text: "Two."})
		r.Part(false) // somebody looks at it
		r.Observe(3, &stream.Reset{Attribution: tt.by, Accumulated: tt.left})
		if p := r.Part(false); tt.left == "One. " && tt.by == b && p.Steps[2].Message != "" {
			t.Errorf("%s: %q is still said", name, p.Steps[2].Message)
		}
		r.Observe(4, &stream.Delta{Attribution: b, Text: "?"})
		r.Observe(5, &stream.Reset{Attribution: b, Accumulated: tt.left}) // once more, behind what is left
		r.Observe(6, &stream.Delta{Attribution: b, Text: "!"})
		if p := r.Part(true); p.Steps[1].Message != tt.message[0] || p.Steps[2].Message != tt.message[1] {
			t.Errorf("%s: %q and %q, want %q", name, p.Steps[1].Message, p.Steps[2].Message, tt.message)
		}
	}
	for left, want := range map[int]int{1 << 10: 1 << 10, 32 << 10: 8 << 10} { // what is beyond 16 KiB was never recorded
		tr := recorded(record.Spec{}, true, timed{1, &stream.Delta{Text: long}}, timed{2, &stream.Reset{Accumulated: long[:left]}}, timed{3, &stream.Done{Reason: stream.Stop}})
		if got := len(tr.Steps[1].Message); got != want {
			t.Errorf("%d bytes are left of %d, want %d", got, left, want)
		}
	}
}
