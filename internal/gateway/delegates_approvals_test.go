package gateway

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A firm is an office in which several may change things.
const firmFile = `
agents:
  boss: {description: Leads, role: You are boss., tools: [todo], delegates: [researcher, writer]}
  researcher: {description: Finds things out, role: You are researcher., tools: [todo], delegates: [writer]}
  writer: {description: Writes, role: You are writer., tools: [todo]}
workflows:
  flow: {entry_point: one, nodes: {one: {type: agent, agent: boss}}}
`

// asksAll is what a person is asked by an office.
type asksAll struct {
	Token string `json:"token"`
	Task  string `json:"task_id"`
	Calls []struct {
		ID     string         `json:"call_id"`
		Tool   string         `json:"tool_name"`
		Agent  string         `json:"agent_id"`
		Args   map[string]any `json:"arguments"`
		Reason string         `json:"reason"`
	} `json:"calls"`
}

// pauses sends a turn that ends with one question.
func (o *office) pauses(body string) (q asksAll, stream string) {
	o.t.Helper()
	status, stream := o.post(body)
	if status != http.StatusOK || strings.Count(stream, "event: approval\n") != 1 || !strings.Contains(stream, `"finish_reason":"approval_required"`) {
		o.t.Fatalf("not one question: %d %s", status, stream)
	}
	dataOf(o.t, stream, "approval", &q)
	return q, stream
}

// answers sends an answer; the turn ends well.
func (o *office) answers(q asksAll, members string) (done doneData, stream string) {
	o.t.Helper()
	status, stream := o.post(fmt.Sprintf(`{"approval":{"token":%q,%s}}`, q.Token, members))
	if status != http.StatusOK {
		o.t.Fatalf("%d %s", status, stream)
	}
	if dataOf(o.t, stream, "done", &done); !done.Success {
		o.t.Errorf("%+v\n%s", done, stream)
	}
	return done, stream
}

// ran returns which tools of a server ran in some streams, in order, with how each ended.
func ran(t *testing.T, server string, streams ...string) (list []string) {
	for _, s := range streams {
		for _, c := range toldOf(t, s, "tool_call") {
			if c["server"] == server && c["status"] != "in_progress" && c["error_type"] != "approval_rejected" {
				list = append(list, fmt.Sprint(c["tool_name"], " ", c["status"], " ", c["agent_id"]))
			}
		}
	}
	return list
}

// places are where turns pause: in a token, or in a store; of a team and of a workflow.
func places(t *testing.T, test func(t *testing.T, env map[string]string, who string)) {
	t.Parallel()
	for _, p := range []struct{ name, store, who string }{
		{"team, token", "none", `"agent":"boss"`}, {"team, store", "memory", `"agent":"boss"`}, {"workflow, store", "memory", `"workflow":"flow"`},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, map[string]string{"SLUICE_STORE": p.store, "SLUICE_CONFIRM": "writes"}, p.who)
		})
	}
}

// A call of a delegate's that a person must allow pauses the whole turn. When it is
// allowed everything goes on from there: nobody is asked, or runs, a second time, and all
// models are sent what they would have been sent without the pause.
func TestDelegatePausesTheTurn(t *testing.T) {
	places(t, func(t *testing.T, env map[string]string, who string) {
		scripts := map[string][]string{
			"boss":       {callPart("list_todos", `{}`) + "," + callPart("delegate_to_researcher", `{"task":"Note it"}`), textPart("All done.")},
			"researcher": {textPart("First I look.") + "," + callPart("list_todos", `{}`), callPart("create_todo", `{"title":"eggs"}`), textPart("NOTED")},
		}
		o := openOfficeOf(t, firmFile, env, scripts)
		q, first := o.pauses(`{"input":"go",` + who + `}`)
		if len(q.Calls) != 1 || q.Calls[0].Tool != "create_todo" || q.Calls[0].Agent != "researcher" || q.Calls[0].Args["title"] != "eggs" || q.Calls[0].Reason != "writes" {
			t.Fatalf("asked %+v", q)
		}
		if got := ran(t, "todo", first); !slices.Equal(got, []string{"list_todos completed boss", "list_todos completed researcher"}) &&
			!slices.Equal(got, []string{"list_todos completed researcher", "list_todos completed boss"}) {
			t.Errorf("ran %v before the answer", got)
		}
		done, second := o.answers(q, `"action":"approve"`)
		if done.Output != "All done." {
			t.Errorf("%+v", done)
		}
		if got := ran(t, "todo", second); !slices.Equal(got, []string{"create_todo completed researcher"}) {
			t.Errorf("ran %v after the answer:\n%s", got, second)
		}
		if strings.Contains(second, `"delta":"First I look`) || !strings.Contains(o.lastOf("boss"), "First I look.\\n\\nNOTED") {
			t.Errorf("boss was told\n%s\n%s", o.lastOf("boss"), second)
		}
		var sessions []any
		for _, a := range append(toldOf(t, first, "agent"), toldOf(t, second, "agent")...) {
			if a["role"] == "delegate" {
				sessions = append(sessions, a["session_id"])
			}
		}
		if len(sessions) != 4 || sessions[0] != sessions[3] {
			t.Errorf("sessions %v", sessions)
		}
		if of := toldOf(t, second, "tool_call")[0]; of["tool_name"] != "delegate_to_researcher" || !strings.Contains(first, fmt.Sprintf(`"call_id":%q`, of["call_id"])) {
			t.Errorf("the call of the delegate goes on as %v", of)
		}
		straight := openOfficeOf(t, firmFile, map[string]string{"SLUICE_STORE": env["SLUICE_STORE"]}, scripts)
		if status, body := straight.post(`{"input":"go",` + who + `}`); status != http.StatusOK || !strings.Contains(body, "All done.") {
			t.Fatalf("%d %s", status, body)
		}
		for name := range scripts {
			if len(o.asked[name]) != len(straight.asked[name]) {
				t.Fatalf("%s was asked %d times, without a pause %d times", name, len(o.asked[name]), len(straight.asked[name]))
			}
			for i := range o.asked[name] {
				if got, want := withoutIDs(o.asked[name][i]), withoutIDs(straight.asked[name][i]); got != want {
					t.Errorf("%s was sent\n%s\nwithout a pause\n%s", name, got, want)
				}
			}
		}
		if status, body := o.post(fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"}}`, q.Token)); status != http.StatusConflict {
			t.Errorf("a second answer: %d %s", status, body)
		}
	})
}

