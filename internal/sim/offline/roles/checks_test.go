package roles

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/sim/geminisim"
)

// asked is a request of structured output whose schema has the members.
func asked(t *testing.T, members string, messages ...geminisim.Message) (string, bool) {
	t.Helper()
	var properties []string
	for name := range strings.FieldsSeq(members) {
		properties = append(properties, `"`+name+`":{}`)
	}
	schema := jsontext.Value(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)
	for _, role := range Structured() {
		if v, ok := role(schema, geminisim.Question{Messages: messages}); ok {
			return string(v), true
		}
	}
	return "", false
}

func TestPlan(t *testing.T) {
	t.Parallel()
	data := func(message, agents string) geminisim.Message {
		return user("Plan this:\n" + `{"user_message":"` + message + `","agents":[` + agents + "]}\nThanks.")
	}
	const (
		todos   = `{"id":"todo","tools":["create_todo","delete_todos","list_todos"]}`
		climate = `{"id":"climate","tools":["set_climate","get_climate"]}`
	)
	for _, tt := range []struct{ message, agents, steps string }{
		{"Show my todos", todos, `[{"agent":"todo","action":"list_todos","parameters":{}}]`},
		{"How is the climate", todos + "," + climate, `[{"agent":"climate","action":"get_climate","parameters":{}}]`},
		{"Show todos and climate", climate + "," + todos, `[{"agent":"climate","action":"get_climate","parameters":{}}]`},
		{"Delete my todos", todos, `[{"agent":"todo","action":"answer the user","parameters":{}}]`},
		{"Show my lights", todos + "," + climate, `[{"agent":"todo","action":"answer the user","parameters":{}}]`},
		{"Show my todos", `{"id":"x","tools":["delete_todos"]}`, `[{"agent":"x","action":"answer the user","parameters":{}}]`},
		{"Show my todos", "", `[]`},
	} {
		got, ok := asked(t, "criteria steps", data(tt.message, tt.agents))
		if !ok || !strings.HasSuffix(got, `"steps":`+tt.steps+"}") {
			t.Errorf("%s of %s: %s", tt.message, tt.agents, got)
		}
		about := `{"criteria":[{"id":"answers_the_request","description":"The answer is about what the user asked for.","expected":"` + tt.message + `"}`
		if !strings.HasPrefix(got, about) {
			t.Errorf("%s: criteria of %s", tt.message, got)
		}
		if reads := strings.Contains(tt.steps, "list_") || strings.Contains(tt.steps, "get_"); strings.Contains(got, `"rests_on_the_data"`) != reads {
			t.Errorf("%s: on data, in %s", tt.message, got)
		}
	}
	for name, messages := range map[string][]geminisim.Message{
		"no message":    nil,
		"no data":       {user(`What is "user_message"?`)},
		"the model's":   {model(`{"user_message":"x"}`)},
		"not JSON":      {user(`{"user_message":`)},
		"not on a line": {user(`see {"user_message":"x"}`)},
	} {
		if got, ok := asked(t, "criteria", messages...); ok {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got, ok := asked(t, "other", data("Show my todos", todos)); ok {
		t.Errorf("another schema: %s", got)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const fails = `"passed":false,"feedback":"The answer has no word in common with the question or the data."`
	for _, tt := range []struct {
		name, data, want string
	}{
		{"a word of the question", `{"user_message":"Show my lamps","answer":"There is one lamp.","criteria":[{"id":"a"},{"id":"b"}]}`, `{"verdicts":[{"id":"a","passed":true,"feedback":""},{"id":"b","passed":true,"feedback":""}]}`},
		{"a word of the data", `{"user_message":"hm","answer":"It is milk.","tool_results":[{"tool":"t","result":"{\"buy_milk\":[1]}"}],"criteria":[{"id":"a"}]}`, `{"verdicts":[{"id":"a","passed":true,"feedback":""}]}`},
		{"none", `{"user_message":"Show my lamps","answer":"Bananas.","criteria":[{"id":"a"}]}`, `{"verdicts":[{"id":"a",` + fails + `}]}`},
		{"words that say nothing", `{"user_message":"What is the weather","answer":"It is the end.","criteria":[{"id":"a"}]}`, `{"verdicts":[{"id":"a",` + fails + `}]}`},
		{"no criteria", `{"user_message":"a","answer":"b"}`, `{"verdicts":[]}`},
	} {
		if got, ok := asked(t, "verdicts", user(tt.data)); !ok || got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if got, ok := asked(t, "verdicts", user("Judge this.")); ok {
		t.Errorf("without data: %s", got)
	}
}

// A critic wants a greeting: of the last draft, where several were shown.
func TestCritic(t *testing.T) {
	t.Parallel()
	const (
		fine = `{"score":9,"passed":true,"feedback":""}`
		poor = `{"score":5,"passed":false,"feedback":"Begin with a greeting, and end with regards."}`
	)
	for name, tt := range map[string]struct {
		messages []geminisim.Message
		want     string
	}{
		"greets":         {[]geminisim.Message{user(`{"draft":"Hello,\n\nx"}`)}, fine},
		"blanks before":  {[]geminisim.Message{user(`{"draft":"  Hello, x"}`)}, fine},
		"does not":       {[]geminisim.Message{user(`{"draft":"x Hello,"}`)}, poor},
		"no draft":       {[]geminisim.Message{user(`x`)}, poor},
		"the last":       {[]geminisim.Message{user(`{"draft":"x"}`), model("y"), user(`{"draft":"Hello, x"}`)}, fine},
		"the last, poor": {[]geminisim.Message{user(`{"draft":"Hello, x"}`), user(`{"draft":"x"}`)}, poor},
	} {
		if got, ok := asked(t, "score passed feedback", tt.messages...); !ok || got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, members := range []string{"score passed", "passed feedback", "score feedback"} {
		if got, ok := asked(t, members, user(`{"draft":"x"}`)); ok {
			t.Errorf("asked for %s: %s", members, got)
		}
	}
	if got, ok := asked(t, "score passed feedback"); ok {
		t.Errorf("without a message: %s", got)
	}
}

// An answer is written again with the numbers that tools have reported.
func TestRewritten(t *testing.T) {
	t.Parallel()
	task := func(response, failed string) geminisim.Message {
		return user(`{"original_response":"` + response + `","failed_criteria":[` + failed + `]}`)
	}
	data := func(message, results string) geminisim.Message {
		return user(`{"user_message":"` + message + `","tool_results":[` + results + `]}`)
	}
	result := func(text string) string { return `{"tool":"t","result":"` + strings.ReplaceAll(text, `"`, `\"`) + `"}` }
	const failed = `{"id":"a"}`
	for _, tt := range []struct{ name, message, results, response, want string }{
		{"the length of a list", "", result(`{"todos":[{"n":7},{"n":8}]}`), "You have 1237.", "You have 2."},
		{"a number alone", "", result(`{"hours":32.5}`), "You have 35 hours.", "You have 32.5 hours."},
		{"lists come first", "", result(`{"a":9,"b":[1,2,3]}`), "It is 4, or 5.", "It is 3, or 9."},
		{"what is right stays", "", result(`{"a":32,"b":40}`), "35/40 hours", "32/40 hours"},
		{"more wrong than known", "", result(`{"a":1}`), "7 and 8", "1 and 8"},
		{"no data", "", "", "7 and 8", "7 and 8"},
		{"a text as the result", "", result(`there are 12 of 30`), "5 of 6", "12 of 30"},
		{"several results", "", result(`{"a":1}`) + "," + result(`{"a":2}`), "5 and 6", "1 and 2"},
		{"a number twice", "", result(`{"a":1,"b":1}`), "5 and 6", "1 and 6"},
		{"by name, in order", "", result(`{"b":2,"a":1}`), "5 and 6", "1 and 2"},
		{"a wild guess", "Guess wildly how many", result(`[1,2]`), "You have 1237 todos.", "You have 4567 todos."},
	} {
		a, ok := Answer(geminisim.Question{Messages: []geminisim.Message{data(tt.message, tt.results), task(tt.response, failed)}})
		if !ok || a.Text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, a.Text, tt.want)
		}
	}
	for name, m := range map[string]geminisim.Message{"nothing failed": task("5", ""), "nothing said": task("", failed), "an ordinary request": user("hi")} {
		if a, ok := Answer(geminisim.Question{Messages: []geminisim.Message{m}}); ok {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// One request is for one role: what a schema asks for decides, whatever the conversation holds.
func TestOneRoleAnswers(t *testing.T) {
	t.Parallel()
	all := []geminisim.Message{
		user(`{"user_message":"Show my lamps","answer":"a lamp","draft":"x","criteria":[{"id":"a"}]}`),
		user("- a: lamps\n\nUser request: lamps"),
	}
	for members, want := range map[string]string{
		"criteria steps":        `{"criteria":`,
		"verdicts":              `{"verdicts":`,
		"score passed feedback": `{"score":`,
	} {
		if got, ok := asked(t, members, all...); !ok || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", members, got)
		}
	}
	schema := jsontext.Value(`{"properties":{"agentId":{"enum":["a","none"]},"verdicts":{}}}`)
	for i, role := range Structured() {
		v, ok := role(schema, geminisim.Question{Messages: all})
		if want := i == 0 || i == 2; ok != want {
			t.Errorf("role %d: %t, %s", i, ok, v)
		}
	}
}
