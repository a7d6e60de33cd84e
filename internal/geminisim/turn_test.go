package geminisim

import (
	"strings"
	"testing"
	"time"
)

// answerTo returns the offline model's answer to a request.
func answerTo(t *testing.T, body string) output {
	t.Helper()
	req, fault := decodeRequest([]byte(body))
	if fault == nil {
		fault = checkRequest("m", req, new(ledger))
	}
	if fault != nil {
		t.Fatal(fault)
	}
	return think(readTurn(req, testNow))
}

const away = "I can't reach your todo list right now: the service is temporarily unavailable."

func TestWithoutTheTools(t *testing.T) {
	t.Parallel()
	ask := func(text, system, tools string) string {
		return `{"contents":[` + textContent("user", text) + `],"systemInstruction":{"parts":[{"text":` + quote(system) + `}]},"tools":` + tools + `}`
	}
	weather := `[{"functionDeclarations":[{"name":"get_weather"}]}]`
	gateway := "You are Sluice.\n\n" + saturday21 + "\n\nUnavailable tools: those of todo cannot be reached right now. If the user's wish needs them, say so."
	for _, tc := range []struct{ name, body, want string }{
		{"none declared", ask("remind me to buy eggs", "", "[]"), away},
		{"others declared", ask("what's on my list", "", weather), away},
		{"said to be away", ask("remind me to buy eggs", gateway, todoTools), away},
		{"one tool is away", ask("delete buy eggs", "Unavailable tools: delete_todo.", todoTools), away},
		{"all are needed for", ask("mark everything as done", gateway, weather), away},
		{"a change", ask("make buy eggs urgent", "", "[]"), away},
		{"another server is away", ask("hello", "Unavailable tools: those of files cannot be reached.", todoTools), "Hello!"},
		{"small talk needs none", ask("what day is it", gateway, "[]"), "It's Saturday, 21 November 2026"},
	} {
		out := answerTo(t, tc.body)
		if len(out.calls) > 0 || !strings.HasPrefix(out.text, tc.want) {
			t.Errorf("%s: %d calls, %q", tc.name, len(out.calls), out.text)
		}
	}
	out := answerTo(t, ask("remind me to buy eggs", "Unavailable tools: those of files cannot be reached.", todoTools))
	if len(out.calls) != 1 {
		t.Errorf("another server is away: %q", out.text)
	}
}

// With the mode NONE there are no calls, whatever the phrase and the history.
func TestModeNone(t *testing.T) {
	t.Parallel()
	none := func(body string) string {
		return strings.Replace(body, `{"contents"`, `{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"contents"`, 1)
	}
	list := signed("list_todos", "aaaaaaaa", `{"status":"all"}`)
	found := userTurn(`{"functionResponse":{"id":"aaaaaaaa","name":"list_todos","response":{"output":"{\"todos\":[{\"id\":\"1\",\"title\":\"buy eggs\"},{\"id\":\"2\",\"title\":\"call Bob\"}]}"}}}`)
	made := signed("create_todo", "bbbbbbbb", `{"title":"milk"}`)
	madeOK := userTurn(`{"functionResponse":{"id":"bbbbbbbb","name":"create_todo","response":{"output":"{\"id\":\"1\",\"title\":\"milk\"}"}}}`)
	for _, tc := range []struct{ body, want string }{
		{userSays("remind me to buy eggs"), "I was asked to answer without using any tools"},
		{userSays("what's on my list"), "I was asked to answer without using any tools"},
		{userSays("delete buy eggs"), "I was asked to answer without using any tools"},
		{userSays("delete all completed todos"), "I was asked to answer without using any tools"},
		{userSays("hello"), "Hello!"},
		{requestOf(textContent("user", "delete buy eggs"), modelTurn(list), found), "I found 1 matching todo, but I may not use tools any more in this turn, so nothing was changed."},
		{requestOf(textContent("user", "mark everything as done"), modelTurn(list), found), "I found 2 matching todos, but I may not use tools any more"},
		{requestOf(textContent("user", "add todos: milk, bread and eggs"), modelTurn(made), madeOK), "I've added **milk**.\n\n2 todos of your list did not get a turn; please send the rest again."},
	} {
		out := answerTo(t, none(tc.body))
		if len(out.calls) > 0 || !strings.HasPrefix(out.text, tc.want) {
			t.Errorf("%d calls, %q, want %q", len(out.calls), out.text, tc.want)
		}
	}
}

