package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/gateway/gatewaytest"
)

// keyboard is a terminal at which somebody writes lines.
type keyboard struct{ io.Reader }

func (keyboard) IsTerminal() bool { return true }

func askAtKeyboard(t *testing.T, keys string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut gatewaytest.SafeBuffer
	env := map[string]string{"SLUICE_CONFIRM": "writes"}
	code = run(t.Context(), args, program{
		stdin: keyboard{strings.NewReader(keys)}, stdout: &out, stderr: &errOut,
		lookup: gatewaytest.LookupIn(gatewaytest.WithDefaults(t, env)), readFile: os.ReadFile,
	})
	return code, out.String(), errOut.String()
}

// A person is asked in the terminal; a flag answers for scripts; without either the turn
// waits, and the exit code says so.
func TestAskAsksAPerson(t *testing.T) {
	t.Parallel()
	const eggs = "Remind me to buy eggs"
	for name, tt := range map[string]struct {
		keys string
		args []string
		code int
		out  string // in stdout
		err  string // in stderr
	}{
		"yes":               {"y\n", nil, exitOK, "✓ create_todo", "Allow create_todo"},
		"no":                {"no, not now\n", nil, exitOK, "! create_todo", "[y]es"},
		"changed":           {"{\"title\": \"buy milk\"}\n", nil, exitOK, "buy milk", "JSON"},
		"unclear at first":  {"perhaps\ny\n", nil, exitOK, "✓ create_todo", "Write y, n or a JSON object."},
		"unfit at first":    {"{\"titel\": 1}\ny\n", nil, exitOK, "✓ create_todo", "422"},
		"nobody answers":    {"", nil, exitAsked, "waits to be allowed (writes)", "a person must allow"},
		"--approve":         {"", []string{"--approve"}, exitOK, "✓ create_todo", ""},
		"--reject":          {"", []string{"--reject"}, exitOK, "! create_todo", ""},
		"both":              {"", []string{"--reject", "--approve"}, exitUsage, "", "exclude each other"},
		"in a conversation": {eggs + "\ny\nshow my todos\n", []string{"--chat"}, exitOK, "✓ list_todos", "Allow create_todo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"ask"}, tt.args...)
			if name != "in a conversation" {
				args = append(args, eggs)
			}
			code, stdout, stderr := askAtKeyboard(t, tt.keys, args...)
			if code != tt.code || !strings.Contains(stdout, tt.out) || !strings.Contains(stderr, tt.err) {
				t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
			}
			if ran := strings.Contains(stdout, "✓ create_todo"); ran != (tt.code == exitOK && name != "no" && name != "--reject") {
				t.Errorf("it ran: %v\n%s", ran, stdout)
			}
		})
	}
	code, _, stderr := runCommand(t, map[string]string{"SLUICE_CONFIRM": "writes"}, "ask", eggs)
	if code != exitAsked || !strings.Contains(stderr, "--approve") {
		t.Errorf("without a terminal: code %d, %s", code, stderr)
	}
}

