package agui_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/agui"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

const (
	edited   = `,"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"}},"required":["approved"]}`
	approved = `,"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
)

// endOf returns the last event of a turn with the outcome.
func endOf(outcome string) string {
	return `{"type":"RUN_FINISHED","threadId":"T","runId":"R"` + outcome + `,"usage":[{"model":"m","inputTokens":0,"outputTokens":0,"reasoningTokens":0,"totalTokens":0}]}`
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	asks := func(kind chat.QuestionKind, id, token string, calls ...string) *stream.Approval {
		q := &stream.Approval{ID: id, Kind: kind, Prompt: "May it?", Token: token, ExpiresAt: "2026-01-02T03:04:05.000Z"}
		for _, c := range calls {
			q.Calls = append(q.Calls, stream.ApprovalCall{CallID: c, Tool: "list", Server: "todo", Arguments: jsontext.Value(`{"a":"x\"y"}`)})
		}
		return q
	}
	human := asks(chat.AskHuman, "q", "tok")
	human.Schema = jsontext.Value(`{"type":"object"}`)
	const tail = `,"message":"May it?"`
	const until = `,"expiresAt":"2026-01-02T03:04:05.000Z"}`
	for name, tt := range map[string]struct {
		events  []stream.Event
		want    []string // before the end
		outcome string
	}{
		"calls": {
			[]stream.Event{&stream.Delta{Text: "t"}, asks(chat.AskTools, "q", "tok", "a", "b")},
			all(text("1", "t"), called("a", "list", "1"), called("b", "list", "1")),
			`{"id":"tok~a","reason":"tool_call","toolCallId":"a"` + tail + edited + until + `,{"id":"q~b","reason":"tool_call","toolCallId":"b"` + tail + edited + until,
		},
		"what became of a call": {
			[]stream.Event{asks(chat.AskOutcome, "q", "tok", "a")}, called("a", "list", "1"),
			`{"id":"tok~a","reason":"tool_call","toolCallId":"a"` + tail + approved + until,
		},
		"a person":                       {[]stream.Event{human}, nil, `{"id":"tok","reason":"input_required"` + tail + `,"responseSchema":{"type":"object"}` + until},
		"a person, who fills nothing in": {[]stream.Event{asks(chat.AskHuman, "q", "tok")}, nil, `{"id":"tok","reason":"input_required"` + tail + until},
		"the second question is a note": {
			[]stream.Event{human, asks(chat.AskHuman, "r", "kot")},
			[]string{custom("approval", `"approval_id":"r","kind":"human","prompt":"May it?","expires_at":"2026-01-02T03:04:05.000Z","token":"kot"`)},
			`{"id":"tok","reason":"input_required"` + tail + `,"responseSchema":{"type":"object"}` + until,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frames := encoded(stored(), append(append([]stream.Event{begun}, tt.events...), &stream.Done{Reason: stream.ApprovalRequired})...)
			verify(t, frames)
			got := lines(t, frames)
			if last := got[len(got)-1]; last != endOf(`,"outcome":{"type":"interrupt","interrupts":[`+tt.outcome+`]}`) {
				t.Errorf("it ends with %s", last)
			}
			if diff := cmp.Diff(all(begunLines, tt.want), got[:len(got)-2]); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
}

// The turn that continues opens no call that the thread has.
func TestRunThatContinues(t *testing.T) {
	t.Parallel()
	k := stored()
	k.Facts = []byte(`{"threadId":"T","runId":"R","waited":["a"],"closed":["b"]}`)
	a, b, c := callOf("a", "list"), callOf("b", "ask"), callOf("c", "list")
	got := lines(t, encoded(k, begun, &stream.ToolStarted{Call: b}, &stream.ToolStarted{Call: a}, &stream.ToolCompleted{Call: a, Result: "r"},
		&stream.ToolFailed{Call: b, Message: "no"}, &stream.ToolStarted{Call: c}))
	const of = `"call_id":"b","tool_name":"ask","server":"todo","arguments":{"a":"x\"y"},`
	want := all(begunLines, []string{
		custom("tool_call", of+`"status":"in_progress"`), result("1", "a", "r"), custom("tool_call", of+`"status":"failed","duration_ms":0,"error":"no"`),
	}, called("c", "list", "2"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	frames := encoded(k, begun, &stream.ToolStarted{Call: b}, &stream.ToolStarted{Call: a}, &stream.ToolStarted{Call: c}, &stream.Done{Reason: stream.Stop})
	if !strings.Contains(frames, `"tools_called":["ask","list","list"]`) {
		t.Errorf("not all tools are listed in\n%s", frames)
	}
}

// A call that still waits is asked about again, and not reported again.
func TestQuestionThatIsAskedAgain(t *testing.T) {
	t.Parallel()
	k := stored()
	k.Facts = []byte(`{"threadId":"T","runId":"R","waited":["a"]}`)
	q := &stream.Approval{ID: "q", Kind: chat.AskTools, Prompt: "May it?", Token: "tok", ExpiresAt: "x", Calls: []stream.ApprovalCall{{CallID: "a", Tool: "list"}}}
	got := lines(t, encoded(k, begun, q, &stream.Done{Reason: stream.ApprovalRequired}))
	if len(got) != len(begunLines)+2 || !strings.Contains(got[3], `"interrupts":[{"id":"tok~a",`) {
		t.Errorf("frames %q", got)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		resume string
		want   chat.Answer
	}{
		"calls": {
			`{"interruptId":"q1~a~b","status":"resolved","payload":{"approved":true}},{"interruptId":"token~c","status":"resolved","payload":{"approved":false,"editedArgs":{"x":1}}},
			{"interruptId":"q1~d","status":"cancelled","payload":{"approved":true}},{"interruptId":"q1~e","status":"resolved","payload":{"approved":true,"editedArgs":{"x":1}}}`,
			chat.Answer{Token: "token", Calls: []chat.CallAnswer{
				{CallID: "a~b", Action: chat.Approve}, {CallID: "c", Action: chat.Reject}, {CallID: "d", Action: chat.Reject},
				{CallID: "e", Action: chat.Modify, Arguments: jsontext.Value(`{"x":1}`)},
			}},
		},
		"a person":                   {`{"interruptId":"token","status":"resolved","payload":{"x":1}}`, chat.Answer{Token: "token", Action: chat.Approve, Input: jsontext.Value(`{"x":1}`)}},
		"a person who says only yes": {`{"interruptId":"token","status":"resolved"}`, chat.Answer{Token: "token", Action: chat.Approve}},
		"a person who gives up":      {`{"interruptId":"token","status":"cancelled","payload":{"x":1}}`, chat.Answer{Token: "token", Action: chat.Reject}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := open(t, agui.Config{}, "", body(`,"forwardedProps":{"user_id":"ann"},"resume":[`+tt.resume+`]`))
			if err != nil {
				t.Fatal(err)
			}
			tt.want.At = "/resume"
			if diff := cmp.Diff(&tt.want, x.Approval); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if x.Request.UserID != "ann" || x.Request.Input != "" {
				t.Errorf("request %+v", x.Request)
			}
		})
	}
}

// Which calls the thread has is kept with the turn that continues.
func TestFactsOfAnAnswer(t *testing.T) {
	t.Parallel()
	x, err := open(t, agui.Config{}, "", `{"threadId":"t","runId":"r","resume":[{"interruptId":"token~c","status":"cancelled"}],"messages":[
		{"role":"user","content":"a"},{"role":"tool","toolCallId":"old","content":""},{"role":"user","content":"b"},
		{"role":"assistant","toolCalls":[{"id":"d","function":{"name":"n"}},{"id":"c","function":{"name":"n"}}]},
		{"role":"tool","toolCallId":"d","content":""},{"role":"tool","toolCallId":"d","content":""}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(x.Facts), `{"threadId":"t","runId":"r","waited":["c"],"closed":["d"]}`; got != want {
		t.Errorf("facts %s, want %s", got, want)
	}
}

// An answer that does not count is a run that fails; what has nothing to do with it is refused
// like any other request.
func TestRefusedAnswer(t *testing.T) {
	t.Parallel()
	x, err := open(t, agui.Config{}, "", body(`,"resume":[{"interruptId":"token","status":"cancelled"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []fault.Type{fault.ApprovalInvalid, fault.ApprovalExpired, fault.ApprovalUsed, fault.ApprovalConflict, fault.Validation} {
		reply := x.Refuse(dialect.Refusal{Fault: &fault.Error{Type: kind, Message: "No"}, Status: http.StatusConflict})
		want := "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t1\",\"runId\":\"r1\"}\n\ndata: {\"type\":\"RUN_ERROR\",\"message\":\"No\",\"code\":\"" + string(kind) + "\"}\n\n"
		if reply.Status != 0 || reply.ContentType != "text/event-stream" || string(reply.Body) != want {
			t.Errorf("%s: %d %s %s", kind, reply.Status, reply.ContentType, reply.Body)
		}
	}
	reply := x.Refuse(dialect.Refusal{Fault: &fault.Error{Type: fault.Overloaded, Message: "No"}, Status: http.StatusServiceUnavailable})
	if reply.Status != http.StatusServiceUnavailable || !strings.Contains(string(reply.Body), `"overloaded"`) {
		t.Errorf("overloaded: %+v", reply)
	}
	if _, err := open(t, agui.Config{}, "", body(`,"resume":[{"interruptId":"token","status":"x"}]`)); !errors.As(err, new(*chat.ValidationError)) {
		t.Errorf("an answer that cannot be read: %v", err)
	}
}
