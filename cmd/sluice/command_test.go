package main

import (
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/internal/app/gateway/gatewaytest"
)

// A program that cannot start says why, all at once, and repeats no value but the path of a file: it
// may be a key in the wrong place.
func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-CaNaRy"
	env := map[string]string{
		"SLUICE_ADDR":            secret,
		"GEMINI_API_KEY":         secret + " and more",
		"GEMINI_BASE_URL":        "https://user:" + secret + "@host",
		"GEMINI_DRIVER":          secret,
		"GEMINI_THINKING":        secret,
		"MCP_SERVER_URL":         "http://host/mcp?key=" + secret,
		"MCP_CONFIG":             filepath.Join(t.TempDir(), "gone"),
		"SLUICE_SYSTEM_PROMPT":   filepath.Join(t.TempDir(), "gone"),
		"SLUICE_TIMEZONE":        secret,
		"SLUICE_REQUEST_TIMEOUT": "30",
		"SLUICE_MAX_STEPS":       "0",
		"SLUICE_CORS_ORIGINS":    secret,
		"SLUICE_LOG_LEVEL":       secret,
		"SLUICE_LOG_PAYLOADS":    secret,
		"SLUICE_GEMINI_BREAKER":  secret,
	}
	for _, command := range [][]string{nil, {"ask", "hi"}, {"todo-server"}, {"gemini-sim"}, {"loadtest"}, {"healthcheck"}, {"doctor"}} {
		code, stdout, stderr := runCommand(t, env, append(command, "--max-streams", secret, "--frobnicate")...)
		if code != exitUsage || stdout != "" {
			t.Errorf("%v: exit code %d, stdout %q", command, code, stdout)
		}
		for name := range env {
			if !strings.Contains(stderr, "\n  "+name+": ") {
				t.Errorf("%v: %s is not listed:\n%s", command, name, stderr)
			}
		}
		for _, want := range []string{"SLUICE_MAX_STREAMS: ", "--max-streams", "frobnicate"} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%v: %q is not there:\n%s", command, want, stderr)
			}
		}
		if strings.Contains(stderr, secret) {
			t.Errorf("%v: a value is repeated:\n%s", command, stderr)
		}
	}
}

func TestStartThatFails(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	used := strings.TrimPrefix(r.Base, "http://")
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want []string
	}{
		{"port in use", map[string]string{"SLUICE_ADDR": used}, nil, []string{"SLUICE_ADDR", used, "address already in use"}},
		{"port in use", map[string]string{"SLUICE_ADDR": used}, []string{"todo-server"}, []string{"SLUICE_ADDR", "address already in use"}},
		{"port in use", map[string]string{"SLUICE_ADDR": used}, []string{"gemini-sim"}, []string{"SLUICE_ADDR", "address already in use"}},
		{"no database", map[string]string{"SLUICE_TODO_DB": "/dev/null/todo.db"}, nil, []string{"SLUICE_TODO_DB"}},
		{"no database", map[string]string{"SLUICE_TODO_DB": "/dev/null/todo.db"}, []string{"todo-server"}, []string{"SLUICE_TODO_DB"}},
		{"no database", map[string]string{"SLUICE_TODO_DB": "/dev/null/todo.db"}, []string{"ask", "hi"}, []string{"SLUICE_TODO_DB"}},
	} {
		code, stdout, stderr := runCommand(t, tt.env, tt.args...)
		if code != exitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s, %v: exit code %d, stdout %q, stderr %q", tt.name, tt.args, code, stdout, stderr)
		}
		for _, want := range tt.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s, %v: %q is not in %q", tt.name, tt.args, want, stderr)
			}
		}
	}
}

