package aisdk

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// asks returns a question about calls of a tool.
func asks(kind chat.QuestionKind, calls ...string) *stream.Approval {
	q := &stream.Approval{ID: "ap_1", Kind: kind, Prompt: "May it?", Token: "slap1.tok", ExpiresAt: "2026-01-02T03:04:05.000Z"}
	for _, c := range calls {
		q.Calls = append(q.Calls, stream.ApprovalCall{CallID: c, Tool: "pay", Arguments: []byte(`{"n":1}`)})
	}
	return q
}

// waits is a call that a person is asked about, under an id.
func waits(call, id string) []string {
	return []string{
		`{"type":"tool-input-available","toolCallId":"` + call + `","toolName":"pay","input":{"n":1},"dynamic":true,"providerExecuted":true}`,
		`{"type":"tool-approval-request","approvalId":"` + id + `~` + call + `","toolCallId":"` + call + `"}`,
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	prompt := []string{opened("text", "1"), piece("text", "1", "May it?"), shut("text", "1"), "sluice approval"}
	tests := []struct {
		name   string
		facts  facts
		events []stream.Event
		want   [][]string
	}{
		{"calls", facts{}, []stream.Event{asks(chat.AskTools, "c1", "c2")}, [][]string{waits("c1", "slap1.tok"), waits("c2", "ap_1")}},
		{"behind text", facts{}, []stream.Event{&stream.Delta{Text: "x"}, asks(chat.AskTools, "c1")},
			[][]string{{opened("text", "1"), piece("text", "1", "x"), shut("text", "1")}, waits("c1", "slap1.tok")}},
		{"behind the calls of its step", facts{}, []stream.Event{&stream.ToolStarted{Call: milk}, &stream.ToolCompleted{Call: milk, Result: `{"id":1}`}, asks(chat.AskTools, "c2")},
			[][]string{{milkIn, milkOut, finishStep, startStep}, waits("c2", "slap1.tok")}},
		{"what became of a call", facts{}, []stream.Event{asks(chat.AskOutcome, "c1")}, [][]string{waits("c1", "slap1.tok")}},
		{"a second question is a note", facts{}, []stream.Event{asks(chat.AskTools, "c1"), asks(chat.AskTools, "c2")}, [][]string{waits("c1", "slap1.tok"), {"sluice approval"}}},
		{"a person", facts{}, []stream.Event{asks(chat.AskHuman)}, [][]string{prompt}},
		{"a person first", facts{}, []stream.Event{asks(chat.AskHuman), asks(chat.AskTools, "c1")}, [][]string{prompt, waits("c1", "slap1.tok")}},
		{"a client that cannot show it", facts{Mute: true}, []stream.Event{asks(chat.AskOutcome, "c1")}, [][]string{prompt}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newEncoder("", requestID, began, test.facts)
			e.Encode(nil, stream.Stamp{N: 1}, &stream.Start{})
			var want []string
			for _, frames := range test.want {
				want = append(want, frames...)
			}
			want = append(want, finishStep, "sluice done", `{"type":"finish","finishReason":"tool-calls"}`, closed)
			if diff := cmp.Diff(want, lines(encoded(e, append(test.events, &stream.Done{Reason: stream.ApprovalRequired})...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The stream that continues opens no call that the message has, and what a delegate had
// reported of its own is a note there.
func TestStreamThatContinues(t *testing.T) {
	t.Parallel()
	f := facts{Continues: true}
	f.Waited, f.Closed = []string{"c1"}, []string{"d"}
	other, delegate := stream.Call{ID: "c3", Tool: "list"}, stream.Call{ID: "d", Tool: "ask_agent"}
	e := newEncoder("", requestID, began, f)
	got := lines(encoded(e, &stream.Start{}, &stream.ToolStarted{Call: milk}, &stream.ToolFailed{Call: milk, Message: "Rejected"}, &stream.ToolStarted{Call: delegate},
		&stream.ToolCompleted{Call: delegate}, &stream.ToolStarted{Call: other}, asks(chat.AskTools, "c1")))
	want := append([]string{`{"type":"start"}`, "sluice start", startStep,
		`{"type":"tool-output-error","toolCallId":"c1","errorText":"Rejected","dynamic":true,"providerExecuted":true}`,
		finishStep, startStep, "sluice tool_call", "sluice tool_call",
		`{"type":"tool-input-available","toolCallId":"c3","toolName":"list","input":{},"dynamic":true,"providerExecuted":true}`}, waits("c1", "slap1.tok")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := encoded(e, &stream.Done{Reason: stream.Stop}); !strings.Contains(got, `"tools_called":["create_todo","ask_agent","list"]`) {
		t.Errorf("not all tools are listed in %s", got)
	}
}

// keptTurn is a store with one turn under way.
type keptTurn struct {
	dialect.StoredTurn
	events []stream.Event
}

func (k *keptTurn) Running(context.Context, chat.Principal, string, string) (task, turn string, err error) {
	return "task_1", "turn_1", nil
}
func (k *keptTurn) Log(context.Context, string) (Log, error)                     { return k, nil }
func (k *keptTurn) Cancel(context.Context, chat.Principal, string, string) error { return nil }
func (k *keptTurn) Stored() Stored                                               { return k.StoredTurn }

func (k *keptTurn) Follow(_ context.Context, use func(stream.Stamp, stream.Event), flush func() error) error {
	for _, ev := range k.events {
		use(stream.Stamp{}, ev)
	}
	return flush()
}

// frames is where a stream is written.
type frames struct{ strings.Builder }

func (f *frames) WriteFrame(frame []byte) error { _, err := f.Write(frame); return err }
func (f *frames) Flush() error                  { return nil }

// A page that is loaded again has no card for the result of a call that was asked about.
func TestPageThatIsLoadedAgainGetsWholeCalls(t *testing.T) {
	t.Parallel()
	delegate := stream.Call{ID: "d", Tool: "ask_agent"}
	k := &keptTurn{
		dialect.StoredTurn{RequestID: requestID, Began: began, Dialect: protocolName, Facts: []byte(`{"continues":true,"mute":true,"waited":["c1"],"closed":["d"]}`)},
		[]stream.Event{&stream.Start{}, &stream.ToolStarted{Call: milk}, &stream.ToolStarted{Call: delegate}, &stream.ToolCompleted{Call: milk, Result: `{"id":1}`}, &stream.Done{}},
	}
	answered := resumeEncoder(k.StoredTurn).(*encoder)
	x, err := New(Config{Turns: k}).followTurn(httptest.NewRequest(http.MethodGet, streamPath, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	var again frames
	if !x.Follow(t.Context(), &again) || !x.Encoder.(*encoder).mute || !answered.mute {
		t.Errorf("not all of the turn: %s", again.String())
	}
	head := []string{`{"type":"start"}`, "sluice start", startStep}
	for name, test := range map[string]struct{ frames, call string }{
		"the client that answered": {encoded(answered, k.events...), ""},
		"loaded again":             {again.String(), milkIn},
	} {
		want := head
		if test.call != "" {
			want = append(slices.Clone(head), test.call)
		}
		want = append(slices.Clone(want), "sluice tool_call", milkOut)
		if diff := cmp.Diff(want, lines(test.frames)[:len(want)]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// part is a call that a person was asked about.
func part(call, state, approval string) string {
	return fmt.Sprintf(`{"type":"dynamic-tool","toolName":"pay","toolCallId":%q,"state":%q,"input":{},"providerExecuted":true,"approval":%s}`, call, state, approval)
}

const delegated = `{"type":"dynamic-tool","toolName":"ask_agent","toolCallId":"d","state":"output-available","input":{},"output":"","providerExecuted":true}`

func TestAnswers(t *testing.T) {
	t.Parallel()
	yes := func(call string) chat.CallAnswer { return chat.CallAnswer{CallID: call, Action: chat.Approve} }
	tests := []struct {
		name, parts string
		want        chat.Answer
		facts       string
	}{
		{"one", part("c", approvalResponded, `{"id":"slap1.t~c","approved":true}`), chat.Answer{Token: "slap1.t", Calls: []chat.CallAnswer{yes("c")}}, `{"continues":true,"waited":["c"]}`},
		{"no, and why", part("c", approvalResponded, `{"id":"slap1.t~c","approved":false,"reason":"Too\u0000 dear"}`),
			chat.Answer{Token: "slap1.t", Calls: []chat.CallAnswer{{CallID: "c", Action: chat.Reject, Message: "Too dear"}}}, `{"continues":true,"waited":["c"]}`},
		{"the longest reason", part("c", approvalResponded, `{"id":"slap1.t~c","approved":false,"reason":"`+strings.Repeat("é", 2000)+`"}`),
			chat.Answer{Token: "slap1.t", Calls: []chat.CallAnswer{{CallID: "c", Action: chat.Reject, Message: strings.Repeat("é", 2000)}}}, `{"continues":true,"waited":["c"]}`},
		{"two, and a delegate", delegated + "," + part("c", approvalResponded, `{"id":"slap1.t~c","approved":true}`) + "," + part("e", approvalResponded, `{"id":"ap~e","approved":true,"reason":null}`),
			chat.Answer{Token: "slap1.t", Calls: []chat.CallAnswer{yes("c"), yes("e")}}, `{"continues":true,"waited":["c","e"],"closed":["d"]}`},
		{"one of two: the other has the token", part("c", approvalRequested, `{"id":"slap1.t~c"}`) + "," + part("e", approvalResponded, `{"id":"ap~e","approved":true}`),
			chat.Answer{Token: "slap1.t", Calls: []chat.CallAnswer{yes("e")}}, `{"continues":true,"waited":["e"]}`},
		{"what was answered before", part("b", "output-available", `{"id":"slap1.longer~b","approved":true}`) + "," + part("c", approvalResponded, `{"id":"slap1.t~c","approved":true}`),
			chat.Answer{Token: "slap1.t", Calls: []chat.CallAnswer{yes("c")}}, `{"continues":true,"waited":["c"],"closed":["b"]}`},
		{"a call that was asked about twice", part("c", approvalResponded, `{"id":"slap1.longer~c","approved":true}`) + `,{"type":"step-start"},` + part("c", approvalResponded, `{"id":"slap1.t~c","approved":false}`),
			chat.Answer{Token: "slap1.t", Calls: []chat.CallAnswer{{CallID: "c", Action: chat.Reject}}}, `{"continues":true,"waited":["c"]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := open(t, New(Config{}), body(user+","+assistant(test.parts), `,"user_id":"u"`))
			test.want.At = "/messages"
			if diff := cmp.Diff(&test.want, x.Approval); diff != "" {
				t.Error(diff)
			}
			if x.Request.Input != "" || x.Request.UserID != "u" || x.Request.Mute || string(x.Facts) != test.facts {
				t.Errorf("%+v %s", x.Request, x.Facts)
			}
		})
	}
}

// A run of a workflow that goes on with an answer does so without its client, unless the request
// says otherwise.
func TestAnswerOfARun(t *testing.T) {
	t.Parallel()
	for others, want := range map[string]bool{"": true, `,"on_disconnect":"cancel"`: false} {
		if x := open(t, New(Config{}), body(user+","+assistant(part("c", approvalResponded, `{"id":"slap1.t~c","approved":true}`)), others)); x.RunsOn != want || x.Mode != dialect.Attached {
			t.Errorf("%s: %v %v", others, x.RunsOn, x.Mode)
		}
	}
}

// Only the last message answers, and only what a person has said.
func TestWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	before := assistant(part("c", approvalResponded, `{"id":"slap1.t~c","approved":true}`))
	x := open(t, New(Config{}), body(user+","+before+","+user, ""))
	if x.Approval != nil || x.Request.Input != "hi" {
		t.Errorf("%+v", x)
	}
	e := new(chat.ValidationError)
	if q := New(Config{}).readRequest([]byte(body(user+","+assistant(part("c", approvalRequested, `{"id":"slap1.t~c"}`)), "")), e); q.answer != nil || len(e.Fields) != 1 || e.Fields[0].Code != chat.CodeRequired {
		t.Errorf("%+v %v", q, e.Fields)
	}
}

func TestFaultsOfAnswers(t *testing.T) {
	t.Parallel()
	const at = "/messages/1/parts/0/approval"
	many := make([]string, 0, 300)
	for i := range cap(many) {
		many = append(many, part(fmt.Sprintf("call_%010d", i), approvalResponded, fmt.Sprintf(`{"id":"slap1.t~call_%010d","approved":true}`, i)))
	}
	for _, test := range []struct{ name, parts, want string }{
		{"no approval", part("c", approvalResponded, `null`), at + " required"},
		{"none", part("c", approvalResponded, `1`), at + " wrong_type"},
		{"no id", part("c", approvalResponded, `{"approved":true}`), at + "/id required"},
		{"an id of another's", part("c", approvalResponded, `{"id":"aitxt-1","approved":true}`), at + "/id unknown_value"},
		{"another call", part("c", approvalResponded, `{"id":"slap1.t~d","approved":true}`), at + "/id unknown_value"},
		{"no word", part("c", approvalResponded, `{"id":"slap1.t~c"}`), at + "/approved required"},
		{"another word", part("c", approvalResponded, `{"id":"slap1.t~c","approved":"yes"}`), at + "/approved wrong_type"},
		{"a reason", part("c", approvalResponded, `{"id":"slap1.t~c","approved":true,"reason":1}`), at + "/reason wrong_type"},
		{"a long reason", part("c", approvalResponded, `{"id":"slap1.t~c","approved":true,"reason":"`+strings.Repeat("x", 2001)+`"}`), at + "/reason too_long"},
		{"too many", strings.Join(many, ","), "/messages too_long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := new(chat.ValidationError)
			New(Config{}).readRequest([]byte(body(user+","+assistant(test.parts), "")), e)
			var got []string
			for _, f := range e.Fields {
				got = append(got, f.Field+" "+f.Code)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A client that cannot show a question says so, and what is kept of its turn does too.
func TestClientThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for others, mute := range map[string]bool{"": false, `,"approvals":null`: false, `,"approvals":true`: false, `,"approvals":false`: true} {
		x := open(t, New(Config{}), body(user, others))
		if x.Request.Mute != mute || x.Encoder.(*encoder).mute != mute || (string(x.Facts) == `{"mute":true}`) != mute {
			t.Errorf("%s: %v %s", others, x.Request.Mute, x.Facts)
		}
	}
}

// An answer in a message that is not the last one does not count, and the reply names its call.
func TestAnswersThatArePassedOver(t *testing.T) {
	t.Parallel()
	answered := func(call string) string {
		return assistant(`{"type":"dynamic-tool","toolName":"pay","toolCallId":"` + call + `","state":"approval-responded","input":{},"approval":{"id":"slap1.` + call + `~` + call + `","approved":true}}`)
	}
	x := open(t, New(Config{}), body(user+","+answered("c1")+","+user+","+answered("c2"), ""))
	if x.Approval == nil || x.Approval.Token != "slap1.c2" || x.Header.Get(dialect.IgnoredHeader) != "c1" {
		t.Errorf("%+v, the reply names %q", x.Approval, x.Header.Get(dialect.IgnoredHeader))
	}
	if x = open(t, New(Config{}), body(user+","+answered("c1")+","+user, "")); x.Approval != nil || x.Header.Get(dialect.IgnoredHeader) != "c1" {
		t.Errorf("%+v, the reply names %q", x.Approval, x.Header.Get(dialect.IgnoredHeader))
	}
	if x = open(t, New(Config{}), body(user+","+answered("c2"), "")); x.Header.Get(dialect.IgnoredHeader) != "" {
		t.Errorf("the reply names %q", x.Header.Get(dialect.IgnoredHeader))
	}
}
