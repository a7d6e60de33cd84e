package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/sim/geminisim/simtest"
)

// todoServer is a small server of todos in memory. Its answers have the shape
// that wrap gives them.
type todoServer struct {
	todos []map[string]any
	next  int
	wrap  func(v any) string // the functionResponse.response
	fault map[string]string  // tool -> error that it answers with
}

func newTodoServer(titles ...string) *todoServer {
	s := &todoServer{wrap: func(v any) string { return `{"output":` + simtest.Quote(simtest.Quote(v)) + `}` }}
	for _, title := range titles {
		s.call("create_todo", map[string]any{"title": title})
	}
	return s
}

func (s *todoServer) call(name string, args map[string]any) string {
	if fault, ok := s.fault[name]; ok {
		return `{"error":` + simtest.Quote(fault) + `}`
	}
	switch name {
	case "create_todo":
		s.next++
		todo := map[string]any{"id": fmt.Sprint("todo_", s.next), "status": "pending", "priority": "medium"}
		for k, v := range args {
			todo[k] = v
		}
		s.todos = append(s.todos, todo)
		return s.wrap(todo)
	case "list_todos":
		return s.wrap(map[string]any{"todos": s.list(args), "count": len(s.todos)})
	}
	i := slices.IndexFunc(s.todos, func(t map[string]any) bool { return t["id"] == args["todo_id"] })
	if i < 0 {
		return `{"error":"no todo has this id"}`
	}
	todo := s.todos[i]
	if name == "delete_todo" {
		if args["confirmation"] != true {
			return `{"error":"not confirmed"}`
		}
		s.todos = slices.Delete(s.todos, i, i+1)
		return s.wrap(todo)
	}
	for k, v := range args {
		if k != "todo_id" {
			todo[k] = v
		}
	}
	return s.wrap(todo)
}

func (s *todoServer) list(args map[string]any) []map[string]any {
	found := []map[string]any{}
	for _, t := range s.todos {
		status, _ := args["status"].(string)
		query, _ := args["query"].(string)
		if status != "all" && status != "" && t["status"] != status || !strings.Contains(strings.ToLower(t["title"].(string)), strings.ToLower(query)) {
			continue
		}
		found = append(found, t)
	}
	return found
}

// talkOf is a whole turn: the calls that were made, and the answer.
type talkOf struct {
	calls  []string
	answer string
	steps  int
}

// converse plays the gateway: it runs the calls and sends all parts back as they
// came, until the model answers with text.
func converse(t *testing.T, url, text string, todos *todoServer, history ...string) talkOf {
	t.Helper()
	contents := append(history, simtest.Text("user", text))
	var talk talkOf
	for range 12 {
		talk.steps++
		resp, body := simtest.Post(t, url+streamPath, simtest.Request(contents...))
		if resp.StatusCode != 200 {
			t.Fatalf("%q: %s", text, body)
		}
		a := gather(t, body)
		if len(a.calls) == 0 {
			talk.answer = a.text
			return talk
		}
		var responses []string
		for _, raw := range a.calls {
			var p wirePart
			if err := json.Unmarshal([]byte(raw), &p); err != nil {
				t.Fatal(err)
			}
			c := p.FunctionCall
			var args map[string]any
			if err := json.Unmarshal(c.Args, &args); err != nil {
				t.Fatal(err)
			}
			talk.calls = append(talk.calls, c.Name+" "+simtest.Quote(args))
			responses = append(responses, fmt.Sprintf(`{"functionResponse":{"id":%q,"name":%q,"response":%s}}`, c.ID, c.Name, todos.call(c.Name, args)))
		}
		contents = append(contents, simtest.ModelTurn(a.calls...), simtest.UserTurn(responses...))
	}
	t.Fatalf("%q never ends: %v", text, talk.calls)
	return talk
}

