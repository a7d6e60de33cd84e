package ask

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/wholetest"
)

// answering returns a client of the gateway at base, at a terminal where keys are written.
func answering(base, keys string, action Action) *desk {
	d := deskAt(base, "")
	d.Stdin, d.Action = keyboard{strings.NewReader(keys)}, action
	return d
}

// A person is asked at the terminal; an action answers for scripts; without either the turn
// waits, and the outcome says so.
func TestPersonIsAsked(t *testing.T) {
	t.Parallel()
	base := wholetest.Listen(t, map[string]string{"SLUICE_CONFIRM": "writes"}).Base
	const eggs = "Remind me to buy eggs"
	for name, tt := range map[string]struct {
		keys     string
		action   Action
		outcome  Outcome
		out, err string
		runs     bool
	}{
		"yes":              {"y\n", "", Succeeded, "✓ create_todo", "Allow create_todo", true},
		"no":               {"no, not now\n", "", Succeeded, "! create_todo", "[y]es", false},
		"changed":          {"{\"title\": \"buy milk\"}\n", "", Succeeded, "buy milk", "JSON", true},
		"unclear at first": {"perhaps\ny\n", "", Succeeded, "✓ create_todo", "Write y, n or a JSON object.", true},
		"unfit at first":   {"{\"titel\": 1}\ny\n", "", Succeeded, "✓ create_todo", "422", true},
		"nobody answers":   {"", "", Unanswered, "waits to be allowed (writes)", "a person must allow", false},
		"approve":          {"n\n", Approve, Succeeded, "✓ create_todo", "", true},
		"reject":           {"y\n", Reject, Succeeded, "! create_todo", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := answering(base, tt.keys, tt.action)
			d.want(t, name, d.Turn(t.Context(), Message{Text: eggs}), tt.outcome, tt.out, tt.err)
			if ran := strings.Contains(d.out.String(), "✓ create_todo"); ran != tt.runs {
				t.Errorf("it ran: %v\n%s", ran, d.out.String())
			}
		})
	}
	d := answering(base, eggs+"\ny\nshow my todos\n", "")
	d.want(t, "in a conversation", d.Converse(t.Context(), Message{}), Succeeded, "✓ list_todos", "Allow create_todo")
	d = deskAt(base, eggs+"\ny\n")
	d.want(t, "in a script", d.Converse(t.Context(), Message{}), Unanswered, "! create_todo", "--approve")
}