// withoutIDs makes equal what chance decides: the ids and times of todos.
func withoutIDs(body string) string {
	for _, name := range []string{`\"id\":\"`, `\"created_at\":\"`} {
		for {
			head, rest, ok := strings.Cut(body, name)
			_, tail, closed := strings.Cut(rest, `\"`)
			if !ok || !closed {
				break
			}
			body = head + tail
		}
	}
	return body
}

// Agents that work side by side, one of them a delegate's delegate, and their caller ask
// once; each call has its own answer.
func TestDelegatesAskOnce(t *testing.T) {
	places(t, func(t *testing.T, env map[string]string, who string) {
		o := openOfficeOf(t, firmFile, env, map[string][]string{
			"boss": {callPart("delegate_to_researcher", `{"task":"a"}`) + "," + callPart("delegate_to_writer", `{"task":"b"}`) + "," +
				callPart("create_todo", `{"title":"of boss"}`), textPart("ok")},
			"researcher": {callPart("delegate_to_writer", `{"task":"deep"}`), textPart("R")},
			"writer":     {callPart("create_todo", `{"title":"of writer"}`), callPart("create_todo", `{"title":"of writer"}`), textPart("W")},
		})
		q, first := o.pauses(`{"input":"go",` + who + `}`)
		var agents []string
		for _, c := range q.Calls {
			agents = append(agents, c.Agent)
		}
		if slices.Sort(agents); !slices.Equal(agents, []string{"boss", "writer", "writer"}) || len(ran(t, "todo", first)) > 0 {
			t.Fatalf("asked %v\n%s", agents, first)
		}
		if status, body := o.post(fmt.Sprintf(`{"approval":{"token":%q,"calls":[{"call_id":%q,"action":"approve"}]}}`, q.Token, q.Calls[0].ID)); status != http.StatusUnprocessableEntity {
			t.Errorf("one decision of three: %d %s", status, body)
		}
		var calls []string
		for i, c := range q.Calls {
			calls = append(calls, fmt.Sprintf(`{"call_id":%q,%s}`, c.ID, []string{`"action":"approve"`, `"action":"modify","arguments":{"title":"changed"}`, `"action":"reject","message":"Not this"`}[i]))
		}
		done, second := o.answers(q, `"calls":[`+strings.Join(calls, ",")+`]`)
		if done.Output != "ok" {
			t.Errorf("%+v\n%s", done, second)
		}
		if got := ran(t, "todo", second); len(got) != 2 {
			t.Errorf("ran %v\n%s", got, second)
		}
		if len(o.asked["boss"]) != 2 || len(o.asked["researcher"]) != 2 || len(o.asked["writer"]) != 4 {
			t.Errorf("asked boss %d, researcher %d, writer %d times", len(o.asked["boss"]), len(o.asked["researcher"]), len(o.asked["writer"]))
		}
		told := o.lastOf("boss") + strings.Join(o.asked["writer"], "")
		if !strings.Contains(told, "Not this") || !strings.Contains(told, "The user changed the arguments") {
			t.Errorf("nobody was told of the decisions:\n%s", told)
		}
	})
}

