package offline

import (
	"testing"
	"unicode/utf8"

	"sluice/internal/sim/geminisim"
)

// Whatever a visitor writes and a tool answers, there is an answer.
func FuzzAnswer(f *testing.F) {
	f.Add("delete buy eggs", `{"output":"{\"todos\":[{\"id\":\"1\",\"title\":\"buy eggs\"},{\"id\":\"2"}`)
	f.Add("mark it as done", `{"output":"{\"a\":1} [cut off"}`)
	f.Add("what's on my list?", `{"error":""}`)
	f.Add("add todos: , and ; -", `{"content":[{"type":"text","text":"[[["}]}`)
	f.Add("delet# buy ##", `{}`)
	f.Add("move ’s to the 5th of Ünï at :", `{}`)
	functions := []geminisim.Function{{Name: "create_todo"}, {Name: "list_todos"}, {Name: "update_todo"}, {Name: "delete_todo"}}
	f.Fuzz(func(t *testing.T, text, response string) {
		if !utf8.ValidString(text) || len(text) > 500 {
			return // the wire refuses the one, and the other is only slow
		}
		q := geminisim.Question{MayCall: true, Functions: functions, Messages: []geminisim.Message{{Text: "add eggs"}, {Model: true, Text: "**eggs**"}, {Text: text}}}
		for range 4 {
			a := Model{Now: testNow}.Answer(q)
			if a.Text == "" && len(a.Calls) == 0 {
				t.Fatalf("%q: no answer", text)
			}
			if len(a.Calls) == 0 {
				return
			}
			m := geminisim.Message{}
			for _, c := range a.Calls {
				if !c.Args.IsValid() {
					t.Fatalf("%q: arguments %s", text, c.Args)
				}
				m.Results = append(m.Results, geminisim.Result{Name: c.Name, Response: []byte(response)})
			}
			q.Messages = append(q.Messages, geminisim.Message{Model: true, Calls: a.Calls}, m)
		}
	})
}
