package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/sim/geminisim/simtest"
)

// withHistory is a request whose contents begin with earlier messages, the user's
// and the model's in turn.
func withHistory(texts ...string) string {
	var contents []string
	for i, text := range texts {
		contents = append(contents, simtest.Text([]string{"user", "model"}[i%2], text))
	}
	return simtest.Request(contents...)
}

// "It" is the todo that the newest of the earlier messages names.
func TestEarlierMessagesSayWhatItIs(t *testing.T) {
	t.Parallel()
	url := serve(t)
	const lookUpEggs = `list_todos {"status":"all","query":"eggs"}`
	const which = "Which todo do you mean?"
	for _, tc := range []struct {
		name, want string
		texts      []string
	}{
		{"the model's own words", lookUpEggs, []string{"Remind me to buy eggs", "I've added **buy eggs**, medium priority.", "mark it as done"}},
		{"another model's words", lookUpEggs, []string{"Remind me to buy eggs", "Sure, that is on your list.", "mark it as done"}},
		{"words in bold that are no title", lookUpEggs, []string{"Remind me to buy eggs", "**Done!** It's due **tomorrow**.", "delete it"}},
		{"the only todo of a list", lookUpEggs, []string{"what's on my list?", "You have 1 open todo:\n\n- **buy eggs**: medium priority", "I finished it"}},
		{"the new title", lookUpEggs, []string{"rename milk to buy eggs", "I've renamed **milk** to **buy eggs**.", "make it urgent"}},
		{"after small talk", lookUpEggs, []string{"Remind me to buy eggs", "I've added **buy eggs**.", "thanks", "You're welcome!", "move it to Friday"}},
		{"twice it", lookUpEggs, []string{"Remind me to buy eggs", "OK", "make it urgent", "OK", "delete it"}},
		{"the newest", lookUpEggs, []string{"Remind me to call Bob", "I've added **call Bob**.", "add eggs", "I've added **eggs**.", "mark that as done"}},
		{"signs of Markdown", lookUpEggs, []string{"add a", `I've added **a \*eggs\* \[b\]**.`, "delete it"}},
		{"a list of several", which, []string{"what's on my list?", "You have 2 open todos:\n\n- **a**\n- **b**", "mark it as done"}},
		{"a list after a todo", which, []string{"add eggs", "I've added **eggs**.", "what's on my list?", "- **a**\n- **b**", "mark it as done"}},
		{"several new ones", which, []string{"add todos: milk and eggs", "I've added 2 todos:\n\n- **milk**\n- **eggs**", "delete it"}},
		{"nothing", which, []string{"mark it as done"}},
		{"only talk", which, []string{"hello", "Hello!", "mark it as done"}},
		{"a name is no reference", `list_todos {"status":"all","query":"milk"}`, []string{"add eggs", "I've added **eggs**.", "mark milk as done"}},
	} {
		if got := answered(t, url, withHistory(tc.texts...)); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// The text of a history is enough: the todo is looked up and completed.
func TestATodoOfTheHistoryIsCompleted(t *testing.T) {
	t.Parallel()
	todos := newTodoServer("buy milk", "buy eggs")
	got := converse(t, serve(t), "Mark it as done", todos,
		simtest.Text("user", "Remind me to buy eggs"), simtest.Text("model", "I've added **buy eggs**, medium priority."))
	want := []string{`list_todos {"query":"eggs","status":"all"}`, `update_todo {"status":"completed","todo_id":"todo_2"}`}
	if diff := cmp.Diff(want, got.calls); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	if want := "Done! I've marked **buy eggs** as completed."; got.answer != want {
		t.Errorf("%q, want %q", got.answer, want)
	}
}
