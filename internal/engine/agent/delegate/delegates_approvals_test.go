package delegate_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/internal/app/gateway/wholetest"
)

// ran returns which tools of a server ran in some streams, in order, with how each ended.
func ran(t *testing.T, server string, streams ...string) (list []string) {
	for _, s := range streams {
		for _, c := range wholetest.EventsOf(t, s, "tool_call") {
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
// allowed everything continues from there: nobody is asked, or runs, a second time, and all
// models are sent what they would have been sent without the pause.
func TestDelegatePausesTheTurn(t *testing.T) {
	places(t, func(t *testing.T, env map[string]string, who string) {
		scripts := map[string][]string{
			// What boss reads is the same whether its researcher has noted yet or not.
			"boss":       {wholetest.CallPart("list_todos", `{"status":"completed"}`) + "," + wholetest.CallPart("delegate_to_researcher", `{"task":"Note it"}`), wholetest.TextPart("All done.")},
			"researcher": {wholetest.TextPart("First I look.") + "," + wholetest.CallPart("list_todos", `{}`), wholetest.CallPart("create_todo", `{"title":"eggs"}`), wholetest.TextPart("NOTED")},
		}
		o := wholetest.OpenOfficeOf(t, wholetest.FirmFile, env, scripts)
		q, first := o.Pauses(`{"input":"go",` + who + `}`)
		if len(q.Calls) != 1 || q.Calls[0].Tool != "create_todo" || q.Calls[0].Agent != "researcher" || q.Calls[0].Args["title"] != "eggs" || q.Calls[0].Reason != "writes" {
			t.Fatalf("asked %+v", q)
		}
		if got := ran(t, "todo", first); !slices.Equal(got, []string{"list_todos completed boss", "list_todos completed researcher"}) &&
			!slices.Equal(got, []string{"list_todos completed researcher", "list_todos completed boss"}) {
			t.Errorf("ran %v before the answer", got)
		}
		done, second := o.Answers(q, `"action":"approve"`)
		if done.Output != "All done." {
			t.Errorf("%+v", done)
		}
		if got := ran(t, "todo", second); !slices.Equal(got, []string{"create_todo completed researcher"}) {
			t.Errorf("ran %v after the answer:\n%s", got, second)
		}
		if strings.Contains(second, `"delta":"First I look`) || !strings.Contains(o.LastOf("boss"), "First I look.\\n\\nNOTED") {
			t.Errorf("boss was told\n%s\n%s", o.LastOf("boss"), second)
		}
		var sessions []any
		for _, a := range append(wholetest.EventsOf(t, first, "agent"), wholetest.EventsOf(t, second, "agent")...) {
			if a["role"] == "delegate" {
				sessions = append(sessions, a["session_id"])
			}
		}
		if len(sessions) != 4 || sessions[0] != sessions[3] {
			t.Errorf("sessions %v", sessions)
		}
		if of := wholetest.EventsOf(t, second, "tool_call")[0]; of["tool_name"] != "delegate_to_researcher" || !strings.Contains(first, fmt.Sprintf(`"call_id":%q`, of["call_id"])) {
			t.Errorf("the call of the delegate goes on as %v", of)
		}
		straight := wholetest.OpenOfficeOf(t, wholetest.FirmFile, map[string]string{"SLUICE_STORE": env["SLUICE_STORE"]}, scripts)
		if status, body := straight.Post(`{"input":"go",` + who + `}`); status != http.StatusOK || !strings.Contains(body, "All done.") {
			t.Fatalf("%d %s", status, body)
		}
		for name := range scripts {
			if len(o.Bodies[name]) != len(straight.Bodies[name]) {
				t.Fatalf("%s was asked %d times, without a pause %d times", name, len(o.Bodies[name]), len(straight.Bodies[name]))
			}
			for i := range o.Bodies[name] {
				if got, want := withoutIDs(o.Bodies[name][i]), withoutIDs(straight.Bodies[name][i]); got != want {
					t.Errorf("%s was sent\n%s\nwithout a pause\n%s", name, got, want)
				}
			}
		}
		if status, body := o.Post(fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"}}`, q.Token)); status != http.StatusConflict {
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
		o := wholetest.OpenOfficeOf(t, wholetest.FirmFile, env, map[string][]string{
			"boss": {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`) + "," + wholetest.CallPart("delegate_to_writer", `{"task":"b"}`) + "," +
				wholetest.CallPart("create_todo", `{"title":"of boss"}`), wholetest.TextPart("ok")},
			"researcher": {wholetest.CallPart("delegate_to_writer", `{"task":"deep"}`), wholetest.TextPart("R")},
			"writer":     {wholetest.CallPart("create_todo", `{"title":"of writer"}`), wholetest.CallPart("create_todo", `{"title":"of writer"}`), wholetest.TextPart("W")},
		})
		q, first := o.Pauses(`{"input":"go",` + who + `}`)
		var agents []string
		for _, c := range q.Calls {
			agents = append(agents, c.Agent)
		}
		if slices.Sort(agents); !slices.Equal(agents, []string{"boss", "writer", "writer"}) || len(ran(t, "todo", first)) > 0 {
			t.Fatalf("asked %v\n%s", agents, first)
		}
		if status, body := o.Post(fmt.Sprintf(`{"approval":{"token":%q,"calls":[{"call_id":%q,"action":"approve"}]}}`, q.Token, q.Calls[0].ID)); status != http.StatusUnprocessableEntity {
			t.Errorf("one decision of three: %d %s", status, body)
		}
		var calls []string
		for i, c := range q.Calls {
			calls = append(calls, fmt.Sprintf(`{"call_id":%q,%s}`, c.ID, []string{`"action":"approve"`, `"action":"modify","arguments":{"title":"changed"}`, `"action":"reject","message":"Not this"`}[i]))
		}
		done, second := o.Answers(q, `"calls":[`+strings.Join(calls, ",")+`]`)
		if done.Output != "ok" {
			t.Errorf("%+v\n%s", done, second)
		}
		if got := ran(t, "todo", second); len(got) != 2 {
			t.Errorf("ran %v\n%s", got, second)
		}
		if len(o.Bodies["boss"]) != 2 || len(o.Bodies["researcher"]) != 2 || len(o.Bodies["writer"]) != 4 {
			t.Errorf("asked boss %d, researcher %d, writer %d times", len(o.Bodies["boss"]), len(o.Bodies["researcher"]), len(o.Bodies["writer"]))
		}
		got := o.LastOf("boss") + strings.Join(o.Bodies["writer"], "")
		if !strings.Contains(got, "Not this") || !strings.Contains(got, "The user changed the arguments") {
			t.Errorf("nobody was told of the decisions:\n%s", got)
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

// Where nobody can be asked, at any depth, the agents that want the calls get a refusal, and
// the turn continues in the same stream: no id of a call begins twice in it.
func TestNobodyIsAskedForDelegates(t *testing.T) {
	t.Parallel()
	scripts := func(words string) map[string][]string {
		return map[string][]string{
			"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`) + "," + wholetest.CallPart("create_todo", `{"title":"of boss"}`), wholetest.TextPart("ok")},
			"researcher": {wholetest.TextPart(words) + "," + wholetest.CallPart("delegate_to_writer", `{"task":"deep"}`), wholetest.TextPart("R")},
			"writer":     {wholetest.CallPart("create_todo", `{"title":"of writer"}`), wholetest.TextPart("NOT DONE")},
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
			o := wholetest.OpenOfficeOf(t, wholetest.FirmFile+"router: \"off\"\n", map[string]string{"SLUICE_STORE": "none", "SLUICE_CONFIRM": "writes"}, scripts(tt.words))
			status, stream := o.PostTo(tt.path, tt.body)
			if status != http.StatusOK || strings.Contains(stream, "event: approval") || !strings.Contains(stream, "ok") {
				t.Fatalf("%d %.2000s", status, stream)
			}
			for _, who := range []string{"boss", "writer"} {
				if got := o.LastOf(who); !strings.Contains(got, tt.want) {
					t.Errorf("%s was told\n%.3000s", who, got)
				}
			}
			if len(o.Bodies["boss"]) != 2 || len(o.Bodies["researcher"]) < 2 || len(o.Bodies["writer"]) != 2 || len(ran(t, "todo", stream)) > 0 {
				t.Errorf("asked boss %d, researcher %d, writer %d times; ran %v", len(o.Bodies["boss"]), len(o.Bodies["researcher"]), len(o.Bodies["writer"]), ran(t, "todo", stream))
			}
			begun := map[any]int{}
			for _, c := range wholetest.EventsOf(t, stream, "tool_call") {
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

// A delegate whose model was replaced by another one continues with that one, as it would have
// done without the pause.
func TestDelegateGoesOnWithItsModel(t *testing.T) {
	t.Parallel()
	const models = `
models:
  default: {provider: gemini, model: gemini-2.5-flash, endpoint: "http://gemini/v1beta", retries: 0, fallback: [spare]}
  spare: {provider: gemini, model: gemini-2.5-pro, endpoint: "http://gemini/v1beta"}
`
	for _, store := range []string{"none", "memory"} {
		o := wholetest.OpenOfficeOf(t, models+wholetest.FirmFile, map[string]string{"SLUICE_STORE": store, "SLUICE_CONFIRM": "writes"}, map[string][]string{
			"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`), wholetest.TextPart("ok")},
			"researcher": {wholetest.CallPart("create_todo", `{"title":"eggs"}`), wholetest.TextPart("R")},
		})
		o.Fails = func(path, who string) bool { return who == "researcher" && strings.Contains(path, "flash") }
		q, first := o.Pauses(`{"input":"go","agent":"boss"}`)
		if !strings.Contains(first, "event: model\n") {
			t.Fatalf("no fallback:\n%s", first)
		}
		done, second := o.Answers(q, `"action":"approve"`)
		if done.Output != "ok" || len(ran(t, "todo", second)) != 1 || strings.Contains(second, "event: model\n") {
			t.Errorf("%+v\n%s", done, second)
		}
	}
}

// Two gateways share a key: a turn that one has paused continues on the other, with the
// delegates within it. On a third one, which has another file, it cannot.
func TestDelegatesGoOnElsewhere(t *testing.T) {
	t.Parallel()
	scripts := map[string][]string{
		"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`), wholetest.TextPart("ok")},
		"researcher": {wholetest.CallPart("delegate_to_writer", `{"task":"deep"}`), wholetest.TextPart("R")},
		"writer":     {wholetest.CallPart("create_todo", `{"title":"of writer"}`), wholetest.TextPart("W")},
	}
	env := map[string]string{"SLUICE_STORE": "none", "SLUICE_CONFIRM": "writes", "SLUICE_APPROVAL_KEY": wholetest.ApprovalKey}
	one, two := wholetest.OpenOfficeOf(t, wholetest.FirmFile, env, scripts), wholetest.OpenOfficeOf(t, wholetest.FirmFile, env, scripts)
	q, _ := one.Pauses(`{"input":"go","agent":"boss"}`)
	for _, agent := range []string{"boss", "researcher", "writer"} {
		two.Bodies[agent] = []string{""} // its model continues where that of the other one was
	}
	done, stream := two.Answers(q, `"action":"approve"`)
	if done.Output != "ok" || !slices.Equal(ran(t, "todo", stream), []string{"create_todo completed writer"}) {
		t.Errorf("%+v\n%s", done, stream)
	}
	other := wholetest.OpenOfficeOf(t, strings.ReplaceAll(wholetest.FirmFile, "delegates: [writer]", "max_steps: 5"), env, scripts)
	for _, agent := range []string{"boss", "researcher", "writer"} {
		other.Bodies[agent] = []string{""}
	}
	if done, stream := other.Answers(q, `"action":"approve"`); done.Output != "ok" || len(ran(t, "todo", stream)) != 0 {
		t.Errorf("without the delegate: %+v\n%s", done, stream)
	}
}

// What is not allowed is not allowed to anybody in the turn, and sessions count over a
// pause.
func TestDecisionsAndCountsGoOn(t *testing.T) {
	places(t, func(t *testing.T, env map[string]string, who string) {
		var many []string
		for i := range 8 {
			many = append(many, wholetest.CallPart("delegate_to_writer", fmt.Sprintf(`{"task":"%d"}`, i)))
		}
		eight := strings.Join(many, ",")
		more := strings.ReplaceAll(eight, `"task":"`, `"task":"again `)
		o := wholetest.OpenOfficeOf(t, wholetest.FirmFile, env, map[string][]string{
			"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`), wholetest.CallPart("create_todo", `{"title":"same"}`) + "," + wholetest.CallPart("list_todos", `{}`), eight, more, strings.ReplaceAll(more, "again", "third"), wholetest.TextPart("ok")},
			"researcher": {wholetest.CallPart("create_todo", `{"title":"same"}`), wholetest.TextPart("R")},
			"writer":     {wholetest.TextPart("W")},
		})
		q, _ := o.Pauses(`{"input":"go",` + who + `}`)
		done, stream := o.Answers(q, `"action":"reject"`)
		if done.Output != "ok" || strings.Contains(stream, `"tool_name":"create_todo","server":"todo","arguments":{"title":"same"},"status":"completed"`) {
			t.Errorf("%+v\n%.3000s", done, stream)
		}
		if n := len(o.Bodies["writer"]); n != 19 {
			t.Errorf("%d sessions of the writer, with that of the researcher before the pause %d", n, n+1)
		}
	})
}

// A turn may pause again, in one of its delegates alone: what has ended meanwhile, or was
// refused, does not run again.
func TestDelegatesPauseAgain(t *testing.T) {
	places(t, func(t *testing.T, env map[string]string, who string) {
		o := wholetest.OpenOfficeOf(t, wholetest.FirmFile, env, map[string][]string{
			"boss":       {wholetest.CallPart("delegate_to_researcher", `{"task":"a"}`) + "," + wholetest.CallPart("delegate_to_writer", `{"task":"b"}`) + "," + wholetest.CallPart("create_todo", `{"title":"D"}`), wholetest.TextPart("ok")},
			"researcher": {wholetest.CallPart("create_todo", `{"title":"A"}`), wholetest.CallPart("create_todo", `{"title":"B"}`), wholetest.TextPart("R")},
			"writer":     {wholetest.CallPart("create_todo", `{"title":"C"}`), wholetest.TextPart("W")},
		})
		q, _ := o.Pauses(`{"input":"go",` + who + `}`)
		if len(q.Calls) != 3 {
			t.Fatalf("asked %+v", q)
		}
		status, second := o.Post(fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"}}`, q.Token))
		var again wholetest.Questions
		if wholetest.DataOf(t, second, "approval", &again); status != http.StatusOK || len(again.Calls) != 1 || again.Calls[0].Args["title"] != "B" || len(ran(t, "todo", second)) != 3 {
			t.Fatalf("%d asked %+v\n%s", status, again, second)
		}
		done, third := o.Answers(again, `"action":"approve"`)
		if done.Output != "ok" || !slices.Equal(ran(t, "todo", third), []string{"create_todo completed researcher"}) {
			t.Errorf("%+v\n%s", done, third)
		}
		if len(o.Bodies["boss"]) != 2 || len(o.Bodies["researcher"]) != 3 || len(o.Bodies["writer"]) != 2 {
			t.Errorf("asked boss %d, researcher %d, writer %d times", len(o.Bodies["boss"]), len(o.Bodies["researcher"]), len(o.Bodies["writer"]))
		}
	})
}
