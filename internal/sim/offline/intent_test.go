package offline

import (
	"strings"
	"testing"

	"sluice/internal/sim/geminisim/simtest"
)

// firstStep returns what the model does first with a phrase.
func firstStep(t *testing.T, text string) string {
	t.Helper()
	return answered(t, serve(t), simtest.UserSays(text))
}

// creates is the call of create_todo; more holds tags and a description.
func creates(title, due, priority string, more ...string) string {
	s := `create_todo {"title":` + simtest.Quote(title)
	if len(more) > 1 {
		s += `,"description":` + simtest.Quote(more[1])
	}
	if due != "" {
		s += `,"due_date":"` + due + `"`
	}
	s += `,"priority":"` + priority + `"`
	if len(more) > 0 && more[0] != "" {
		s += `,"tags":["` + strings.ReplaceAll(more[0], " ", `","`) + `"]`
	}
	return s + "}"
}

func TestPhrasesThatCreate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"Remind me to buy eggs tomorrow at 3pm", creates("buy eggs", "2026-11-22T15:00:00", "medium")},
		{"Remind me to buy eggs tomorrow because we bake a cake", creates("buy eggs", "2026-11-22", "medium", "", "we bake a cake")},
		{"Remind me to buy eggs because we bake tomorrow", creates("buy eggs", "2026-11-22", "medium", "", "we bake tomorrow")},
		{"Remind me to call mom tomorrow personal", creates("call mom", "2026-11-22", "medium", "personal")},
		{"Remind me to call mom tomorrow, personal", creates("call mom", "2026-11-22", "medium", "personal")},
		{"Add a todo: print the slides, work", creates("print the slides", "", "medium", "work")},
		{"add a todo: call mom on friday at noon", creates("call mom", "2026-11-27T12:00:00", "medium")},
		{"I need to finish the report by next Monday, urgent #work", creates("finish the report", "2026-11-23", "high", "work")},
		{"don't let me forget to water the plants tonight", creates("water the plants", "2026-11-21T20:00:00", "medium")},
		{"Don’t forget to call the dentist", creates("call the dentist", "", "medium")},
		{"dont forget the meeting at 9:30 tomorrow", creates("the meeting", "2026-11-22T09:30:00", "medium")},
		{"New todo buy flowers", creates("buy flowers", "", "medium")},
		{"remind me in 2 hours to stretch", creates("stretch", "2026-11-21T13:30:00", "medium")},
		{"remind me to renew my passport in three days", creates("renew my passport", "2026-11-24", "medium")},
		{"buy gifts on December 5", creates("buy gifts", "2026-12-05", "medium")},
		{"submit the tax form on 5 Dec 2026", creates("submit the tax form", "2026-12-05", "medium")},
		{"team call at 15:30", creates("team call", "2026-11-21T15:30:00", "medium")},
		{"take out the trash tonight", creates("take out the trash", "2026-11-21T20:00:00", "medium")},
		{"remind me this evening to call Bob", creates("call Bob", "2026-11-21T19:00:00", "medium")},
		{"plan the sprint next week", creates("plan the sprint", "2026-11-23", "medium")},
		{"buy milk and call Bob tomorrow", creates("buy milk and call Bob", "2026-11-22", "medium")},
		{"add todos: milk, bread and eggs", creates("milk", "", "medium") + "\n" + creates("bread", "", "medium") + "\n" + creates("eggs", "", "medium")},
		{"Add three tasks: write tests, fix bug #12 and deploy on friday", creates("write tests", "", "medium") + "\n" + creates("fix bug #12", "", "medium") + "\n" + creates("deploy", "2026-11-27", "medium")},
		{"add milk, bread and eggs to my list", creates("milk", "", "medium") + "\n" + creates("bread", "", "medium") + "\n" + creates("eggs", "", "medium")},
		{"add eggs and bacon to my shopping list", creates("eggs and bacon", "", "medium")},
		{"add a high priority task to call the bank asap", creates("call the bank", "", "high")},
		{"create an urgent todo: file taxes by Friday", creates("file taxes", "2026-11-27", "high")},
		{"urgent: call the plumber", creates("call the plumber", "", "high")},
		{"add task buy paint tomorrow low priority", creates("buy paint", "2026-11-22", "low")},
		{"Buy eggs tomorrow. It's urgent.", creates("Buy eggs", "2026-11-22", "high")},
		{"I have to call the bank tomorrow morning, it's important", creates("call the bank", "2026-11-22T09:00:00", "high")},
		{"remind me to call Tim, not urgent", creates("call Tim", "", "low")},
		{"add a todo to read the important mail", creates("read the important mail", "", "medium")},
		{"Add buy eggs to my todo list for tomorrow at 9am #shopping", creates("buy eggs", "2026-11-22T09:00:00", "medium", "shopping")},
		{"Please add a reminder to pick up the kids at 4", creates("pick up the kids", "2026-11-21T16:00:00", "medium")},
		{"Can you remind me to email Sarah about the contract on Monday morning?", creates("email Sarah about the contract", "2026-11-23T09:00:00", "medium")},
		{"hey, could you please add eggs, thanks!", creates("eggs", "", "medium")},
		{`put "buy stamps" on my list`, creates("buy stamps", "", "medium")},
		{"note to self: update the README", creates("update the README", "", "medium")},
		{"make sure I lock the door tonight", creates("lock the door", "2026-11-21T20:00:00", "medium")},
		{"make a note to call Anna", creates("call Anna", "", "medium")},
		{"Dentist on Friday at 10", creates("Dentist", "2026-11-27T10:00:00", "medium")},
		{"Interview Thursday 2pm", creates("Interview", "2026-11-26T14:00:00", "medium")},
		{"buy milk", creates("buy milk", "", "medium")},
		{"I need eggs", creates("eggs", "", "medium")},
		{"we should repaint the fence", creates("repaint the fence", "", "medium")},
		{"Schedule a meeting with the team next Tuesday at 14:00", creates("a meeting with the team", "2026-11-24T14:00:00", "medium")},
		{"set a reminder for friday at 9 to call mom", creates("call mom", "2026-11-27T09:00:00", "medium")},
		{`Add "Prepare Q4 report" with high priority due next Friday`, creates("Prepare Q4 report", "2026-11-27", "high")},
		{"water plants every monday", creates("water plants every monday", "", "medium")},
		{"cancel my gym membership by friday", creates("cancel my gym membership", "2026-11-27", "medium")},
		{"cancel all subscriptions by friday", creates("cancel all subscriptions", "2026-11-27", "medium")},
		{"change the sheets on friday", creates("change the sheets", "2026-11-27", "medium")},
		{"finish the slides by Thursday 5pm", creates("finish the slides", "2026-11-26T17:00:00", "medium")},
		{"remind me to remind Bob", creates("remind Bob", "", "medium")},
	} {
		if got := firstStep(t, tc.text); got != tc.want {
			t.Errorf("%q:\n got %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

func TestPhrasesThatList(t *testing.T) {
	t.Parallel()
	const (
		open = `list_todos {"status":"pending"}`
		done = `list_todos {"status":"completed"}`
		all  = `list_todos {"status":"all"}`
	)
	for _, tc := range []struct{ text, want string }{
		{"what's on my list", open},
		{"What is on my list?", open},
		{"whats on my todo list", open},
		{"list", open},
		{"my todos", open},
		{"todo list", open},
		{"show me my tasks please", open},
		{"give me my todo list", open},
		{"what should I do next?", open},
		{"how many todos do I have?", open},
		{"what is on my plate?", open},
		{"what have I got to do?", open},
		{"show my high priority todos", `list_todos {"status":"pending","priority":"high"}`},
		{"Which tasks are urgent?", `list_todos {"status":"pending","priority":"high"}`},
		{"show tasks with low priority", `list_todos {"status":"pending","priority":"low"}`},
		{"what is due today", `list_todos {"status":"pending","due_date_filter":"today"}`},
		{"what do I have to do today?", `list_todos {"status":"pending","due_date_filter":"today"}`},
		{"what’s due tomorrow?", `list_todos {"status":"pending","due_date_filter":"2026-11-22"}`},
		{"is there anything due on friday?", `list_todos {"status":"pending","due_date_filter":"2026-11-27"}`},
		{"what's due this week?", `list_todos {"status":"pending","due_date_filter":"this_week"}`},
		{"show todos due next week", open}, // filtered here: the tool knows no such range
		{"anything overdue?", `list_todos {"status":"pending","due_date_filter":"overdue"}`},
		{"show completed", done},
		{"what did I finish this week?", done},
		{"which todos are done?", done},
		{"list all todos", all},
		{"show everything", all},
		{"show the #home todos", `list_todos {"status":"pending","tags":["home"]}`},
		{"search for eggs", `list_todos {"status":"pending","query":"eggs"}`},
		{"show buy eggs", `list_todos {"status":"pending","query":"eggs"}`},
		{"find todos about the quarterly report", `list_todos {"status":"pending","query":"quarterly"}`},
		{"when is the dentist?", `list_todos {"status":"pending","query":"dentist"}`},
		{"good morning, what's due today?", `list_todos {"status":"pending","due_date_filter":"today"}`},
		{"I want to know what's due tomorrow", `list_todos {"status":"pending","due_date_filter":"2026-11-22"}`},
	} {
		if got := firstStep(t, tc.text); got != tc.want {
			t.Errorf("%q:\n got %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

// What a phrase wants to change, in the model's own terms; the calls that follow
// are in TestConversations.
func TestPhrasesThatChange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"Mark buy eggs as done", "complete|buy eggs"},
		{"mark eggs done", "complete|eggs"},
		{"I finished the report", "complete|report"},
		{"complete buy eggs", "complete|buy eggs"},
		{"I'm done with the report", "complete|report"},
		{"done with the report", "complete|report"},
		{"I bought the eggs", "complete|bought the eggs"},
		{"I've already called the dentist", "complete|called the dentist"},
		{"I paid the rent yesterday", "complete|paid the rent"},
		{"check off buy eggs", "complete|buy eggs"},
		{"buy eggs is done", "complete|buy eggs"},
		{"just finished the report", "complete|report"},
		{"delete buy eggs", "delete|buy eggs"},
		{"remove the todo about the dentist", "delete|the dentist"},
		{"delete the dentist todo", "delete|dentist"},
		{"please remove milk from my list", "delete|milk"},
		{"get rid of the report task", "delete|report"},
		{"delete #3", "delete|3"},
		{"delete todo_abc123", "delete|todo_abc123"},
		{"rename buy eggs to buy milk", "rename|buy eggs|buy milk"},
		{"change the title of buy eggs to buy brown eggs", "rename|buy eggs|buy brown eggs"},
		{"change buy eggs to buy milk", "rename|buy eggs|buy milk"},
		{"move the dentist to Friday at 10", "move|dentist|2026-11-27T10:00:00"},
		{"reschedule the dentist to next Monday at 9am", "move|dentist|2026-11-23T09:00:00"},
		{"change the dentist to Friday at 10", "move|dentist|2026-11-27T10:00:00"},
		{"snooze buy eggs until tomorrow", "move|buy eggs|2026-11-22"},
		{"change the due date of buy eggs to Sunday", "move|buy eggs|2026-11-22"},
		{"the report is due on Friday", "move|report|2026-11-27"},
		{"make buy eggs urgent", "change|buy eggs|high"},
		{"mark the report as high priority", "change|report|high"},
		{"set the priority of buy eggs to low", "change|buy eggs|low"},
		{"buy eggs is not important", "change|buy eggs|low"},
	} {
		c, ok := readIntent(tc.text, testNow()).(change)
		if !ok {
			t.Errorf("%q is no change: %s", tc.text, firstStep(t, tc.text))
			continue
		}
		got := string(c.kind) + "|" + c.target
		for _, detail := range []string{c.title, c.due.ISO(), c.priority} {
			if detail != "" {
				got += "|" + detail
			}
		}
		if got != tc.want {
			t.Errorf("%q: %s, want %s", tc.text, got, tc.want)
		}
	}
}

// A change of several todos at once is refused, so that a rule never touches more than what was named.
func TestPhrasesForAllChangeNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"delete all completed todos", "delete everything", "mark everything as done", "clear all todos", "move all overdue todos to Monday", "yes, delete all todos"} {
		if got := firstStep(t, text); got != oneByOne {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestPhrasesThatNeedNoTool(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, want string }{
		{"hello", "Hello! I look after your todo list."},
		{"Hi there!", "Hello!"},
		{"good morning", "Hello!"},
		{"thanks", "You're welcome!"},
		{"thank you so much!", "You're welcome!"},
		{"how are you?", "offline demo model"},
		{"who are you?", "built-in offline demo model"},
		{"are you a real AI?", "built-in offline demo model"},
		{"what can you do?", "Remind me to buy eggs tomorrow at 3pm"},
		{"", "For example:"},
		{"help", "Move the dentist to Friday at 10"},
		{"what day is it?", "It's Saturday, 21 November 2026, 11:30 (Europe/Berlin)."},
		{"what's the date today?", "21 November 2026"},
		{"what time is it?", "11:30"},
		{"never mind", "nothing was changed"},
		{"how do I use the real Gemini?", "GEMINI_API_KEY"},
		{"What is the capital of France?", "offline demo model"},
		{"write a poem about the sea", "GEMINI_API_KEY"},
		{"what's the weather tomorrow?", "offline demo model"},
		{"today is a nice day", "offline demo model"},
		{"tell me a joke", "offline demo model"},
		{"Ich brauche Milch", "offline demo model"},
		{"🎉", "offline demo model"},
		{"add a todo", "What should the todo say?"},
		{"remind me", "What should the todo say?"},
		{"remind me tomorrow", "What should the todo say?"},
		{"delete", "Which todo do you mean?"},
		{"delete it", "Which todo do you mean?"},
		{"delete the todo", "Which todo do you mean?"},
		{"postpone the dentist", "When should it be due?"},
	} {
		if got := firstStep(t, tc.text); !strings.Contains(got, tc.want) {
			t.Errorf("%q: %q does not contain %q", tc.text, got, tc.want)
		}
	}
}

// What the README, the page, its examples and the load generator say.
func TestPhrasesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Remind me to buy eggs tomorrow at 3pm":  creates("buy eggs", "2026-11-22T15:00:00", "medium"),
		"Add milk, bread and butter to my list":  creates("milk", "", "medium") + "\n" + creates("bread", "", "medium") + "\n" + creates("butter", "", "medium"),
		"What is on my list?":                    `list_todos {"status":"pending"}`,
		"what is on my list?":                    `list_todos {"status":"pending"}`,
		"Show my todos":                          `list_todos {"status":"pending"}`,
		"Add milk to my todos":                   creates("milk", "", "medium"),
		"Add buy milk to my list, high priority": creates("buy milk", "", "high"),
		"Mark buy milk as done":                  `list_todos {"status":"all","query":"milk"}`,
		"Delete buy milk from my list":           `list_todos {"status":"all","query":"milk"}`,
		"Add milk #a-tag-that-is-longer-than-the-fifty-characters-a-tag-may-have": creates("milk", "", "medium",
			"a-tag-that-is-longer-than-the-fifty-characters-a-tag-may-have"),
		// The model's own suggestions.
		"Add todos: milk, bread and eggs":           creates("milk", "", "medium") + "\n" + creates("bread", "", "medium") + "\n" + creates("eggs", "", "medium"),
		"Finish the report by Friday, urgent #work": creates("Finish the report", "2026-11-27", "high", "work"),
		"What's due this week?":                     `list_todos {"status":"pending","due_date_filter":"this_week"}`,
		"Show my high priority todos":               `list_todos {"status":"pending","priority":"high"}`,
		"I finished the report":                     `list_todos {"status":"all","query":"report"}`,
		"Move the dentist to Friday at 10":          `list_todos {"status":"all","query":"dentist"}`,
		"Make buy eggs urgent":                      `list_todos {"status":"all","query":"eggs"}`,
		"Rename buy eggs to buy milk":               `list_todos {"status":"all","query":"eggs"}`,
		"Remind me to call mom on Friday at noon":   creates("call mom", "2026-11-27T12:00:00", "medium"),
	} {
		if got := firstStep(t, text); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}