// waitingRun starts a gateway with a run that asks boss one thing after the other, and returns where
// it is and the task.
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
	base = start(t, map[string]string{"SLUICE_STORE": "memory", "SLUICE_CONFIG": path}).Base
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
func TestResumeOfATaskThatWaits(t *testing.T) {
	t.Parallel()
	base := start(t, map[string]string{"SLUICE_STORE": "memory", "SLUICE_CONFIRM": "writes"}).Base
	ask := func() string {
		code, out, _ := runCommand(t, nil, "ask", "--url", base, "Remind me to buy eggs")
		if code != exitAsked {
			t.Fatalf("exit code %d: %s", code, out)
		}
		return regexp.MustCompile(`task_\w+`).FindString(out)
	}
	for name, tt := range map[string]struct {
		keys string
		flag string
		code int
		out  string
	}{
		"yes": {"y\n", "", exitOK, "✓ create_todo"}, "no": {"n\n", "", exitOK, "! create_todo"}, "nobody": {"", "", exitAsked, "waits to be allowed"},
		"--approve": {"", "--approve", exitOK, "✓ create_todo"}, "--reject": {"", "--reject", exitOK, "! create_todo"},
	} {
		args := []string{"ask", "--url", base, "--resume", ask()}
		if tt.flag != "" {
			args = append(args, tt.flag)
		}
		code, stdout, stderr := askAtKeyboard(t, tt.keys, args...)
		if code != tt.code || !strings.Contains(stdout, tt.out) {
			t.Errorf("%s: exit code %d, %s\n%s", name, code, stdout, stderr)
		}
		if tt.out == "✓ create_todo" { // it does not wait any more, and is reported as it ended
			if code, stdout, stderr := runCommand(t, nil, args...); code != exitOK || !strings.Contains(stdout, tt.out) {
				t.Errorf("%s, again: exit code %d, %s\n%s", name, code, stdout, stderr)
			}
		}
	}
	task := ask()
	code, stdout, stderr := runCommand(t, nil, "ask", "--url", base, "--resume", task)
	if code != exitAsked || !strings.Contains(stderr, "--approve") || !strings.Contains(stdout, "create_todo") {
		t.Errorf("without a terminal: exit code %d, %s\n%s", code, stdout, stderr)
	}
	_, lines, _ := runCommand(t, nil, "ask", "--json", "--url", base, "--resume", task)
	turn := regexp.MustCompile(`turn_\w+`).FindString(lines)
	if code, _, stderr := runCommand(t, nil, "ask", "--url", base, "--resume", turn, "--approve"); code != exitOK {
		t.Errorf("by its turn: exit code %d, %s", code, stderr)
	}
	if code, stdout, stderr := runCommand(t, nil, "ask", "--url", base, "--resume", turn, "--approve"); code != exitOK {
		t.Errorf("by a turn that was answered: exit code %d, %s\n%s", code, stdout, stderr)
	}
}

// An approver finds what waits, in the terminal, without its token; the others do not.
func TestAskAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	base, task := waitingRun(t)
	for _, user := range []string{"ann", "bob"} {
		if code, stdout, stderr := runCommand(t, nil, "ask", "--url", base, "--waiting", "--user", user); code != exitOK || stdout != "Nothing waits.\n" {
			t.Errorf("%s: exit code %d, %s%s", user, code, stdout, stderr)
		}
		if code, stdout, _ := runCommand(t, nil, "ask", "--url", base, "--user", user, "--resume", task, "--approve"); code != exitFailed {
			t.Errorf("%s answers: exit code %d, %s", user, code, stdout)
		}
	}
	if code, stdout, _ := runCommand(t, nil, "ask", "--url", base, "--waiting", "--user", "boss"); code != exitAsked || !strings.Contains(stdout, task+" waits: First?") {
		t.Errorf("boss, without a terminal: exit code %d, %s", code, stdout)
	}
	for _, keys := range []string{"y\n", "{\"note\": 1}\n{\"note\": \"mine\"}\n"} {
		code, stdout, stderr := askAtKeyboard(t, keys, "ask", "--url", base, "--waiting", "--user", "boss")
		if code != exitOK {
			t.Errorf("boss: exit code %d, %s\n%s", code, stdout, stderr)
		}
	}
	if _, stdout, _ := runCommand(t, nil, "ask", "--url", base, "--waiting", "--user", "boss"); stdout != "Nothing waits.\n" {
		t.Errorf("boss, at the end: %s", stdout)
	}
	for _, wrong := range [][]string{{"--waiting"}, {"--waiting", "--url", base}, {"--waiting", "--user", "x"}, {"--waiting", "--user", "x", "--url", base, "hi"}} {
		if code, _, stderr := runCommand(t, nil, append([]string{"ask"}, wrong...)...); code != exitUsage {
			t.Errorf("%q: exit code %d, %s", wrong, code, stderr)
		}
	}
}