// Every page fits 80 columns, and each command's has its own flags and two examples.
func TestHelp(t *testing.T) {
	t.Parallel()
	page := func(args ...string) string {
		code, stdout, stderr := runCommand(t, nil, args...)
		if code != exitOK || stderr != "" {
			t.Errorf("%q: exit code %d, stderr %q", args, code, stderr)
		}
		for line := range strings.Lines(stdout) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("%q: a line is longer than 80 columns: %s", args, line)
			}
		}
		return stdout
	}
	overview := page("help")
	for _, args := range [][]string{{"--help"}, {"-h"}, {"help", "--help"}} {
		if got := page(args...); got != overview {
			t.Errorf("%q is not what help prints:\n%s", args, got)
		}
	}
	for _, c := range commands()[1:] {
		if !strings.Contains(overview, "  "+c.name+" ") {
			t.Errorf("%s is not listed", c.name)
		}
		if c.name == "help" {
			continue
		}
		got := page(append(strings.Fields(c.name), "--help")...)
		if help := page(append([]string{"help"}, strings.Fields(c.name)...)...); help != got {
			t.Errorf("help %s is not what --help prints:\n%s", c.name, help)
		}
		for _, want := range append([]string{"USAGE\n  sluice " + c.name, "EXAMPLES\n"}, c.examples...) {
			if !strings.Contains(got, want) || len(c.examples) != 2 {
				t.Errorf("%s: %q is not in it:\n%s", c.name, want, got)
			}
		}
	}
	for name, own := range map[string]string{"ask": "--url", "todo-server": "--stdio", "gemini-sim": "--script", "loadtest": "--max-in-flight", "doctor": "--idle", "keys add": "--expires"} {
		if got := page(append(strings.Fields(name), "--help")...); !strings.Contains(got, own) || strings.Contains(got, "SLUICE_MAX_STREAMS") {
			t.Errorf("%s: its own flags, and no others, are not there:\n%s", name, got)
		}
	}
	for topic, want := range map[string]string{"variables": "  SLUICE_ADDR  --addr\n", "exit-codes": "  4  ", "keys": "sluice keys rotate [flags] ID"} {
		if got := page("help", topic); !strings.Contains(got, want) {
			t.Errorf("help %s: %q is not in it:\n%s", topic, want, got)
		}
	}
}

// Examples name flags that there are.
func TestExamplesOfHelp(t *testing.T) {
	t.Parallel()
	for _, c := range (program{lookup: gatewaytest.LookupIn(nil), stdout: io.Discard}).completeCommands() {
		for _, example := range c.examples {
			_, line, _ := strings.Cut(example, "sluice")
			for word := range strings.FieldsSeq(line) {
				if strings.HasPrefix(word, "--") && !slices.Contains(c.flags, word) && word != "--version" {
					t.Errorf("%s: %s is no flag of it", example, word)
				}
			}
		}
	}
}

func TestOtherCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"--version"}, {"-v"}} {
		if code, stdout, stderr := runCommand(t, nil, args...); code != exitOK || stdout != version+"\n" || stderr != "" {
			t.Errorf("%q: %d %q %q", args, code, stdout, stderr)
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"frobnicate --help", `no command "frobnicate"; see sluice help`},
		{"helthcheck", "did you mean healthcheck?"},
		{"workflow chek", "did you mean workflow check?"},
		{"help lodtest", "did you mean loadtest?"},
		{"ask --shema x", "--shema: there is no such flag; did you mean --schema?"},
		{"--adr :1", "did you mean --addr?"},
		{"keys", "sluice keys revoke"},
		{"completion tcsh", "bash, zsh or fish"},
	} {
		code, stdout, stderr := runCommand(t, nil, strings.Fields(tt.args)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: %d %q %q", tt.args, code, stdout, stderr)
		}
	}
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	sick := gatewaytest.ServeHandler(t, http.NotFoundHandler())
	for _, tt := range []struct {
		name, addr string
		code       int
	}{
		{"alive", strings.TrimPrefix(r.Base, "http://"), exitOK},
		{"nobody there", gatewaytest.UnusedAddr(t), exitFailed},
		{"somebody else", strings.TrimPrefix(sick, "http://"), exitFailed},
	} {
		code, stdout, stderr := runCommand(t, map[string]string{"SLUICE_ADDR": tt.addr}, "healthcheck")
		if code != tt.code || stdout != "" || (stderr != "") != (code != exitOK) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", tt.name, code, stdout, stderr)
		}
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(r.Base, "http://"), ":")
	if code, _, stderr := runCommand(t, map[string]string{"SLUICE_ADDR": "0.0.0.0:" + port}, "healthcheck"); code != exitOK {
		t.Errorf("an address for all interfaces: exit code %d, stderr %q", code, stderr)
	}
}

// Who asks a gateway that runs does not know the file that its command line names, in which the
// method may be that SLUICE_AUTH=required wants.
func TestClientsNeedNoMethodOfTheGateway(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	env := map[string]string{"SLUICE_ADDR": strings.TrimPrefix(r.Base, "http://"), "SLUICE_AUTH": "required"}
	for _, args := range [][]string{{"healthcheck"}, {"doctor", "--url", r.Base}, {"loadtest", "--url", r.Base, "--clients", "1", "--turns", "1"}} {
		if code, _, stderr := runCommand(t, env, args...); code == exitUsage || strings.Contains(stderr, "SLUICE_AUTH") {
			t.Errorf("%s: exit code %d, stderr %q", args, code, stderr)
		}
	}
	if code, faults, _ := runCommand(t, env, "config", "check"); code != exitUsage || !strings.Contains(faults, "SLUICE_AUTH: needs a method") {
		t.Errorf("config check: exit code %d, stdout %q", code, faults)
	}
}
