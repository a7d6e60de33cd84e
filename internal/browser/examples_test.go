package browser

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
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

// The exit codes that the examples share.
const (
	answered = iota
	failed
	refused
	lost
)

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

// The examples print what the gateway says, and tell by their exit code an answer, a
// turn that has failed, one that was not run and one that was lost.
func TestTerminalExamples(t *testing.T) {
	t.Parallel()
	needProcesses(t)
	g := startExamples(t)
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range []struct {
				name, text     string
				cut            cut
				code           int
				stdout, stderr string
			}{
				{"answer", "plain", cut{headers: true, events: uncut}, answered, "One \"\\n\" – two\n\n", ""},
				{"failure", "fails", cut{headers: true, events: uncut}, failed, "\n", "model_error: "},
				{"refusal", strings.Repeat("x", 5001), cut{headers: true, events: uncut}, refused, "", "422"},
				{"before the headers", "plain", cut{}, lost, "", ""},
				{"before the first event", "plain", cut{headers: true}, lost, "", ""},
				{"in an event", "plain", cut{headers: true, events: 3, half: true}, lost, "One \"\\n\" – ", ""},
				{"cleanly", "plain", cut{headers: true, events: 3, clean: true}, lost, "One \"\\n\" – ", ""},
				{"before done", "plain", cut{headers: true, events: 4}, lost, "One \"\\n\" – two\n", ""},
			} {
				t.Run(tt.name, func(t *testing.T) {
					proxy := startCutter(t, g, tt.cut)
					out, code := ended(t, c.command(t, proxy.url, tt.text))
					if code != tt.code || out.stdout != tt.stdout || !strings.Contains(out.stderr, tt.stderr) {
						t.Errorf("exit code %d, want %d; %q, want %q; %q", code, tt.code, out.stdout, tt.stdout, out.stderr)
					}
					if got := proxy.seen(); len(got) != 1 {
						t.Errorf("requests %+v", got)
					}
				})
			}
		})
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
	needProcesses(t)
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