// noise is text that cannot be packed.
func noise(n int) string {
	r := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, n/2)
	_, _ = r.Read(raw)
	return hex.EncodeToString(raw)
}

// Where nobody can be asked, at any depth, those who want the calls are told so, and the turn goes
// on in the same stream: no id of a call begins twice in it.
func TestNobodyIsAskedForDelegates(t *testing.T) {
	t.Parallel()
	scripts := func(words string) map[string][]string {
		return map[string][]string{
			"boss":       {callPart("delegate_to_researcher", `{"task":"a"}`) + "," + callPart("create_todo", `{"title":"of boss"}`), textPart("ok")},
			"researcher": {textPart(words) + "," + callPart("delegate_to_writer", `{"task":"deep"}`), textPart("R")},
			"writer":     {callPart("create_todo", `{"title":"of writer"}`), textPart("NOT DONE")},
		}
	}
	chatkit := `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"go"}],"quoted_text":"","attachments":[],"inference_options":{}}}}`
	for _, tt := range []struct{ name, path, body, words, want string }{
		{"a client that cannot show a question", "/chatkit", chatkit, "x", "this client cannot ask for that"},
		{"a workflow without a store", "/chat/stream", `{"input":"go","workflow":"flow"}`, "x", "this client cannot ask for that"},
		{"a turn too long for a token", "/chat/stream", `{"input":"go","agent":"boss"}`, noise(150_000), "too long to wait for that"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := openOfficeOf(t, firmFile+"router: \"off\"\n", map[string]string{"SLUICE_STORE": "none", "SLUICE_CONFIRM": "writes"}, scripts(tt.words))
			status, stream := o.postTo(tt.path, tt.body)
			if status != http.StatusOK || strings.Contains(stream, "event: approval") || !strings.Contains(stream, "ok") {
				t.Fatalf("%d %.2000s", status, stream)
			}
			for _, who := range []string{"boss", "writer"} {
				if got := o.lastOf(who); !strings.Contains(got, tt.want) {
					t.Errorf("%s was told\n%.3000s", who, got)
				}
			}
			if len(o.asked["boss"]) != 2 || len(o.asked["researcher"]) < 2 || len(o.asked["writer"]) != 2 || len(ran(t, "todo", stream)) > 0 {
				t.Errorf("asked boss %d, researcher %d, writer %d times; ran %v", len(o.asked["boss"]), len(o.asked["researcher"]), len(o.asked["writer"]), ran(t, "todo", stream))
			}
			begun := map[any]int{}
			for _, c := range toldOf(t, stream, "tool_call") {
				if c["status"] == "in_progress" {
					begun[c["call_id"]]++
				}
			}
			for id, n := range begun {
				if n != 1 {
					t.Errorf("call %v begins %d times", id, n)
				}
			}
		})
	}
}

// A delegate whose model was replaced by another one goes on with that one, as it would
// have done without the pause.
func TestDelegateGoesOnWithItsModel(t *testing.T) {
	t.Parallel()
	const models = `
models:
  default: {provider: gemini, model: gemini-2.5-flash, endpoint: "http://gemini/v1beta", retries: 0, fallback: [spare]}
  spare: {provider: gemini, model: gemini-2.5-pro, endpoint: "http://gemini/v1beta"}
`
	for _, store := range []string{"none", "memory"} {
		o := openOfficeOf(t, models+firmFile, map[string]string{"SLUICE_STORE": store, "SLUICE_CONFIRM": "writes"}, map[string][]string{
			"boss":       {callPart("delegate_to_researcher", `{"task":"a"}`), textPart("ok")},
			"researcher": {callPart("create_todo", `{"title":"eggs"}`), textPart("R")},
		})
		o.fails = func(path, who string) bool { return who == "researcher" && strings.Contains(path, "flash") }
		q, first := o.pauses(`{"input":"go","agent":"boss"}`)
		if !strings.Contains(first, "event: model\n") {
			t.Fatalf("no fallback:\n%s", first)
		}
		done, second := o.answers(q, `"action":"approve"`)
		if done.Output != "ok" || len(ran(t, "todo", second)) != 1 || strings.Contains(second, "event: model\n") {
			t.Errorf("%+v\n%s", done, second)
		}
	}
}