// Todo servers of other hands name their tools and parameters otherwise.
func TestOtherServersTools(t *testing.T) {
	t.Parallel()
	ask := func(text, tools string) string {
		return `{"contents":[` + textContent("user", text) + `],"tools":[{"functionDeclarations":[` + tools + `]}]}`
	}
	for _, tc := range []struct{ name, tools, text, want string }{
		{"prefix and other names",
			`{"name":"tasks__add_task","parametersJsonSchema":{"type":"object","properties":{"name":{"type":"string"},"due":{"type":"string"}}}}`,
			"remind me to buy eggs tomorrow", `tasks__add_task {"name":"buy eggs","due":"2026-11-22"}`},
		{"camel case",
			`{"name":"createTask","parameters":{"type":"OBJECT","properties":{"title":{"type":"STRING"},"dueDate":{"type":"STRING"},"priority":{"type":"STRING","enum":["Low","Medium","High"]}}}}`,
			"urgent: buy eggs", `createTask {"title":"buy eggs","priority":"High"}`},
		{"no schema", `{"name":"add_todo"}`,
			"remind me to buy eggs tomorrow", `add_todo {"title":"buy eggs","due_date":"2026-11-22","priority":"medium"}`},
		{"search before get",
			`{"name":"get_todo"},{"name":"search_todos","parametersJsonSchema":{"type":"object","properties":{"q":{"type":"string"}}}}`,
			"delete buy eggs", away},
		{"a flag for the status",
			`{"name":"list_tasks","parametersJsonSchema":{"type":"object","properties":{"completed":{"type":"boolean"}}}}`,
			"what's on my list", `list_tasks {"completed":false}`},
		{"no way to ask for all",
			`{"name":"list_tasks","parametersJsonSchema":{"type":"object","properties":{"status":{"type":"string","enum":["open","done"]}}}}`,
			"list all todos", `list_tasks {}`},
		{"other words for the status",
			`{"name":"list_tasks","parametersJsonSchema":{"type":"object","properties":{"status":{"type":"string","enum":["open","done"]},"tag":{"type":"string"}}}}`,
			"show completed todos tagged #work", `list_tasks {"status":"done","tag":"work"}`},
		{"a filter that knows overdue",
			`{"name":"list_todos","parametersJsonSchema":{"type":"object","properties":{"due_date_filter":{"type":"string","description":"today, tomorrow, this_week, overdue or a day"}}}}`,
			"anything overdue?", `list_todos {"due_date_filter":"overdue"}`},
		{"and tomorrow",
			`{"name":"list_todos","parametersJsonSchema":{"type":"object","properties":{"due_date_filter":{"type":"string","description":"today, tomorrow, this_week, overdue or a day"}}}}`,
			"what's due tomorrow?", `list_todos {"due_date_filter":"tomorrow"}`},
		{"a limit",
			`{"name":"delete_todo"},{"name":"list_todos","parametersJsonSchema":{"type":"object","properties":{"status":{"type":"string"},"limit":{"type":"integer","maximum":200}}}}`,
			"delete all completed todos", `list_todos {"status":"completed","limit":200}`},
		{"other tools are left alone", `{"name":"create_file"},{"name":"todo_app_status"}`, "remind me to buy eggs", away},
	} {
		out := answerTo(t, ask(tc.text, tc.tools))
		got := out.text
		for _, c := range out.calls {
			got = c.name + " " + string(c.object())
		}
		if !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// The arguments of a change go by the declared parameters too, ids included.
func TestOtherServersChanges(t *testing.T) {
	t.Parallel()
	tools := `[{"functionDeclarations":[{"name":"list_tasks"},
		{"name":"complete_task","parametersJsonSchema":{"type":"object","properties":{"id":{"type":"integer"}}}},
		{"name":"remove_task","parametersJsonSchema":{"type":"object","properties":{"task_id":{"type":"string"},"confirm":{"type":"boolean"}}}}]}]`
	ask := func(text string) string {
		call := signed("list_tasks", "", `{}`)
		answer := userTurn(`{"functionResponse":{"name":"list_tasks","response":{"result":[{"id":7,"title":"buy eggs","completed":false}]}}}`)
		return `{"contents":[` + textContent("user", text) + `,` + modelTurn(call) + `,` + answer + `],"tools":` + tools + `}`
	}
	for text, want := range map[string]string{
		"I bought the eggs": `complete_task {"id":7}`,
		"delete buy eggs":   `remove_task {"task_id":"7","confirm":true}`,
	} {
		out := answerTo(t, ask(text))
		if len(out.calls) != 1 || out.calls[0].name+" "+string(out.calls[0].object()) != want {
			t.Errorf("%q: %+v, want %s", text, out, want)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]string{
		saturday21: "2026-11-21T11:30:00+01:00 Europe/Berlin",
		"x\n\nNow it is Friday, 2027-01-01, 00:05 in the time zone America/St_Johns (UTC-03:30).\n\nx": "2027-01-01T00:05:00-03:30 America/St_Johns",
		"Now it is Friday, 2027-01-01, 00:05 in the time zone UTC (UTC).":                              "2027-01-01T00:05:00Z UTC",
		"":                            "2026-11-21T11:30:00+01:00 Europe/Berlin",
		"Now it is time to be brief.": "2026-11-21T11:30:00+01:00 Europe/Berlin",
		"Now it is Friday, 2027-13-41, 00:05 in the time zone UTC (UTC+00:00).": "2026-11-21T11:30:00+01:00 Europe/Berlin",
	} {
		var turn turn
		turn.readClock(system, testNow)
		if got := turn.now.Format(time.RFC3339) + " " + turn.zone; got != want {
			t.Errorf("%q: %s, want %s", system, got, want)
		}
	}
}

// A due date with an offset is told in the visitor's time.
func TestDueOfServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-22T15:00:00":        "Sunday, 22 November at 15:00",
		"2026-11-22T14:00:00Z":       "Sunday, 22 November at 15:00",
		"2026-11-22T09:00:00-05:00":  "Sunday, 22 November at 15:00",
		"2026-11-22T15:00:00.123456": "Sunday, 22 November at 15:00",
		"2026-11-22T15:00":           "Sunday, 22 November at 15:00",
		"2026-11-22 15:00:00":        "Sunday, 22 November at 15:00",
		"2026-11-22":                 "Sunday, 22 November",
		"2027-01-03":                 "Sunday, 3 January 2027",
	} {
		if got := readDue(text, testNow().Location()).spoken(testNow()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if !readDue("soon", time.UTC).isZero() || !readDue("", time.UTC).isZero() {
		t.Error("what is no date is a date")
	}
}

// A filter that the server does not know is applied here.
func TestFilter(t *testing.T) {
	t.Parallel()
	now := testNow()
	todos := []todo{
		{title: "late", due: readDue("2026-11-20", now.Location()), priority: "high"},
		{title: "earlier", due: readDue("2026-11-21T09:00:00", now.Location())},
		{title: "today", due: readDue("2026-11-21", now.Location()), tags: []string{"Work"}},
		{title: "next week", due: readDue("2026-11-27T10:00:00", now.Location()), priority: "low"},
		{title: "in January", due: readDue("2027-01-05", now.Location())},
		{title: "whenever", tags: []string{"#work", "home"}},
		{title: "done", done: true, due: readDue("2026-11-20", now.Location())},
	}
	for text, want := range map[string]string{
		"what's on my list":                 "late, earlier, today, next week, in January, whenever",
		"list all todos":                    "late, earlier, today, next week, in January, whenever, done",
		"show completed":                    "done",
		"anything overdue?":                 "late, earlier",
		"what's due today?":                 "earlier, today",
		"what's due this week?":             "late, earlier, today",
		"what's due next week?":             "next week",
		"what's due this month?":            "late, earlier, today, next week",
		"what's due in the next 10 days?":   "earlier, today, next week",
		"what's due on friday?":             "next week",
		"show todos tagged #work":           "today, whenever",
		"show todos tagged #work and #home": "whenever",
		"show high priority todos":          "late, earlier, today, in January, whenever", // unknown is kept: the server has filtered
		"show todos about January":          "in January",
		"what's due this weekend?":          "earlier, today",
		"what's due tomorrow?":              "",
	} {
		l, ok := readIntent(text, now).(listing)
		if !ok {
			t.Errorf("%q is no question about the list", text)
			continue
		}
		var got []string
		for _, kept := range l.filter.apply(todos, now) {
			got = append(got, kept.title)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
}

// Half of the words must never be enough to change a todo.
func TestMatching(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		target string
		titles string
		want   string
	}{
		{"buy eggs", "buy milk|buy eggs", "buy eggs"},
		{"buy eggs", "buy milk|call Bob", ""},
		{"eggs", "buy eggs", "buy eggs"},
		{"the Report", "write report|call Bob", "write report"},
		{"report", "report|report taxes", "report"},
		{"report", "write report|send report", "write report|send report"},
		{"called mom", "call mom|email mom", "call mom"},
		{"washed the car", "wash car", "wash car"},
		{"paid the bills", "pay bill", "pay bill"},
		{"wrote the letter", "write a letter to Anna", "write a letter to Anna"},
		{"quarterly sales report", "finish the report", ""},
		{"dentist appointment", "dentist", ""},
		{"Bücher", "Bücher kaufen", "Bücher kaufen"},
		{"牛乳", "牛乳", "牛乳"},
		{"", "buy eggs", ""},
		{"the", "the", "the"},
	} {
		var todos []todo
		for _, title := range strings.Split(tc.titles, "|") {
			todos = append(todos, todo{id: []byte(`"x"`), title: title})
		}
		var got []string
		for _, found := range newLooksFor(tc.target).best(todos) {
			got = append(got, found.title)
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%q among %q: %q, want %q", tc.target, tc.titles, got, tc.want)
		}
	}
}

// Pieces joined are the text, so nothing of an answer is lost on the way.
func FuzzFewWords(f *testing.F) {
	f.Add("I've added **buy eggs** for you.\n\n- a\n  b ")
	f.Add(" \n x")
	f.Fuzz(func(t *testing.T, text string) {
		pieces := fewWords(text)
		if got := strings.Join(pieces, ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
		for _, p := range pieces {
			if p == "" {
				t.Errorf("an empty piece of %q", text)
			}
		}
	})
}
