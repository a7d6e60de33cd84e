package agui_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/go-json-experiment/json"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/agui"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// open reads a request as the server does. agent is the last part of the path; empty: it has none.
func open(t *testing.T, cfg agui.Config, agent, body string, header ...string) (*dialect.Exchange, error) {
	t.Helper()
	ctx := chat.WithTurn(context.Background(), chat.Turn{RequestID: "req_1", Began: time.Unix(1_800_000_000, 0)})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/agui", nil)
	r.SetPathValue("agent", agent)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return agui.New(cfg).Routes()[1].Open(r, []byte(body))
}

// body returns a RunAgentInput with more members.
func body(more string) string {
	return `{"threadId":"t1","runId":"r1","messages":[{"id":"1","role":"user","content":"hi"}]` + more + `}`
}

func withMessages(messages string) string {
	return `{"threadId":"t1","runId":"r1","messages":[` + messages + `]}`
}

const asked = `{"id":"u","role":"user","content":"hi"}`

func TestFaults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 257)
	tests := map[string]struct{ body, want string }{
		"no object":             {`[]`, " wrong_type"},
		"broken":                {`{"threadId":`, " invalid_json"},
		"nothing":               {`{}`, "/threadId required; /runId required; /messages required"},
		"null is absent":        {`{"threadId":null,"runId":null,"messages":null}`, "/threadId required; /runId required; /messages required"},
		"a key twice":           {body(`,"runId":"r2"`), "/runId duplicate_key"},
		"not UTF-8":             {body(",\"state\":\"\xff\""), "/state invalid_utf8"},
		"half a character now":  {withMessages(asked + `,{"role":"user","content":[{"type":"text","text":"\ud800"}]},{"role":"tool","toolCallId":"x","content":"\ud800"}`), "/messages/1/content/0/text invalid_utf8"},
		"data behind it":        {body("") + "x", " trailing_data"},
		"ids of the wrong type": {`{"threadId":1,"runId":{},"messages":[` + asked + `]}`, "/threadId wrong_type; /runId wrong_type"},
		"empty ids":             {`{"threadId":"","runId":"","messages":[` + asked + `]}`, "/threadId blank; /runId blank"},
		"long ids":              {`{"threadId":"` + long + `","runId":"` + long + `","messages":[` + asked + `]}`, "/threadId too_long; /runId too_long"},
		"no messages":           {withMessages(``), "/messages required"},
		"messages, no array":    {`{"threadId":"t","runId":"r","messages":{}}`, "/messages wrong_type"},
		"the last is not theirs": {
			withMessages(asked + `,{"id":"a","role":"assistant","content":"hello"}`), "/messages required",
		},
		"a message that is none":      {withMessages(`1,` + asked), "/messages/0 wrong_type"},
		"a message without a role":    {withMessages(`{"content":"x"},` + asked), "/messages/0/role required"},
		"an unknown role":             {withMessages(`{"role":"narrator"},` + asked), "/messages/0/role unsupported"},
		"content of a wrong type":     {withMessages(`{"role":"user","content":3}`), "/messages/0/content wrong_type; /messages/0 blank"},
		"an empty input":              {withMessages(`{"role":"user","content":" "}`), "/messages/0 blank"},
		"an image now":                {withMessages(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]}`), "/messages/0/content/1 unsupported"},
		"a part without a type":       {withMessages(`{"role":"user","content":[{"text":"a"},{"type":"text","text":"b"}]}`), "/messages/0/content/0/type required"},
		"a call without a function":   {withMessages(`{"role":"assistant","toolCalls":[{"id":"c"}]},` + asked), "/messages/0/toolCalls/0/function required"},
		"a call without names":        {withMessages(`{"role":"assistant","toolCalls":[{"function":{}}]},` + asked), "/messages/0/toolCalls/0/id required; /messages/0/toolCalls/0/function/name required"},
		"a result of nothing":         {withMessages(`{"role":"tool","content":"x"},` + asked), "/messages/0/toolCallId required"},
		"a tool without a name":       {body(`,"tools":[{"description":"d"}]`), "/tools/0/name required"},
		"a tool's wrong parameters":   {body(`,"tools":[{"name":"a","parameters":[]}]`), "/tools/0/parameters wrong_type"},
		"two tools of a name":         {body(`,"tools":[{"name":"a"},{"name":"a"}]`), "/tools/1/name name_taken"},
		"context of a wrong type":     {body(`,"context":{}`), "/context wrong_type"},
		"a value of a wrong type":     {body(`,"context":[{"description":"d","value":1}]`), "/context/0/value wrong_type"},
		"forwardedProps, no object":   {body(`,"forwardedProps":"x"`), "/forwardedProps wrong_type"},
		"a forwarded field":           {body(`,"forwardedProps":{"timezone":"Mars/Base"}`), "/forwardedProps/timezone invalid_format"},
		"what needs a store":          {body(`,"forwardedProps":{"on_disconnect":"continue","task_id":"task_` + strings.Repeat("a", 26) + `"}`), "/forwardedProps/task_id not_configured; /forwardedProps/on_disconnect not_configured"},
		"an answer without a status":  {body(`,"resume":[{"interruptId":"i"}]`), "/resume/0/status required"},
		"an answer of a wrong status": {body(`,"resume":[{"interruptId":"i","status":"maybe"}]`), "/resume/0/status unknown_value"},
		"an answer without an id":     {body(`,"resume":[{"status":"cancelled"}]`), "/resume/0/interruptId required"},
		"an answer that says nothing": {body(`,"resume":[{"interruptId":"t~a","status":"resolved"},{"interruptId":"q~b","status":"resolved","payload":{"approved":"yes"}}]`),
			"/resume/0/payload/approved required; /resume/1/payload/approved wrong_type"},
		"answers to two questions":      {body(`,"resume":[{"interruptId":"a","status":"cancelled"},{"interruptId":"b","status":"cancelled"}]`), "/resume not_allowed"},
		"an answer with too many calls": {body(`,"resume":[` + strings.Repeat(`{"interruptId":"t~`+long+`","status":"cancelled"},`, 17) + `{"interruptId":"t~a","status":"cancelled"}]`), "/resume too_long"},
		"too many messages":             {withMessages(strings.Repeat(asked+",", 1000) + asked), "/messages too_long"},
		"a call without its result":     {`{"threadId":"t","runId":"r","tools":[{"name":"pick"}],"messages":[` + asked + `,{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"pick","arguments":"{}"}}]}]}`, "/messages/1 required"},
		"a server's call at the end":    {withMessages(asked + `,{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"list","arguments":"{}"}}]},{"id":"msg_abcdefghijklmn27_4","role":"tool","toolCallId":"c","content":"x"}`), "/messages required"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := open(t, agui.Config{}, "", tt.body)
			v, ok := errors.AsType[*chat.ValidationError](err)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			var got []string
			for _, f := range v.Fields {
				got = append(got, f.Field+" "+f.Code)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// What a request comes to.
func TestRequest(t *testing.T) {
	t.Parallel()
	x, err := open(t, agui.Config{}, "", `{
		"threadId": "thread 1", "runId": "r1", "parentRunId": "r0", "protocolVersion": "1.0", "state": {"a": [1]}, "unknown": 1, "resume": null,
		"tools": [{"name": "pick", "description": "Picks a colour", "parameters": {"type": "object"}}],
		"context": [{"description": "page", "value": "todos"}, {"description": "", "value": "bare"}, {}],
		"forwardedProps": {"agent": "helper", "timezone": "UTC", "locale": "de", "user_id": "ann", "input": 1, "history": 2, "approval": 3, "accumulated": 4, "heartbeat": 4, "conversation_id": 5, "mine": 6},
		"messages": [
			{"id": "s", "role": "system", "content": "Be brief."},
			{"id": "d", "role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
			{"id": "1", "role": "user", "content": [{"type": "text", "text": "look"}, {"type": "binary", "mimeType": "image/png", "data": "x"}]},
			{"id": "r", "role": "reasoning", "content": "hm"},
			{"id": "2", "role": "assistant", "toolCalls": [{"id": "c1", "type": "function", "function": {"name": "list", "arguments": "{\"a\":1}"}}]},
			{"id": "3", "role": "tool", "toolCallId": "c1", "content": "", "error": "it broke"},
			{"id": "4", "role": "assistant", "content": "It broke."},
			{"id": "5", "role": "user", "content": "a colour"},
			{"id": "6", "role": "activity", "activityType": "plan", "content": {"a": 1}},
			{"id": "7", "role": "assistant", "content": null, "toolCalls": [{"id": "c2", "type": "function", "function": {"name": "pick", "arguments": "{}"}}]},
			{"id": "8", "role": "tool", "toolCallId": "c2", "content": [{"type": "text", "text": "red"}]}
		]}`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(x.Key, "agui-") || !x.KeyMade || len(x.Keyed) == 0 {
		t.Errorf("without a store the body is not its own key: %q", x.Key)
	}
	req := x.Request
	got := map[string]any{
		"input": req.Input, "conversation": req.ConversationID, "agent": req.Agent, "user": req.UserID, "zone": req.Location.String(), "locale": req.Locale,
		"instructions": req.App.Instructions, "tool": req.App.Tools[0].Name + ": " + req.App.Tools[0].Description, "mute": req.Mute, "brings": req.HasHistory,
		"data": req.Data[0].Text, "result": req.App.Continues[1].Parts[0].Result.Text, "first": req.History[0].Parts[0].Text,
		"failed": req.History[2].Parts[0].Result.Text + " " + strconv.FormatBool(req.History[2].Parts[0].Result.IsError),
		"facts":  string(x.Facts), "mode": x.Mode,
	}
	want := map[string]any{
		"input": "a colour", "agent": "helper", "user": "ann", "zone": "UTC", "locale": "de",
		"instructions": "Be brief.\n\nBe kind.", "tool": "pick: Picks a colour", "mute": false, "brings": true,
		"data": "page: todos\nbare", "result": "red", "first": "look\n[attachment left out]", "failed": "it broke true",
		"facts": `{"threadId":"thread 1","runId":"r1"}`, "mode": dialect.Attached,
	}
	want["conversation"], _ = chat.ConversationIDOf("thread 1")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	frame := string(x.Encoder.Encode(nil, stream.Stamp{N: 1}, begun))
	if !strings.HasPrefix(frame, `data: {"type":"RUN_STARTED","threadId":"thread 1","runId":"r1"}`+"\n\n") {
		t.Errorf("the first frame is %s", frame)
	}
}

// Results are data, whatever tools the request offers.
func TestResultsAreData(t *testing.T) {
	t.Parallel()
	const thread = `{"id":"1","role":"user","content":"look"},{"id":"2","role":"assistant","toolCalls":[{"id":"c","function":{"name":"pick","arguments":"{}"}}]},{"id":"msg_3","role":"tool","toolCallId":"c","content":"red"}`
	for _, offered := range []string{"", `,"tools":[]`, `,"tools":[{"name":"other"}]`} {
		x, err := open(t, agui.Config{}, "", `{"threadId":"t","runId":"r","messages":[`+thread+`]`+offered+`}`)
		if err != nil {
			t.Fatalf("%s: %v", offered, err)
		}
		if app := x.Request.App; app == nil || len(app.Continues) != 2 || app.Continues[1].Parts[0].Result.Text != "red" {
			t.Errorf("%s: %+v", offered, app)
		}
	}
}

// Thoughts and calls in the parts of an assistant are left out.
func TestPartsOfEarlierMessages(t *testing.T) {
	t.Parallel()
	x, err := open(t, agui.Config{}, "", withMessages(`{"id":"1","role":"user","content":"a"},{"id":"2","role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"output_text","text":"b"},{"type":"tool_use"},{"type":"image"}]},`+asked))
	if err != nil {
		t.Fatal(err)
	}
	if got := x.Request.History[1].Text(); got != "b\n[attachment left out]" {
		t.Errorf("the model is shown %q", got)
	}
}

// If a tool of the page failed, the model reads both the error and the content.
func TestResultThatFailed(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"content":"why","error":"e"`: "Error: e\nwhy true", `"content":"e","error":"e"`: "e true", `"content":"","error":"e"`: "e true", `"error":"e"`: "e true", `"content":"fine","error":null`: "fine false",
	} {
		x, err := open(t, agui.Config{}, "", `{"threadId":"t","runId":"r","tools":[{"name":"pick"}],"messages":[`+asked+
			`,{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"pick","arguments":"{}"}}]},{"role":"tool","toolCallId":"c",`+members+`}]}`)
		if err != nil {
			t.Fatal(err)
		}
		r := x.Request.App.Continues[1].Parts[0].Result
		if got := r.Text + " " + strconv.FormatBool(r.IsError); got != want {
			t.Errorf("%s: %s, want %s", members, got, want)
		}
	}
}

// The context of an application has a bound, and what exceeds it is counted.
func TestContextIsBounded(t *testing.T) {
	t.Parallel()
	entry := func(n int) string {
		return `{"description":"d","value":"` + strings.Repeat("é", n-3) + `"}`
	}
	for name, tt := range map[string]struct {
		entries        string
		chars, dropped int
	}{
		"as much as there is room for": {entry(9000) + "," + entry(7000), 16_001, 0}, // and a line end
		"one too many":                 {entry(9000) + "," + entry(7000) + `,{"value":"x"}`, 16_001, 1},
		"one that is too long":         {entry(9000) + "," + entry(7001) + "," + entry(8000), 16_001, 2},
		"nothing":                      {``, 0, 0},
	} {
		x, err := open(t, agui.Config{}, "", body(`,"context":[`+tt.entries+`]`))
		if err != nil {
			t.Fatal(name, err)
		}
		text, cut := "", false
		for _, q := range x.Request.Data {
			text += q.Text
			cut = strings.Contains(q.ForModel(), "cut here")
		}
		if got := utf8.RuneCountInString(text); got != tt.chars || x.Request.Pruning.Context != tt.dropped || cut {
			t.Errorf("%s: %d code points, %d dropped, cut: %v; want %d and %d", name, got, x.Request.Pruning.Context, cut, tt.chars, tt.dropped)
		}
		if tt.dropped == 2 && !strings.HasSuffix(text, "é […]") {
			t.Errorf("%s: it ends with %q", name, text[len(text)-20:])
		}
	}
}

// A quote of many short lines is shown whole all the same.
func TestContextOfManyLinesIsShownWhole(t *testing.T) {
	t.Parallel()
	x, err := open(t, agui.Config{}, "", body(`,"context":[{"value":"`+strings.Repeat(`é\n`, 7999)+`é!"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if shown := x.Request.Data[0].ForModel(); !strings.HasSuffix(shown, "> é!\n") {
		t.Errorf("it ends with %q", shown[len(shown)-80:])
	}
}

func team() agui.Config {
	return agui.Config{Agents: func(string) (agents, workflows []string) { return []string{"helper", "other"}, []string{"report"} }}
}

func TestAgentOfThePath(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg                          agui.Config
		path, props, agent, workflow string
		found                        bool
	}{
		"none":                 {team(), "", ``, "", "", true},
		"the body's":           {team(), "", `"agent":"helper"`, "helper", "", true},
		"an agent":             {team(), "other", ``, "other", "", true},
		"a workflow":           {team(), "report", ``, "", "report", true},
		"over the body's":      {team(), "other", `"agent":"helper"`, "other", "", true},
		"over the body's flow": {team(), "other", `"workflow":"report"`, "other", "", true},
		"a flow over an agent": {team(), "report", `"agent":"helper"`, "", "report", true},
		"unknown":              {team(), "nobody", ``, "", "", false},
		"there are none":       {agui.Config{}, "helper", ``, "", "", false},
	} {
		x, err := open(t, tt.cfg, tt.path, body(`,"forwardedProps":{`+tt.props+`}`))
		if !tt.found {
			if f := fault.From(err); err == nil || f.Type != fault.NotFound {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || x.Request.Agent != tt.agent || x.Request.Workflow != tt.workflow {
			t.Errorf("%s: %v, %+v", name, err, x)
		}
	}
}

func TestMode(t *testing.T) {
	t.Parallel()
	cfg := team()
	cfg.Rules.Stored = true
	for name, tt := range map[string]struct {
		path, props string
		want        dialect.Mode
	}{
		"leaving is the stop button": {"", ``, dialect.Attached},
		"unless it says otherwise":   {"", `"on_disconnect":"continue"`, dialect.Detached},
		"a workflow goes on":         {"report", ``, dialect.Detached},
		"unless the body says it":    {"report", `"on_disconnect":"cancel"`, dialect.Attached},
	} {
		x, err := open(t, cfg, tt.path, body(`,"forwardedProps":{`+tt.props+`}`))
		if err != nil || x.Mode != tt.want {
			t.Errorf("%s: %v, %+v", name, err, x)
		}
	}
}

// With a store a body is its own key, but for a client that brings one.
func TestKey(t *testing.T) {
	t.Parallel()
	cfg := team()
	cfg.Rules.Stored = true
	keyOf := func(path, body string, header ...string) *dialect.Exchange {
		x, err := open(t, cfg, path, body, header...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	own := keyOf("", body(""))
	if !own.KeyMade || !chat.Token(own.Key, 8, 128) || string(own.Keyed) != body("") {
		t.Errorf("a body without a key: %+v", own)
	}
	if again := keyOf("", body("")); again.Key != own.Key {
		t.Error("the same body has another key")
	}
	if keyOf("other", body("")).Key == own.Key || keyOf("", body(`,"state":1`)).Key == own.Key {
		t.Error("another path or body has the same key")
	}
	if given := keyOf("", body(""), "Idempotency-Key", "my-own-key"); given.Key != "my-own-key" || given.KeyMade || given.Keyed != nil {
		t.Errorf("a client's own key: %+v", given)
	}
	_, err := open(t, cfg, "", `{}`, "Idempotency-Key", "short")
	if v, ok := errors.AsType[*chat.ValidationError](err); !ok || len(v.Fields) != 4 {
		t.Errorf("faults of key and body: %v", err)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	routes := agui.New(agui.Config{}).Routes()
	for _, r := range routes {
		reply := r.Refuse(dialect.Refusal{
			Fault: &fault.Error{Type: fault.NotFound, Message: "No"}, Status: http.StatusNotFound, RequestID: "req_1", Fields: []chat.FieldError{{Field: "/a", Code: "b", Message: "c"}},
		})
		var p struct {
			ErrorType string            `json:"error_type"`
			Detail    string            `json:"detail"`
			Errors    []chat.FieldError `json:"errors"`
		}
		if err := json.Unmarshal(reply.Body, &p); err != nil || p.ErrorType != "not_found" || p.Detail != "No" || len(p.Errors) != 1 {
			t.Errorf("%s: %v %s", r.Path, err, reply.Body)
		}
		if reply.ContentType != "application/json" || reply.Status != http.StatusNotFound {
			t.Errorf("%s: %d %s", r.Path, reply.Status, reply.ContentType)
		}
	}
	if len(routes) != 2 || routes[0].Path != "/agui" || routes[1].Path != "/agui/{agent}" || routes[0].Name() != "ag_ui" {
		t.Errorf("routes: %+v", routes)
	}
}