func TestConversations(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, tc := range []struct {
		text   string
		have   []string
		calls  []string
		answer string
	}{
		{"Remind me to buy eggs tomorrow at 3pm #food", nil,
			[]string{`create_todo {"due_date":"2026-11-22T15:00:00","priority":"medium","tags":["food"],"title":"buy eggs"}`},
			"I've added **buy eggs** for Sunday, 22 November at 15:00, medium priority, #food."},
		{"pay the rent on 1 January", nil,
			[]string{`create_todo {"due_date":"2027-01-01","priority":"medium","title":"pay the rent"}`},
			"I've added **pay the rent** for Friday, 1 January 2027, medium priority."},
		{"add todos: milk and bread", nil,
			[]string{`create_todo {"priority":"medium","title":"milk"}`, `create_todo {"priority":"medium","title":"bread"}`},
			"I've added 2 todos:\n\n- **milk**, medium priority\n- **bread**, medium priority"},
		{"what's on my list?", []string{"buy eggs", "call *Bob*"},
			[]string{`list_todos {"status":"pending"}`},
			"You have 2 open todos:\n\n- **buy eggs**: medium priority\n- **call \\*Bob\\***: medium priority"},
		{"show completed", []string{"buy eggs"},
			[]string{`list_todos {"status":"completed"}`},
			"You have no completed todos."},
		{"mark buy eggs as done", []string{"buy milk", "buy eggs"},
			[]string{`list_todos {"query":"eggs","status":"all"}`, `update_todo {"status":"completed","todo_id":"todo_2"}`},
			"Done! I've marked **buy eggs** as completed."},
		{"I finished the report", []string{"Finish quarterly report", "buy milk"},
			[]string{`list_todos {"query":"report","status":"all"}`, `update_todo {"status":"completed","todo_id":"todo_1"}`},
			"Done! I've marked **Finish quarterly report** as completed."},
		{"I bought the groceries", []string{"buy a grocery bag"}, // found by the whole list, not by the word
			[]string{`list_todos {"query":"groceries","status":"all"}`, `list_todos {"status":"all"}`, `update_todo {"status":"completed","todo_id":"todo_1"}`},
			"Done! I've marked **buy a grocery bag** as completed."},
		{"delete buy eggs", []string{"buy milk"},
			[]string{`list_todos {"query":"eggs","status":"all"}`, `list_todos {"status":"all"}`},
			"I found no todo that fits “buy eggs”, so nothing was changed."},
		{"delete the report", []string{"write the report", "send the report"},
			[]string{`list_todos {"query":"report","status":"all"}`},
			"Several todos fit “report”. Which one should I delete? You can name it by its id.\n\n- **write the report (todo_1)**: medium priority\n- **send the report (todo_2)**: medium priority"},
		{"delete todo_2", []string{"write the report", "send the report"},
			[]string{`list_todos {"status":"all"}`, `delete_todo {"confirmation":true,"todo_id":"todo_2"}`},
			"I've deleted **send the report**."},
		{"complete milk", []string{"milk", "milk"}, // nobody could distinguish them
			[]string{`list_todos {"query":"milk","status":"all"}`, `update_todo {"status":"completed","todo_id":"todo_1"}`},
			"Done! I've marked **milk** as completed."},
		{"delete milk", []string{"milk", "milk"}, // what is deleted is gone
			[]string{`list_todos {"query":"milk","status":"all"}`},
			"Several todos fit “milk”. Which one should I delete? You can name it by its id.\n\n- **milk (todo_1)**: medium priority\n- **milk (todo_2)**: medium priority"},
		{"complete eggs and milk", []string{"buy milk", "buy eggs", "eggs benedict recipe with salmon"},
			[]string{`list_todos {"query":"eggs","status":"all"}`, `list_todos {"status":"all"}`},
			"I found no todo that fits “eggs and milk”, so nothing was changed."},
		{"rename buy eggs to buy brown eggs", []string{"buy eggs"},
			[]string{`list_todos {"query":"eggs","status":"all"}`, `update_todo {"title":"buy brown eggs","todo_id":"todo_1"}`},
			"I've renamed **buy eggs** to **buy brown eggs**."},
		{"move the dentist to Friday at 10", []string{"dentist"},
			[]string{`list_todos {"query":"dentist","status":"all"}`, `update_todo {"due_date":"2026-11-27T10:00:00","todo_id":"todo_1"}`},
			"I've moved **dentist** to Friday, 27 November at 10:00."},
		{"make buy eggs urgent", []string{"buy eggs"},
			[]string{`list_todos {"query":"eggs","status":"all"}`, `update_todo {"priority":"high","todo_id":"todo_1"}`},
			"**buy eggs** now has high priority."},
		{"hello", nil, nil, "Hello! I look after your todo list. Try “Remind me to buy eggs tomorrow at 3pm” or “What's due this week?”."},
	} {
		got := converse(t, url, tc.text, newTodoServer(tc.have...))
		if diff := cmp.Diff(tc.calls, got.calls); diff != "" {
			t.Errorf("%q: calls (-want +got)\n%s", tc.text, diff)
		}
		if got.answer != tc.answer {
			t.Errorf("%q:\n got %q\nwant %q", tc.text, got.answer, tc.answer)
		}
	}
}

// A todo is created, listed, moved, completed and deleted.
func TestLifeOfATodo(t *testing.T) {
	t.Parallel()
	url := serve(t)
	todos := newTodoServer()
	for _, step := range []struct{ text, want string }{
		{"remind me to call the dentist on Monday at 9", "I've added **call the dentist** for Monday, 23 November at 09:00"},
		{"what is due this week?", "You have no open todos due this week."},
		{"what is due next week?", "- **call the dentist**: Monday, 23 November at 09:00"},
		{"move the dentist to Tuesday", "to Tuesday, 24 November at 09:00."},
		{"postpone the dentist to Thursday at 11am", "to Thursday, 26 November at 11:00."},
		{"make the dentist urgent", "now has high priority"},
		{"show my high priority todos", "1 open high priority todo:\n\n- **call the dentist**"},
		{"I called the dentist", "I've marked **call the dentist** as completed."},
		{"what's on my list", "You have no open todos."},
		{"show completed", "- **call the dentist**: Thursday, 26 November at 11:00, high priority, completed"},
		{"delete the dentist", "I've deleted **call the dentist**."},
		{"list all todos", "You have no todos."},
	} {
		if got := converse(t, url, step.text, todos); !strings.Contains(got.answer, step.want) {
			t.Errorf("%q: %q does not contain %q", step.text, got.answer, step.want)
		}
	}
}

