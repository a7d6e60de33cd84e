package offline

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/geminisim/simtest"
)

const other = "I'm the built-in offline demo model, a simulator that knows only its own tools"

const unreachable = "I can't reach your todo list right now: the service is temporarily unavailable."

// asking is a request with a system instruction and tools of its own.
func asking(text, system, tools string) string {
	return `{"contents":[` + simtest.Text("user", text) + `],"systemInstruction":{"parts":[{"text":` + simtest.Quote(system) + `}]},"tools":` + tools + `}`
}

// A tool that is not declared is not there; what the prompt says does not matter.
func TestToolsAreKnownByTheirDeclarations(t *testing.T) {
	t.Parallel()
	url := serve(t)
	weather := `[{"functionDeclarations":[{"name":"get_weather"},{"name":"todo_app_status"}]}]`
	prefixed := strings.ReplaceAll(simtest.TodoTools, `"name":"`, `"name":"my-server_`)
	for _, tc := range []struct{ name, request, want string }{
		{"none", asking("remind me to buy eggs", "", "[]"), unreachable},
		{"others", asking("what's on my list", "", weather), other},
		{"a change needs two", asking("make buy eggs urgent", "", `[{"functionDeclarations":[{"name":"update_todo"}]}]`), other},
		{"all of them", asking("mark the dentist as done", "", weather), other},
		{"small talk needs none", asking("what day is it", simtest.Saturday, "[]"), "It's Saturday, 21 November 2026"},
		{"the prompt's prose", asking("add eggs", "Unavailable tools: those of todo cannot be reached.", simtest.TodoTools), `create_todo {"title":"eggs"`},
		{"a server's name before them", asking("add eggs", "", prefixed), `my-server_create_todo {"title":"eggs"`},
		{"no schema", asking("add eggs tomorrow", simtest.Saturday, `[{"functionDeclarations":[{"name":"create_todo"}]}]`), `create_todo {"title":"eggs","due_date":"2026-11-22","priority":"medium"}`},
		{"fewer parameters", asking("add eggs tomorrow", simtest.Saturday, `[{"functionDeclarations":[{"name":"create_todo","parameters":{"type":"OBJECT","properties":{"title":{"type":"STRING"}}}}]}]`), `create_todo {"title":"eggs"}`},
	} {
		if got := answered(t, url, tc.request); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// With the mode NONE there are no calls, whatever the phrase and the history.
func TestModeNoneAllowsNoCalls(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for text, want := range map[string]string{
		"remind me to buy eggs": "I was asked to answer without using any tools",
		"what's on my list":     "I was asked to answer without using any tools",
		"delete buy eggs":       "I was asked to answer without using any tools",
		"hello":                 "Hello!",
	} {
		request := strings.Replace(simtest.UserSays(text), `{"contents"`, `{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"contents"`, 1)
		if got := answered(t, url, request); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The last step of a turn comes without tools: what was done is reported, and
// nothing more is claimed.
func TestCallsThatAreForbiddenLater(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for text, want := range map[string]string{
		"delete buy eggs":                 "I found **buy eggs**, but I may not use tools any more in this turn, so nothing was changed.",
		"add todos: milk, bread and eggs": "I've added **buy eggs**.\n\nFor 2 more there was no call left; please ask again for the rest.",
	} {
		_, body := simtest.Post(t, url+streamPath, simtest.UserSays(text))
		call, _, _ := strings.Cut(gather(t, body).calls[0], "\n")
		id := call[strings.Index(call, `"id": "`)+len(`"id": "`):][:8]
		name := strings.Split(call, `"`)[5]
		found := `{\"todos\":[{\"id\":\"1\",\"title\":\"buy eggs\"},{\"id\":\"2\",\"title\":\"call Bob\"}]}`
		if name == "create_todo" {
			found = `{\"id\":\"1\",\"title\":\"buy eggs\"}`
		}
		response := simtest.UserTurn(`{"functionResponse":{"id":"` + id + `","name":"` + name + `","response":{"output":"` + found + `"}}}`)
		request := simtest.Request(simtest.Text("user", text), simtest.ModelTurn(call), response)
		request = strings.Replace(request, `{"contents"`, `{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"contents"`, 1)
		if got := answered(t, url, request); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDateLine(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]string{
		simtest.Saturday: "2026-11-21T11:30:00+01:00 Europe/Berlin",
		"x\n\nNow it is Friday, 2027-01-01, 00:05 in the time zone America/St_Johns (UTC-03:30).\n\nx": "2027-01-01T00:05:00-03:30 America/St_Johns",
		"Now it is time.\n" + simtest.Saturday:                                                         "2026-11-21T11:30:00+01:00 Europe/Berlin",
		"":                                                                                             "",
		"Now it is time to be brief.":                                                                  "",
		"Now it is Friday, 2027-13-41, 00:05 in the time zone UTC (UTC+00:00).": "",
	} {
		got := ""
		if now := readDateLine(system); !now.IsZero() {
			got = now.Format(time.RFC3339) + " " + now.Location().String()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", system, got, want)
		}
	}
}

// A due date with an offset is reported in the visitor's time.
func TestDueDatesOfServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-11-22T15:00:00":        "Sunday, 22 November at 15:00",
		"2026-11-22T14:00:00Z":       "Sunday, 22 November at 15:00",
		"2026-11-22T09:00:00-05:00":  "Sunday, 22 November at 15:00",
		"2026-11-22T15:00:00.123456": "Sunday, 22 November at 15:00",
		"2026-11-22":                 "Sunday, 22 November",
		"2027-01-03":                 "Sunday, 3 January 2027",
		"soon":                       "Monday, 1 January 0001",
	} {
		if got := readDue(text, testNow().Location()).Spoken(testNow()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A filter that the server does not know is applied here.
func TestFilterKeepsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	now := testNow()
	todos := []todo{
		{title: "late", due: readDue("2026-11-20", now.Location()), priority: "high"},
		{title: "earlier", due: readDue("2026-11-21T09:00:00", now.Location())},
		{title: "today", due: readDue("2026-11-21", now.Location()), tags: []string{"work"}},
		{title: "next week", due: readDue("2026-11-27T10:00:00", now.Location()), priority: "low"},
		{title: "whenever", tags: []string{"work", "home"}},
		{title: "done", done: true, due: readDue("2026-11-20", now.Location())},
	}
	for text, want := range map[string]string{
		"what's on my list":            "late, earlier, today, next week, whenever",
		"list all todos":               "late, earlier, today, next week, whenever, done",
		"show completed":               "done",
		"anything overdue?":            "late",
		"what's due today?":            "earlier, today",
		"what's due this week?":        "late, earlier, today",
		"what's due next week?":        "next week",
		"what's due on friday?":        "next week",
		"show todos tagged #work":      "today, whenever",
		"show high priority todos":     "late, earlier, today, whenever", // unknown is kept: the server has filtered
		"show todos about next things": "next week",
		"what's due tomorrow?":         "",
	} {
		l, ok := readIntent(text, now).(listing)
		if !ok {
			t.Errorf("%q is no question about the list", text)
			continue
		}
		var got []string
		for _, kept := range filter(l).matchingTodos(todos) {
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
	for _, tc := range []struct{ target, titles, want string }{
		{"buy eggs", "buy milk|buy eggs", "buy eggs"},
		{"buy eggs", "buy milk|call Bob", ""},
		{"eggs", "buy eggs", "buy eggs"},
		{"the Report", "write report|call Bob", "write report"},
		{"report", "report|report taxes", "report"},
		{"report", "write report|send report", "write report|send report"},
		{"called mom", "call mom", "call mom"},
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
		for title := range strings.SplitSeq(tc.titles, "|") {
			todos = append(todos, todo{id: "x", title: title})
		}
		var got []string
		for _, found := range bestFits(tc.target, todos) {
			got = append(got, found.title)
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%q among %q: %q, want %q", tc.target, tc.titles, got, tc.want)
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	for name, text := range map[string]string{
		"short": "remind me to buy eggs tomorrow at 3pm",
		"long":  strings.Repeat("buy eggs and on ", 312), // the longest input that the gateway lets through
	} {
		b.Run(name, func(b *testing.B) {
			t := &turn{text: text, now: testNow(), mayCall: true, declared: []geminisim.Function{{Name: "create_todo"}}}
			b.ReportAllocs()
			for b.Loop() {
				readIntent(t.text, t.now).nextAnswer(t)
			}
		})
	}
}

// A model that must call one of several tools makes its own call if it has one, and else that of
// the tool that was declared last.
func TestAnyToolMustBeCalled(t *testing.T) {
	t.Parallel()
	functions := []geminisim.Function{{Name: "list_todos"}, {Name: "get_weather"}}
	for said, want := range map[string]string{"Show my todos": "list_todos", "What is the weather?": "get_weather"} {
		a := geminisim.Respond(Model{Now: testNow}, Roles(), geminisim.Question{
			Messages: []geminisim.Message{{Text: said}}, Functions: functions, MayCall: true, OneOf: []string{"list_todos", "get_weather"},
		})
		if len(a.Calls) != 1 || a.Calls[0].Name != want || a.Text != "" {
			t.Errorf("%s: %+v, want a call of %s", said, a, want)
		}
	}
}
