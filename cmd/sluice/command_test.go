package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/gateway/gatewaytest"
)

// A program that cannot start says why, all at once, and repeats no value: it may
// be a key in the wrong place.
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
		"MCP_CONFIG":             filepath.Join(t.TempDir(), secret),
		"SLUICE_SYSTEM_PROMPT":   filepath.Join(t.TempDir(), secret),
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

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		own  string
	}{
		{"help", "sluice todo-server"}, {"--help", "sluice todo-server"}, {"-h", "sluice todo-server"},
		{"ask --help", "--url"}, {"ask --json -h", "--json"}, {"todo-server --help", "--stdio"}, {"gemini-sim --help", "--script"}, {"loadtest --help", "--max-in-flight"},
		{"healthcheck --help", ""}, {"doctor --help", "--idle"},
	} {
		code, stdout, stderr := runCommand(t, nil, strings.Fields(tt.args)...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit code %d, stderr %q", tt.args, code, stderr)
		}
		for _, want := range []string{tt.own, "SLUICE_ADDR", "--addr", "GEMINI_API_KEY", "SLUICE_GEMINI_BREAKER"} {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %q is not in it:\n%s", tt.args, want, stdout)
			}
		}
	}
}

func TestOtherCommands(t *testing.T) {
	t.Parallel()
	if code, stdout, stderr := runCommand(t, nil, "version"); code != exitOK || stdout != version+"\n" || stderr != "" {
		t.Errorf("version: %d %q %q", code, stdout, stderr)
	}
	code, stdout, stderr := runCommand(t, nil, "frobnicate", "--help")
	if code != exitUsage || stdout != "" || !strings.Contains(stderr, `"frobnicate"`) || !strings.Contains(stderr, "sluice help") {
		t.Errorf("unknown command: %d %q %q", code, stdout, stderr)
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