// A step makes eight calls at most; what is left is reported.
func TestCreatesAtMostEightAtOnce(t *testing.T) {
	t.Parallel()
	url := serve(t)
	var titles []string
	for i := range 17 {
		titles = append(titles, fmt.Sprint("thing", i))
	}
	todos := newTodoServer()
	got := converse(t, url, "add todos: "+strings.Join(titles, ", "), todos)
	if len(got.calls) != 8 || len(todos.todos) != 8 || !strings.HasPrefix(got.answer, "I've added 8 todos:") || !strings.HasSuffix(got.answer, "For 9 more there was no call left; please ask again for the rest.") {
		t.Errorf("%d calls, %d todos: %s", len(got.calls), len(todos.todos), got.answer)
	}
}

// Whatever fails, the answer says so and claims nothing.
func TestFaultsAreReported(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, tc := range []struct{ text, tool, fault, want string }{
		{"remind me to buy eggs", "create_todo", "MCP service temporarily unavailable", "I couldn't add **buy eggs**. The todo list answered: “MCP service temporarily unavailable”. Please try again in a moment."},
		{"add todos: milk and bread", "create_todo", "disk full.", "I couldn't add **milk**. The todo list answered: “disk full”.\n\nI couldn't add **bread**."},
		{"what's on my list", "list_todos", "down", "I couldn't read your list. The todo list answered: “down”."},
		{"delete the dentist", "list_todos", "down", "I couldn't look for “dentist”."},
		{"delete the dentist", "delete_todo", "locked", "I couldn't delete **dentist**. The todo list answered: “locked”."},
		{"mark the dentist as done", "update_todo", "timed out", "I couldn't complete **dentist**. The todo list answered: “timed out”. Please try again in a moment."},
	} {
		todos := newTodoServer("dentist")
		todos.fault = map[string]string{tc.tool: tc.fault}
		got := converse(t, url, tc.text, todos)
		if !strings.HasPrefix(got.answer, tc.want) || strings.Contains(got.answer, "I've") {
			t.Errorf("%q: %q, want %q", tc.text, got.answer, tc.want)
		}
	}
}

// Todo servers wrap their results in many ways.
func TestResultShapes(t *testing.T) {
	t.Parallel()
	url := serve(t)
	plain := func(v any) any {
		if m, ok := v.(map[string]any); ok && m["todos"] != nil {
			return m["todos"]
		}
		return v
	}
	for name, wrap := range map[string]func(v any) string{
		"text in output":   func(v any) string { return `{"output":` + simtest.Quote(simtest.Quote(v)) + `}` },
		"object in output": func(v any) string { return `{"output":` + simtest.Quote(v) + `}` },
		"array":            func(v any) string { return `{"output":` + simtest.Quote(simtest.Quote(plain(v))) + `}` },
		"result":           func(v any) string { return `{"result":` + simtest.Quote(simtest.Quote(plain(v))) + `}` },
		"result within output": func(v any) string {
			return `{"output":` + simtest.Quote(`{"result":`+simtest.Quote(plain(v))+`}`) + `}`
		},
		"MCP content": func(v any) string {
			return `{"content":[{"type":"text","text":` + simtest.Quote(simtest.Quote(v)) + `}]}`
		},
		"bare": func(v any) string { return simtest.Quote(map[string]any{"data": plain(v)}) },
	} {
		todos := newTodoServer()
		todos.wrap = wrap
		converse(t, url, "remind me to buy eggs tomorrow", todos)
		converse(t, url, "remind me to call Bob", todos)
		got := converse(t, url, "what's on my list", todos)
		if want := "You have 2 open todos:\n\n- **buy eggs**: Sunday, 22 November, medium priority\n- **call Bob**: medium priority"; got.answer != want {
			t.Errorf("%s: %q", name, got.answer)
		}
		if got := converse(t, url, "complete buy eggs", todos); got.answer != "Done! I've marked **buy eggs** as completed." {
			t.Errorf("%s: %q", name, got.answer)
		}
	}
}

// A result that cannot be read is a failure of the tool, and what the server itself left out is
// reported.
func TestCutList(t *testing.T) {
	t.Parallel()
	url := serve(t)
	todos := newTodoServer("buy eggs", "call Bob", "water the plants")
	todos.wrap = func(v any) string { return `{"output":` + simtest.Quote(simtest.Quote(v)[:60]) + `}` }
	if got, want := converse(t, url, "list all todos", todos).answer, "I couldn't read your list. The todo list answered: “the result was cut off, or is not JSON”."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	todos.wrap = func(v any) string { return simtest.Quote(map[string]any{"output": v, "more": true}) }
	if got := converse(t, url, "list all todos", todos).answer; !strings.HasPrefix(got, "You have 3 todos:") || !strings.HasSuffix(got, "so there are more.") {
		t.Errorf("%q", got)
	}
}
