package aisdk

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

const user = `{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}`

// body is a request of these messages, with other members.
func body(messages, others string) string {
	return `{"id":"abc","trigger":"submit-message","messageId":null,"messages":[` + messages + `]` + others + `}`
}

// assistant is a message of the assistant.
func assistant(parts string) string { return `{"id":"m2","role":"assistant","parts":[` + parts + `]}` }

const tools = `,"tools":[{"type":"function","function":{"name":"pick","description":"d","parameters":{"type":"object"}}}]`

// said is how a message is written down here.
func said(messages []chat.ClientMessage) (all []string) {
	for _, m := range messages {
		line := []string{"user", "assistant", "system", "tool"}[m.Speaker] + " " + m.At + " " + m.Text
		for _, c := range m.Calls {
			line += fmt.Sprintf(" call(%s %s %s)", c.ID, c.Name, c.Arguments)
		}
		if m.Speaker == chat.SpeakerTool {
			line += fmt.Sprintf("result(%s %s %v)", m.Result.ID, m.Result.Text, m.Result.IsError)
		}
		all = append(all, line)
	}
	return all
}

func TestMessages(t *testing.T) {
	t.Parallel()
	const (
		text = `{"type":"text","text":"t","state":"done"}`
		step = `{"type":"step-start"}`
		ours = `{"type":"dynamic-tool","toolName":"list","toolCallId":"c1","state":"output-available","input":{"a":1},"output":"out","providerExecuted":true}`
		own  = `{"type":"tool-pick","toolCallId":"c2","state":"output-available","input":{},"output":{"x":[1]}}`
	)
	tests := []struct {
		name, messages string
		want           []string
	}{
		{"texts of a user", `{"role":"user","parts":[` + text + `,{"type":"data-x","data":1},` + text + `]}`, []string{"user /messages/0 t\nt"}},
		{"a system's", `{"role":"system","parts":[` + text + `]},` + user, []string{"system /messages/0 t", "user /messages/1 hi"}},
		{"a file of before", `{"role":"user","parts":[{"type":"file","mediaType":"image/png","url":"data:,"}]},` + user, []string{"user /messages/0 [attachment left out]", "user /messages/1 hi"}},
		{"steps", assistant(step + `,{"type":"reasoning","text":"hm"},` + text + `,` + ours + `,` + step + `,` + text),
			[]string{`assistant /messages/0 t call(c1 list {"a":1})`, "tool /messages/0 result(c1 out false)", "assistant /messages/0 t"}},
		{"text behind a result, without steps", assistant(ours + `,` + text), []string{`assistant /messages/0  call(c1 list {"a":1})`, "tool /messages/0 result(c1 out false)", "assistant /messages/0 t"}},
		{"text behind a call of the client's tool", assistant(own + `,` + text), []string{`assistant /messages/0 t call(c2 pick {})`, `tool /messages/0 result(c2 {"x":[1]} false)`}},
		{"two calls of a step", assistant(ours + `,` + own), []string{`assistant /messages/0  call(c1 list {"a":1}) call(c2 pick {})`, "tool /messages/0 result(c1 out false)", `tool /messages/0 result(c2 {"x":[1]} false)`}},
		{"a failure", assistant(`{"type":"tool-pick","toolCallId":"c2","state":"output-error","rawInput":"x","errorText":"no"}`), []string{"assistant /messages/0  call(c2 pick null)", "tool /messages/0 result(c2 no true)"}},
		{"a call of the client's without a result", assistant(`{"type":"tool-pick","toolCallId":"c2","state":"input-available","input":{}}`), []string{"assistant /messages/0  call(c2 pick {})"}},
		{"one of the server's", assistant(text + `,{"type":"dynamic-tool","toolName":"list","toolCallId":"c1","state":"input-streaming"}`), []string{"assistant /messages/0 t"}},
		{"one that says so", assistant(`{"type":"tool-pick","toolCallId":"c1","state":"input-available","input":{},"providerExecuted":true}`), []string{"assistant /messages/0 "}},
		{"nothing", assistant(step), []string{"assistant /messages/0 "}},
		{"what is for the page, and what is not known", assistant(`{"type":"source-url","sourceId":"s","url":"u"},{"type":"data-x","data":1},{"type":"new"},{"type":"file","url":"u","mediaType":"m"}`), []string{"assistant /messages/0 [attachment left out]"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := new(chat.ValidationError)
			r := &reader{e: e, offered: map[string]bool{"pick": true}}
			got, ends := r.readMessages([]byte("[" + test.messages + "]"))
			if diff := cmp.Diff(test.want, said(got)); diff != "" || len(e.Fields) > 0 {
				t.Errorf("%s %v", diff, e.Fields)
			}
			if want := strings.HasPrefix(test.messages, `{"id":"m2"`); ends != want {
				t.Errorf("ends with the assistant: %v", ends)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(user+",", chat.MaxMessages+1), ",")
	tests := []struct{ name, body, want string }{
		{"broken", `{`, " invalid_json"},
		{"no object", `[]`, " wrong_type"},
		{"twice", `{"id":"a","id":"b","messages":[` + user + `]}`, "/id duplicate_key"},
		{"twice inside", body(`{"role":"user","role":"user","parts":[]}`, ""), "/messages/0 duplicate_key"},
		{"no messages", `{"id":"a"}`, "/messages required"},
		{"none", body("", ""), "/messages required"},
		{"too many", body(many, ""), "/messages too_long"},
		{"no array", `{"messages":{}}`, "/messages wrong_type"},
		{"no message", body(`1`, ""), "/messages/0 wrong_type"},
		{"null", body(`null,`+user, ""), "/messages/0 required"},
		{"no role", body(`{"parts":[]},`+user, ""), "/messages/0/role required"},
		{"a role", body(`{"role":"tool","parts":[]},`+user, ""), "/messages/0/role unsupported"},
		{"no parts", body(`{"role":"user","content":"hi"}`, ""), "/messages/0/parts required"},
		{"a part without a type", body(`{"role":"user","parts":[{"text":"x"}]}`, ""), "/messages/0/parts/0/type required"},
		{"a text that is none", body(`{"role":"user","parts":[{"type":"text","text":1}]}`, ""), "/messages/0/parts/0/text wrong_type"},
		{"a file now", body(`{"role":"user","parts":[{"type":"file","url":"u","mediaType":"m"}]}`, ""), "/messages/0/parts/0 unsupported"},
		{"something new now", body(`{"role":"user","parts":[{"type":"text","text":"x"},{"type":"new"}]}`, ""), "/messages/0/parts/1 unsupported"},
		{"blank", body(`{"role":"user","parts":[]}`, ""), "/messages/0 blank"},
		{"the assistant's", body(user+","+assistant(`{"type":"text","text":"x"}`), ""), "/messages required"},
		{"a call without an id", body(user+","+assistant(`{"type":"tool-pick","state":"output-available","output":1}`)+","+user, ""), "/messages/1/parts/0/toolCallId required"},
		{"a call without a state", body(user+","+assistant(`{"type":"tool-pick","toolCallId":"c"}`)+","+user, ""), "/messages/1/parts/0/state required"},
		{"a call that waits", body(user+","+assistant(`{"type":"tool-pick","toolCallId":"c","state":"input-available","input":{}}`), tools), "/messages/1 required"},
		{"an id", `{"id":1,"messages":[` + user + `]}`, "/id wrong_type"},
		{"a long id", `{"id":"` + strings.Repeat("x", 513) + `","messages":[` + user + `]}`, "/id too_long"},
		{"approvals", body(user, `,"approvals":"no"`), "/approvals wrong_type"},
		{"no tools", body(user, `,"tools":{}`), "/tools wrong_type"},
		{"no tool", body(user, `,"tools":[1]`), "/tools/0 wrong_type"},
		{"a tool of another type", body(user, `,"tools":[{"type":"web"}]`), "/tools/0/type unsupported"},
		{"a tool without a function", body(user, `,"tools":[{"type":"function"}]`), "/tools/0/function required"},
		{"a tool's name", body(user, `,"tools":[{"type":"function","function":{"name":"a b"}}]`), "/tools/0/function/name invalid_format"},
		{"a native field", body(user, `,"timezone":"Mars"`), "/timezone invalid_format"},
		{"what needs a store", body(user, `,"on_disconnect":"continue","task_id":"task_01k0000000000000000000000a"`), "/task_id not_configured /on_disconnect not_configured"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := new(chat.ValidationError)
			New(Config{}).readRequest([]byte(test.body), e)
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

// open asks a server as the gateway does.
func open(t *testing.T, s *Server, body string) *dialect.Exchange {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, nil)
	r = r.WithContext(chat.WithTurn(r.Context(), chat.Turn{RequestID: requestID, Began: began}))
	x, err := s.Routes()[0].Open(r, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestRequest(t *testing.T) {
	t.Parallel()
	x := open(t, New(Config{}), body(user+","+assistant(`{"type":"text","text":"yes?"}`)+","+user, `,"user_id":"u","agent":"a","context":{"page":"p"},"input":1,"history":1,"approval":1,"accumulated":1,"heartbeat":1,"other":1`))
	req := x.Request
	if req.Input != "hi" || req.ConversationID != "conv_abc" || req.UserID != "u" || req.Agent != "a" || len(req.Context) != 1 || req.Mute || x.Approval != nil || !req.HasHistory || len(req.History) != 2 || req.App != nil {
		t.Errorf("%+v", req)
	}
	if x.Mode != dialect.Attached || x.Header.Get("x-vercel-ai-ui-message-stream") != "v1" || x.Facts != nil || x.Accumulated {
		t.Errorf("%+v", x)
	}
	if x := open(t, New(Config{}), `{"conversation_id":"conv_own","messages":[`+user+`]}`); x.Request.ConversationID != "conv_own" {
		t.Errorf("without an id the conversation is %q", x.Request.ConversationID)
	}
}

// What answers calls of the client's tools goes on with the last message.
func TestResultsOfTheClientsTools(t *testing.T) {
	t.Parallel()
	x := open(t, New(Config{}), body(user+","+assistant(`{"type":"tool-pick","toolCallId":"c","state":"output-available","input":{"n":1},"output":"red"}`), tools))
	app := x.Request.App
	if x.Request.Input != "hi" || app == nil || len(app.Tools) != 1 || len(app.Continues) != 2 || string(x.Facts) != `{"continues":true}` || !x.Encoder.(*encoder).continues {
		t.Fatalf("%+v", x.Request)
	}
	want := []chat.Part{{Result: &tool.Result{ID: "c", Name: "pick", Text: "red"}}}
	if diff := cmp.Diff(want, app.Continues[1].Parts); diff != "" {
		t.Error(diff)
	}
}

// Results are data, whatever tools the request offers. Those of calls that the gateway has run
// do not continue a turn.
func TestResultsAreData(t *testing.T) {
	t.Parallel()
	for _, offered := range []string{"", `,"tools":[]`, `,"tools":[{"type":"function","function":{"name":"other"}}]`} {
		for _, part := range []string{`"type":"tool-pick"`, `"type":"dynamic-tool","toolName":"pick"`} {
			messages := user + "," + assistant(`{`+part+`,"toolCallId":"c","state":"output-available","input":{},"output":"red"}`)
			app := open(t, New(Config{}), body(messages, offered)).Request.App
			if app == nil || len(app.Continues) != 2 || app.Continues[1].Parts[0].Result.Text != "red" {
				t.Errorf("%s with %s: %+v", part, offered, app)
			}
			e := new(chat.ValidationError)
			New(Config{}).readRequest([]byte(strings.Replace(body(messages, offered), `"input"`, `"providerExecuted":true,"input"`, 1)), e)
			if len(e.Fields) != 1 || e.Fields[0].Code != chat.CodeRequired {
				t.Errorf("a call of the gateway continues the turn: %+v", e.Fields)
			}
		}
	}
}

// A message of the client's may be several of ours: those do not count.
func TestMessagesAreCountedAsTheClientDoes(t *testing.T) {
	t.Parallel()
	steps := strings.TrimSuffix(strings.Repeat(`{"type":"step-start"},{"type":"text","text":"x"},`, chat.MaxMessages), ",")
	open(t, New(Config{}), body(user+","+assistant(steps)+","+user, ""))
}

// Leaving ends the turn, unless the client or the kind of the turn says otherwise.
func TestModes(t *testing.T) {
	t.Parallel()
	s := New(Config{Rules: dialect.Rules{Stored: true}})
	for others, want := range map[string]dialect.Mode{
		"": dialect.Attached, `,"on_disconnect":"cancel"`: dialect.Attached, `,"on_disconnect":"continue"`: dialect.Detached,
		`,"workflow":"w"`: dialect.Detached, `,"workflow":"w","on_disconnect":"cancel"`: dialect.Attached,
	} {
		if got := open(t, s, body(user, others)).Mode; got != want {
			t.Errorf("%s: got %v, want %v", others, got, want)
		}
	}
	if x := open(t, s, body(user, `,"task_id":"task_01k0000000000000000000000a"`)); x.TaskID == "" {
		t.Error("the task is lost")
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, path, nil)
	r.Header.Set("Idempotency-Key", "key-12345")
	if x, err := New(Config{}).openChat(r, []byte(body(user, ""))); err != nil || x.Key != "key-12345" {
		t.Errorf("%v %v", x, err)
	}
	r.Header.Set("Idempotency-Key", "!")
	if _, err := New(Config{}).openChat(r, []byte(body(user, ""))); err == nil {
		t.Error("a key of another form counts")
	}
}

// Pages show the whole body of a refusal.
func TestRefuse(t *testing.T) {
	t.Parallel()
	got := refuse(dialect.Refusal{Fault: &fault.Error{Type: fault.Overloaded, Message: "Too much is going on"}, Status: 503, RequestID: requestID})
	want := dialect.Reply{
		Status: 503, ContentType: "text/plain; charset=utf-8", Header: http.Header{"X-Error-Type": {"overloaded"}},
		Body: []byte("Too much is going on (req_0123456789ab)"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// No body makes the server fail, and what passes has an input.
func FuzzBody(f *testing.F) {
	f.Add(body(user, tools))
	f.Add(body(user+","+assistant(`{"type":"tool-pick","toolCallId":"c","state":"output-available","input":{"n":1},"output":"red"}`), tools))
	f.Add(body(user+","+assistant(`{"type":"step-start"},{"type":"dynamic-tool","toolName":"x","toolCallId":"c","state":"output-error"}`)+","+user, `,"agent":"\ud800"`))
	f.Add(body(user+","+assistant(`{"type":"dynamic-tool","toolName":"x","toolCallId":"c","state":"approval-responded","approval":{"id":"t~c","approved":true,"reason":"r"}}`), `,"approvals":true`))
	f.Add(`{"messages":[{"role":"system","parts":[null,1,"x",[]]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		e := new(chat.ValidationError)
		q := New(Config{}).readRequest([]byte(body), e)
		if len(e.Fields) > 0 {
			return
		}
		if q.answer != nil {
			if q.answer.Token == "" || len(q.answer.Calls) == 0 || q.request.Input != "" {
				t.Errorf("%q became %+v", body, q.answer)
			}
			return
		}
		if strings.TrimSpace(q.request.Input) == "" || !q.request.HasHistory || q.request.Mute != q.facts.Mute {
			t.Errorf("%q became %+v", body, q.request)
		}
		if app := q.request.App; q.facts.Continues != (app != nil && len(app.Continues) > 0) {
			t.Errorf("%q: continues %v", body, q.facts.Continues)
		}
	})
}