// Two gateways that share a key: what one has paused the other goes on with, delegates
// within. At a third one, that has another file, it cannot.
func TestDelegatesGoOnElsewhere(t *testing.T) {
	t.Parallel()
	scripts := map[string][]string{
		"boss":       {callPart("delegate_to_researcher", `{"task":"a"}`), textPart("ok")},
		"researcher": {callPart("delegate_to_writer", `{"task":"deep"}`), textPart("R")},
		"writer":     {callPart("create_todo", `{"title":"of writer"}`), textPart("W")},
	}
	env := map[string]string{"SLUICE_STORE": "none", "SLUICE_CONFIRM": "writes", "SLUICE_APPROVAL_KEY": approvalKey}
	one, two := openOfficeOf(t, firmFile, env, scripts), openOfficeOf(t, firmFile, env, scripts)
	q, _ := one.pauses(`{"input":"go","agent":"boss"}`)
	for _, agent := range []string{"boss", "researcher", "writer"} {
		two.asked[agent] = []string{""} // its model goes on where that of the other one was
	}
	done, stream := two.answers(q, `"action":"approve"`)
	if done.Output != "ok" || !slices.Equal(ran(t, "todo", stream), []string{"create_todo completed writer"}) {
		t.Errorf("%+v\n%s", done, stream)
	}
	other := openOfficeOf(t, strings.ReplaceAll(firmFile, "delegates: [writer]", "max_steps: 5"), env, scripts)
	for _, agent := range []string{"boss", "researcher", "writer"} {
		other.asked[agent] = []string{""}
	}
	if done, stream := other.answers(q, `"action":"approve"`); done.Output != "ok" || len(ran(t, "todo", stream)) != 0 {
		t.Errorf("without the delegate: %+v\n%s", done, stream)
	}
}

// What is not allowed is not allowed to anybody in the turn, and sessions count over a
// pause.
func TestDecisionsAndCountsGoOn(t *testing.T) {
	places(t, func(t *testing.T, env map[string]string, who string) {
		var many []string
		for i := range 8 {
			many = append(many, callPart("delegate_to_writer", fmt.Sprintf(`{"task":"%d"}`, i)))
		}
		eight := strings.Join(many, ",")
		more := strings.ReplaceAll(eight, `"task":"`, `"task":"again `)
		o := openOfficeOf(t, firmFile, env, map[string][]string{
			"boss":       {callPart("delegate_to_researcher", `{"task":"a"}`), callPart("create_todo", `{"title":"same"}`) + "," + callPart("list_todos", `{}`), eight, more, strings.ReplaceAll(more, "again", "third"), textPart("ok")},
			"researcher": {callPart("create_todo", `{"title":"same"}`), textPart("R")},
			"writer":     {textPart("W")},
		})
		q, _ := o.pauses(`{"input":"go",` + who + `}`)
		done, stream := o.answers(q, `"action":"reject"`)
		if done.Output != "ok" || strings.Contains(stream, `"tool_name":"create_todo","server":"todo","arguments":{"title":"same"},"status":"completed"`) {
			t.Errorf("%+v\n%.3000s", done, stream)
		}
		if n := len(o.asked["writer"]); n != 19 {
			t.Errorf("%d sessions of the writer, with that of the researcher before the pause %d", n, n+1)
		}
	})
}

// A turn may pause again, in one of its delegates alone: what has ended meanwhile, or was
// refused, does not run again.
func TestDelegatesPauseAgain(t *testing.T) {
	places(t, func(t *testing.T, env map[string]string, who string) {
		o := openOfficeOf(t, firmFile, env, map[string][]string{
			"boss":       {callPart("delegate_to_researcher", `{"task":"a"}`) + "," + callPart("delegate_to_writer", `{"task":"b"}`) + "," + callPart("create_todo", `{"title":"D"}`), textPart("ok")},
			"researcher": {callPart("create_todo", `{"title":"A"}`), callPart("create_todo", `{"title":"B"}`), textPart("R")},
			"writer":     {callPart("create_todo", `{"title":"C"}`), textPart("W")},
		})
		q, _ := o.pauses(`{"input":"go",` + who + `}`)
		if len(q.Calls) != 3 {
			t.Fatalf("asked %+v", q)
		}
		status, second := o.post(fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"}}`, q.Token))
		var again asksAll
		if dataOf(t, second, "approval", &again); status != http.StatusOK || len(again.Calls) != 1 || again.Calls[0].Args["title"] != "B" || len(ran(t, "todo", second)) != 3 {
			t.Fatalf("%d asked %+v\n%s", status, again, second)
		}
		done, third := o.answers(again, `"action":"approve"`)
		if done.Output != "ok" || !slices.Equal(ran(t, "todo", third), []string{"create_todo completed researcher"}) {
			t.Errorf("%+v\n%s", done, third)
		}
		if len(o.asked["boss"]) != 2 || len(o.asked["researcher"]) != 3 || len(o.asked["writer"]) != 2 {
			t.Errorf("asked boss %d, researcher %d, writer %d times", len(o.asked["boss"]), len(o.asked["researcher"]), len(o.asked["writer"]))
		}
	})
}
