package browser

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sluice/e2e/process"
)

const examples = root + "/examples/"

// client is an example that runs in a terminal.
type client struct {
	name    string
	command func(t *testing.T, gateway, text string) *exec.Cmd
}

func clients() []client {
	return []client{
		{"goclient", func(t *testing.T, gateway, text string) *exec.Cmd {
			t.Helper()
			return exec.CommandContext(t.Context(), program(t, built.goclient), "-gateway", gateway, text)
		}},
		{"fetch", func(t *testing.T, gateway, text string) *exec.Cmd {
			t.Helper()
			return withGateway(exec.CommandContext(t.Context(), installed(t, "node"), examples+"fetch/ask.mjs", text), gateway)
		}},
		{"curl", func(t *testing.T, gateway, text string) *exec.Cmd {
			t.Helper()
			installed(t, "curl")
			installed(t, "jq")
			return withGateway(exec.CommandContext(t.Context(), installed(t, "bash"), examples+"curl/chat.sh", text), gateway)
		}},
	}
}

func withGateway(cmd *exec.Cmd, gateway string) *exec.Cmd {
	cmd.Env = append(os.Environ(), "GATEWAY="+gateway)
	return cmd
}

// situation is what happens to a turn, and what a client is to make of it.
type situation struct {
	name, text string
	cut        cut
	answer     string
	end        int // an exit code, which the examples share
}

const (
	answered = iota
	failed
	refused
	lost
)

func situations() []situation {
	pass := cut{headers: true, events: uncut}
	return []situation{
		{"answer", "plain", pass, "One \"\\n\" – two\n", answered},
		{"failure", "fails", pass, "", failed},
		{"refusal", strings.Repeat("x", 5001), pass, "", refused},
		{"before the headers", "plain", cut{}, "", lost},
		{"before the first event", "plain", cut{headers: true}, "", lost},
		{"in an event", "plain", cut{headers: true, events: 3, half: true}, "One \"\\n\" – ", lost},
		{"cleanly", "plain", cut{headers: true, events: 3, clean: true}, "One \"\\n\" – ", lost},
		{"before done", "plain", cut{headers: true, events: 4}, "One \"\\n\" – two\n", lost},
	}
}

// startExamples starts a gateway that answers "plain", fails at "fails" and does not
// end at "stalls".
func startExamples(t *testing.T, env ...string) *gateway {
	t.Helper()
	sim := startGemini(t, map[string]string{
		"plain":  "thought **Hm**\ntext \"One \\\"\\\\n\\\" – \"\ntext \"two\\n\"\nfinish STOP",
		"fails":  "error 400 No such luck",
		"stalls": "text \"One \"\nstall",
	})
	return startGateway(t, sim.env(env...))
}

// The examples print what the gateway says, and report by their exit code an answer, a turn
// that has failed, one that was not run and one that was lost.
func TestTerminalExamples(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	g := startExamples(t)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, s := range situations() {
				t.Run(s.name, func(t *testing.T) {
					proxy := startCutter(t, g, s.cut)
					out, code := ended(t, c.command(t, proxy.url, s.text))
					s.check(t, out, code)
					if got := proxy.seen(); len(got) != 1 {
						t.Errorf("requests %+v", got)
					}
				})
			}
		})
	}
}

func (s situation) check(t *testing.T, out output, code int) {
	t.Helper()
	answer := s.answer
	if s.end == answered || s.end == failed {
		answer += "\n" // the prompt begins a line
	}
	if code != s.end || out.stdout != answer {
		t.Errorf("exit code %d, want %d; %q, want %q; stderr %q", code, s.end, out.stdout, answer, out.stderr)
	}
	if why := map[int]string{failed: "model_error: ", refused: "/input"}[s.end]; !strings.Contains(out.stderr, why) {
		t.Errorf("%q does not tell why", out.stderr)
	}
}

// ended runs a program to its end and returns its exit code.
func ended(t *testing.T, cmd *exec.Cmd) (output, int) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return output{stdout.String(), stderr.String()}, cmd.ProcessState.ExitCode()
}

// Ctrl-C ends the turn in the gateway, too.
func TestTerminalExamplesStop(t *testing.T) {
	t.Parallel()
	process.Needed(t)
	for _, c := range clients()[:2] { // curl gets its Ctrl-C from the terminal
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := startExamples(t)
			cmd := c.command(t, g.base, "stalls")
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, len("One "))); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
			if got := g.log.await(t, 1, "request_completed")[0].Details["finish_reason"]; got != "cancelled" {
				t.Errorf("the turn ended with %v", got)
			}
		})
	}
}
