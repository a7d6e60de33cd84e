package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// keyboard is a terminal at which somebody writes lines.
type keyboard struct{ io.Reader }

func (keyboard) IsTerminal() bool { return true }

func askAtKeyboard(t *testing.T, keys string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out paper
	var errOut gatewaytest.SafeBuffer
	env := map[string]string{"SLUICE_CONFIRM": "writes"}
	code = run(t.Context(), args, program{
		stdin: keyboard{strings.NewReader(keys)}, stdout: &out, stderr: &errOut,
		lookup: noColor(gatewaytest.LookupIn(gatewaytest.WithDefaults(t, env))), readFile: os.ReadFile,
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
			if ran := strings.Contains(stdout, "✓ create_todo"); ran != (tt.code == exitOK && name != "--reject") {
				t.Errorf("it ran: %v\n%s", ran, stdout)
			}
		})
	}
	code, _, stderr := runCommand(t, map[string]string{"SLUICE_CONFIRM": "writes"}, "ask", eggs)
	if code != exitAsked || !strings.Contains(stderr, "--approve") {
		t.Errorf("without a terminal: code %d, %s", code, stderr)
	}
}

// A turn that waits is followed, and what waits for a user is answered, by flags alone.
func TestAskAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	base := start(t, map[string]string{"SLUICE_STORE": "memory", "SLUICE_CONFIRM": "writes"}).Base
	for _, more := range [][]string{{"--resume"}, {"--waiting"}} {
		code, out, _ := runCommand(t, nil, "ask", "--url", base, "--user", "ann", "Remind me to buy eggs")
		if code != exitAsked {
			t.Fatalf("exit code %d: %s", code, out)
		}
		if more[0] == "--resume" {
			more = append(more, regexp.MustCompile(`task_\w+`).FindString(out))
		}
		args := append([]string{"ask", "--url", base, "--user", "ann"}, more...)
		if code, out, stderr := runCommand(t, nil, args...); code != exitAsked || !strings.Contains(stderr, "--approve") {
			t.Errorf("%q: exit code %d, %s\n%s", more, code, out, stderr)
		}
		if code, out, stderr := runCommand(t, nil, append(args, "--approve")...); code != exitOK || !strings.Contains(out, "✓ create_todo") {
			t.Errorf("%q: exit code %d, %s\n%s", more, code, out, stderr)
		}
	}
}