// waitingRun starts a gateway with a run that asks boss one thing after the other, and returns
// where it is and the task.
func waitingRun(t *testing.T) (base, task string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "two.yaml")
	err := os.WriteFile(path, []byte(`
workflows:
  two:
    nodes:
      first: {type: human, prompt: "First?", approvers: [boss]}
      second: {type: human, prompt: "Second?", approvers: [boss], schema: {type: object, required: [note], properties: {note: {type: string}}}}
    edges: [{from: first, to: second}]
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	base = wholetest.Listen(t, map[string]string{"SLUICE_STORE": "memory", "SLUICE_CONFIG": path}).Base
	resp, err := http.Post(base+"/chat/stream", "application/json", strings.NewReader(`{"input":"go","workflow":"two","user_id":"ann"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if task = regexp.MustCompile(`task_\w{26}`).FindString(string(text)); task == "" {
		t.Fatalf("no task: %s", text)
	}
	return base, task
}

// What a turn waits for is asked of the person who follows it. A script learns when nobody can
// be asked.
func TestTaskThatWaitsIsFollowed(t *testing.T) {
	t.Parallel()
	base := wholetest.Listen(t, map[string]string{"SLUICE_STORE": "memory", "SLUICE_CONFIRM": "writes"}).Base
	begin := func() string {
		d := deskAt(base, "")
		d.want(t, "a turn", d.Turn(t.Context(), Message{Text: "Remind me to buy eggs"}), Unanswered, "task_", "--approve")
		return regexp.MustCompile(`task_\w+`).FindString(d.out.String())
	}
	for name, tt := range map[string]struct {
		keys     string
		action   Action
		outcome  Outcome
		out, err string
	}{
		"yes": {"y\n", "", Succeeded, "✓ create_todo", "Allow"}, "no": {"n\n", "", Succeeded, "! create_todo", "Allow"}, "nobody": {"", "", Unanswered, "waits to be allowed", "Allow"},
		"approve": {"", Approve, Succeeded, "✓ create_todo", ""}, "reject": {"", Reject, Succeeded, "! create_todo", ""},
	} {
		task := begin()
		d := answering(base, tt.keys, tt.action)
		d.want(t, name, d.Follow(t.Context(), task), tt.outcome, tt.out, tt.err)
		if tt.out == "✓ create_todo" { // it does not wait any more, and is reported as it ended
			d = deskAt(base, "")
			d.want(t, name+", again", d.Follow(t.Context(), task), Succeeded, tt.out, "")
		}
	}
	task := begin()
	d := deskAt(base, "")
	d.Raw = true
	d.want(t, "without a terminal", d.Follow(t.Context(), task), Unanswered, "create_todo", "--approve")
	turn := regexp.MustCompile(`turn_\w+`).FindString(d.out.String())
	for _, name := range []string{"by its turn", "by a turn that was answered"} {
		d := answering(base, "", Approve)
		d.want(t, name, d.Follow(t.Context(), turn), Succeeded, "", "")
	}
}

// An approver finds what waits, at the terminal, without its token; the others do not.
func TestWaiting(t *testing.T) {
	t.Parallel()
	base, task := waitingRun(t)
	as := func(user, keys string, action Action) *desk {
		d := answering(base, keys, action)
		d.User = user
		return d
	}
	for _, user := range []string{"ann", "bob"} {
		d := as(user, "", "")
		d.want(t, user, d.Waiting(t.Context()), Succeeded, "Nothing waits.\n", "")
		d = as(user, "", Approve)
		d.want(t, user+" answers", d.Follow(t.Context(), task), failed, "", "sluice ask: ")
	}
	d := as("boss", "", "")
	d.Stdin = strings.NewReader("y\n")
	d.want(t, "boss, without a terminal", d.Waiting(t.Context()), Unanswered, task+" waits: First?", "--approve")
	for _, keys := range []string{"y\n", "{\"note\": 1}\n{\"note\": \"mine\"}\n"} {
		d := as("boss", keys, "")
		d.want(t, "boss", d.Waiting(t.Context()), Succeeded, task, "[n]o and why")
	}
	d = as("boss", "", "")
	d.want(t, "boss, at the end", d.Waiting(t.Context()), Succeeded, "Nothing waits.\n", "")
	d = deskAt("::", "")
	d.want(t, "no gateway", d.Waiting(t.Context()), failed, "", "sluice ask: ")
}

// deciding returns who answers with lines, and what is asked.
func deciding(lines ...string) (*decider, *strings.Builder) {
	asked := new(strings.Builder)
	return &decider{out: asked, line: func() (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		next := lines[0]
		lines = lines[1:]
		return next, nil
	}}, asked
}

// Each line that a person may write becomes the answer that the gateway reads.
func TestDecide(t *testing.T) {
	t.Parallel()
	call := approvalData{Token: "t", Calls: []pendingCall{{CallID: "1", Tool: "rm", Arguments: []byte(`{"a":"\u001b"}`)}, {CallID: "2", Tool: "mv"}}}
	node := approvalData{Token: "t", Prompt: "Ship\x1b it?"}
	form := approvalData{Token: "t", Prompt: "Fill in", Schema: []byte(`{"type":"object"}`)}
	for _, tt := range []struct {
		name  string
		q     approvalData
		lines []string
		want  string
	}{
		{"calls", call, []string{"YES, do", `  {"b":1} `}, `{"token":"t","calls":[{"call_id":"1","action":"approve","message":"do"},{"call_id":"2","action":"modify","arguments":{"b":1}}]}`},
		{"calls, both words", call, []string{"n. too late", "", "{", "[1]", "y"}, `{"token":"t","calls":[{"call_id":"1","action":"reject","message":"too late"},{"call_id":"2","action":"approve"}]}`},
		{"calls, and the end", call, []string{"y"}, ""},
		{"a node", node, []string{"well", "{}", "yes: now"}, `{"token":"t","action":"approve","message":"now"}`},
		{"a node, no", node, []string{"No never"}, `{"token":"t","action":"reject","message":"never"}`},
		{"a node, and the end", node, nil, ""},
		{"a form", form, []string{"{broken", `{"note":"x"}`}, `{"token":"t","action":"approve","input":{"note":"x"}}`},
	} {
		d, asked := deciding(tt.lines...)
		a, err := d.decide(&tt.q)
		if tt.want == "" {
			if !errors.Is(err, errAsked) {
				t.Errorf("%s: got %v, %v", tt.name, a, err)
			}
			continue
		}
		got, failed := json.Marshal(a)
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil || failed != nil {
			t.Errorf("%s: %v, %v (-want +got):\n%s", tt.name, err, failed, diff)
		}
		if strings.Contains(asked.String(), "\x1b") {
			t.Errorf("%s: asked %q", tt.name, asked.String())
		}
	}
}

// A refusal is put before a person, who may answer in another way; an action would give the
// same answer again.
func TestRefusedAnswerIsGivenAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		action Action
		err    error
		again  bool
	}{
		{"", &refusal{status: 422, text: "no\x1b"}, true}, {"", &refusal{status: 404, text: "no"}, false}, {"", io.EOF, false}, {"", nil, false}, {Approve, &refusal{status: 422, text: "no"}, false},
	} {
		d, asked := deciding()
		d.action = tt.action
		if got := d.canAskAgain(tt.err); got != tt.again || got != (asked.String() == "no\n") {
			t.Errorf("%q, %v: %v, %q", tt.action, tt.err, got, asked.String())
		}
	}
}

// Questions that an answer's stream does not repeat are still open while the turn waits.
func TestOpenQuestions(t *testing.T) {
	t.Parallel()
	a, b, c := &approvalData{ID: "a"}, &approvalData{ID: "b"}, &approvalData{ID: "c"}
	waits := streamResult{waits: true, questions: []*approvalData{b}}
	if diff := cmp.Diff([]*approvalData{b, a, c}, waits.mergeQuestions([]*approvalData{a, b, c})); diff != "" {
		t.Errorf("a turn that waits (-want +got):\n%s", diff)
	}
	ended := streamResult{questions: []*approvalData{b}}
	if diff := cmp.Diff([]*approvalData{b}, ended.mergeQuestions([]*approvalData{a})); diff != "" {
		t.Errorf("a turn that does not (-want +got):\n%s", diff)
	}
}
