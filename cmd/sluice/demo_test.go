package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
)

// runDemo runs the command in a process of its own, with settings that would change what it
// shows, and returns what it wrote to both outputs.
func runDemo(t *testing.T, stdin string, args ...string) (out string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, append([]string{"demo"}, args...)...)
	cmd.Env = append(os.Environ(), gatewaytest.ChildVariable+"=sluice", "GORACE="+gatewaytest.NoExitSleep,
		"GEMINI_API_KEY=a-key-for-tests", "GEMINI_BASE_URL=http://127.0.0.1:1", "MCP_SERVER_URL=http://127.0.0.1:1/mcp", "SLUICE_MAX_STEPS=1")
	cmd.Stdin = strings.NewReader(stdin)
	b, _ := cmd.CombinedOutput()
	return string(b), cmd.ProcessState.ExitCode()
}

func TestDemo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tour string
		want []string
	}{
		{"tool", []string{"(a simulator, not Gemini)", "✓ create_todo", "I've added **buy eggs**"}},
		{"team", []string{"⇒ light-agent + music-agent", "✓ ", "✓ ", "The kitchen lights are at 30%. Now playing: jazz."}},
		{"workflow", []string{"ask waits for a person", "✓ refund", "Your refund was paid: 30 EUR."}},
		{"resume", []string{"was killed with -9", "the connection was lost", "I've added **water the plants**", "You have 1 open todo:"}},
		{"sms", []string{"failed: numbers_backed", "✉ 1/1", "You've logged 32/40 hours this week."}},
	} {
		t.Run(tt.tour, func(t *testing.T) {
			t.Parallel()
			out, code := runDemo(t, "", tt.tour)
			if code != exitOK {
				t.Errorf("exit code %d", code)
			}
			rest := out
			for _, want := range tt.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("want %q, in this order:\n%s", want, out)
				}
				rest = after
			}
		})
	}
}

func TestDemoNamesItsTours(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCommand(t, nil, "demo", "teem")
	if code != exitUsage || stdout != "" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	for _, tour := range listTours() {
		if !strings.Contains(stderr, "  "+tour.name+" ") {
			t.Errorf("%s is not named:\n%s", tour.name, stderr)
		}
	}
}
